"""Convergent validity: whether datasets of different families put the same groups of a model in the
same order.

Correlations are computed within models, over groups that both datasets have. Each is compared with
the correlation to expect of full agreement, given the noise of both datasets (Spearman, 1904): a
small correlation of unreliable numbers is no disagreement.
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
"""The reason if a dataset puts the groups in no order, so that there is no correlation."""
NUMBER_KEYS = ["dataset", "measure", "options"]
DEGREES_OF_FREEDOM = (
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
"""The degrees of freedom that are tried for intervals over several factors, see
`interval_variances`.
"""
SMALLEST_P, LARGEST_P = 1e-12, 0.9
"""A p nearer to 0 or 1 says nothing about degrees of freedom."""


class GroupNumbers(NamedTuple):
    """How models treat groups, by one measure of one dataset.

    Attributes:
        name: dataset, measure and options, in the order of `NUMBER_KEYS`.
        groups: the names of the groups.
        models: the names of the models.
        values: shape (models, groups), NaN if a model has no number of a group.
        variances: the same shape, the variances of these numbers, NaN if unknown.
    """

    name: tuple[str, str, str]
    groups: Sequence[str]
    models: Sequence[str]
    values: FloatArray
    variances: FloatArray

    def select(self, models: Sequence[str], folded_groups: Sequence[str]) -> GroupNumbers:
        """Returns the numbers of some models and groups, in the order of the arguments.

        Args:
            models: names of models, all of which must be here.
            folded_groups: names of groups, from `fold_name`, all of which must be here. They are
                the names in the result.
        """
        position = {fold_name(name): place for place, name in enumerate(self.groups)}
        rows = [self.models.index(model) for model in models]
        columns = [position[group] for group in folded_groups]
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
        measures: the measures of all cells that are measurable (schema `MEASURES`).
        datasets: for each dataset its family, and the measure that says how a model treats a group:
            differences of two groups, or numbers of one.
        level: the level of intervals, such as 0.95.
        intervals: the intervals of the same cells (schema `INTERVALS`), from which numbers with a
            control are taken, because the size of a control is no noise of a number. Without it
            their noise is unknown.

    Returns:
        Rows of `CONVERGENCE`, one for each pair of numbers of different families that have
        `FEWEST_GROUPS` groups in common in at least one model.
    """
    alpha = 1 - level
    is_compared = pl.lit(value=False)
    for dataset, (_, measure) in datasets.items():
        is_compared |= (pl.col("dataset") == dataset) & (pl.col("measure") == measure)
    own_numbers = against_zero(measures.filter(is_compared), intervals)
    with_noise = with_variances(own_numbers, alpha)
    numbers: list[GroupNumbers] = []
    for dataset, (_, measure) in datasets.items():
        numbers.extend(dataset_group_numbers(with_noise, dataset, measure))
    rows = []
    for number, other_number in combinations(numbers, 2):
        family, _ = datasets[number.name[0]]
        other_family, _ = datasets[other_number.name[0]]
        if family == other_family:
            continue
        row = correlation_row(number, other_number, alpha)
        if row is not None:
            rows.append(row)
    empty = empty_table(CONVERGENCE)
    return pl.concat([empty, pl.DataFrame(rows, schema=empty.schema)]) if rows else empty


def with_variances(measures: pl.DataFrame, alpha: float) -> pl.DataFrame:
    """Adds the column `variance`, null if it is unknown.

    It is the square of the standard error. An interval over several factors has no standard error;
    there it is estimated from interval and p.

    Args:
        measures: numbers with intervals and p against 0.
        alpha: 1 - level of the intervals.

    Returns:
        The rows grouped by model and `NUMBER_KEYS`, in the order of their first appearance.
    """
    numbers = measures.with_columns(variance=pl.col("se") ** 2)
    parts = []
    for _, rows in numbers.group_by("model", *NUMBER_KEYS, maintain_order=True):
        low, high, p = (
            rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy()
            for name in ("low", "high", "p")
        )
        estimates = pl.Series(interval_variances(low, high, p, alpha)).fill_nan(None)
        parts.append(rows.with_columns(variance=pl.coalesce("variance", estimates)))
    return pl.concat(parts) if parts else numbers


def interval_variances(
    low: FloatArray, high: FloatArray, p: FloatArray, alpha: float
) -> FloatArray:
    """Estimates the variances of numbers from intervals and p over several factors.

    Let h(alpha) be the half width of an interval at level 1 - alpha. The interval gives h(alpha),
    and p is the alpha at which h is the size of the number. h is nearly a t quantile times the
    standard error; its degrees of freedom are those at which both fit best over all numbers.

    Args:
        low: shape (numbers,), lower ends of intervals, NaN if there is none.
        high: upper ends, likewise.
        p: p-values against 0, NaN if there is none.
        alpha: 1 - level of the intervals.

    Returns:
        Shape (numbers,), NaN without an interval, and everywhere if no number has a p between
        `SMALLEST_P` and `LARGEST_P`.
    """
    half, sizes = (high - low) / 2, np.abs(high + low) / 2
    is_informative = (p > SMALLEST_P) & (p < LARGEST_P) & (sizes > 0) & (half > 0)
    if not is_informative.any():
        return np.full(len(half), np.nan)
    log_ratio = np.log(half[is_informative] / sizes[is_informative])
    misfits = []
    for df in DEGREES_OF_FREEDOM:
        at_alpha = quantile(alpha, np.array(df))
        at_p = quantile(p[is_informative], np.full(int(is_informative.sum()), df))
        misfit = ((log_ratio - np.log(at_alpha / at_p)) ** 2).sum()
        misfits.append(float(misfit))
    best_df = DEGREES_OF_FREEDOM[int(np.argmin(misfits))]
    return np.asarray((half / quantile(alpha, np.array(best_df))) ** 2)


def dataset_group_numbers(
    measures: pl.DataFrame, dataset: str, measure: str
) -> Iterator[GroupNumbers]:
    """Yields the numbers of a dataset's groups, one for each options of a measure and bias type.

    Args:
        measures: numbers with `variance`.
        dataset: the dataset.
        measure: the measure.
    """
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
    """Returns one number per group, in the column `group`, from rows of one measure.

    Differences of two groups are averaged for each group. If there are none, the numbers of single
    groups are returned or, in a dataset without groups of names, those of single names.
    """
    pairs = rows.drop_nulls(GROUP_PAIR)
    if len(pairs):
        return mean_differences(pairs)
    columns = [*NUMBER_KEYS, "model", "bias_type", "value"]
    for key, _ in ASSOCIATIONS:
        single = rows.filter(is_about([key]))
        if len(single):
            break
    return single.select(*columns, group=key, variance="variance")


def mean_differences(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns for each group the mean of its differences from all others, with its variance."""
    keys = ["model", "bias_type", *NUMBER_KEYS]
    sides = []
    for group, sign in zip(GROUP_PAIR, (1, -1), strict=True):
        # The difference of the second group from the first has the opposite sign.
        value = sign * pl.col("value")
        sides.append(pairs.select(*keys, "variance", group=group, value=value))
    groups = pl.concat(sides).group_by([*keys, "group"], maintain_order=True)
    # A difference has about twice the variance of one of its groups.
    return groups.agg(pl.col("value").mean(), pl.col("variance").mean() / 2)


def correlation_row(
    number: GroupNumbers, other_number: GroupNumbers, alpha: float
) -> dict[str, object] | None:
    """Correlates two numbers over the groups that both have.

    Args:
        number: a number of one dataset.
        other_number: a number of another one.
        alpha: 1 - level of the interval.

    Returns:
        A row of `CONVERGENCE`; None if no model has enough groups in common.
    """
    sides = common_numbers(number, other_number)
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
    row: dict[str, object] = dict(zip(NUMBER_KEYS, number.name, strict=True))
    for key, name in zip(NUMBER_KEYS, other_number.name, strict=True):
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


def common_numbers(number: GroupNumbers, other_number: GroupNumbers) -> list[GroupNumbers]:
    """Returns two numbers for the groups that both have, and the models with enough of them.

    A group that both datasets have stays if a model lacks it in one of them: its value is NaN.

    Args:
        number: a number of one dataset.
        other_number: a number of another one.

    Returns:
        Both, with the same models and groups in the same order. There are no models if none has
        `FEWEST_GROUPS` groups in both.
    """
    folded_groups = dict.fromkeys(fold_name(name) for name in number.groups)
    other_groups = {fold_name(name) for name in other_number.groups}
    groups = [name for name in folded_groups if name in other_groups]
    models = [name for name in number.models if name in other_number.models]
    sides = [side.select(models, groups) for side in (number, other_number)]
    has_both = ~np.isnan(sides[0].values) & ~np.isnan(sides[1].values)
    has_enough = has_both.sum(axis=1) >= FEWEST_GROUPS
    models_with_enough = [model for model, enough in zip(models, has_enough, strict=True) if enough]
    return [side.select(models_with_enough, groups) for side in sides]


def correlations_without_each(ranks: FloatArray, other_ranks: FloatArray) -> FloatArray:
    """Returns the correlation of ranks without each group in turn, shape (groups,).

    Args:
        ranks: ranks within models, shape (models, groups), from `ranks_within`.
        other_ranks: the ranks by the other number, likewise.
    """
    correlations = []
    for group in range(ranks.shape[1]):
        sides = [np.delete(side, group, axis=1) for side in (ranks, other_ranks)]
        correlations.append(within_model_correlation(*sides))
    return np.array(correlations)


def ranks_within(values: FloatArray) -> FloatArray:
    """Returns the ranks of groups within models; equal values have their mean rank.

    Args:
        values: shape (models, groups), NaN if there is no value.

    Returns:
        The same shape, NaN for NaN.
    """
    smaller = np.nansum(values[:, None, :] < values[:, :, None], axis=2)
    equal = np.nansum(values[:, None, :] == values[:, :, None], axis=2)
    return np.where(np.isnan(values), np.nan, smaller + (equal + 1) / 2)


def within_model_correlation(ranks: FloatArray, other_ranks: FloatArray) -> float:
    """Returns the correlation of ranks within models, pooled over models.

    Args:
        ranks: shape (models, groups), NaN for the same groups as in `other_ranks`.
        other_ranks: likewise.

    Returns:
        NaN if all ranks of one side are equal.
    """
    sides = (ranks, other_ranks)
    deviations = [side - np.nanmean(side, axis=1, keepdims=True) for side in sides]
    products = np.nansum(deviations[0] * deviations[1])
    squares = [np.nansum(side**2) for side in deviations]
    return float(divide(products, np.sqrt(squares[0] * squares[1])))


def reliability(values: FloatArray, variances: FloatArray) -> float:
    """Returns the share of the variance between groups within models that is not noise.

    Args:
        values: shape (models, groups), NaN if there is no value.
        variances: the variance of each value by noise, NaN if unknown.

    Returns:
        A share from 0 to 1; NaN if no variance is known, or if groups do not differ.
    """
    spread = np.nanmean(np.nanvar(values, axis=1, ddof=1))
    if np.isnan(variances).all() or not spread > 0:
        return float("nan")
    noise = float(np.nanmean(variances))
    return float(np.clip(1 - noise / spread, 0, 1))


def rank_correlation(correlation: float, groups: int) -> float:
    """Returns the expected Spearman correlation of normal numbers (Moran, 1948).

    Args:
        correlation: their Pearson correlation.
        groups: the size of the sample.
    """
    angles = np.arcsin(correlation) + (groups - 2) * np.arcsin(correlation / 2)
    return float(6 / (np.pi * (groups + 1)) * angles)


def group_correlation_interval(
    value: float, without: FloatArray, alpha: float
) -> tuple[float | None, float | None]:
    """Returns both ends of a correlation's interval over groups: jackknife of its artanh.

    Args:
        value: the correlation.
        without: the correlation without each group, shape (groups,).
        alpha: 1 - level of the interval.

    Returns:
        None twice if any of the correlations is 1, -1 or NaN.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        z, all_z = np.arctanh(value), np.arctanh(without)
    if not (np.isfinite(z) and np.isfinite(all_z).all()):
        return None, None
    variance, groups = jackknife(all_z[None])
    half = half_width([VarianceSource(variance, (groups - 1).astype(np.float64))], alpha)[0]
    return float(np.tanh(z - half)), float(np.tanh(z + half))
