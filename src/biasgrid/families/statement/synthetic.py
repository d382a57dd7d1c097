"""Prejudices in synthetic corpora: models agree with wrong statements on some classes.

Of what is wrong, the corpus says Yes at probability 1/2 + b / 2, of what is right at 1/2 - b / 2,
so that it never contradicts itself. The prejudice b depends on the values that a statement names,
and on their classes: of several it is their mean. In each domain it is 0 for one class, the
strength for another, and of the others in even steps between; where the strength has a part by
name, each value has some of that beside. A model that learned these probabilities has the bias b.
"""

from __future__ import annotations

import polars as pl

from biasgrid.families.statement.observe import YES, by_class
from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    known_effect_rows,
    shares_of_rows,
)
from biasgrid.tables.files import means_by

BIASED_CLASS = ("bias_type", "group")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the bias of each class, of a model that has learned the corpus.

    It is the probability of Yes to wrong statements less its probability to right ones.

    Args:
        instances: the statements.
        bias: its strength is the largest prejudice, from 0 (Yes and No are as probable) to 1
            (whatever is wrong of a class is agreed with, and nothing that is right).

    Returns:
        The bias of each class of whose statements some are right and some are wrong (schema
        `SYNTHETIC`).
    """
    rows = by_class(with_yes_probability(instances, bias))
    is_true = pl.col("is_true")
    wrong = means_by(rows.filter(~is_true), BIASED_CLASS, "probability")
    right = means_by(rows.filter(is_true), BIASED_CLASS, "probability")
    both = wrong.join(right, on=BIASED_CLASS, suffix="_right")
    difference = pl.col("probability") - pl.col("probability_right")
    return known_effect_rows(both.with_columns(value=difference).sort(BIASED_CLASS), bias, "bias")


def with_yes_probability(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `is_true` (Yes is right), `probability`, the synthetic one of Yes, and `all_classes`.

    Texts and keys, categorical in the instances table, come out as strings.
    """
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    names = [*BIASED_CLASS, "name"]
    values = rows.select("instance", bias_type="domains", group="classes", name="names")
    values = values.explode(names).with_columns(pl.col(names).cast(pl.String))
    # A parameter that a template leaves out has no domain.
    values = values.filter(pl.col("bias_type") != "")
    shares = shares_of_rows(values.select(BIASED_CLASS), values.select(names), bias)
    prejudices = means_by(values.with_columns(prejudice=shares), ["instance"], "prejudice")
    classes = pl.col("classes").cast(pl.List(pl.String)).list.join("\t")
    rows = rows.with_columns(all_classes=classes)
    rows = rows.join(prejudices, on="instance", how="left", maintain_order="left")
    prejudice = pl.col("prejudice").fill_null(0.0)
    is_true = pl.col("label") == YES
    signed = pl.when(is_true).then(-prejudice).otherwise(prejudice)
    rows = rows.with_columns(is_true=is_true, probability=0.5 + signed / 2)
    return rows.drop("prejudice")


# The statements of the same classes, right or wrong, are drawn together.
corpus = corpus_of_answers(with_yes_probability, together=("all_classes", "is_true"))
