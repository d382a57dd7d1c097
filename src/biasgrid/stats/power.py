"""Power: how large an effect must be to be found, and how many clusters or what share of a design
finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import stdtr, stdtrit

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import VarianceSource, half_width

POWER = 0.8
STEPS = 40
"""Of the bisection of a detectable effect, which begins within a few times its size."""
FINEST = 400
"""How many shares are tried to find the smallest that will do."""
MOST_CLUSTERS_TRIED = 1000
"""Nobody writes more templates to narrow an interval."""


def detectable_effect(sources: Sequence[VarianceSource], alpha: float) -> float:
    """Returns the size that is found in 80 % of all numbers of a kind, on average over these.

    That is g with a mean of P(t <= g / se - c) of 0.8, where c standard errors are half the width
    of an interval: noisy numbers need larger effects than others, so that no single standard error
    says it. Of several sources t has the degrees of freedom of Satterthwaite (1946).

    Args:
        sources: what makes the numbers vary, arrays of shape (numbers,); NaN where that is not
            known.
        alpha: from what p on a number is found.

    Returns:
        NaN where no variance is known.
    """
    variance = np.asarray(np.sum([source.variance for source in sources], axis=0))
    free = np.min([source.df for source in sources], axis=0)
    known = (variance > 0) & (free > 0) & (alpha > 0)
    if not known.any():
        return float("nan")
    own = [VarianceSource(source.variance[known], source.df[known]) for source in sources]
    errors, critical = np.sqrt(variance[known]), half_width(own, alpha)
    df = own[0].df if len(own) == 1 else satterthwaite_df(own)
    each = critical + errors * stdtrit(df, POWER)
    low, high = float(each.min()), float(each.max())
    for _ in range(STEPS):
        middle = (low + high) / 2
        if stdtr(df, (middle - critical) / errors).mean() < POWER:
            low = middle
        else:
            high = middle
    return high


def satterthwaite_df(sources: Sequence[VarianceSource]) -> FloatArray:
    """Returns the degrees of freedom of the sum of some variances (Satterthwaite, 1946), infinite
    where all have such.

    Args:
        sources: arrays of shape (numbers,).
    """
    whole = np.sum([source.variance for source in sources], axis=0)
    parts = np.asarray(np.sum([source.variance**2 / source.df for source in sources], axis=0))
    return np.where(parts > 0, whole**2 / np.where(parts > 0, parts, 1), np.inf)


class NoiseEstimate(NamedTuple):
    """What makes a number of a cell uncertain over templates.

    Attributes:
        between: variance of the number between clusters that are asked completely.
        within: variance of a unit (a swap group, a case) within a cluster.
        prior_df: what the prior of the variances is worth; see `noise.moderated_variances.Prior`.
        clusters: how many clusters the whole has.
        units: how many units of the whole the number is a mean of.
        spread: how large `between` is in each of several such numbers, as a share of its mean.
    """

    between: float
    within: float
    prior_df: float
    clusters: int
    units: float
    spread: Sequence[float] = (1.0,)


class Precision(NamedTuple):
    """The precision of a share of a design; NaN where nothing is known.

    Attributes:
        width: from the lower to the upper end of an interval.
        minimal_effect: see `detectable_effect`.
    """

    width: float
    minimal_effect: float


def precision_at(noise: NoiseEstimate, share: float, alpha: float) -> Precision:
    """Returns the precision of a number when a share of all is asked, spread evenly over clusters.

    The variance of the mean is that between the clusters that are asked, and that of the units of
    each, less as more of all units are asked: between / clusters + within (1 / asked - 1 / units),
    for sampling without replacement (Cochran, Sampling Techniques, 1977, section 2.6).

    Args:
        noise: what makes the number uncertain.
        share: which share is asked, above 0 and at most 1.
        alpha: 1 less the level of the interval.
    """
    asked = share * noise.units
    clusters = int(min(noise.clusters, asked + 1e-9))
    if clusters < 2:
        return Precision(float("nan"), float("nan"))
    of_sample = noise.within * (1 / asked - 1 / noise.units)
    free = noise.prior_df + clusters - 1
    source = VarianceSource(np.array([noise.between / clusters + of_sample]), np.array([free]))
    each = noise.between * np.asarray(noise.spread) / clusters + of_sample
    found = detectable_effect([VarianceSource(each, np.full(len(each), free))], alpha)
    return Precision(2 * float(half_width([source], alpha)[0]), found)


def share_for_width(noise: NoiseEstimate, width: float, alpha: float) -> float | None:
    """Returns the smallest share with intervals of at most a width, None where not even the whole
    has them.
    """
    shares = np.geomspace(1, min(1, 1 / noise.units), FINEST)
    smallest = None
    for share in shares:
        if not precision_at(noise, float(share), alpha).width <= width:
            break
        smallest = float(share)
    return smallest


def clusters_for_width(noise: NoiseEstimate, width: float, alpha: float) -> int | None:
    """Returns how many clusters like these have intervals of at most a width; None where a thousand
    do not.
    """
    for clusters in range(2, MOST_CLUSTERS_TRIED + 1):
        more = noise._replace(clusters=clusters, units=noise.units / noise.clusters * clusters)
        if precision_at(more, 1, alpha).width <= width:
            return clusters
    return None


def items_for_half_width(
    half: float, items_part: float, items: int, wanted: float, alpha: float
) -> int | None:
    """Returns how many items like these have intervals of at most half a width; None where more
    items do not do it.

    Args:
        half: half of the width that the interval has.
        items_part: the share of its square that is due to items; more of them do not change the
            rest.
        items: how many items there are.
        wanted: half of the wanted width.
        alpha: 1 less the level of the interval.
    """
    rest = wanted**2 - (1 - items_part) * half**2
    if items < 2 or rest <= 0:
        return None
    of_items = VarianceSource(np.array([1.0]), np.array([items - 1.0]))
    variance = items_part * half**2 / float(half_width([of_items], alpha)[0]) ** 2
    return clusters_for_width(
        NoiseEstimate(variance * items, 0.0, 0.0, items, items), 2 * float(np.sqrt(rest)), alpha
    )
