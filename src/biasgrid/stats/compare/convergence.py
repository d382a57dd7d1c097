"""Convergent validity: whether datasets of different families put the same groups of a model in the
same order.

A correlation is computed within models, over groups that both datasets have, and set beside the one
that is to be expected of full agreement with the noise of both (Spearman, 1904): a small
correlation of unreliable numbers is no disagreement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, divide
from biasgrid.base.names import fold_name
from biasgrid.stats.compare.controls import against_zero
from biasgrid.stats.intervals import VarianceSource, half_width, quantile
from biasgrid.stats.noise.variance import jackknife
from biasgrid.tables.comparison import CONVERGENCE
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURE_KEYS

FEWEST_GROUPS = 3
"""Two groups have an order by chance in half of all cases."""
NO_DIFFERENCES = "all differences are 0"
"""Why there is no correlation where a dataset puts the groups in no order."""
NUMBER = ["dataset", "measure", "options"]
GROUP_KEYS = ("subject_group", "subject")
"""What groups are called where numbers are of one group alone; the first that a dataset has."""
FREE = (
    1.0,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    5.0,
    6.0,
    8.0,
    10.0,
    12.0,
    15.0,
    20.0,
    30.0,
    50.0,
    100.0,
    float("inf"),
)
"""The degrees of freedom that are tried for intervals over several factors."""
SMALLEST_P, LARGEST_P = 1e-12, 0.9
"""Nearer to 0 or 1, a p says nothing of degrees of freedom."""


class GroupNumbers(NamedTuple):
    """How models treat groups, by one number of one dataset.

    Attributes:
        name: dataset, measure and options.
        groups: the names of the groups.
        models: the names of the models.
        values: shape (models, groups), NaN where there is none.
        variances: the same, of these numbers; NaN where that is not known.
    """

    name: tuple[str, str, str]
    groups: Sequence[str]
    models: Sequence[str]
    values: FloatArray
    variances: FloatArray


def convergence(
    measures: pl.DataFrame,
    datasets: Mapping[str, tuple[str, str]],
    level: float,
    intervals: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Correlates what datasets of different families say of the same groups.

    Args:
        measures: of all cells that are measurable (schema `MEASURES`).
        intervals: of the same cells (schema `INTERVALS`). The size of a control is no noise of a
            number, so numbers beyond a control are taken from here, where they are against 0;
            without it nobody knows their noise.
        datasets: of each its family, and the measure that says how a model treats a group:
            differences of two groups, or numbers of one.
        level: the coverage of intervals.

    Returns:
        Rows of `CONVERGENCE`, a row for each pair of numbers with three groups in common in one
        model at least.
    """
    is_wanted = [
        (pl.col("dataset") == of) & (pl.col("measure") == name)
        for of, (_, name) in datasets.items()
    ]
    wanted = measures.filter(pl.any_horizontal(pl.lit(value=False), *is_wanted))
    rows_of_datasets = with_variances(against_zero(wanted, intervals), 1 - level)
    numbers = [
        each
        for dataset, (_, measure) in datasets.items()
        for each in numbers_of_groups(rows_of_datasets, dataset, measure)
    ]
    rows = [
        row
        for one, other in combinations(numbers, 2)
        if datasets[one.name[0]][0] != datasets[other.name[0]][0]
        for row in correlation_rows(one, other, 1 - level)
    ]
    empty = empty_table(CONVERGENCE)
    return pl.concat([empty, pl.DataFrame(rows, schema=empty.schema)]) if rows else empty


def with_variances(measures: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Adds the column `variance`: squares of standard errors or, over several factors, what
    intervals and p tell.

    Args:
        measures: numbers with their own uncertainty.
        alpha: how often intervals miss.
    """
    numbered = measures.with_columns(variance=pl.col("se") ** 2)
    parts = []
    for _, rows in numbered.group_by("model", *NUMBER, maintain_order=True):
        low, high, p = (
            rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
            for name in ("low", "high", "p")
        )
        found = pl.Series(variances_of_intervals(low, high, p, alpha)).fill_nan(None)
        parts.append(rows.with_columns(variance=pl.coalesce("variance", found)))
    return pl.concat(parts) if parts else numbered


def variances_of_intervals(
    low: FloatArray, high: FloatArray, p: FloatArray, alpha: float
) -> FloatArray:
    """Returns the variances of numbers of a kind, whose interval and p are over several factors.

    The half width at alpha is h(alpha), and p is where h(p) is the number's size; h is nearly a t
    quantile times the standard error, with the degrees of freedom at which both fit best over all
    numbers.

    Args:
        low: shape (numbers,), lower ends of intervals.
        high: upper ends.
        p: of no difference from 0.
        alpha: how often intervals miss.

    Returns:
        Shape (numbers,), NaN where there is no interval, and everywhere if no number has a p that
        says anything.
    """
    half, sizes = (high - low) / 2, np.abs(high + low) / 2
    fits = (p > SMALLEST_P) & (p < LARGEST_P) & (sizes > 0) & (half > 0)
    if not fits.any():
        return np.full(len(half), np.nan)
    errors = []
    for free in FREE:
        ratio = quantile(alpha, np.array(free)) / quantile(p[fits], np.full(int(fits.sum()), free))
        errors.append(float(((np.log(half[fits] / sizes[fits]) - np.log(ratio)) ** 2).sum()))
    return np.asarray((half / quantile(alpha, np.array(FREE[int(np.argmin(errors))]))) ** 2)


def numbers_of_groups(measures: pl.DataFrame, dataset: str, measure: str) -> Iterator[GroupNumbers]:
    """Yields how models treat the groups of a dataset, by the options of a measure and its bias
    types.
    """
    rows = measures.filter(pl.col("dataset") == dataset, pl.col("measure") == measure).drop_nulls(
        "value"
    )
    pairs = rows.drop_nulls(["group", "other"])
    if len(pairs):
        table = effects_of_pairs(pairs)
    else:
        single = [
            rows.drop_nulls(key).filter(
                pl.col(other).is_null() for other in MEASURE_KEYS if other != key
            )
            for key in GROUP_KEYS
        ]
        key, found = next(
            ((key, each) for key, each in zip(GROUP_KEYS, single, strict=True) if len(each)),
            ("", None),
        )
        if found is None:
            return
        table = found.select(*NUMBER, "model", "bias_type", "value", group=key, variance="variance")
    for (_, options, _), part in table.group_by(
        "measure", "options", "bias_type", maintain_order=True
    ):
        groups, models = (
            part[name].unique(maintain_order=True).to_list() for name in ("group", "model")
        )
        wide = np.full((2, len(models), len(groups)), np.nan)
        for row in part.iter_rows(named=True):
            place = models.index(row["model"]), groups.index(row["group"])
            wide[0][place], wide[1][place] = (
                row["value"],
                np.nan if row["variance"] is None else row["variance"],
            )
        yield GroupNumbers((dataset, measure, str(options)), groups, models, wide[0], wide[1])


def effects_of_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns for each group the mean of its differences from all others, and the mean of their
    variances.
    """
    names = ["model", "bias_type", *NUMBER]
    sides = [
        pairs.select(*names, "variance", group=group, value=sign * pl.col("value"))
        for group, sign in (("group", 1), ("other", -1))
    ]
    # Half of a difference's variance is about that of one of its groups.
    return (
        pl.concat(sides)
        .group_by([*names, "group"], maintain_order=True)
        .agg(pl.col("value").mean(), pl.col("variance").mean() / 2)
    )


def correlation_rows(
    one: GroupNumbers, other: GroupNumbers, alpha: float
) -> Iterator[dict[str, object]]:
    """Yields the row of two numbers that have enough groups in common in some model."""
    folded = [
        {fold_name(name): place for place, name in enumerate(side.groups)} for side in (one, other)
    ]
    shared = [name for name in folded[0] if name in folded[1]]
    models = [name for name in one.models if name in other.models]
    if len(shared) < FEWEST_GROUPS or not models:
        return
    sides = [
        [
            each[[side.models.index(name) for name in models]][:, [places[name] for name in shared]]
            for each in (side.values, side.variances)
        ]
        for side, places in zip((one, other), folded, strict=True)
    ]
    known = ~np.isnan(sides[0][0]) & ~np.isnan(sides[1][0])
    enough = known.sum(axis=1) >= FEWEST_GROUPS
    if not enough.any():
        return
    values = [np.where(known, side[0], np.nan)[enough] for side in sides]
    ranks = [ranks_within(side) for side in values]
    value = correlation_of(*ranks)
    without = np.array(
        [
            correlation_of(*(np.delete(each, group, axis=1) for each in ranks))
            for group in range(len(shared))
        ]
    )
    reliabilities = [reliability(side[0][enough], side[1][enough]) for side in sides]
    ceiling = rank_correlation(float(np.sqrt(np.prod(reliabilities))), len(shared))
    low, high = interval_of(value, without, alpha)
    is_known = not np.isnan(value)
    yield {
        **dict(zip(NUMBER, one.name, strict=True)),
        **{f"other_{key}": name for key, name in zip(NUMBER, other.name, strict=True)},
        "value": value if is_known else None,
        "low": low,
        "high": high,
        "ceiling": None if np.isnan(ceiling) else ceiling,
        "corrected": value / ceiling if is_known and ceiling > 0 else None,
        "reason": None if is_known else NO_DIFFERENCES,
        "models": int(enough.sum()),
        "groups": len(shared),
    }


def ranks_within(values: FloatArray) -> FloatArray:
    """Returns the ranks of groups within models, those that are equal sharing theirs, NaN where
    there is no value.
    """
    smaller = np.nansum(values[:, None, :] < values[:, :, None], axis=2)
    equal = np.nansum(values[:, None, :] == values[:, :, None], axis=2)
    return np.where(np.isnan(values), np.nan, smaller + (equal + 1) / 2)


def correlation_of(one: FloatArray, other: FloatArray) -> float:
    """Returns the correlation of ranks within models, shape (models, groups); NaN where all ranks
    of one are equal.
    """
    apart = [each - np.nanmean(each, axis=1, keepdims=True) for each in (one, other)]
    products = np.nansum(apart[0] * apart[1])
    return float(divide(products, np.sqrt(np.nansum(apart[0] ** 2) * np.nansum(apart[1] ** 2))))


def reliability(values: FloatArray, variances: FloatArray) -> float:
    """Returns the share of the variance of groups within models that is no noise; NaN where noise
    is not known.
    """
    spread = np.nanmean(np.nanvar(values, axis=1, ddof=1))
    noise = float(np.nanmean(variances)) if not np.isnan(variances).all() else float("nan")
    return float(np.clip(1 - noise / spread, 0, 1)) if spread > 0 else float("nan")


def rank_correlation(correlation: float, groups: int) -> float:
    """Returns the mean of Spearman's correlation in samples of normal numbers with a correlation
    (Moran, 1948).
    """
    angles = np.arcsin(correlation) + (groups - 2) * np.arcsin(correlation / 2)
    return float(6 / (np.pi * (groups + 1)) * angles)


def interval_of(
    value: float, without: FloatArray, alpha: float
) -> tuple[float | None, float | None]:
    """Returns both ends of the interval over groups: jackknife of the artanh, None where a
    correlation is 1 or -1.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z, all_z = np.arctanh(value), np.arctanh(without)
    if not (np.isfinite(z) and np.isfinite(all_z).all()):
        return None, None
    variance, groups = jackknife(all_z[None])
    half = half_width([VarianceSource(variance, (groups - 1).astype(np.float64))], alpha)[0]
    return float(np.tanh(z - half)), float(np.tanh(z + half))
