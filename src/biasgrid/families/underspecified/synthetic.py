"""Associations in synthetic corpora: models trained on them have a bias that is known.

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
    """Returns the gamma of a model that learned the corpus.

    Args:
        instances: the instances of the dataset, of any variant.
        bias: its strength is the bound of |C|, from 0 (no bias) to 1 (a subject is the answer
            always or never). A number is the part by name.

    Returns:
        Each gamma(subject, attribute) and gamma(group, attribute), and the same of preference
        shares (schema `SYNTHETIC`). A weight depends on nothing but the seed, the strength and the
        names of dataset, subject, group and attribute; a gamma also depends on the partners of its
        subject. If some answers are neither subject, there are preference shares alone: how many
        answers are none depends on the task.
    """
    parts = bias.parts("name")
    pairs = with_difference(instances, bias).unique("swap_group", keep="first", maintain_order=True)
    comparison = (1 - parts.unread_negation) * pl.col("difference")
    first = pairs.select(
        "attribute",
        subject="subject1",
        subject_group="group1",
        other_group="group2",
        value=1 * comparison,
    )
    second = pairs.select(
        "attribute",
        subject="subject2",
        subject_group="group2",
        other_group="group1",
        value=-1 * comparison,
    )
    sides = pl.concat([first, second])
    # Two subjects of one group say nothing about it.
    across = sides.filter(pl.col("subject_group") != pl.col("other_group"))
    tables = []
    for rows, subject in ((sides, "subject"), (across, "subject_group")):
        tables.append(means_by(rows, (subject, "attribute")).sort(subject, "attribute"))
    measures = ("gamma", "share_gamma") if parts.mass == 1 else ("share_gamma",)
    return pl.concat(
        known_effect_rows(table, bias, measure) for measure in measures for table in tables
    )


def with_difference(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `difference`: w(subject1, a, t) - w(subject2, a, t) for an attribute and template.

    It is at most the strength and the spread together. The texts, categorical in the instances
    table, come out as strings.
    """
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String))
    weights = subject_weights(rows, bias)
    for side in SUBJECT_PAIR:
        of_side = weights.rename({"subject": side, "weight": f"weight_{side}"}).drop("group")
        rows = rows.join(of_side, on=[side, "attribute", "template"])
    difference = pl.col("weight_subject1") - pl.col("weight_subject2")
    rows = rows.with_columns(difference=difference)
    return rows.drop("weight_subject1", "weight_subject2").sort("instance")


def subject_weights(rows: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the `weight` of each subject, attribute and template, and the subject's `group`.

    Between templates the weights of a subject differ in even steps, in a random order, that add up
    to 0.

    Args:
        rows: instances, with both subjects and groups, attribute and template.
        bias: the bias.
    """
    sides = []
    for side in (1, 2):
        subject = pl.col(f"subject{side}").alias("subject")
        group = pl.col(f"group{side}").alias("group")
        sides.append(rows.select(subject, "attribute", "template", group))
    keys = pl.concat(sides).unique().sort(pl.all())
    means, order = [], []
    for subject_name, attribute, template, _ in keys.iter_rows():
        means.append(hashed_weight(bias, subject_name, attribute))
        order.append(hashed_weight(bias, subject_name, f"template {template}"))
    weights = keys.with_columns(mean=pl.Series(means), order=pl.Series(order))
    shared_weights = group_weights(keys, bias)
    weights = weights.join(
        shared_weights, on=["group", "attribute"], how="left", maintain_order="left"
    )
    parts = bias.parts("name")
    # A subject without a group is one of its own, so that both parts are its own.
    own = pl.when(pl.col("group").is_null()).then(parts.total).otherwise(parts.name)
    shared = parts.group * pl.col("shared").fill_null(0.0)
    centred_rank = pl.col("order").rank() - (pl.len() + 1) / 2
    last = pl.max_horizontal(pl.len() - 1, 1)
    step = (centred_rank / last).over("subject", "attribute")
    weight = own * pl.col("mean") + shared + bias.spread * step
    return weights.with_columns(weight=weight).drop("mean", "order", "shared")


def group_weights(keys: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the weight that each group shares for each attribute.

    The groups of an attribute stand in even steps, in a random order, between ends of opposite sign
    that are half to all of the way out: each association is there to be found, and they differ in
    size.

    Args:
        keys: `group`, null for subjects without one, and `attribute`.
        bias: the bias.

    Returns:
        `group`, `attribute` and `shared`, the weight, in -1/2..1/2.
    """
    associations = keys.select("group", "attribute").drop_nulls("group").unique().sort(pl.all())
    order, sizes = [], []
    for group, attribute in associations.iter_rows():
        order.append(hashed_weight(bias, "group", group, attribute))
        sizes.append(0.75 + hashed_weight(bias, "group", attribute) / 2)
    rows = associations.with_columns(
        pl.Series("order", order, dtype=pl.Float64),
        pl.Series("size", sizes, dtype=pl.Float64),
    )
    # A single group is at one end.
    last = pl.max_horizontal(pl.len() - 1, 1)
    share_of_way = (pl.col("order").rank() - 1) / last
    place = (share_of_way - 0.5).over("attribute")
    return rows.select("group", "attribute", shared=place * pl.col("size"))


def with_probability(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds the probability of the subject that comes first in the alphabet.

    The columns are `low` and `high`, the subjects in alphabetical order, and `probability`, that of
    `low`.
    """
    rows = with_difference(instances, bias)
    # A negation that is read turns the preference round; the share that is not read keeps it.
    unread = bias.parts("name").unread_negation
    sign = pl.when("negated").then(2 * unread - 1).otherwise(1.0)
    of_subject1 = 0.5 + 0.5 * sign * pl.col("difference")
    is_low = pl.col("subject1") < pl.col("subject2")
    of_low = pl.when(is_low).then(of_subject1).otherwise(1 - of_subject1)
    low, high = pl.min_horizontal(SUBJECT_PAIR), pl.max_horizontal(SUBJECT_PAIR)
    return rows.with_columns(low=low, high=high, probability=of_low)


def counts_of_subjects(row: Mapping[str, Any], repeats: int) -> tuple[int, int]:
    """Returns how often each subject is the answer, subject 1 first."""
    low, high = counts_of_two(row, repeats)
    return (low, high) if row["low"] == row["subject1"] else (high, low)


# The instances of a pair, attribute and polarity (their templates and orders) are drawn together.
corpus = corpus_of_answers(
    with_probability, together=("low", "high", "attribute", "negated"), counts=counts_of_subjects
)
