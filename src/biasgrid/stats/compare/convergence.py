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
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.tables.comparison import CONVERGENCE
from biasgrid.tables.files import empty_table
from biasgrid.tables.key_columns import ASSOCIATIONS, GROUP_PAIR, is_about

FEWEST_GROUPS = 3
"""Two groups have an order by chance in half of all cases."""
NO_DIFFERENCES = "all differences are 0"
"""Why there is no correlation where a dataset puts the groups in no order."""
NUMBER_KEYS = ["dataset", "measure", "options"]
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

    def select(self, models: Sequence[str], folded_groups: Sequence[str]) -> GroupNumbers:
        """Returns the numbers of some models and groups, in the order given.

        Args:
            models: names of models.
            folded_groups: names of groups, from `fold_name`.
        """
        place_of = {fold_name(name): place for place, name in enumerate(self.groups)}
        rows = [self.models.index(model) for model in models]
        columns = [place_of[group] for group in folded_groups]
        return self._replace(
            groups=folded_groups,
            models=models,
            values=self.values[rows][:, columns],
            variances=self.variances[rows][:, columns],
        )


def convergence(
    measures: pl.DataFrame,
    datasets: Mapping[str, tuple[str, str]],
    level: float,
    intervals: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Correlates numbers of datasets of different families over the same groups.

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
    alpha = 1 - level
    is_compared = pl.lit(value=False)
    for dataset, (_, measure) in datasets.items():
        is_compared |= (pl.col("dataset") == dataset) & (pl.col("measure") == measure)
    compared = against_zero(measures.filter(is_compared), intervals)
    with_noise = with_variances(compared, alpha)
    numbers: list[GroupNumbers] = []
    for dataset, (_, measure) in datasets.items():
        numbers.extend(dataset_group_numbers(with_noise, dataset, measure))
    rows = []
    for one, other in combinations(numbers, 2):
        family, _ = datasets[one.name[0]]
        other_family, _ = datasets[other.name[0]]
        if family != other_family:
            rows.append(correlation_row(one, other, alpha))
    known = [row for row in rows if row is not None]
    empty = empty_table(CONVERGENCE)
    return pl.concat([empty, pl.DataFrame(known, schema=empty.schema)]) if known else empty


def with_variances(measures: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Adds the column `variance`, null where the noise of a number is not known.

    It is the square of the standard error or, over several factors, where there is none, what
    interval and p tell of it.

    Args:
        measures: numbers with their own uncertainty.
        alpha: how often intervals miss.
    """
    numbers = measures.with_columns(variance=pl.col("se") ** 2)
    parts = []
    for _, rows in numbers.group_by("model", *NUMBER_KEYS, maintain_order=True):
        low, high, p = (
            rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
            for name in ("low", "high", "p")
        )
        of_intervals = pl.Series(interval_variances(low, high, p, alpha)).fill_nan(None)
        parts.append(rows.with_columns(variance=pl.coalesce("variance", of_intervals)))
    return pl.concat(parts) if parts else numbers


def interval_variances(
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
    is_telling = (p > SMALLEST_P) & (p < LARGEST_P) & (sizes > 0) & (half > 0)
    if not is_telling.any():
        return np.full(len(half), np.nan)
    log_ratio = np.log(half[is_telling] / sizes[is_telling])
    misfits = []
    for df in FREE:
        at_alpha = quantile(alpha, np.array(df))
        at_p = quantile(p[is_telling], np.full(int(is_telling.sum()), df))
        misfit = ((log_ratio - np.log(at_alpha / at_p)) ** 2).sum()
        misfits.append(float(misfit))
    best_df = FREE[int(np.argmin(misfits))]
    return np.asarray((half / quantile(alpha, np.array(best_df))) ** 2)


def dataset_group_numbers(
    measures: pl.DataFrame, dataset: str, measure: str
) -> Iterator[GroupNumbers]:
    """Yields the numbers of a dataset's groups, by the options of a measure and by bias type."""
    rows = measures.filter(pl.col("dataset") == dataset, pl.col("measure") == measure)
    table = group_effects(rows.drop_nulls("value"))
    parts = table.group_by("measure", "options", "bias_type", maintain_order=True)
    for (_, options, _), part in parts:
        groups = part["group"].unique(maintain_order=True).to_list()
        models = part["model"].unique(maintain_order=True).to_list()
        values, variances = np.full((2, len(models), len(groups)), np.nan)
        for row in part.iter_rows(named=True):
            place = models.index(row["model"]), groups.index(row["group"])
            values[place] = row["value"]
            if row["variance"] is not None:
                variances[place] = row["variance"]
        yield GroupNumbers((dataset, measure, str(options)), groups, models, values, variances)


def group_effects(rows: pl.DataFrame) -> pl.DataFrame:
    """Returns a number of each group, in the column `group`, from rows of one measure.

    Differences of two groups are averaged for each group. If there are none, numbers of single
    groups stay as they are.
    """
    pairs = rows.drop_nulls(GROUP_PAIR)
    if len(pairs):
        return mean_differences(pairs)
    columns = [*NUMBER_KEYS, "model", "bias_type", "value"]
    # Names stand for groups where a dataset has no numbers of groups of names.
    for key, _ in ASSOCIATIONS:
        single = rows.filter(is_about([key]))
        if len(single):
            break
    # Without a number of a single group there are no rows.
    return single.select(*columns, group=key, variance="variance")


def mean_differences(pairs: pl.DataFrame) -> pl.DataFrame:
    """Averages for each group its differences from all others, and their variances."""
    names = ["model", "bias_type", *NUMBER_KEYS]
    sides = []
    for group, sign in zip(GROUP_PAIR, (1, -1), strict=True):
        # The difference of the second group from the first has the opposite sign.
        signed = sign * pl.col("value")
        sides.append(pairs.select(*names, "variance", group=group, value=signed))
    groups = pl.concat(sides).group_by([*names, "group"], maintain_order=True)
    # Half of a difference's variance is about that of one of its groups.
    return groups.agg(pl.col("value").mean(), pl.col("variance").mean() / 2)


def correlation_row(
    one: GroupNumbers, other: GroupNumbers, alpha: float
) -> dict[str, object] | None:
    """Correlates two numbers over the groups that both have.

    Args:
        one: a number of one dataset.
        other: a number of another one.
        alpha: how often intervals miss.

    Returns:
        A row of `CONVERGENCE`; None if no model has enough groups in common.
    """
    sides = in_common(one, other)
    models, groups = sides[0].models, sides[0].groups
    if not models:
        return None
    has_both = ~np.isnan(sides[0].values) & ~np.isnan(sides[1].values)
    ranks = [ranks_within(np.where(has_both, side.values, np.nan)) for side in sides]
    reliabilities = [reliability(side.values, side.variances) for side in sides]
    value = within_model_correlation(*ranks)
    is_known = not np.isnan(value)
    low, high = group_correlation_interval(value, correlations_without_each(*ranks), alpha)
    ceiling = rank_correlation(float(np.sqrt(np.prod(reliabilities))), len(groups))
    row: dict[str, object] = dict(zip(NUMBER_KEYS, one.name, strict=True))
    for key, name in zip(NUMBER_KEYS, other.name, strict=True):
        row[f"other_{key}"] = name
    return row | {
        "value": value if is_known else None,
        "low": low,
        "high": high,
        "ceiling": None if np.isnan(ceiling) else ceiling,
        "corrected": value / ceiling if is_known and ceiling > 0 else None,
        "reason": None if is_known else NO_DIFFERENCES,
        "models": len(models),
        "groups": len(groups),
    }


def in_common(one: GroupNumbers, other: GroupNumbers) -> list[GroupNumbers]:
    """Returns two numbers of the same groups, for the models with enough of these in both.

    A group that both datasets have stays if a model lacks it in one of them: its value is NaN.

    Args:
        one: a number of one dataset.
        other: a number of another one.

    Returns:
        Both, with the same models and groups; without models if none has enough groups.
    """
    folded = dict.fromkeys(fold_name(name) for name in one.groups)
    other_groups = {fold_name(name) for name in other.groups}
    groups = [name for name in folded if name in other_groups]
    models = [name for name in one.models if name in other.models]
    sides = [numbers.select(models, groups) for numbers in (one, other)]
    has_both = ~np.isnan(sides[0].values) & ~np.isnan(sides[1].values)
    has_enough = has_both.sum(axis=1) >= FEWEST_GROUPS
    measured = [model for model, enough in zip(models, has_enough, strict=True) if enough]
    return [side.select(measured, groups) for side in sides]


def correlations_without_each(one: FloatArray, other: FloatArray) -> FloatArray:
    """Returns the correlation of ranks without each group in turn, shape (groups,).

    Args:
        one: ranks within models, shape (models, groups).
        other: the ranks by the other number, likewise.
    """
    correlations = []
    for group in range(one.shape[1]):
        sides = [np.delete(ranks, group, axis=1) for ranks in (one, other)]
        correlations.append(within_model_correlation(*sides))
    return np.array(correlations)


def ranks_within(values: FloatArray) -> FloatArray:
    """Returns the ranks of groups within models, those that are equal sharing theirs, NaN where
    there is no value.
    """
    smaller = np.nansum(values[:, None, :] < values[:, :, None], axis=2)
    equal = np.nansum(values[:, None, :] == values[:, :, None], axis=2)
    return np.where(np.isnan(values), np.nan, smaller + (equal + 1) / 2)


def within_model_correlation(one: FloatArray, other: FloatArray) -> float:
    """Returns the correlation of ranks within models, NaN where all ranks of one side are equal.

    Both have the shape (models, groups).
    """
    apart = [ranks - np.nanmean(ranks, axis=1, keepdims=True) for ranks in (one, other)]
    products = np.nansum(apart[0] * apart[1])
    squares = [np.nansum(deviations**2) for deviations in apart]
    return float(divide(products, np.sqrt(squares[0] * squares[1])))


def reliability(values: FloatArray, variances: FloatArray) -> float:
    """Returns the share of the variance of groups within models that is no noise.

    Args:
        values: shape (models, groups), NaN where there is none.
        variances: the noise of each, likewise.

    Returns:
        A share from 0 to 1; NaN if noise is not known, or if groups do not differ.
    """
    spread = np.nanmean(np.nanvar(values, axis=1, ddof=1))
    if np.isnan(variances).all() or not spread > 0:
        return float("nan")
    noise = float(np.nanmean(variances))
    return float(np.clip(1 - noise / spread, 0, 1))


def rank_correlation(correlation: float, groups: int) -> float:
    """Returns the mean of Spearman's correlation in samples of normal numbers with a correlation
    (Moran, 1948).
    """
    angles = np.arcsin(correlation) + (groups - 2) * np.arcsin(correlation / 2)
    return float(6 / (np.pi * (groups + 1)) * angles)


def group_correlation_interval(
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
