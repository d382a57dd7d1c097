"""Answers that choose among candidates or classes."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from biasgrid.tables.schema import UNKNOWN_COLUMN, Probabilities, Probability, Unique, column, table

SCHEMA = table(
    "choice predictions",
    {
        "instance": column(pl.UInt32, description="the instance", checks=Unique),
        "probabilities": column(
            pl.List(pl.Float32),
            description=(
                "probability of each candidate, in the order of the instances' columns, null if "
                "there is none; for classifiers, of each class in the order of the dataset's labels"
            ),
            checks=Probabilities,
        ),
        "tokens": column(
            pl.List(pl.UInt8),
            description=(
                "number of tokens of each candidate, null if `unqover` does not find it in the "
                "vocabulary; null for classifiers and imported answers"
            ),
            nullable=True,
        ),
        "ranks": column(
            pl.List(pl.UInt32),
            description=(
                "rank of each candidate's first token among all tokens of the vocabulary, if read"
            ),
            nullable=True,
        ),
        "unknown": UNKNOWN_COLUMN,
        "mass": column(
            pl.Float32,
            description="generative models: probability of all candidates together",
            checks=Probability,
            nullable=True,
        ),
        "surface_forms": column(
            pl.List(pl.List(pl.String)),
            description=(
                "generative models: for each candidate the ways to begin an answer with it, such "
                "as `a` and `(a`; a way that continues another one is part of that one"
            ),
            nullable=True,
        ),
        "form_probabilities": column(
            pl.List(pl.List(pl.Float32)),
            description=(
                "the probability of each of these forms, of which `probabilities` has the sums"
            ),
            nullable=True,
        ),
        "first_tokens": column(
            pl.List(pl.String),
            description=(
                "generative models: the three tokens with which an answer most probably begins, "
                "if known"
            ),
            nullable=True,
        ),
        "first_probabilities": column(
            pl.List(pl.Float32),
            description="the probability of each of these tokens",
            checks=Probabilities,
            nullable=True,
        ),
        "scored_by": column(
            pl.Categorical,
            description=(
                "generative models: how the probabilities were obtained: `logits` from a local "
                "model; `echo`, `top` or `choice` from a server; `parsed` from a response; "
                "`imported` from a log; `random` if no model was asked"
            ),
            nullable=True,
        ),
        "status": column(
            pl.Categorical,
            description=(
                "generative models: `ok`; `bounded` if an option is not among the tokens that the "
                "server lists; or why there is no answer: `unclear`, `empty`, `length`, "
                "`filtered`, `refused`"
            ),
            nullable=True,
        ),
        "response": column(
            pl.String, description="the response that was parsed, if any", nullable=True
        ),
    },
)
SHOWN_TOKENS = 3
"""How many first tokens of answers are named for a cell."""


class OptionMass(NamedTuple):
    """How probable the options of a cell are together.

    Attributes:
        median: the median of `mass`.
        lowest_tenth: a tenth of the instances have less.
        n: how many instances have a mass.
        first_tokens: the tokens that are most often among the likeliest first ones; empty where
            they are not known.
        surface_forms: the ways to write an option with the largest mean probabilities, and these.
    """

    median: float
    lowest_tenth: float
    n: int
    first_tokens: list[str]
    surface_forms: list[tuple[str, float]]


def option_mass(predictions: pl.LazyFrame) -> OptionMass | None:
    """Summarizes the mass of the options of a cell; None for answers without one.

    Args:
        predictions: answers of any kind.
    """
    if "mass" not in predictions.collect_schema():
        return None
    column = pl.col("mass").cast(pl.Float64)
    mass = predictions.select(column).drop_nulls().collect()["mass"]
    if mass.is_empty():
        return None
    lowest_tenth = mass.quantile(0.1, interpolation="linear")
    return OptionMass(
        median=float(mass.median()),  # type: ignore[arg-type]
        lowest_tenth=float(lowest_tenth),  # type: ignore[arg-type]
        n=len(mass),
        first_tokens=frequent_first_tokens(predictions),
        surface_forms=probable_forms(predictions, len(mass)),
    )


def frequent_first_tokens(predictions: pl.LazyFrame) -> list[str]:
    """Returns the tokens that are most often among the likeliest first ones.

    Of equally frequent ones the likelier comes first.
    """
    columns = ["first_tokens", "first_probabilities"]
    if not {*columns} <= {*predictions.collect_schema()}:
        return []
    tokens = predictions.select(columns).drop_nulls().explode(columns)
    total = pl.col("first_probabilities").sum()
    counts = tokens.group_by("first_tokens").agg(count=pl.len(), sum=total)
    ordered = counts.sort("count", "sum", "first_tokens", descending=[True, True, False])
    return ordered.head(SHOWN_TOKENS).collect()["first_tokens"].to_list()


def probable_forms(predictions: pl.LazyFrame, n: int) -> list[tuple[str, float]]:
    """Returns the ways to write an option that have the largest mean probability over instances.

    Args:
        predictions: answers of the kind.
        n: how many instances there are.
    """
    columns = ["surface_forms", "form_probabilities"]
    if not {*columns} <= {*predictions.collect_schema()}:
        return []
    forms_of_options = predictions.select(columns).drop_nulls().explode(columns)
    forms = forms_of_options.explode(columns).drop_nulls()
    mean = pl.col("form_probabilities").sum() / n
    means = forms.group_by("surface_forms").agg(mean=mean)
    ordered = means.sort("mean", "surface_forms", descending=[True, False])
    return ordered.head(SHOWN_TOKENS).collect().rows()
