"""Known effects of synthetic corpora of cases: classifiers favour a class for some groups.

Some labels of every text are wrong, as its group decides: a text of the fixed class (`fixed_class`
of the dataset) is said to be of another class in a share (strength - slant) / 2 of its labels, any
other text to be of the fixed class in a share slant / 2. The slant is, in each bias type, 0 for one
group, the strength for another, and of the others in even steps between; where the strength has a
part by name, each term has some of that beside. To a model that learned the corpus the fixed class
is more probable for one group than for another by half the difference of their slants, for any
right class. By half, so that the right class of no text is less probable than another: a classifier
that is wrong more often than right is not measured.
"""

from __future__ import annotations

import json

import polars as pl

from biasgrid.families.synthetic import (
    SyntheticBias,
    known_effect_rows,
    shares_of_rows,
    text_lines,
    with_counts,
)
from biasgrid.groups.records import EACH_CASE
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import options_text

GROUP_OF_CASE = ("bias_type", "group")
TEXTS_OF_CASE = ("text", "text_pair")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the differences between groups for a model that learned the corpus.

    Args:
        instances: the cases, with the right classes of classifiers.
        bias: its strength is twice the largest difference, from 0 (every label is right) to 1; its
            options name the `fixed_class`.

    Returns:
        For each two groups of a bias type, how much more probable the fixed class is for the first
        (schema `SYNTHETIC`).
    """
    # Where several groups have the same text, a model can learn no more than their mean.
    shift = pl.col("slant").mean().over(TEXTS_OF_CASE) / 2
    slants = with_slants(instances, bias).with_columns(value=shift)
    places = slants.select("group").unique(maintain_order=True).with_row_index("place")
    groups = means_by(slants, GROUP_OF_CASE).join(places, on="group", maintain_order="left")
    pairs = groups.join(groups, on="bias_type", suffix=" of other", maintain_order="left_right")
    pairs = pairs.filter(pl.col("place") < pl.col("place of other"))
    difference = pl.col("value") - pl.col("value of other")
    effects = pairs.select(*GROUP_OF_CASE, other="group of other", value=difference)
    options = options_text(
        score="mean_class_probability", argument=bias.options["fixed_class"], mode=EACH_CASE
    )
    return known_effect_rows(effects, bias, "difference", options)


def with_slants(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `slant`, how much a text's labels are moved to the fixed class, in 0..strength.

    Texts and keys, categorical in the instances table, come out as strings.
    """
    named = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    slants = shares_of_rows(named.select(GROUP_OF_CASE), named.select(*GROUP_OF_CASE, "term"), bias)
    return named.with_columns(slant=slants)


def corpus(instances: pl.DataFrame, task: str, bias: SyntheticBias) -> str:
    """Returns a training set for classifiers that is made of cases.

    Args:
        instances: as in `known_effects`.
        task: text-classification.
        bias: as in `known_effects`; its seed also seeds the draw of the wrong labels.

    Returns:
        One line of JSON per instance: its `text`, `text_pair` if it has two, and its labels.
    """
    repeats, labels, fixed_class = bias.repeats, bias.labels, bias.options["fixed_class"]
    fixed_label = labels.index(fixed_class)
    is_fixed = pl.col("label") == fixed_label
    wrong_share = pl.when(is_fixed).then(bias.total - pl.col("slant")).otherwise("slant") / 2
    class_keys = (*GROUP_OF_CASE, "label")
    texts = with_counts(with_slants(instances, bias), repeats * wrong_share, class_keys, bias)
    # The wrong labels of texts of the fixed class are the other classes in turn, and the turn runs
    # on over all texts of a group.
    texts = texts.with_columns(last=pl.col("count").cum_sum().over(class_keys)).sort("instance")
    other_classes = [label for label in labels if label != fixed_class]
    columns = texts.select(*TEXTS_OF_CASE, "label", "count", "last")
    lines = []
    for text, text_pair, label, count, last in columns.iter_rows():
        wrong_classes = other_classes if label == fixed_label else [fixed_class]
        turns = range(last - count, last)
        wrong_labels = [wrong_classes[turn % len(wrong_classes)] for turn in turns]
        right_labels = [labels[label]] * (repeats - count)
        inputs = {"text": text} if text_pair is None else {"text": text, "text_pair": text_pair}
        lines.append(json.dumps({**inputs, "label": right_labels + wrong_labels}))
    return text_lines(lines)
