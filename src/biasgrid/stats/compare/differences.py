"""Differences of two models in all of their numbers, with intervals and tests over clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.stats.compare.cells import CellNumbersMatrix, ComparedCell, HypothesisFamily
from biasgrid.stats.compare.how_asked import differences_in_asking
from biasgrid.stats.compare.names import OtherFactors, other_factors
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends, p_values
from biasgrid.stats.multiplicity import SIGNIFICANT, false_discovery_rates, holm, selected_ends
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.noise.moderated_variances import moderate_variances, read_crossing
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.shares import estimate_share_differences
from biasgrid.tables.claims.marks import Mark, value_mark
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
        return [flat_source(source) for source in (self.source, *self.others.sources)]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of pairs, and of numbers of the kind."""
        pairs, numbers = self.values.shape
        return pairs, numbers


def flat_source(source: VarianceSource) -> VarianceSource:
    """Returns variances of shape (pairs, numbers) pair after pair."""
    return VarianceSource(source.variance.ravel(), source.df.ravel())


def stack_sources(sources: Sequence[VarianceSource]) -> VarianceSource:
    """Returns variances of several pairs, each of shape (numbers,), as one of all pairs."""
    variance = np.stack([source.variance for source in sources])
    df = np.stack([source.df for source in sources])
    return VarianceSource(variance, df)


class PairDifference(NamedTuple):
    """The differences of one pair in the numbers of a kind; arrays of shape (numbers,).

    Attributes:
        values: the differences, NaN where the two may not be compared.
        centre: see `Differences`, as for `limit`, `source` and `clusters`.
        limit: how large they may be in size.
        source: how much they vary with clusters.
        least_p: the least p that a test may have, 0 where there is none.
        clusters: over how many clusters they are.
    """

    values: FloatArray
    centre: FloatArray
    limit: FloatArray
    source: VarianceSource
    least_p: FloatArray
    clusters: IntArray


def is_paired(one: ComparedCell, other: ComparedCell, clusters: Sequence[int]) -> bool:
    """Says whether the clusters of two cells are the same, so that each can be left out of both."""
    if one.templates is None or one.templates != other.templates:
        return False
    return one.units == other.units and len({*clusters}) == 1


def model_differences(
    numbers: CellNumbersMatrix,
    kind: HypothesisFamily,
    pairs: Sequence[Pair],
    settings: StatisticsSettings,
) -> Differences:
    """Compares the models of each pair in the numbers of a kind, one less the other.

    The same cluster is left out of both where they were asked the same templates (jackknife of the
    difference). Else the variances of both add up, with the degrees of freedom of Welch and
    Satterthwaite. Shares are compared by `shares.estimate_share_differences`, so that no difference
    of two is exact or without a test. Numbers may vary with other factors as well, see
    `names.other_factors`.

    Args:
        numbers: the numbers of all cells.
        kind: which of them.
        pairs: the pairs of models, one at least.
        settings: how false discoveries are controlled.
    """
    keys = numbers.names[kind.rows]
    over_cells = [over_clusters(without[kind.rows], keys, kind) for without in numbers.without]
    compared = [pair_difference(numbers, kind, pair, over_cells) for pair in pairs]
    values = np.stack([difference.values for difference in compared])
    centre = np.stack([difference.centre for difference in compared])
    limit = np.stack([difference.limit for difference in compared])
    least_p = np.stack([difference.least_p for difference in compared])
    clusters = np.stack([difference.clusters for difference in compared])
    source = stack_sources([difference.source for difference in compared])
    others = other_variances(numbers, kind, pairs)
    sources = [source, *others.sources]
    p = p_values(centre.ravel(), [flat_source(factor) for factor in sources]).reshape(centre.shape)
    # `fmax` ignores a NaN in `least_p`; a p that is not known stays so.
    p = np.where(np.isnan(p), p, np.fmax(p, least_p))
    q, familywise, low, high = np.full((4, *centre.shape), np.nan)
    for tests in tested_together(kind, len(pairs)):
        q[tests] = false_discovery_rates(p[tests], settings.fdr)
        familywise[tests] = holm(p[tests])
        own_sources = [
            VarianceSource(factor.variance[tests], factor.df[tests]) for factor in sources
        ]
        within = -limit[tests], limit[tests]
        low[tests], high[tests] = selected_ends(
            centre[tests], q[tests], own_sources, within, settings.alpha
        )
    return Differences(
        kind=kind,
        values=values,
        centre=centre,
        limit=limit,
        source=source,
        others=others,
        clusters=clusters,
        p=p,
        q=q,
        holm=familywise,
        selected=(low, high),
    )


def tested_together(kind: HypothesisFamily, pairs: int) -> list[Any]:
    """Returns indices of tests that are corrected together, in arrays of shape (pairs, numbers).

    All parts of a pair are tested together, or the single number of whole cells of all pairs.

    Args:
        kind: the kind of the numbers.
        pairs: how many pairs of models there are.
    """
    if kind.is_of_parts:
        return list(range(pairs))
    return [(slice(None), 0)]


def pair_difference(
    numbers: CellNumbersMatrix,
    kind: HypothesisFamily,
    pair: Pair,
    over_cells: Sequence[tuple[VarianceSource, IntArray]],
) -> PairDifference:
    """Compares two models in the numbers of a kind, one less the other.

    Args:
        numbers: the numbers of all cells.
        kind: which of them.
        pair: both models.
        over_cells: how much the numbers of each cell vary with clusters, see `over_clusters`.
    """
    count = len(kind.rows)
    no_limit, no_least_p = np.full(count, np.inf), np.zeros(count)
    if pair.reason is not None:
        unknown = np.full(count, np.nan)
        no_clusters = np.zeros(count, dtype=np.int64)
        no_source = VarianceSource(unknown, unknown)
        return PairDifference(unknown, unknown, no_limit, no_source, no_least_p, no_clusters)
    values = numbers.values[pair.one, kind.rows] - numbers.values[pair.other, kind.rows]
    counts = pair_share_counts(numbers, kind, pair)
    if counts is not None:
        compared = estimate_share_differences(counts)
        centre = np.where(np.isnan(values), np.nan, compared.centre)
        # The group that fewer clusters ask decides.
        clusters = (counts[..., 1::2] > 0).sum(axis=1).min(axis=1)
        return PairDifference(
            values, centre, np.ones(count), compared.source, compared.sign_flip_p, clusters
        )
    if pair.paired:
        without = pair_jackknife_values(numbers, kind, pair)
        source, clusters = over_clusters(without, numbers.names[kind.rows], kind)
    else:
        one, count_of_one = over_cells[pair.one]
        other, count_of_other = over_cells[pair.other]
        source = welch_variance(one, other)
        clusters = np.minimum(count_of_one, count_of_other)
    return PairDifference(values, values, no_limit, source, no_least_p, clusters)


def other_variances(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, pairs: Sequence[Pair]
) -> OtherFactors:
    """Returns how the differences of a kind vary with other factors, shape (pairs, numbers)."""
    names = numbers.names[kind.rows]
    factors_of_pairs = [
        other_factors(names, numbers.over_more[pair.one], numbers.over_more[pair.other])
        for pair in pairs
    ]
    most = max(factors_of_pairs, key=lambda factors: len(factors.sources))
    # Pairs without a factor know nothing of its variance.
    unknown = VarianceSource(np.full(len(names), np.nan), np.zeros(len(names)))
    stacked = []
    for place in range(len(most.sources)):
        own = [
            factors.sources[place] if place < len(factors.sources) else unknown
            for factors in factors_of_pairs
        ]
        stacked.append(stack_sources(own))
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
        counted = read_crossing(keys, without).counted
        source, _ = moderate_variances(variance, clusters.astype(np.float64), counted)
        return source, clusters
    # A number that is the same in all clusters, as a rate of 1 may be, is not therefore exact.
    known_variance = np.where(variance > 0, variance, np.nan)
    return VarianceSource(known_variance, np.maximum(clusters - 1.0, 0)), clusters


def pair_share_counts(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, pair: Pair
) -> FloatArray | None:
    """Returns the counts behind the shares of a pair, None if a number of the kind is no share.

    Returns:
        Shape (numbers, clusters, 4), as `estimate_share_differences` takes it; where models were
        not asked the same templates the clusters of the one stand before those of the other.
    """
    sides = []
    for place in (pair.one, pair.other):
        counts, clusters = numbers.shares[place], numbers.without[place].shape[1]
        has_number = ~np.isnan(numbers.values[place, kind.rows])
        if not counts.keys() >= {*kind.rows[has_number].tolist()}:
            return None
        nothing = np.zeros((clusters, 2))
        sides.append(np.stack([counts.get(row, nothing) for row in kind.rows.tolist()]))
    one, other = sides
    if not (one.any() or other.any()):
        return None
    if pair.paired:
        return np.concatenate([one, other], axis=2)
    # Each model has clusters of its own, in which the other one counts nothing.
    one = np.pad(one, [(0, 0), (0, 0), (0, 2)])
    other = np.pad(other, [(0, 0), (0, 0), (2, 0)])
    return np.concatenate([one, other], axis=1)


def pair_jackknife_values(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, pair: Pair
) -> FloatArray:
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
    differences: Differences,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    settings: StatisticsSettings,
    marks: MarksOfMeasures,
) -> pl.DataFrame:
    """Returns rows of `COMPARISONS`.

    Numbers of whole cells are all kept, of parts the significant differences and the largest of
    each pair.

    Args:
        differences: the differences of a kind.
        numbers: the numbers of all cells.
        cells: the cells.
        pairs: the pairs of models.
        settings: the level.
        marks: those of the dataset's measures, which numbers of whole cells are judged by.
    """
    kind = differences.kind
    pair_of_row, number_of_row = ordered_rows(differences, numbers, pairs)
    # Differences of all pairs are arrays of shape (pairs, numbers), which are read flat.
    place = np.ravel_multi_index((pair_of_row, number_of_row), differences.shape)
    columns = {
        name: pl.Series(column[place])
        for name, column in difference_columns(differences, settings.alpha).items()
    }
    ones = np.array([pair.one for pair in pairs])[pair_of_row]
    others = np.array([pair.other for pair in pairs])[pair_of_row]
    rows = kind.rows[number_of_row]
    values = pl.Series(numbers.values[ones, rows])
    other_values = pl.Series(numbers.values[others, rows])
    names = numbers.names[rows]
    ranges = original_marks(kind, names, marks)
    is_known = columns["difference"].is_not_nan()
    without_interval = columns["low"].is_nan().to_numpy()
    pairs_of_rows = [pairs[pair] for pair in pair_of_row.tolist()]
    models = pair_columns(differences, cells, pairs)[pair_of_row]
    texts = reasons(differences, numbers, cells, pairs_of_rows, number_of_row, without_interval)
    clusters = pl.Series(differences.clusters.ravel()[place])
    other_factors_name = pl.lit(differences.others.name or None, pl.String)
    return pl.concat([names, models], how="horizontal").with_columns(
        value=values,
        other_value=other_values,
        mark=value_letters(ranges, values),
        other_mark=value_letters(ranges, other_values),
        **columns,
        clusters=pl.when(is_known).then(clusters),
        other_factors=pl.when(is_known).then(other_factors_name),
        paired=pl.when(is_known).then("paired"),
        reason=texts,
    )


def ordered_rows(
    differences: Differences, numbers: CellNumbersMatrix, pairs: Sequence[Pair]
) -> tuple[IntArray, IntArray]:
    """Returns pair and number of each row of a table: pair by pair, larger differences first.

    Args:
        differences: the differences of a kind.
        numbers: the numbers of all cells.
        pairs: the pairs of models.

    Returns:
        The places of pairs, and those of numbers in the kind, both of shape (rows,).
    """
    pair, number = np.nonzero(rows_to_keep(differences, numbers, pairs))
    values = differences.values[pair, number]
    # Differences that are not known come last.
    size = np.where(np.isnan(values), -1, np.abs(values))
    order = np.lexsort((number, -size, pair))
    return pair[order], number[order]


def difference_columns(differences: Differences, alpha: float) -> dict[str, FloatArray]:
    """Returns the columns of `COMPARISONS` about the differences of a kind, pair after pair.

    Args:
        differences: the differences of a kind.
        alpha: how often intervals miss.

    Returns:
        By name, shape (pairs x numbers,), NaN where something is not known. Over several factors
        no single standard error makes the interval, so `se` and `df` are NaN.
    """
    source, *_ = differences.sources
    p, limit = differences.p.ravel(), differences.limit.ravel()
    half = half_width(differences.sources, alpha)
    low, high = interval_ends(differences.centre.ravel(), half, (-limit, limit))
    # An interval that excludes 0 is read as a test that rejects it.
    low = np.where(p > alpha, np.minimum(low, 0), low)
    high = np.where(p > alpha, np.maximum(high, 0), high)
    has_others = bool(differences.others.name)
    se = np.full(len(p), np.nan) if has_others else np.sqrt(source.variance)
    selected_low, selected_high = differences.selected
    return {
        "difference": differences.values.ravel(),
        "low": low,
        "high": high,
        "selected_low": selected_low.ravel(),
        "selected_high": selected_high.ravel(),
        "se": se,
        "df": np.where(np.isnan(low) | has_others, np.nan, source.df),
        "p": p,
        "q": differences.q.ravel(),
        "holm": differences.holm.ravel(),
    }


def original_marks(
    kind: HypothesisFamily, names: pl.DataFrame, marks: MarksOfMeasures
) -> list[Mark]:
    """Returns the marks that are given to the values of a kind, not to their intervals.

    All other marks are those of intervals, which stand in the summary. Numbers of parts have no
    marks.

    Args:
        kind: the kind of the numbers.
        names: the columns `ROW` of numbers of one measure.
        marks: those of the dataset's measures.
    """
    if kind.is_of_parts or names.is_empty():
        return []
    return [mark for mark in marks.get(names["measure"][0], ()) if mark.original]


def value_letters(marks: Sequence[Mark], values: pl.Series) -> pl.Series:
    """Returns the letter of each value, null where it has none."""
    return pl.Series([value_mark(marks, value) for value in values], dtype=pl.String)


def pair_columns(
    differences: Differences, cells: Sequence[ComparedCell], pairs: Sequence[Pair]
) -> pl.DataFrame:
    """Returns the columns of `COMPARISONS` about models, a row for each pair.

    Args:
        differences: the differences of a kind.
        cells: the cells.
        pairs: the pairs of models.
    """
    asked_differently = [
        differences_in_asking([cells[pair.one].asked, cells[pair.other].asked]) for pair in pairs
    ]
    return pl.DataFrame(
        {
            "model": [cells[pair.one].model for pair in pairs],
            "other_model": [cells[pair.other].model for pair in pairs],
            "paired": [pair.paired for pair in pairs],
            "tests": (~np.isnan(differences.values)).sum(axis=1),
            "asked_differently": pl.Series(asked_differently, dtype=pl.String),
        }
    )


def rows_to_keep(
    differences: Differences, numbers: CellNumbersMatrix, pairs: Sequence[Pair]
) -> BoolArray:
    """Says which differences are kept one by one, shape (pairs, numbers)."""
    if not differences.kind.is_of_parts:
        present = numbers.has_number[:, differences.kind.rows]
        has_either = [present[pair.one] | present[pair.other] for pair in pairs]
        return np.array(has_either).reshape(differences.shape)
    size = np.where(np.isnan(differences.values), -1, np.abs(differences.values))
    largest_places = np.argsort(-size, axis=1, kind="stable")[:, :PARTS_KEPT]
    is_largest = np.zeros(size.shape, dtype=np.bool_)
    np.put_along_axis(is_largest, largest_places, values=True, axis=1)
    is_significant = differences.q <= SIGNIFICANT
    return (is_largest | is_significant) & (size >= 0)


def reasons(
    differences: Differences,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    rows: IntArray,
    unknown: BoolArray,
) -> pl.Series:
    """Says why some differences, or their intervals, are not known, null where they are.

    Args:
        differences: all differences of a kind.
        numbers: the numbers of all cells.
        cells: the cells.
        pairs: the pair of each row.
        rows: the places of their numbers in the kind, shape (rows,).
        unknown: whether they have no interval, shape (rows,).
    """
    present = numbers.has_number[:, differences.kind.rows]
    texts: list[str | None] = [None] * len(rows)
    for place in np.flatnonzero(unknown).tolist():
        pair, row = pairs[place], int(rows[place])
        lacking = [cells[side].model for side in (pair.one, pair.other) if not present[side, row]]
        missing = f"{lacking[0]} has no such number" if lacking else NO_DIFFERENCE_INTERVAL
        texts[place] = pair.reason or missing
    return pl.Series(texts, dtype=pl.String)
