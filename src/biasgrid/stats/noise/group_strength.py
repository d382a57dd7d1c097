"""How large associations of groups of names are as a whole, without what clusters and names make of
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import VarianceSource, half_width
from biasgrid.stats.noise.by_cluster import FEWEST_OF_SIZE
from biasgrid.stats.noise.factors import over_names
from biasgrid.stats.noise.names import NAMES, PARTNERS, Deviations, groups_of_names, names_of_groups
from biasgrid.stats.noise.variance import jackknife
from biasgrid.stats.null import signed_root
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import FORMATS, TEMPLATES, Along, Sums

FEWEST_NAMES = 3
"""Without one of them two are left, which tell how much names differ."""
UNKNOWN = (
    "fewer than half of the associations of groups have two clusters, and two names of each group"
)


def strength_of_groups(sums: Sums) -> float:
    """Returns the signed root of the mean of value² less its variance over clusters, names and
    prompt formats.

    What a name has in one cluster alone is in both variances, so that the size is not too large.

    Args:
        sums: associations of groups, clustered.
    """
    return float(root_without_noise(sums.values, variances_of_groups(sums).sum(axis=0)))


def variance_over(factor: str, sums: Sums) -> FloatArray:
    """Returns the variance of associations of groups over a factor, NaN where it is not known.

    Over a single format it is 0.
    """
    if factor == NAMES:
        return names_of_groups(sums).variance
    if factor == TEMPLATES:
        variance, _ = jackknife(sums.without)
        return variance
    if FORMATS in sums.along:
        return over_names(sums, FORMATS).variance
    return np.zeros(len(sums.keys))


def variances_of_groups(sums: Sums, besides: str = "") -> FloatArray:
    """Returns variances over clusters, names and formats but one, shape (factors, numbers)."""
    factors = [factor for factor in (TEMPLATES, NAMES, FORMATS) if factor != besides]
    return np.stack([variance_over(factor, sums) for factor in factors])


def root_without_noise(values: FloatArray, variance: FloatArray) -> FloatArray:
    """Returns the signed root of the mean square without noise, NaN where no variance is known."""
    known = ~np.isnan(variance)
    if not known.any():
        return np.asarray(np.nan)
    squares = values[known] ** 2 - variance[known]
    return signed_root(squares.mean())


def strength_without_units(sums: Sums, factor: str) -> FloatArray:
    """Returns the strength without each cluster or format that any number has something of."""
    units, columns = sums.along[factor]
    other_variance = variances_of_groups(sums, besides=factor).sum(axis=0)
    is_present = sums.along[factor].present.any(axis=0)
    strengths = []
    for place in np.flatnonzero(is_present).tolist():
        other_units = [*units[:place], *units[place + 1 :]]
        without = Along(other_units, np.delete(columns, place, axis=1))
        rest = replace(sums, along={factor: without})
        variance = variance_over(factor, rest) + other_variance
        strengths.append(float(root_without_noise(rest.values, variance)))
    return np.array(strengths)


def strength_without_names(sums: Sums) -> tuple[FloatArray, list[int]]:
    """Returns the strength without each name, shape (names,), and the group of each."""
    names, groups = sums.along[NAMES].units, groups_of_names(sums)[NAMES]
    other_variance = variances_of_groups(sums, besides=NAMES).sum(axis=0)
    strengths = []
    for place in range(len(names)):
        # A name is the group's or a partner's, so a number has it on one side.
        totals = sums.totals
        along = dict(sums.along)
        for factor in (NAMES, PARTNERS):
            columns = sums.along[factor].sums.copy()
            totals = totals - columns[:, place]
            columns[:, place] = 0
            along[factor] = Along(names, columns)
        variance = other_variance + variance_over(NAMES, replace(sums, along=along))
        strengths.append(float(root_without_noise(sums.finish(totals), variance)))
    return np.array(strengths), groups.tolist()


def strength_row(sums: Sums, settings: StatisticsSettings) -> dict[str, Any]:
    """Returns a strength of groups with its interval.

    It is a jackknife over clusters, names and formats, three each at least.

    Noise that a name has in one cluster is in the variance over clusters and in that over names.
    The value and the lower end go by the sum of all, which is too large by that noise; the upper
    end by the largest one, which is not. As of strengths of single names it is at least that of the
    logarithm, as clusters that multiply make sizes skewed, where the size is told from 0.

    Args:
        sums: associations of groups, clustered.
        settings: the level.

    Returns:
        `n`, `left_out`, `clusters`, `value`, and either `low`, `high` and `method`, or `reason`.
    """
    variances = variances_of_groups(sums)
    known = ~np.isnan(variances.sum(axis=0))
    clusters = int(sums.along[TEMPLATES].present.any(axis=0).sum())
    row: dict[str, Any] = {
        "n": int(known.sum()),
        "left_out": int((~known).sum()),
        "clusters": clusters,
        "value": None,
    }
    if 2 * known.sum() < len(known):
        return row | {"reason": UNKNOWN}
    value = row["value"] = strength_of_groups(sums)
    names, groups = strength_without_names(sums)
    if clusters < FEWEST_OF_SIZE or min(map(groups.count, groups)) < FEWEST_NAMES:
        few = f"fewer than {FEWEST_OF_SIZE} clusters, or {FEWEST_NAMES} names of a group"
        return row | {"reason": few}
    # The strength without each unit, and the group of each unit.
    sides = [(strength_without_units(sums, TEMPLATES), [0] * clusters), (names, groups)]
    if FORMATS in sums.along:
        formats = strength_without_units(sums, FORMATS)
        if len(formats) < FEWEST_OF_SIZE:
            return row | {"reason": f"fewer than {FEWEST_OF_SIZE} prompt formats"}
        sides.append((formats, [0] * len(formats)))
    half = half_width([of_left_out(*side) for side in sides], settings.alpha)[0]
    if not half > 0:
        return row | {"reason": "the same without any one of its clusters and names"}
    # A size is not below 0, whatever is left of it without noise.
    high = max(float(root_without_noise(sums.values, variances.max(axis=0))) + half, 0.0)
    if value > half and all((without > 0).all() for without, _ in sides):
        of_logs = [of_left_out(np.log(without), groups) for without, groups in sides]
        high = max(high, value * np.exp(half_width(of_logs, settings.alpha)[0]))
    return row | {"low": float(value - half), "high": float(high), "method": "combined"}


def of_left_out(without: FloatArray, groups: Sequence[int]) -> VarianceSource:
    """Returns the jackknife variance of a number without each unit, shape (1,).

    Only units of the same group are alike.
    """
    group_of = np.array(groups)
    apart = Deviations.of(without[None], group_of)
    counts = np.array([np.count_nonzero(group_of == group) for group in group_of])
    variance = ((counts - 1) / counts * apart.values**2).sum(axis=1)
    return VarianceSource(variance, apart.df)
