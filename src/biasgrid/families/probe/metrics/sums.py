"""Means of parts of the observations, and lines through them, as sums over items."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.files.metrics import GROUP_KEY, CategoryScores, Metric, ObservationMetric, WordShare


@dataclass(frozen=True)
class MeanOfPart:
    """The mean of some observations.

    Attributes:
        sums: shape (items, 2), of each item what is added up, and of how much: their sums make the mean.
        count: how many items or answers it is of.
    """

    sums: FloatArray
    count: int


def needed_keys(metrics: Iterable[Metric]) -> list[str]:
    """Returns the keys of prompts on which some metrics hang."""
    some = [metric for metric in metrics if isinstance(metric, ObservationMetric)]
    named = [getattr(metric, name, None) for metric in some for name in ("by", "covariate")]
    return sorted({*filter(None, named), *(key for metric in some for key in metric.where)} - {GROUP_KEY})


def with_key_columns(rows: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """Adds for each of some keys the column `of_key` with what the prompts have there, as text.

    Args:
        rows: with `keys` as text.
        keys: the names, without `group`, which is a column already.
    """
    distinct = rows.select(pl.col("keys").unique())
    read = [json.loads(each) for each in distinct["keys"]]
    texts = {key: [None if one.get(key) is None else str(one[key]) for one in read] for key in keys}
    columns = [pl.Series(key_column_name(key), values, dtype=pl.String) for key, values in texts.items()]
    return rows.join(distinct.with_columns(columns), on="keys", how="left", maintain_order="left") if keys else rows


def key_column_name(key: str) -> str:
    """Names the column of a key."""
    return key if key == GROUP_KEY else f"key {key}"


def key_column(key: str) -> pl.Expr:
    """Returns what prompts have in a key; see `with_key_columns`."""
    return pl.col(key_column_name(key))


def rows_where(rows: pl.DataFrame, where: Mapping[str, str]) -> pl.DataFrame:
    """Returns the rows whose prompts have some values in their keys; see `with_key_columns`."""
    return rows.filter(*(key_column(key) == value for key, value in where.items()))


def mean_of_part(observations: pl.DataFrame, items: int, metric: Metric, chosen: pl.Expr | None = None) -> MeanOfPart:
    """Returns the mean that a metric takes of some observations.

    Args:
        observations: those that were detected, with `place` (the item's), `label`, `expected` and `value`.
        items: how many items there are.
        metric: the metric.
        chosen: which observations; all without it.
    """
    rows = observations if chosen is None else observations.filter(chosen)
    counts, hit, weight = averaging_terms(metric)
    sums = rows.filter(counts).group_by("place").agg(hit=(hit * weight).sum(), weight=weight.sum(), count=pl.len())
    table = np.zeros((items, 2))
    table[sums["place"].to_numpy()] = sums.select("hit", "weight").to_numpy()
    if metric.over == "items":
        there = table[:, 1] > 0
        table[there] /= table[there, 1:]
        return MeanOfPart(table, int(there.sum()))
    return MeanOfPart(table, int(sums["count"].sum()))


def averaging_terms(metric: Metric) -> tuple[pl.Expr, pl.Expr, pl.Expr]:
    """Returns of which observations a metric takes the mean, of what, and with what weights."""
    label, expected, value = pl.col("label"), pl.col("expected"), pl.col("value")
    if isinstance(metric, CategoryScores):
        return label.is_not_null(), label.replace_strict(metric.scores, default=0.0, return_dtype=pl.Float64), value
    if metric.base == "mean":
        return value.is_not_null(), value, value.is_not_null().cast(pl.Float64)
    wanted = pl.lit(metric.of_label, pl.String)
    is_it = label == wanted
    if isinstance(metric, WordShare):
        return label.is_in([metric.label, metric.other]), is_it.cast(pl.Float64), value
    kinds = {
        "rate": (label.is_not_null(), is_it),
        "share-of-expected": (expected.is_not_null(), label == expected),
        "accuracy": (expected.is_not_null(), label == expected),
        "tpr": (expected == wanted, is_it),
        "tnr": (expected != wanted, ~is_it),
    }
    counts, hit = kinds[metric.base]
    return counts, hit.cast(pl.Float64), value


def means_of_sums(sums: FloatArray) -> FloatArray:
    """Returns means.

    Args:
        sums: shape (..., 2), what was added up and of how much.

    Returns:
        Shape (...), NaN of nothing.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = sums[..., 0] / sums[..., 1]
    return found


def smoothed_share(sums: FloatArray, plus: float) -> FloatArray:
    """Returns the share of one kind of two, with so many more of either counted; shapes as of `means`."""
    return means_of_sums(sums + np.array([plus, 2 * plus]))


def means_of_parts(sums: FloatArray) -> FloatArray:
    """Returns the means of several parts.

    Args:
        sums: shape (..., 2 * parts), from the sums of parts side by side.

    Returns:
        Shape (..., parts).
    """
    return means_of_sums(sums.reshape(*sums.shape[:-1], sums.shape[-1] // 2, 2))


def high_less_low(sums: FloatArray, high: int, times: float, plus: float) -> FloatArray:
    """Returns the mean of the means of some parts less that of the others.

    Args:
        sums: shape (..., 2 * parts).
        high: how many of the parts, the first ones, are added; the others are subtracted.
        times: what the number is multiplied with.
        plus: what is added then.

    Returns:
        Shape (...). A part of nothing counts for nothing; NaN where all of one kind are such.
    """
    values = means_of_parts(sums)
    number = mean_without_nan(values[..., :high])
    if values.shape[-1] > high:
        number = number - mean_without_nan(values[..., high:])
    return times * number + plus


def mean_without_nan(values: FloatArray) -> FloatArray:
    """Returns the means of the last axis without what is NaN, NaN where all is."""
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore", divide="ignore"):
        found: FloatArray = np.where(known, values, 0).sum(axis=-1) / known.sum(axis=-1)
    return found


def stack_sums(parts: Sequence[MeanOfPart]) -> FloatArray:
    """Returns the sums of parts, shape (items, 2 * parts)."""
    return np.concatenate([part.sums for part in parts], axis=1)


LEAST_SPREAD = 1e-12
"""Below this a sum of squares is that of equal numbers."""


def sums_of_lines(x: FloatArray, y: FloatArray, weight: FloatArray) -> FloatArray:
    """Returns what lines are made of.

    Args:
        x: shape (items,), the covariate.
        y: shape (items,), the rate.
        weight: shape (items,), 0 where there is no rate.

    Returns:
        Shape (items, 6): weight, x, y and their products, of weight 0 all 0.
    """
    columns = np.stack([np.ones_like(x), x, y, x * x, x * y, y * y], axis=1) * weight[:, None]
    found: FloatArray = np.where(weight[:, None] > 0, columns, 0)
    return found


def pearson(sums: FloatArray) -> FloatArray:
    """Returns Pearson's correlation.

    Args:
        sums: shape (..., 6), of `sums_of_lines` added up.

    Returns:
        Shape (...), NaN where one of both does not vary.
    """
    n, x, y, xx, xy, yy = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = (xx - x * x / n) * (yy - y * y / n)
        found: FloatArray = np.where(spread > LEAST_SPREAD, (xy - x * y / n) / np.sqrt(spread), np.nan)
    return found


def slope(sums: FloatArray, bounded: bool) -> FloatArray:
    """Returns the slope of the line of least squares.

    Args:
        sums: shape (..., 6), of `sums_of_lines` added up.
        bounded: whether the slope must lie in -1..1, and the line at 0 in 0..1.

    Returns:
        Shape (...), NaN where the covariate does not vary.
    """
    n, x, y, xx, xy, _ = np.moveaxis(sums, -1, 0)
    with np.errstate(invalid="ignore", divide="ignore"):
        varies = xx - x * x / n > LEAST_SPREAD
        free = (xy - x * y / n) / (xx - x * x / n)
        start = (y - free * x) / n
        found: FloatArray = np.where(varies, free, np.nan)
        if not bounded:
            return found
        inside = (np.abs(free) <= 1) & (start >= 0) & (start <= 1)
        edges = [(np.clip((xy - c * x) / xx, -1, 1), np.full_like(n, c)) for c in (0, 1)]
        edges += [(np.full_like(n, b), np.clip((y - b * x) / n, 0, 1)) for b in (-1, 1)]
        errors = np.stack([b * b * xx + 2 * b * c * x + c * c * n - 2 * b * xy - 2 * c * y for b, c in edges])
        # The error is convex: where its least is outside of the bounds, the least within lies on an edge of them.
        best = np.take_along_axis(np.stack([b for b, _ in edges]), errors.argmin(axis=0)[None], axis=0)[0]
    bound: FloatArray = np.where(inside | ~varies, found, best)
    return bound
