"""Clusters that multiply all numbers alike: a template in which all associations are half as large,
or twice.

Such a gain is one unknown that all numbers of a cell share. It makes the largest ones vary most,
which variances that borrow from each other do not see.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl
from scipy.special import fdtri

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.stats.intervals import VarianceSource
from biasgrid.stats.noise.variance import FEWEST_VARIANCES, jackknife
from biasgrid.stats.sums import Finish, leave_one_out
from biasgrid.tables.key_columns import KEY_NAMED, KEYS, Aspect

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
        residual: the variance of a cluster's value that the factors do not explain.
        found: whether there is a gain.
        source: the variance of the numbers that is due to it, 0 where there is none.
    """

    factors: FloatArray
    ratio: FloatArray
    residual: FloatArray
    found: BoolArray
    source: VarianceSource


def crossing_of(keys: pl.DataFrame, by_cluster: FloatArray) -> Crossing:
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
    column = places_of(keys, columns)
    row = places_of(keys, rows)
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


def places_of(keys: pl.DataFrame, names: list[str]) -> IntArray:
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
        by_cluster: shape (numbers, clusters), see `crossing_of`.
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


def gain_of(sums: FloatArray, finish: Finish, crossing: Crossing) -> Gain:
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
    blocks = blocks_of(present, crossing.column)
    block_numbers = range(blocks.max(initial=-1) + 1)
    factors = np.full(by_cluster.shape, np.nan)
    df = np.zeros(size)
    for block in block_numbers:
        inside = np.flatnonzero(blocks == block)
        clusters = present[inside].any(axis=0)
        own = by_cluster[inside][:, clusters]
        own_factors = factors_of(own, values[inside], crossing.counted[inside])
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
        noise, noise_df = noise_of_factors(
            residuals[telling], values[telling], residual[telling], rows
        )
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


def blocks_of(present: BoolArray, column: IntArray) -> IntArray:
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


def factors_of(by_cluster: FloatArray, values: FloatArray, counted: BoolArray) -> FloatArray:
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


def noise_of_factors(
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
