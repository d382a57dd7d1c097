"""Observations: responses to cases, one row per instance and per part of an intersection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.base.languages import cell_language
from biasgrid.families.counterfactual.ask import KEYS
from biasgrid.families.counterfactual.pack import JOIN, OUTPUT_TYPES
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import AnswerOutputs, ClassOutputs, Outputs, TargetOutputs
from biasgrid.groups.scores import SCORES
from biasgrid.tables.files import empty_table
from biasgrid.tables.schema import column, table

OBSERVED_KEYS = ("case", "swapped_case", "template", "bias_type", "group", "term")
OBSERVATIONS = table(
    "observations of cases",
    {
        "instance": column(pl.UInt32, description="the instance"),
        "part": column(pl.Boolean, description="whether this is one part of an intersection"),
        **{name: KEYS[name] for name in OBSERVED_KEYS},
        "text": column(pl.String, description="the first text"),
        "text_pair": column(pl.String, description="the second text, if any", nullable=True),
        "expected": column(
            pl.String, description="what is right: the class, the target words or the answer"
        ),
        "said": column(
            pl.String, description="the most probable class or target word, or the answer"
        ),
        "score": column(pl.Float64, description="the main score, which decides failures"),
        "label": KEYS["label"],
        "probabilities": column(
            pl.List(pl.Float32), description="of each class or target word", nullable=True
        ),
        "ranks": column(
            pl.List(pl.UInt32), description="rank of each target word's first token", nullable=True
        ),
        "tokens": column(
            pl.List(pl.UInt8), description="how many tokens each target word has", nullable=True
        ),
    },
)
IDENTITY_KEYS = ["bias_type", "group", "term"]
"""The columns of an instance that have one part for each bias type of an intersection."""


def observe(
    instances: pl.DataFrame, predictions: pl.DataFrame, measure_options: Mapping[str, Any]
) -> pl.DataFrame:
    """Joins responses to instances and scores them.

    The parts of an intersection are observations of their own bias types: a response about `muslim
    & woman` is about `muslim` and about `woman`, too.

    Args:
        instances: the family's instances, by number.
        predictions: the predictions of all of them.
        measure_options: see `measure.measure`.

    Returns:
        Rows of `OBSERVATIONS`: one per instance, then the parts of intersections.
    """
    responses = unscored_observations(instances, predictions, measure_options)
    outputs = outputs_of(responses, measure_options)
    score = SCORES[MAIN_SCORES[outputs.output_type]].per_record(outputs, None)
    whole = responses.with_columns(score=pl.Series(score, dtype=pl.Float64), part=pl.lit(False))
    is_intersection = pl.col("bias_type").cast(pl.String).str.contains(JOIN, literal=True)
    split_keys = pl.col(IDENTITY_KEYS).cast(pl.String).str.split(JOIN)
    parts = whole.filter(is_intersection).with_columns(split_keys, part=pl.lit(True))
    parts = parts.explode(IDENTITY_KEYS).with_columns(pl.col(IDENTITY_KEYS).cast(pl.Categorical))
    return pl.concat([empty_table(OBSERVATIONS), whole, parts], how="diagonal")


def unscored_observations(
    instances: pl.DataFrame, predictions: pl.DataFrame, measure_options: Mapping[str, Any]
) -> pl.DataFrame:
    """Returns one row per instance with the columns of observations that need no score."""
    texts = pl.col("text", "text_pair").cast(pl.String)
    rows = instances.with_columns(texts).join(
        predictions, on="instance", how="left", maintain_order="left", suffix=" said"
    )
    expected, response = expected_and_response(instances.columns, measure_options)
    rows = rows.with_columns(expected=expected, said=response)
    return rows.select(name for name in OBSERVATIONS.columns if name in rows.columns)


def expected_and_response(
    columns: Sequence[str], measure_options: Mapping[str, Any]
) -> tuple[pl.Expr, pl.Expr]:
    """Returns the right response and the model's: a class, target words or an answer, as text.

    Of classes and target words, the model's response is the most probable one.

    Args:
        columns: the columns of the instances.
        measure_options: see `measure.measure`.
    """
    if measure_options["task"] == "question-answering":
        return pl.col("answer"), pl.col("answer said").cast(pl.String)
    best = pl.col("probabilities").list.arg_max()
    if measure_options["task"] == "text-classification":
        labels = measure_options["labels"]
        return class_names(pl.col("label"), labels), class_names(best, labels)
    candidates = [name for name in columns if name.startswith("candidate")]
    words = pl.concat_list(pl.col(name).cast(pl.String) for name in candidates)
    # Templates with fewer target words than others have null in the last columns.
    return words.list.drop_nulls().list.join(", "), words.list.get(best)


def class_names(label: pl.Expr, labels: Sequence[str]) -> pl.Expr:
    """Returns the names of classes, null for a number that is no class."""
    names = dict(enumerate(labels))
    return label.cast(pl.Int64).replace_strict(names, default=None, return_dtype=pl.String)


def outputs_of(responses: pl.DataFrame, measure_options: Mapping[str, Any]) -> Outputs:
    """Returns the outputs of a model, row by row.

    Args:
        responses: for classifiers `probabilities` and `label`, for masked language models
            `probabilities`, `ranks` and `tokens`, for question answering `said` and `expected`.
        measure_options: `task`; for masked language models `top_k`, how many of the most probable
            words count as right; and `language` if it is not English.
    """
    output_type = OUTPUT_TYPES[measure_options["task"]]
    if output_type == "answers":
        answers = responses["said"].cast(pl.String).to_list()
        gold = responses["expected"].cast(pl.String).to_list()
        return AnswerOutputs(answers, gold, cell_language(measure_options).articles)
    probabilities = matrix_of_lists(responses["probabilities"])
    if output_type == "classes":
        return ClassOutputs(probabilities, responses["label"].cast(pl.Int64).to_numpy())
    # Answers computed elsewhere have no ranks.
    if responses["ranks"].null_count() == len(responses):
        return TargetOutputs(probabilities, None)
    # A word of several tokens is never among the most probable tokens, whatever the rank of its
    # first token.
    is_one_token = matrix_of_lists(responses["tokens"]) == 1
    is_probable = matrix_of_lists(responses["ranks"]) <= measure_options["top_k"]
    return TargetOutputs(probabilities, is_probable & is_one_token)


def matrix_of_lists(lists: pl.Series) -> FloatArray:
    """Returns lists of equal length as the rows of a matrix; null becomes NaN."""
    width = len(lists[0])
    rows: FloatArray = lists.cast(pl.List(pl.Float64)).list.to_array(width).to_numpy()
    return rows
