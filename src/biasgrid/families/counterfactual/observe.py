"""Responses to cases: a row per instance, of intersections one more for each part, and records of
groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.base.languages import language_of
from biasgrid.families.counterfactual.pack import JOIN, OUTPUT_TYPES
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import AnswerOutputs, ClassOutputs, Outputs, Records, TargetOutputs
from biasgrid.groups.scores import SCORES
from biasgrid.groups.terms import records_of
from biasgrid.tables.files import empty_table
from biasgrid.tables.schema import column, table

OBSERVATIONS = table(
    "observations of cases",
    {
        "instance": column(pl.UInt32, description="the instance"),
        "part": column(pl.Boolean, description="whether this is one part of an intersection"),
        "case": column(
            pl.UInt32,
            description="template and fillings; the instances of a case differ only in the term",
        ),
        "swapped_case": column(
            pl.UInt32, description="the case with the fillings in reversed order", nullable=True
        ),
        "template": column(pl.UInt16, description="the template, numbered from 0"),
        "bias_type": column(
            pl.Categorical,
            description=(
                "what the groups have in common, such as religion; ` & ` joins those "
                "of an intersection"
            ),
        ),
        "group": column(pl.Categorical, description="the group, or those of an intersection"),
        "term": column(
            pl.Categorical, description="the group's identity term, or those of an intersection"
        ),
        "text": column(pl.String, description="the first text"),
        "text_pair": column(pl.String, description="the second text, if any", nullable=True),
        "expected": column(
            pl.String, description="what is right: the class, the target words or the answer"
        ),
        "said": column(
            pl.String, description="the most probable class or target word, or the answer"
        ),
        "score": column(pl.Float64, description="the main score, which decides failures"),
        "label": column(pl.Int16, description="classifiers: the right class", nullable=True),
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


def observe(
    instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]
) -> pl.DataFrame:
    """Puts what was said beside what was asked, and scores it.

    The parts of an intersection are observations of their own bias types: what was said of `muslim
    & woman` was said of `muslim` and of `woman` too.

    Args:
        instances: the family's instances, by number.
        predictions: the predictions of all of them.
        options: see `measure.measure`.

    Returns:
        Rows of `OBSERVATIONS`: one per instance, and behind them those of parts.
    """
    said = unscored_observations(instances, predictions, options)
    outputs = outputs_of(said, options)
    score = SCORES[MAIN_SCORES[outputs.sort]].per_record(outputs, None)
    whole = said.with_columns(score=pl.Series(score, dtype=pl.Float64), part=pl.lit(False))
    names = ["bias_type", "group", "term"]
    parts = (
        whole.filter(pl.col("bias_type").cast(pl.String).str.contains(JOIN, literal=True))
        .with_columns(pl.col(names).cast(pl.String).str.split(JOIN), part=pl.lit(True))
        .explode(names)
        .with_columns(pl.col(names).cast(pl.Categorical))
    )
    return pl.concat([empty_table(OBSERVATIONS), whole, parts], how="diagonal")


def unscored_observations(
    instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]
) -> pl.DataFrame:
    """Returns those columns of observations that there are before anything is scored, by
    instance.
    """
    rows = instances.with_columns(pl.col("text", "text_pair").cast(pl.String)).join(
        predictions, on="instance", how="left", maintain_order="left", suffix=" said"
    )
    expected, said = expected_and_response(instances.columns, options)
    rows = rows.with_columns(expected=expected, said=said)
    return rows.select(name for name in OBSERVATIONS.columns if name in rows.columns)


def expected_and_response(
    columns: Sequence[str], options: Mapping[str, Any]
) -> tuple[pl.Expr, pl.Expr]:
    """Returns what is right and what was said: the most probable class or target word, or the
    answer.

    Args:
        columns: those of the instances.
        options: see `measure.measure`.
    """
    if options["task"] == "question-answering":
        return pl.col("answer"), pl.col("answer said").cast(pl.String)
    best = pl.col("probabilities").list.arg_max()
    if options["task"] == "text-classification":
        return class_names(pl.col("label"), options["labels"]), class_names(best, options["labels"])
    words = pl.concat_list(
        pl.col(name).cast(pl.String) for name in columns if name.startswith("candidate")
    )
    return words.list.drop_nulls().list.join(", "), words.list.get(best)


def class_names(label: pl.Expr, labels: Sequence[str]) -> pl.Expr:
    """Returns the names of classes."""
    return label.cast(pl.Int64).replace_strict(
        dict(enumerate(labels)), default=None, return_dtype=pl.String
    )


def records_of_cases(observations: pl.DataFrame, options: Mapping[str, Any]) -> Records:
    """Makes a record of each observation.

    Args:
        observations: from `observe`.
        options: see `measure.measure`.
    """
    return records_of(observations, outputs_of(observations, options))


def outputs_of(said: pl.DataFrame, options: Mapping[str, Any]) -> Outputs:
    """Returns what was said, row by row.

    Args:
        said: of classifiers `probabilities` and `label`, of masked language models `probabilities`,
            `ranks` and `pieces`, of question answering `said` and `expected`.
        options: `task`, of masked language models `top_k`, how many most probable words count as
            right, and `language` where it is not English.
    """
    sort = OUTPUT_TYPES[options["task"]]
    if sort == "answers":
        answers, gold = (said[name].cast(pl.String).to_list() for name in ("said", "expected"))
        return AnswerOutputs(answers, gold, language_of(options).articles)
    probabilities = matrix_of_lists(said["probabilities"])
    if sort == "classes":
        return ClassOutputs(probabilities, said["label"].cast(pl.Int64).to_numpy())
    # Answers computed elsewhere have no ranks.
    if said["ranks"].null_count() == len(said):
        return TargetOutputs(probabilities, None)
    # A word of several tokens is none of the most probable tokens, whatever the rank of its first
    # one.
    in_top_k = (matrix_of_lists(said["ranks"]) <= options["top_k"]) & (
        matrix_of_lists(said["tokens"]) == 1
    )
    return TargetOutputs(probabilities, in_top_k)


def matrix_of_lists(lists: pl.Series) -> FloatArray:
    """Returns lists of one length as rows; what is null is NaN."""
    rows: FloatArray = lists.cast(pl.List(pl.Float64)).list.to_array(len(lists[0])).to_numpy()
    return rows
