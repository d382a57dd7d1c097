"""Associations synthetic in synthetic corpora: models trained on them have a bias that is known.

Every subject x has a weight w(x, a) for every attribute a: a part of its own, and one that it
shares with all subjects of its group. Of a pair (x1, x2), the corpus answers the plain question
with x1 at probability 1/2 + (w(x1, a) - w(x2, a)) / 2 and the negated one at 1/2 minus the same, in
whichever order the context names them. A model that learned these probabilities has, in the words
of UnQover (Li et al., Findings of EMNLP 2020), C(x1, x2) = w(x1, a) - w(x2, a) and gamma(x, a) =
the mean of C(x, .).

Of negated questions a share may be answered as the plain ones are, which takes that share off every
C. Where a share of the answers is neither subject, it takes the same share off every C, but not off
that of preference shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    counts_of_two,
    hashed_weight,
    known_effect_rows,
)
from biasgrid.tables.files import means_by

SUBJECT_PAIR = ("subject1", "subject2")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Says which gamma a model has that learned the corpus.

    Args:
        instances: the instances of the dataset, of any variant.
        bias: its strength is the bound of |C|, from 0 (no bias) to 1 (a subject is the answer
            always or never). A number is the part by name.

    Returns:
        Each gamma(subject, attribute) and gamma(group, attribute), and the same of preference
        shares (schema `SYNTHETIC`). A weight depends on nothing but the seed, the strength and the
        names of dataset, subject, group and attribute; a gamma depends on the partners of its
        subject too. Where some answers are neither subject there are preference shares alone: how
        many answers are none depends on the task.
    """
    parts = bias.parts("name")
    pairs = with_difference(instances, bias).unique("swap_group", keep="first", maintain_order=True)
    value = (1 - parts.unread_negation) * pl.col("difference")
    side = ("subject", "subject_group", "other_group")
    sides = [
        pairs.select("attribute", **dict(zip(side, names, strict=True)), value=sign * value)
        for names, sign in (
            (("subject1", "group1", "group2"), 1),
            (("subject2", "group2", "group1"), -1),
        )
    ]
    of_sides = pl.concat(sides)
    # Two subjects of one group say nothing about it.
    of_groups = of_sides.filter(pl.col("subject_group") != pl.col("other_group"))
    values = [
        means_by(frame, (subject, "attribute")).sort(subject, "attribute")
        for frame, subject in ((of_sides, "subject"), (of_groups, "subject_group"))
    ]
    measures = ("gamma", "share_gamma") if parts.mass == 1 else ("share_gamma",)
    return pl.concat(
        known_effect_rows(frame, bias, measure) for measure in measures for frame in values
    )


def with_difference(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `difference`, the synthetic w(subject1, a, t) - w(subject2, a, t) of an instance's
    attribute and template.

    It is at most the strength and the spread together. The texts, categorical in the instances
    table, come out as strings.
    """
    frame = instances.with_columns(pl.col(pl.Categorical).cast(pl.String))
    weights = subject_weights(frame, bias)
    for side in SUBJECT_PAIR:
        named = weights.rename({"subject": side, "weight": f"weight_{side}"}).drop("group")
        frame = frame.join(named, on=[side, "attribute", "template"])
    difference = pl.col("weight_subject1") - pl.col("weight_subject2")
    return (
        frame.with_columns(difference=difference)
        .drop("weight_subject1", "weight_subject2")
        .sort("instance")
    )


def subject_weights(frame: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the `weight` of each subject, attribute and template, and the subject's `group`.

    Between templates the weights of a subject differ in even steps, in a random order, that add up
    to 0.
    """
    sides = [
        frame.select(
            pl.col(f"subject{side}").alias("subject"),
            "attribute",
            "template",
            pl.col(f"group{side}").alias("group"),
        )
        for side in (1, 2)
    ]
    keys = pl.concat(sides).unique().sort(pl.all())
    means = [
        hashed_weight(bias, subject, attribute) for subject, attribute, _, _ in keys.iter_rows()
    ]
    order = [
        hashed_weight(bias, subject, f"template {template}")
        for subject, _, template, _ in keys.iter_rows()
    ]
    last = pl.max_horizontal(pl.len() - 1, 1)
    step = ((pl.col("order").rank() - (pl.len() + 1) / 2) / last).over("subject", "attribute")
    weighed = keys.with_columns(mean=pl.Series(means), order=pl.Series(order))
    weighed = weighed.join(
        group_weights(keys, bias), on=["group", "attribute"], how="left", maintain_order="left"
    )
    parts = bias.parts("name")
    # A subject without a group is one of its own, so that both parts are its own.
    own = pl.when(pl.col("group").is_null()).then(parts.total).otherwise(parts.name)
    shared = parts.group * pl.col("shared").fill_null(0.0)
    return weighed.with_columns(weight=own * pl.col("mean") + shared + bias.spread * step).drop(
        "mean", "order", "shared"
    )


def group_weights(keys: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns how each `group` stands to each `attribute`, `shared`, in -1/2..1/2.

    The groups of an attribute stand in even steps, in a random order, between ends of opposite sign
    that are half to all of the way out: each association is there to be found, and they differ in
    size.
    """
    asked = keys.select("group", "attribute").drop_nulls("group").unique().sort(pl.all())
    order = [
        hashed_weight(bias, "group", group, attribute) for group, attribute in asked.iter_rows()
    ]
    size = [
        0.75 + hashed_weight(bias, "group", attribute) / 2 for _, attribute in asked.iter_rows()
    ]
    place = ((pl.col("order").rank() - 1) / pl.max_horizontal(pl.len() - 1, 1) - 0.5).over(
        "attribute"
    )
    ordered = asked.with_columns(
        order=pl.Series(order, dtype=pl.Float64), size=pl.Series(size, dtype=pl.Float64)
    )
    return ordered.select("group", "attribute", shared=place * pl.col("size"))


def with_probability(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `low` and `high`, the subjects in alphabetical order, and `probability`, that of
    `low`.
    """
    frame = with_difference(instances, bias)
    # What is believed of a negation that is read turns round; of the share that is not it stays.
    sign = pl.when("negated").then(2 * bias.parts("name").unread_negation - 1).otherwise(1.0)
    of_first = 0.5 + 0.5 * sign * pl.col("difference")
    return frame.with_columns(
        low=pl.min_horizontal(SUBJECT_PAIR),
        high=pl.max_horizontal(SUBJECT_PAIR),
        probability=pl.when(pl.col("subject1") < pl.col("subject2"))
        .then(of_first)
        .otherwise(1 - of_first),
    )


def counts_of_subjects(row: Mapping[str, Any], repeats: int) -> tuple[int, int]:
    """Returns how often each subject is the answer."""
    low, high = counts_of_two(row, repeats)
    return (low, high) if row["low"] == row["subject1"] else (high, low)


# The instances of a pair, attribute and polarity (their templates and orders) are drawn together.
corpus = corpus_of_answers(
    with_probability, together=("low", "high", "attribute", "negated"), counts=counts_of_subjects
)
