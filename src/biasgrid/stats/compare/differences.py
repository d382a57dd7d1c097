"""Differences of two models in all of their numbers, with intervals and tests over clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.stats.compare.cells import CellNumbersMatrix, ComparedCell, HypothesisFamily
from biasgrid.stats.compare.how_asked import differences_in_asking
from biasgrid.stats.compare.names import OtherFactors, other_factors
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends, p_values
from biasgrid.stats.multiplicity import SIGNIFICANT, false_discovery_rates, holm, selected_ends
from biasgrid.stats.noise.gain import crossing_of
from biasgrid.stats.noise.variance import jackknife, moderate_variances
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.shares import difference_of_shares
from biasgrid.tables.claims.marks import Mark, mark_of
from biasgrid.tables.comparison import PARTS_KEPT

NO_DIFFERENCE_INTERVAL = (
    "no interval: there are too few clusters, nothing varies with them, or none is known "
    "of such numbers"
)
MarksOfMeasures = Mapping[str, Sequence[Mark]]
"""By measure, of those that have marks."""


class Pair(NamedTuple):
    """Two models that are compared.

    Attributes:
        one: the place of a cell.
        other: that of the cell which is taken from it.
        paired: whether both were asked the same templates.
        reason: why they may not be compared, None where they may.
    """

    one: int
    other: int
    paired: bool
    reason: str | None


@dataclass(frozen=True)
class Differences:
    """The differences of all pairs in the numbers of a kind; arrays of shape (pairs, numbers).

    Attributes:
        kind: the kind.
        values: the differences, NaN where two may not be compared.
        centre: around what their intervals lie: the differences or, of shares, these with two added
            clusters.
        limit: how large they may be in size: 1 of shares, infinite where nothing is known.
        source: how much they vary with clusters.
        others: how much they vary with other factors.
        clusters: over how many clusters they are.
        p: tests of them.
        q, holm: the same, corrected: of whole cells for all pairs of models, of parts for all
            parts, pair by pair.
        selected: both ends of the intervals of significant results.
    """

    kind: HypothesisFamily
    values: FloatArray
    centre: FloatArray
    limit: FloatArray
    source: VarianceSource
    others: OtherFactors
    clusters: IntArray
    p: FloatArray
    q: FloatArray
    holm: FloatArray
    selected: tuple[FloatArray, FloatArray]

    @property
    def sources(self) -> list[VarianceSource]:
        """All that they vary with, flat."""
        return [
            VarianceSource(each.variance.ravel(), each.df.ravel())
            for each in (self.source, *self.others.sources)
        ]


def is_paired(one: ComparedCell, other: ComparedCell, clusters: Sequence[int]) -> bool:
    """Says whether the clusters of two cells are the same, so that each can be left out of both."""
    is_alike = (
        one.templates is not None and one.templates == other.templates and one.units == other.units
    )
    return is_alike and len({*clusters}) == 1


def differences_of(
    numbers: CellNumbersMatrix,
    kind: HypothesisFamily,
    pairs: Sequence[Pair],
    settings: StatisticsSettings,
) -> Differences:
    """Takes the numbers of a kind of one model of each pair from those of the other.

    The same cluster is left out of both where they were asked the same templates (jackknife of the
    difference). Else the variances of both add up, with the degrees of freedom of Welch and
    Satterthwaite. Shares are compared by `shares.difference_of_shares`, so that no difference of
    two is exact or without a test. Numbers may vary with other factors as well, see
    `names.other_factors`.

    Args:
        numbers: the numbers of all cells.
        kind: which of them.
        pairs: the pairs of models.
        settings: how false discoveries are controlled.
    """
    keys = numbers.names[kind.rows]
    own = [over_clusters(each[kind.rows], keys, kind) for each in numbers.without]
    shape = len(pairs), len(kind.rows)
    values, centre, variance, df = (np.full(shape, np.nan) for _ in range(4))
    least_p, limit = np.zeros(shape), np.full(shape, np.inf)
    clusters = np.zeros(shape, dtype=np.int64)
    for place, pair in enumerate(pairs):
        if pair.reason is not None:
            continue
        values[place] = numbers.values[pair.one, kind.rows] - numbers.values[pair.other, kind.rows]
        centre[place] = values[place]
        columns = shares_of_pair(numbers, kind, pair)
        if columns is not None:
            compared, limit[place] = difference_of_shares(columns), 1
            source, least_p[place] = compared.source, compared.sign_flip_p
            centre[place] = np.where(np.isnan(values[place]), np.nan, compared.centre)
            clusters[place] = (columns[..., 1::2] > 0).sum(axis=1).min(axis=1)
        elif pair.paired:
            source, clusters[place] = over_clusters(
                without_of_pair(numbers, kind, pair), keys, kind
            )
        else:
            (one, of_one), (other, of_other) = own[pair.one], own[pair.other]
            source, clusters[place] = welch_variance(one, other), np.minimum(of_one, of_other)
        variance[place], df[place] = source
    source, others = VarianceSource(variance, df), others_of_kind(numbers, kind, pairs)
    sources = [source, *others.sources]
    p = p_values(
        centre.ravel(), [VarianceSource(*(each.ravel() for each in one)) for one in sources]
    ).reshape(shape)
    p = np.where(np.isnan(p), p, np.fmax(p, least_p))
    q, familywise, low, high = (np.full(shape, np.nan) for _ in range(4))
    # All parts of a pair are tested together, or all pairs.
    for tests in np.ndindex(len(pairs)) if kind.is_of_parts else [(slice(None), 0)]:
        q[tests], familywise[tests] = false_discovery_rates(p[tests], settings.fdr), holm(p[tests])
        own_sources = [VarianceSource(each.variance[tests], each.df[tests]) for each in sources]
        within = -limit[tests], limit[tests]
        low[tests], high[tests] = selected_ends(
            centre[tests], q[tests], own_sources, within, settings.alpha
        )
    return Differences(
        kind, values, centre, limit, source, others, clusters, p, q, familywise, (low, high)
    )


def others_of_kind(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, pairs: Sequence[Pair]
) -> OtherFactors:
    """Returns how the differences of a kind vary with other factors, shape (pairs, numbers)."""
    names = numbers.names[kind.rows]
    found = [
        other_factors(names, numbers.over_more[pair.one], numbers.over_more[pair.other])
        for pair in pairs
    ]
    most = max(found, key=lambda each: len(each.sources))
    nothing = VarianceSource(np.full(len(names), np.nan), np.zeros(len(names)))
    each = [[*own.sources, *[nothing] * (len(most.sources) - len(own.sources))] for own in found]
    stacked = [
        VarianceSource(*(np.stack([own[number][side] for own in each]) for side in (0, 1)))
        for number in range(len(most.sources))
    ]
    return OtherFactors(stacked, most.name)


def over_clusters(
    without: FloatArray, keys: pl.DataFrame, kind: HypothesisFamily
) -> tuple[VarianceSource, IntArray]:
    """Returns how much numbers vary with clusters, and how many clusters they have.

    Args:
        without: shape (numbers, clusters), each number without each cluster.
        keys: the key columns of the numbers.
        kind: the kind of the numbers.
    """
    variance, clusters = jackknife(without)
    # A number without any jackknife value has as many clusters as its cell.
    clusters = np.where(clusters == 0, without.shape[1], clusters)
    if kind.is_moderated:
        counted = crossing_of(keys, without).counted
        return moderate_variances(variance, clusters.astype(np.float64), counted)[0], clusters
    # A number that is the same in all clusters, as a rate of 1 may be, is not therefore exact.
    return VarianceSource(
        np.where(variance > 0, variance, np.nan), np.maximum(clusters - 1.0, 0)
    ), clusters


def shares_of_pair(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, pair: Pair
) -> FloatArray | None:
    """Returns what the shares of a pair count in each cluster, None where a number of the kind is
    no share.

    Returns:
        Shape (numbers, clusters, 4), as `difference_of_shares` takes it; where models were not
        asked the same templates the clusters of the one stand before those of the other.
    """
    sides = []
    for place in (pair.one, pair.other):
        known, clusters = numbers.shares[place], numbers.without[place].shape[1]
        if not known.keys() >= {*kind.rows[~np.isnan(numbers.values[place, kind.rows])].tolist()}:
            return None
        sides.append(
            np.stack([known.get(row, np.zeros((clusters, 2))) for row in kind.rows.tolist()])
        )
    if not any(side.any() for side in sides):
        return None
    if pair.paired:
        return np.concatenate(sides, axis=2)
    one, other = (
        np.pad(side, [(0, 0), (0, 0), ends])
        for side, ends in zip(sides, ((0, 2), (2, 0)), strict=True)
    )
    return np.concatenate([one, other], axis=1)


def without_of_pair(numbers: CellNumbersMatrix, kind: HypothesisFamily, pair: Pair) -> FloatArray:
    """Returns the differences of a pair without each cluster; what has nothing of a cluster is the
    same without it.
    """
    one, other = (numbers.without[place][kind.rows] for place in (pair.one, pair.other))
    sides = []
    for own, others, place in ((one, other, pair.one), (other, one, pair.other)):
        is_known = ~np.isnan(own).all(axis=1, keepdims=True)
        lacks = np.isnan(own) & ~np.isnan(others) & is_known
        sides.append(np.where(lacks, numbers.values[place, kind.rows][:, None], own))
    return sides[0] - sides[1]


def welch_variance(one: VarianceSource, other: VarianceSource) -> VarianceSource:
    """Returns the variance of the difference of what is not paired (Welch and Satterthwaite)."""
    variance = one.variance + other.variance
    with np.errstate(invalid="ignore", divide="ignore"):
        df = variance**2 / (one.variance**2 / one.df + other.variance**2 / other.df)
    return VarianceSource(variance, np.where((one.df > 0) & (other.df > 0), df, 0))


def comparison_rows(
    found: Differences,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    settings: StatisticsSettings,
    marks: MarksOfMeasures,
) -> pl.DataFrame:
    """Returns rows of `COMPARISONS`: of whole cells all, of parts the significant results and the
    largest of each pair.

    Args:
        found: the differences of a kind.
        numbers: the numbers of all cells.
        cells: the cells.
        pairs: the pairs of models.
        settings: the level.
        marks: those of the dataset's measures, which numbers of whole cells are judged by.
    """
    source = found.sources[0]
    flat, p = found.values.ravel(), found.p.ravel()
    limit = found.limit.ravel()
    low, high = interval_ends(
        found.centre.ravel(), half_width(found.sources, settings.alpha), (-limit, limit)
    )
    # An interval without 0 is a test that finds something.
    low, high = (
        np.where(p > settings.alpha, np.minimum(low, 0), low),
        np.where(p > settings.alpha, np.maximum(high, 0), high),
    )
    chosen, row = np.nonzero(rows_to_keep(found, numbers, pairs))
    place = chosen * len(found.kind.rows) + row
    size = np.where(np.isnan(flat[place]), -1, np.abs(flat[place]))
    order = np.lexsort((row, -size, chosen))
    chosen, row, place = chosen[order], row[order], place[order]
    columns = {
        "difference": flat,
        "low": low,
        "high": high,
        "selected_low": found.selected[0].ravel(),
        "selected_high": found.selected[1].ravel(),
        "se": np.sqrt(source.variance) * (np.nan if found.others.name else 1),
        "df": np.where(np.isnan(low) | bool(found.others.name), np.nan, source.df),
        "p": p,
        "q": found.q.ravel(),
        "holm": found.holm.ravel(),
    }
    sides = {
        side: pl.Series(
            numbers.values[
                np.array([getattr(pair, side) for pair in pairs])[chosen], found.kind.rows[row]
            ]
        )
        for side in ("one", "other")
    }
    known = pl.Series(~np.isnan(flat[place]))
    names = numbers.names[found.kind.rows[row]]
    declared = (
        () if found.kind.is_of_parts or names.is_empty() else marks.get(names["measure"][0], ())
    )
    # All other marks are those of intervals, which stand in the summary.
    ranges = [mark for mark in declared if mark.original]
    letters = {
        name: pl.Series([mark_of(ranges, value) for value in sides[side]], dtype=pl.String)
        for name, side in (("mark", "one"), ("other_mark", "other"))
    }
    asked = [
        differences_in_asking([cells[pair.one].asked, cells[pair.other].asked]) for pair in pairs
    ]
    of_pairs = pl.DataFrame(
        {
            "model": [cells[pair.one].model for pair in pairs],
            "other_model": [cells[pair.other].model for pair in pairs],
            "paired": [pair.paired for pair in pairs],
            "tests": (~np.isnan(found.values)).sum(axis=1),
            "asked_differently": pl.Series(asked, dtype=pl.String),
        }
    )
    return pl.concat([names, of_pairs[chosen]], how="horizontal").with_columns(
        value=sides["one"],
        other_value=sides["other"],
        **letters,
        **{name: pl.Series(each[place]) for name, each in columns.items()},
        clusters=pl.when(known).then(pl.Series(found.clusters.ravel()[place])),
        other_factors=pl.when(known).then(pl.lit(found.others.name or None, pl.String)),
        paired=pl.when(known).then("paired"),
        reason=reasons(
            found,
            numbers,
            cells,
            [pairs[each] for each in chosen.tolist()],
            row,
            np.isnan(low[place]),
        ),
    )


def rows_to_keep(
    found: Differences, numbers: CellNumbersMatrix, pairs: Sequence[Pair]
) -> BoolArray:
    """Says which differences are kept one by one, shape (pairs, numbers)."""
    if not found.kind.is_of_parts:
        present = numbers.has_number[:, found.kind.rows]
        return np.array([present[pair.one] | present[pair.other] for pair in pairs]).reshape(
            found.values.shape
        )
    size = np.where(np.isnan(found.values), -1, np.abs(found.values))
    largest = np.zeros(size.shape, dtype=np.bool_)
    np.put_along_axis(
        largest, np.argsort(-size, axis=1, kind="stable")[:, :PARTS_KEPT], values=True, axis=1
    )
    return (largest | (found.q <= SIGNIFICANT)) & (size >= 0)


def reasons(
    found: Differences,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    rows: IntArray,
    unknown: BoolArray,
) -> pl.Series:
    """Says why some differences, or their intervals, are not known, null where they are.

    Args:
        found: all differences.
        numbers: the numbers of all cells.
        cells: the cells.
        pairs: whose differences they are.
        rows: the places of their numbers in the kind.
        unknown: whether they have no interval.
    """
    present = numbers.has_number[:, found.kind.rows]
    texts: list[str | None] = [None] * len(rows)
    for place in np.flatnonzero(unknown).tolist():
        pair, row = pairs[place], int(rows[place])
        lacking = [cells[side].model for side in (pair.one, pair.other) if not present[side, row]]
        missing = f"{lacking[0]} has no such number" if lacking else NO_DIFFERENCE_INTERVAL
        texts[place] = pair.reason or missing
    return pl.Series(texts, dtype=pl.String)
