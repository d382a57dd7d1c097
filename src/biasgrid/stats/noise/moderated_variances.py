"""Moderated variances: those of few clusters borrow from similar numbers (Smyth, 2004; limma).

Variances may grow with the size of numbers (a trend), and clusters may multiply all numbers
alike (a gain).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import fdtrc, fdtri, polygamma, psi

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.sums import Finish, leave_one_out
from biasgrid.tables.key_columns import KEY_NAMED, KEYS, Aspect

FEWEST_VARIANCES = 10
"""With fewer variances no prior is known well enough."""


class Prior(NamedTuple):
    """The prior distribution of the variances of similar numbers.

    Attributes:
        df: how many degrees of freedom the prior is worth. 0: there is none; infinite: all numbers
            have the same variance.
        variance: the prior variance of a cluster's value; shape (numbers,) if there is a trend.
    """

    df: float
    variance: float | FloatArray


NO_PRIOR = Prior(0.0, float("nan"))


class Trend(NamedTuple):
    """How variances grow with the size of numbers.

    Attributes:
        logs: shape (numbers,), the expected `unbiased_logs`.
        parameters: the number of fitted parameters.
    """

    logs: FloatArray
    parameters: int


def unbiased_logs(variances: FloatArray, df: FloatArray) -> FloatArray:
    """Returns the logarithms of variances, corrected for their bias at few degrees of freedom."""
    return np.asarray(np.log(variances) - psi(df / 2) + np.log(df / 2))


def variance_prior(
    variances: FloatArray,
    df: FloatArray,
    counted: BoolArray | None = None,
    trend: Trend | None = None,
) -> Prior:
    """Estimates the prior of variances.

    Args:
        variances: shape (numbers,), s², of a cluster's value; a variance of 0 is not used.
        df: shape (numbers,), degrees of freedom: the number of clusters less 1.
        counted: shape (numbers,), False for numbers that mirror others: the same variance is no
            second evidence. None if all count.
        trend: how variances grow with numbers, see `noise.moderated_variances`; None if the same
        is expected of all.
    """
    usable = (variances > 0) & (df >= 1)
    if counted is not None:
        usable &= counted
    if np.count_nonzero(usable) < FEWEST_VARIANCES:
        return NO_PRIOR
    logs = unbiased_logs(variances[usable], df[usable])
    centre: float | FloatArray
    if trend is None:
        centre = float(logs.mean())
        squares, parameters = (logs - centre) ** 2, 1
    else:
        centre = trend.logs
        squares, parameters = (logs - trend.logs[usable]) ** 2, trend.parameters
    # Logarithms of variances spread by chance, too, the more the fewer their degrees of freedom.
    by_chance = polygamma(1, df[usable] / 2).mean()
    spread = squares.sum() / (len(logs) - parameters) - by_chance
    if spread <= 0:
        return Prior(float("inf"), np.exp(centre))
    strength = 2 * inverse_trigamma(float(spread))
    return Prior(strength, np.exp(centre + psi(strength / 2) - np.log(strength / 2)))


def inverse_trigamma(value: float) -> float:
    """Returns x with trigamma(x) = value, for a positive value, by Newton's method."""
    if value > 1e7:
        return float(value**-0.5)
    x = 0.5 + 1 / value
    for _ in range(100):
        trigamma = float(polygamma(1, x))
        step = trigamma * (1 - trigamma / value) / float(polygamma(2, x))
        x += step
        if abs(step) <= 1e-15 * x:
            break
    return x


def moderate_variances(
    variance: FloatArray,
    clusters: FloatArray,
    counted: BoolArray | None = None,
    trend: Trend | None = None,
) -> tuple[VarianceSource, Prior]:
    """Returns the moderated variances of numbers over clusters.

    Args:
        variance: shape (numbers,), jackknife variances.
        clusters: shape (numbers,), the number of clusters of each.
        counted: see `variance_prior`.
        trend: see `variance_prior`.

    Returns:
        The source, with variances NaN where nothing is known: one cluster alone, or no variance and
        no prior. And the prior.
    """
    df = np.maximum(clusters - 1.0, 0)
    own = clusters * variance
    prior = variance_prior(own, df, counted, trend)
    if prior.df == 0:
        strengthened = np.where(own > 0, own, np.nan)
    elif np.isinf(prior.df):
        strengthened = np.broadcast_to(prior.variance, own.shape)
    else:
        strengthened = (prior.df * prior.variance + df * own) / (prior.df + df)
    known = (clusters > 1) & ~np.isnan(own)
    of_mean = np.where(known, strengthened / np.maximum(clusters, 1), np.nan)
    return VarianceSource(of_mean, np.where(df > 0, prior.df + df, 0)), prior


FEWEST_FOR_TREND = 30
"""With fewer variances above 0 no trend is looked for."""
KNOTS = (0.5, 0.9)
"""Where the slope of a trend may change, as shares of the numbers in the order of their sizes."""
PARAMETERS = 2 + len(KNOTS)
LEAST_SIGNAL = 0.6
"""Sizes that are mostly noise tell nothing of the noise; from this share of signal on they do."""
TREND_LEVEL = 0.05


def fit_trend(
    *,
    cluster_variance: FloatArray,
    df: FloatArray,
    values: FloatArray,
    residual_cluster_variance: FloatArray,
    counted: BoolArray,
) -> Trend | None:
    """Fits how the logarithms of variances grow with the size of numbers.

    The trend is a line in the rank of the size whose slope may change at `KNOTS`. It is used only
    if it explains more than the mean of the logarithms, and if sizes are mostly signal: sizes that
    are noise are large where their variance is. Where the line would fall it is made flat.

    Args:
        cluster_variance: shape (numbers,), the variance of a cluster's value; NaN if unknown.
        df: shape (numbers,), its degrees of freedom.
        values: shape (numbers,), the numbers.
        residual_cluster_variance: shape (numbers,), the same without a gain.
        counted: shape (numbers,), False for numbers that mirror others.

    Returns:
        None if there is no such trend: then one prior is for all numbers.
    """
    usable = (cluster_variance > 0) & (df >= 1) & counted
    if np.count_nonzero(usable) < FEWEST_FOR_TREND:
        return None
    is_known = ~np.isnan(residual_cluster_variance) & (df >= 1) & counted
    noise = float((residual_cluster_variance[is_known] / (df[is_known] + 1)).mean())
    signal_share = 1 - noise / float((values[is_known] ** 2).mean())
    # Not `<`: the share is NaN if no residual is known.
    if not signal_share >= LEAST_SIGNAL:
        return None
    rank = share_below(np.abs(values))
    above_knots = [np.maximum(rank - knot, 0) for knot in KNOTS]
    design = np.stack([np.ones_like(rank), rank, *above_knots], axis=1)
    logs = unbiased_logs(cluster_variance[usable], df[usable])
    coefficients, *_ = np.linalg.lstsq(design[usable], logs, rcond=None)
    line = np.asarray(design @ coefficients)
    if not explains_more(line[usable], logs):
        return None
    order = np.argsort(rank, kind="stable")
    rising = np.empty_like(line)
    rising[order] = np.maximum.accumulate(line[order])
    # Raising parts of the line has moved its mean.
    shift = float((logs - rising[usable]).mean())
    return Trend(rising + shift, PARAMETERS)


def explains_more(line: FloatArray, logs: FloatArray) -> bool:
    """Whether a line explains logarithms of variances better than their mean, by an F test.

    Args:
        line: shape (variances,), the line at each of them.
        logs: shape (variances,), the logarithms.
    """
    rest = float(((logs - line) ** 2).sum())
    explained = float(((logs - logs.mean()) ** 2).sum()) - rest
    if not rest > 0:
        return False
    df, rest_df = PARAMETERS - 1, len(logs) - PARAMETERS
    f = explained / df / (rest / rest_df)
    return bool(fdtrc(df, rest_df, f) < TREND_LEVEL)


def share_below(sizes: FloatArray) -> FloatArray:
    """Ranks sizes, less a half, as a share of all; equal sizes have the mean of their ranks.

    Args:
        sizes: shape (numbers,).
    """
    _, place, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last_rank = np.cumsum(counts)
    mean_rank = last_rank - (counts - 1) / 2
    return np.asarray((mean_rank[place.reshape(-1)] - 0.5) / len(sizes))


ONE_IN_TWENTY = 0.95
"""A gain counts where clusters multiply by more than noise alone does in 19 of 20 cells."""
FEWEST_ROWS = 3
"""Two subjects mirror each other: they are a single list."""
MIRRORED = 1e-9
"""Mirrored numbers are made of the same sums: they differ by rounding alone, as a share of the
largest number.
"""


class Crossing(NamedTuple):
    """Which numbers of a kind share subjects or attributes; arrays of shape (numbers,).

    Attributes:
        row: the subject of each number, None if the numbers are a single list.
        column: the attribute of each number, 0 if the numbers have no attribute.
        counted: False for numbers that only repeat another one with the other sign, as one of two
            groups does.
    """

    row: IntArray | None
    column: IntArray
    counted: BoolArray


class Gain(NamedTuple):
    """How clusters multiply numbers; arrays of shape (numbers,), alike in each block of attributes.

    Attributes:
        factors: shape (numbers, clusters), by what each cluster multiplies; NaN outside of the
            block.
        ratio: how much these vary, against what noise makes of it; NaN where it cannot be said.
        residual_cluster_variance: the variance of a cluster's value that the factors do not
            explain; NaN for a number outside of all blocks.
        is_significant: whether the block of a number has a gain.
        source: the variance of the numbers that is due to the gain, 0 without one.
    """

    factors: FloatArray
    ratio: FloatArray
    residual_cluster_variance: FloatArray
    is_significant: BoolArray
    source: VarianceSource


def read_crossing(keys: pl.DataFrame, by_cluster: FloatArray) -> Crossing:
    """Reads from the keys of numbers which of them share subjects or attributes.

    Numbers of a subject and an attribute are crossed; numbers of groups, of two subjects or without
    attributes are a single list. Of two groups or two subjects that mirror each other, one is
    counted.

    Args:
        keys: see `Sums.keys`. A table of sums has all key columns: a key that is null in all rows
            is not used.
        by_cluster: shape (numbers, clusters), the value in each cluster, NaN where a number has
            none.
    """
    rows, columns = used_keys(keys, "who"), used_keys(keys, "what")
    column = dense_ranks(keys, columns)
    row = dense_ranks(keys, rows)
    row_count = int(row.max(initial=-1)) + 1
    counted = np.ones(len(keys), dtype=np.bool_)
    if row_count == 2 and is_mirrored(row, column, by_cluster):
        counted = row == 0
    is_single = len(rows) == 1 and KEY_NAMED[rows[0]].is_crossed
    is_crossed = bool(columns) and is_single and row_count >= FEWEST_ROWS
    return Crossing(row if is_crossed else None, column, counted)


def used_keys(keys: pl.DataFrame, aspect: Aspect) -> list[str]:
    """Returns the key columns of an aspect that are not null in all rows."""
    names = []
    for key in KEYS:
        is_of_aspect = key.aspect == aspect and key.name in keys.columns
        if is_of_aspect and keys[key.name].null_count() < len(keys):
            names.append(key.name)
    return names


def dense_ranks(keys: pl.DataFrame, names: list[str]) -> IntArray:
    """Ranks the keys of rows among the distinct ones, from 0 on, shape (rows,); 0 without names."""
    if not names:
        return np.zeros(len(keys), dtype=np.int64)
    ranks = keys.select(pl.struct(names).rank("dense")).to_series().to_numpy()
    return (ranks - 1).astype(np.int64)


def is_mirrored(row: IntArray, column: IntArray, by_cluster: FloatArray) -> bool:
    """Whether the numbers of two rows differ in nothing but their sign.

    Args:
        row: shape (numbers,), 0 or 1.
        column: shape (numbers,), see `Crossing`.
        by_cluster: shape (numbers, clusters), see `read_crossing`.
    """
    one, other = np.flatnonzero(row == 0), np.flatnonzero(row == 1)
    columns = np.sort(column[one])
    has_same_columns = np.array_equal(columns, np.sort(column[other]))
    if not has_same_columns or len(np.unique(columns)) != len(columns):
        return False
    first = by_cluster[one[np.argsort(column[one])]]
    second = by_cluster[other[np.argsort(column[other])]]
    # Numbers may all be tiny: a tolerance that is not relative to them would take any two rows for
    # mirrored.
    largest = np.nanmax(np.abs(by_cluster), initial=0)
    return bool(np.allclose(first, -second, rtol=0, atol=MIRRORED * largest, equal_nan=True))


def estimate_gain(sums: FloatArray, finish: Finish, crossing: Crossing) -> Gain:
    """Finds the factors by which clusters multiply numbers, in each block of attributes.

    A block has the attributes that are asked in the same clusters.

    With v the numbers and G those of a cluster, its factor is b = sum G v / sum v². The variance of
    b is compared with what the residuals G - v b make of it, of a subject's associations together
    where these are crossed, by an F test.

    Args:
        sums: shape (numbers, clusters, 2 or 4), sum and count, of differences those of both sides.
        finish: makes numbers of them, a mean or a difference of means.
        crossing: which numbers share subjects or attributes.
    """
    present = (sums != 0).any(axis=-1)
    values = finish(sums.sum(axis=1))
    by_cluster = np.where(present, finish(sums), np.nan)
    size = len(sums)
    blocks = attribute_blocks(present, crossing.column)
    block_numbers = range(blocks.max(initial=-1) + 1)
    factors = np.full(by_cluster.shape, np.nan)
    df = np.zeros(size)
    for block in block_numbers:
        inside = np.flatnonzero(blocks == block)
        clusters = present[inside].any(axis=0)
        own = by_cluster[inside][:, clusters]
        own_factors = cluster_factors(own, values[inside], crossing.counted[inside])
        factors[np.ix_(inside, clusters)] = own_factors
        df[inside] = clusters.sum() - 1
    residuals = by_cluster - values[:, None] * factors
    residual = residual_variance(sums, finish, values, factors)
    ratio, variance = np.full(size, np.nan), np.zeros(size)
    has_gain = np.zeros(size, dtype=np.bool_)
    for block in block_numbers:
        is_inside = blocks == block
        # Numbers that mirror others are no second evidence.
        telling = np.flatnonzero(is_inside & crossing.counted & ~np.isnan(residual))
        if len(telling) < FEWEST_VARIANCES:
            continue
        rows = None if crossing.row is None else crossing.row[telling]
        noise, noise_df = factor_noise(residuals[telling], values[telling], residual[telling], rows)
        block_factors = factors[telling[0]]
        spread = block_factors[~np.isnan(block_factors)].var(ddof=1)
        if not noise > 0:
            continue
        ratio[is_inside] = spread / noise
        block_df = df[telling[0]]
        if spread / noise > fdtri(block_df, block_df * noise_df, ONE_IN_TWENTY):
            has_gain[is_inside] = True
            clusters_of_numbers = present[is_inside].sum(axis=1)
            variance[is_inside] = values[is_inside] ** 2 * (spread - noise) / clusters_of_numbers
    return Gain(factors, ratio, residual, has_gain, VarianceSource(variance, df))


def attribute_blocks(present: BoolArray, column: IntArray) -> IntArray:
    """Returns the block of each number: attributes that are asked in the same clusters are one.

    Args:
        present: shape (numbers, clusters), which clusters a number has anything of.
        column: shape (numbers,), the attribute of each.

    Returns:
        Shape (numbers,), from 0 on; -1 where there are fewer than two clusters.
    """
    asked = np.zeros((column.max(initial=-1) + 1, present.shape[1]), dtype=np.bool_)
    np.logical_or.at(asked, column, present)
    patterns, pattern_of_column = np.unique(asked, axis=0, return_inverse=True)
    has_several = patterns.sum(axis=1) > 1
    block_of_pattern = np.where(has_several, np.cumsum(has_several) - 1, -1)
    block_of_column = block_of_pattern[pattern_of_column.reshape(-1)]
    return np.asarray(block_of_column[column])


def cluster_factors(by_cluster: FloatArray, values: FloatArray, counted: BoolArray) -> FloatArray:
    """Returns the factor of each cluster, shape (clusters,): least squares through 0.

    Args:
        by_cluster: shape (numbers, clusters), NaN where a number has nothing of a cluster.
        values: shape (numbers,), the numbers.
        counted: shape (numbers,), see `Crossing`.
    """
    known = ~np.isnan(by_cluster) & counted[:, None]
    weights = np.where(known, values[:, None], 0)
    products = (np.nan_to_num(by_cluster) * weights).sum(axis=0)
    return divide(products, (weights**2).sum(axis=0))


def residual_variance(
    sums: FloatArray, finish: Finish, values: FloatArray, factors: FloatArray
) -> FloatArray:
    """Returns the variance of a cluster's value without what its factor makes of it, shape
    (numbers,).

    It is the jackknife of the sums less counts times value times factor, so that clusters of
    unequal size count as in the number itself.
    """
    scaled = values[:, None] * np.nan_to_num(factors)
    rest = sums.copy()
    rest[..., 0] -= sums[..., 1] * scaled
    without = leave_one_out(rest, rest.sum(axis=1), finish.function)
    present = (sums != 0).any(axis=-1)
    variance, units = jackknife(np.where(present, without, np.nan))
    return np.where(np.isnan(factors).all(axis=1), np.nan, units * variance)


def factor_noise(
    residuals: FloatArray, values: FloatArray, residual: FloatArray, rows: IntArray | None
) -> tuple[float, int]:
    """Returns the variance that noise gives to the factors of a block, and its degrees of freedom.

    Args:
        residuals: shape (numbers, clusters), NaN where there is nothing.
        values: shape (numbers,).
        residual: shape (numbers,), the variance of a cluster's residual.
        rows: the subjects, whose associations share what a cluster does to the subject; None of a
            single list.
    """
    square = float((values**2).sum())
    if square == 0:
        return float("nan"), 0
    noise = float(residual.mean()) / square
    if rows is None:
        return noise, len(values) - 1
    df = int((~np.isnan(residuals).all(axis=0)).sum()) - 1
    subjects, place = np.unique(rows, return_inverse=True)
    weighted = np.zeros((len(subjects), residuals.shape[1]))
    np.add.at(weighted, place.reshape(-1), np.nan_to_num(residuals) * values[:, None])
    count = len(subjects)
    if count < 2:
        return max(noise, 0.0), count - 1
    correction = count / (count - 1)
    noise_of_subjects = correction * float((weighted**2).sum()) / (df * square**2)
    return max(noise, noise_of_subjects), count - 1
