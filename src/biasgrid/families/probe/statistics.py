"""How sure the metrics of a probe are: its items are its clusters, each with all of its prompts and repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.families.probe.measure import number_keys, numbers_of_cell, undetected_of_groups
from biasgrid.families.probe.metrics.numbers import Finish, SumsOfItems
from biasgrid.families.probe.observe import read_probe_of_cell
from biasgrid.stats.estimate import jackknife, statistics_rows
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.settings import CellStatistics, StatisticsSettings, jackknife_columns
from biasgrid.tables.statistics import ROW

__all__ = ["statistics"]


def statistics(
    observations: pl.DataFrame, measures: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> CellStatistics:
    """Leaves out each item in turn, which takes nothing but sums.

    Args:
        observations: from `observe`.
        measures: the cell's measures, of which what the probe's own class makes has no interval.
        options: see `measure.measure`.
        settings: level and units.

    Returns:
        Rows over templates, whose clusters are items. A number that is the largest of several, such as the largest
        difference of groups, has the interval of the largest of these, all of which hold at once (Bonferroni); a ratio
        without a direction has none.
    """
    probe = read_probe_of_cell(options)
    numbers = [*numbers_of_cell(probe, observations), *undetected_of_groups(observations)]
    variances, items = np.array([variance_of(each.sums, each.finish) for each in numbers]).reshape(-1, 2).T
    without = stack_padded([without_items(each.sums, each.finish) for each in numbers])
    has_plain = np.array([not each.largest_of and not each.is_ratio for each in numbers], dtype=np.bool_)
    names = ("measure", "options", "bias_type", "group")
    whole = pl.DataFrame(
        [number_keys(each, probe) for each in numbers], schema=dict.fromkeys(names, pl.String), orient="row"
    )
    whole = whole.with_columns(
        *(pl.lit(None, pl.String).alias(key) for key in ROW if key not in (*names, "template")),
        template=pl.lit(None, pl.UInt16),
        value=np.array([each.finish(each.sums.sum(axis=0)) for each in numbers], dtype=np.float64),
        n=np.array([each.count for each in numbers], dtype=np.int64),
    )
    variances = np.where(has_plain, variances, np.nan)
    kept = jackknife_columns(np.where(has_plain[:, None], without, np.nan))
    rows = statistics_rows(whole, items, variances, items.astype(np.int64), settings).with_columns(**kept)
    return CellStatistics(with_intervals_of_largest(rows, numbers, settings))


def with_intervals_of_largest(
    rows: pl.DataFrame, numbers: Sequence[SumsOfItems], settings: StatisticsSettings
) -> pl.DataFrame:
    """Adds the intervals of numbers that are the largest of several."""
    found = [interval_of_largest(each, settings.alpha) if each.largest_of else (np.nan, np.nan) for each in numbers]
    low, high = np.array(found, dtype=np.float64).reshape(-1, 2).T
    known = pl.Series(~np.isnan(low))
    return rows.with_columns(
        low=pl.when(known).then(pl.Series(low)).otherwise("low"),
        high=pl.when(known).then(pl.Series(high)).otherwise("high"),
        method=pl.when(known).then(pl.lit("jackknife t of the largest")).otherwise("method"),
    )


def interval_of_largest(number: SumsOfItems, alpha: float) -> tuple[float, float]:
    """Returns the interval of the largest of several numbers, of which some may count without their signs."""
    by_size = np.array([each.by_size for each in number.largest_of])
    values = np.array([float(each.finish(number.sums.sum(axis=0))) for each in number.largest_of])
    values = np.where(by_size, np.abs(values), values)
    variances, items = np.array([variance_of(number.sums, each.finish) for each in number.largest_of]).T
    half = half_width([VarianceSource(variances, items - 1)], alpha / len(values))
    low = np.where(by_size, np.maximum(values - half, 0), values - half)
    return float(low.max()), float((values + half).max())


def variance_of(sums: FloatArray, finish: Finish) -> tuple[float, int]:
    """Returns the jackknife variance of a number over items, and how many items have anything of it.

    Args:
        sums: shape (items, columns).
        finish: makes the number of the sums of columns.
    """
    variance, items = jackknife(without_items(sums, finish))
    return float(variance), int(items) or int((sums != 0).any(axis=1).sum())


def without_items(sums: FloatArray, finish: Finish) -> FloatArray:
    """Returns a number without each item, shape (items,), NaN of items that have nothing of it; see `variance_of`.

    All are NaN where it is nothing without one of them, as what is made of a single item is.
    """
    has = (sums != 0).any(axis=1)
    without = np.full(len(sums), np.nan)
    without[has] = finish(sums.sum(axis=0) - sums[has])
    return without if not np.isnan(without[has]).any() else np.full(len(sums), np.nan)


def stack_padded(numbers: Sequence[FloatArray]) -> FloatArray:
    """Returns arrays as the rows of one, those that are shorter with NaN at their ends."""
    width = max((len(each) for each in numbers), default=1)
    return np.array([np.append(each, np.full(width - len(each), np.nan)) for each in numbers]).reshape(-1, width)
