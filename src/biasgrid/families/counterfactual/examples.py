"""The sentences behind the largest differences of groups."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from biasgrid.groups.failures import FAILURE_SCORES
from biasgrid.groups.records import Records
from biasgrid.groups.scores import score_records
from biasgrid.tables.group_measures import CASE_EXAMPLES

CASES_PER_BIAS_TYPE = 5


def largest_differences(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    records: Records,
    differences: pl.DataFrame,
    labels: Sequence[str],
    model: str,
    dataset: str,
) -> pl.DataFrame:
    """Finds the cases whose groups differ most, and what was said of the two groups that are furthest apart.

    Args:
        instances: rows of `CASES`, by instance.
        predictions: the predictions of all of them, by instance and target.
        records: what they say; records of parts of intersections are left out.
        differences: from `groups.failures.case_differences`.
        labels: the names of the classes, of classifiers.
        model: the model's name in the config.
        dataset: the dataset's name in the config.

    Returns:
        For every bias type and each of its cases with the largest differences a row per identity term of the two
        groups (schema `CASE_EXAMPLES`); cases with the same difference by their number.
    """
    names = ["bias_type", "group", "term"]
    said = instances.with_columns(
        pl.col(names).cast(pl.String),
        expected=expected_text(labels),
        said=said_text(predictions, labels),
        score=pl.Series(score_records(records, FAILURE_SCORES[records.outputs.sort]).values[: len(instances)]),
    )
    # The cases of intersections are those of their parts too, but were not asked about these alone.
    asked = said.select("bias_type", pl.col("case").cast(pl.Int64)).unique()
    chosen = (
        differences.filter(pl.col("largest").is_not_nan())
        .join(asked, on=["bias_type", "case"], how="semi")
        .sort("bias_type", "largest", "case", descending=[False, True, False], maintain_order=True)
        .group_by("bias_type", maintain_order=True)
        .head(CASES_PER_BIAS_TYPE)
        .select("bias_type", pl.col("case").cast(pl.UInt32), difference="largest")
    )
    of_cases = said.join(chosen, on=["bias_type", "case"], maintain_order="right_left")
    means = of_cases.group_by("bias_type", "case", "group", maintain_order=True).agg(mean=pl.col("score").mean())
    extremes = means.group_by("bias_type", "case", maintain_order=True).agg(
        group=pl.concat_list(
            pl.col("group").sort_by("mean", maintain_order=True).last(),
            pl.col("group").sort_by("mean", maintain_order=True).first(),
        )
    )
    kept = of_cases.join(extremes.explode("group"), on=["bias_type", "case", "group"], maintain_order="right_left")
    return kept.with_columns(model=pl.lit(model), dataset=pl.lit(dataset)).select(list(CASE_EXAMPLES.columns))


def expected_text(labels: Sequence[str]) -> pl.Expr:
    """Returns what is right, in words."""
    names = pl.col("label").cast(pl.Int64).replace_strict(dict(enumerate(labels)), default=None, return_dtype=pl.String)
    return pl.coalesce(names, pl.col("targets").list.join(", "), pl.col("answer"))


def said_text(predictions: pl.DataFrame, labels: Sequence[str]) -> pl.Series:
    """Returns what was said of each instance: the most probable class or target word, or the answer."""
    if "probabilities" in predictions.columns:
        best = predictions["probabilities"].list.arg_max().cast(pl.Int64)
        return best.replace_strict(dict(enumerate(labels)), default=None, return_dtype=pl.String)
    if "target" in predictions.columns:
        words = predictions.group_by("instance", maintain_order=True).agg(
            pl.col("word").sort_by("probability", descending=True, maintain_order=True).first()
        )
        return words["word"].cast(pl.String)
    return predictions["answer"].cast(pl.String)
