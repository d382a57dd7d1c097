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
from biasgrid.stats.compare.names import OtherFactors, factor_variances
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
"""Marks by measure; measures without marks may be absent."""


class Pair(NamedTuple):
    """Two models that are compared: differences are numbers of `cell` - numbers of `other_cell`.

    Attributes:
        cell: the position of a cell among all.
        other_cell: the position of the cell whose numbers are subtracted.
        is_paired: whether the same clusters can be left out of both, see `share_clusters`.
        reason: why they may not be compared, None if they may.
    """

    cell: int
    other_cell: int
    is_paired: bool
    reason: str | None


@dataclass(frozen=True)
class Differences:
    """The differences of all pairs in the numbers of a kind; arrays of shape (pairs, numbers).

    Pairs are in the order of their list, numbers in the order of `kind.rows`.

    Attributes:
        kind: the kind.
        values: the differences, NaN if the two may not be compared or one has no such number.
        centre: the centres of their intervals: the differences, for shares those with two added
            clusters.
        limit: the largest possible size: 1 for shares, infinite if there is no limit.
        source: their variance over clusters.
        other_factors: their variance over other factors.
        clusters: the number of clusters behind each.
        p: p-values of no difference, NaN if there is no test.
        q: p corrected by false discovery rates: whole cells for all pairs of models, parts for all
            parts of one pair.
        holm: p corrected by Holm's method for the same tests.
        selected_interval: both ends of the intervals of significant results, NaN for others.
    """

    kind: HypothesisFamily
    values: FloatArray
    centre: FloatArray
    limit: FloatArray
    source: VarianceSource
    other_factors: OtherFactors
    clusters: IntArray
    p: FloatArray
    q: FloatArray
    holm: FloatArray
    selected_interval: tuple[FloatArray, FloatArray]

    @property
    def sources(self) -> list[VarianceSource]:
        """All variances, those over clusters first, each of shape (pairs x numbers,)."""
        return [flat_source(source) for source in (self.source, *self.other_factors.sources)]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of pairs, and the number of numbers of the kind."""
        pairs, numbers = self.values.shape
        return pairs, numbers


def flat_source(source: VarianceSource) -> VarianceSource:
    """Flattens variances of shape (pairs, numbers), pair after pair."""
    return VarianceSource(source.variance.ravel(), source.df.ravel())


def stack_sources(sources: Sequence[VarianceSource]) -> VarianceSource:
    """Stacks variances of several pairs, each of shape (numbers,), to shape (pairs, numbers)."""
    variance = np.stack([source.variance for source in sources])
    df = np.stack([source.df for source in sources])
    return VarianceSource(variance, df)


class PairDifference(NamedTuple):
    """The differences of one pair in the numbers of a kind; arrays of shape (numbers,).

    Attributes:
        values: the differences, NaN if the two may not be compared or one has no such number.
        centre: the centres of their intervals.
        limit: the largest possible size.
        source: their variance over clusters.
        p_floor: smaller p are raised to it; 0 if there is no floor, NaN counts as none.
        clusters: the number of clusters behind each.
    """

    values: FloatArray
    centre: FloatArray
    limit: FloatArray
    source: VarianceSource
    p_floor: FloatArray
    clusters: IntArray


def share_clusters(
    cell: ComparedCell, other_cell: ComparedCell, cluster_counts: Sequence[int]
) -> bool:
    """Whether two cells have the same clusters, so that each can be left out of both.

    Args:
        cell: a cell.
        other_cell: another one.
        cluster_counts: the number of clusters of each in `CellNumbersMatrix.without`.
    """
    if cell.templates is None or cell.templates != other_cell.templates:
        return False
    return cell.units == other_cell.units and len({*cluster_counts}) == 1


def model_differences(
    numbers: CellNumbersMatrix,
    kind: HypothesisFamily,
    pairs: Sequence[Pair],
    settings: StatisticsSettings,
) -> Differences:
    """Returns the differences of all pairs of models in the numbers of a kind.

    If both were asked the same templates, each cluster is left out of both (jackknife of the
    difference). Otherwise the variances of both add up, with the degrees of freedom of Welch and
    Satterthwaite. Shares are compared by `shares.estimate_share_differences`, so that no difference
    of two is exact or without a test. Variances over other factors are from
    `names.factor_variances`.

    Args:
        numbers: the numbers of all cells.
        kind: the kind.
        pairs: the pairs of models, at least one.
        settings: level, and how false discoveries are controlled.
    """
    keys = numbers.keys[kind.rows]
    over_cells = [over_clusters(without[kind.rows], keys, kind) for without in numbers.without]
    parts = [pair_difference(numbers, kind, pair, over_cells) for pair in pairs]
    values = np.stack([difference.values for difference in parts])
    centre = np.stack([difference.centre for difference in parts])
    limit = np.stack([difference.limit for difference in parts])
    p_floor = np.stack([difference.p_floor for difference in parts])
    clusters = np.stack([difference.clusters for difference in parts])
    source = stack_sources([difference.source for difference in parts])
    other_factors = other_variances(numbers, kind, pairs)
    sources = [source, *other_factors.sources]
    p = p_values(centre.ravel(), [flat_source(factor) for factor in sources]).reshape(centre.shape)
    # `fmax` ignores a NaN in `p_floor`; a p that is not known stays so.
    p = np.where(np.isnan(p), p, np.fmax(p, p_floor))
    q, familywise, low, high = np.full((4, *centre.shape), np.nan)
    for tests in tested_together(kind, len(pairs)):
        q[tests] = false_discovery_rates(p[tests], settings.fdr)
        familywise[tests] = holm(p[tests])
        own_sources = [
            VarianceSource(factor.variance[tests], factor.df[tests]) for factor in sources
        ]
        limits = -limit[tests], limit[tests]
        low[tests], high[tests] = selected_ends(
            centre[tests], q[tests], own_sources, limits, settings.alpha
        )
    return Differences(
        kind=kind,
        values=values,
        centre=centre,
        limit=limit,
        source=source,
        other_factors=other_factors,
        clusters=clusters,
        p=p,
        q=q,
        holm=familywise,
        selected_interval=(low, high),
    )


def tested_together(kind: HypothesisFamily, pair_count: int) -> list[Any]:
    """Returns indices of tests that are corrected together, in arrays of shape (pairs, numbers).

    All parts of a pair are tested together, or the single number of whole cells of all pairs.

    Args:
        kind: the kind of the numbers.
        pair_count: the number of pairs of models.
    """
    if kind.is_of_parts:
        return list(range(pair_count))
    return [(slice(None), 0)]


def pair_difference(
    numbers: CellNumbersMatrix,
    kind: HypothesisFamily,
    pair: Pair,
    over_cells: Sequence[tuple[VarianceSource, IntArray]],
) -> PairDifference:
    """Returns the differences of two models in the numbers of a kind.

    Args:
        numbers: the numbers of all cells.
        kind: the kind.
        pair: both models. If they may not be compared, all differences are NaN.
        over_cells: variances and numbers of clusters by cell, from `over_clusters`.
    """
    number_count = len(kind.rows)
    no_limit, no_floor = np.full(number_count, np.inf), np.zeros(number_count)
    if pair.reason is not None:
        unknown = np.full(number_count, np.nan)
        no_clusters = np.zeros(number_count, dtype=np.int64)
        no_source = VarianceSource(unknown, unknown)
        return PairDifference(unknown, unknown, no_limit, no_source, no_floor, no_clusters)
    values = numbers.values[pair.cell, kind.rows] - numbers.values[pair.other_cell, kind.rows]
    counts = pair_share_counts(numbers, kind, pair)
    if counts is not None:
        shares = estimate_share_differences(counts)
        centre = np.where(np.isnan(values), np.nan, shares.centre)
        # The model with fewer clusters decides.
        clusters = (counts[..., 1::2] > 0).sum(axis=1).min(axis=1)
        return PairDifference(
            values, centre, np.ones(number_count), shares.source, shares.sign_flip_p, clusters
        )
    if pair.is_paired:
        without = pair_jackknife_values(numbers, kind, pair)
        source, clusters = over_clusters(without, numbers.keys[kind.rows], kind)
    else:
        cell_source, cluster_count = over_cells[pair.cell]
        other_source, other_count = over_cells[pair.other_cell]
        source = welch_variance(cell_source, other_source)
        clusters = np.minimum(cluster_count, other_count)
    return PairDifference(values, values, no_limit, source, no_floor, clusters)


def other_variances(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, pairs: Sequence[Pair]
) -> OtherFactors:
    """Returns the variances of differences over other factors, each of shape (pairs, numbers).

    There are as many as the pair with most factors has. A pair with fewer has NaN in the last ones,
    because nothing is known of these variances.
    """
    names = numbers.keys[kind.rows]
    factors_of_pairs = [
        factor_variances(names, numbers.over_more[pair.cell], numbers.over_more[pair.other_cell])
        for pair in pairs
    ]
    most = max(factors_of_pairs, key=lambda factors: len(factors.sources))
    unknown = VarianceSource(np.full(len(names), np.nan), np.zeros(len(names)))
    sources = []
    for place in range(len(most.sources)):
        own = [
            factors.sources[place] if place < len(factors.sources) else unknown
            for factors in factors_of_pairs
        ]
        sources.append(stack_sources(own))
    return OtherFactors(sources, most.name)


def over_clusters(
    without: FloatArray, keys: pl.DataFrame, kind: HypothesisFamily
) -> tuple[VarianceSource, IntArray]:
    """Returns the variance of numbers over clusters, and their numbers of clusters.

    Args:
        without: shape (numbers, clusters), each number without each cluster, NaN if it has nothing
            of the cluster.
        keys: the key columns of the numbers, in the same order.
        kind: the kind of the numbers.
    """
    variance, clusters = jackknife(without)
    # A number without any jackknife value has as many clusters as its cell.
    clusters = np.where(clusters == 0, without.shape[1], clusters)
    if kind.is_moderated:
        is_counted = read_crossing(keys, without).counted
        source, _ = moderate_variances(variance, clusters.astype(np.float64), is_counted)
        return source, clusters
    # A number that is the same in all clusters, such as a rate of 1, is not exact for that.
    known_variance = np.where(variance > 0, variance, np.nan)
    return VarianceSource(known_variance, np.maximum(clusters - 1.0, 0)), clusters


def pair_share_counts(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, pair: Pair
) -> FloatArray | None:
    """Returns the counts behind the shares of a pair.

    Returns:
        Shape (numbers, clusters, 4): counted answers and cases of the cell, then of the other
        cell, as `estimate_share_differences` takes them. If models were not asked the same
        templates, the clusters of the cell come before those of the other one, in which it has
        no cases.
        None if a number of the kind is no share, or if there are no cases.
    """
    sides = []
    for place in (pair.cell, pair.other_cell):
        counts, clusters = numbers.shares[place], numbers.without[place].shape[1]
        has_number = ~np.isnan(numbers.values[place, kind.rows])
        if not counts.keys() >= {*kind.rows[has_number].tolist()}:
            return None
        nothing = np.zeros((clusters, 2))
        sides.append(np.stack([counts.get(row, nothing) for row in kind.rows.tolist()]))
    own_counts, other_counts = sides
    if not (own_counts.any() or other_counts.any()):
        return None
    if pair.is_paired:
        return np.concatenate([own_counts, other_counts], axis=2)
    own_counts = np.pad(own_counts, [(0, 0), (0, 0), (0, 2)])
    other_counts = np.pad(other_counts, [(0, 0), (0, 0), (2, 0)])
    return np.concatenate([own_counts, other_counts], axis=1)


def pair_jackknife_values(
    numbers: CellNumbersMatrix, kind: HypothesisFamily, pair: Pair
) -> FloatArray:
    """Returns the differences of a pair without each cluster, shape (numbers, clusters).

    A number that has nothing of a cluster, which the other model's number has, is the same without
    the cluster.
    """
    without, other_without = (
        numbers.without[place][kind.rows] for place in (pair.cell, pair.other_cell)
    )
    sides = []
    for own, opposite, place in (
        (without, other_without, pair.cell),
        (other_without, without, pair.other_cell),
    ):
        is_known = ~np.isnan(own).all(axis=1, keepdims=True)
        lacks_cluster = np.isnan(own) & ~np.isnan(opposite) & is_known
        full_values = numbers.values[place, kind.rows][:, None]
        sides.append(np.where(lacks_cluster, full_values, own))
    return sides[0] - sides[1]


def welch_variance(source: VarianceSource, other_source: VarianceSource) -> VarianceSource:
    """Returns the variance of a difference of independent numbers (Welch and Satterthwaite)."""
    variance = source.variance + other_source.variance
    with np.errstate(invalid="ignore", divide="ignore"):
        spread = source.variance**2 / source.df
        other_spread = other_source.variance**2 / other_source.df
        df = variance**2 / (spread + other_spread)
    return VarianceSource(variance, np.where((source.df > 0) & (other_source.df > 0), df, 0))


def comparison_rows(
    differences: Differences,
    numbers: CellNumbersMatrix,
    cells: Sequence[ComparedCell],
    pairs: Sequence[Pair],
    settings: StatisticsSettings,
    marks: MarksOfMeasures,
) -> pl.DataFrame:
    """Returns rows of `COMPARISONS` for the differences of a kind.

    All differences of whole cells are kept; of parts, the significant ones and the `PARTS_KEPT`
    largest of each pair.

    Args:
        differences: the differences of a kind.
        numbers: the numbers of all cells.
        cells: all cells.
        pairs: the pairs of models, in the order of `differences`.
        settings: the level.
        marks: the marks of the dataset's measures.

    Returns:
        The columns of `COMPARISONS` but `dataset`, NaN for null.
    """
    kind = differences.kind
    pair_of_row, number_of_row = ordered_rows(differences, numbers, pairs)
    # The columns are flat arrays of shape (pairs x numbers,).
    place = np.ravel_multi_index((pair_of_row, number_of_row), differences.shape)
    columns = {
        name: pl.Series(column[place])
        for name, column in difference_columns(differences, settings.alpha).items()
    }
    cell_positions = np.array([pair.cell for pair in pairs])[pair_of_row]
    other_positions = np.array([pair.other_cell for pair in pairs])[pair_of_row]
    rows = kind.rows[number_of_row]
    values = pl.Series(numbers.values[cell_positions, rows])
    other_values = pl.Series(numbers.values[other_positions, rows])
    names = numbers.keys[rows]
    ranges = original_marks(kind, names, marks)
    is_known = columns["difference"].is_not_nan()
    without_interval = columns["low"].is_nan().to_numpy()
    pairs_of_rows = [pairs[pair] for pair in pair_of_row.tolist()]
    models = pair_columns(differences, cells, pairs)[pair_of_row]
    texts = reasons(differences, numbers, cells, pairs_of_rows, number_of_row, without_interval)
    clusters = pl.Series(differences.clusters.ravel()[place])
    other_factors_name = pl.lit(differences.other_factors.name or None, pl.String)
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
        The positions of pairs, and the positions of numbers in the kind, both of shape (rows,).
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
        alpha: 1 - level of intervals.

    Returns:
        Arrays of shape (pairs x numbers,) by column, NaN if unknown. `se` and `df` are NaN over
        several factors, because no single standard error makes such an interval.
    """
    source, *_ = differences.sources
    p, limit = differences.p.ravel(), differences.limit.ravel()
    half = half_width(differences.sources, alpha)
    low, high = interval_ends(differences.centre.ravel(), half, (-limit, limit))
    # An interval that excludes 0 is read as a test that rejects it.
    low = np.where(p > alpha, np.minimum(low, 0), low)
    high = np.where(p > alpha, np.maximum(high, 0), high)
    is_over_several = bool(differences.other_factors.name)
    se = np.full(len(p), np.nan) if is_over_several else np.sqrt(source.variance)
    selected_low, selected_high = differences.selected_interval
    return {
        "difference": differences.values.ravel(),
        "low": low,
        "high": high,
        "selected_low": selected_low.ravel(),
        "selected_high": selected_high.ravel(),
        "se": se,
        "df": np.where(np.isnan(low) | is_over_several, np.nan, source.df),
        "p": p,
        "q": differences.q.ravel(),
        "holm": differences.holm.ravel(),
    }


def original_marks(
    kind: HypothesisFamily, keys: pl.DataFrame, marks: MarksOfMeasures
) -> list[Mark]:
    """Returns the marks that judge values of a kind, not intervals; see `Mark.original`.

    Args:
        kind: the kind of the numbers; parts have no marks.
        keys: the columns `ROW` of the numbers, all of one measure.
        marks: the marks of the dataset's measures.
    """
    if kind.is_of_parts or keys.is_empty():
        return []
    return [mark for mark in marks.get(keys["measure"][0], ()) if mark.original]


def value_letters(marks: Sequence[Mark], values: pl.Series) -> pl.Series:
    """Returns the letter of each value, null for a value outside of all marks."""
    return pl.Series([value_mark(marks, value) for value in values], dtype=pl.String)


def pair_columns(
    differences: Differences, cells: Sequence[ComparedCell], pairs: Sequence[Pair]
) -> pl.DataFrame:
    """Returns the columns of `COMPARISONS` about models, one row per pair.

    Args:
        differences: the differences of a kind.
        cells: the cells.
        pairs: the pairs of models.
    """
    asked_differently = [
        differences_in_asking([cells[pair.cell].how_asked, cells[pair.other_cell].how_asked])
        for pair in pairs
    ]
    return pl.DataFrame(
        {
            "model": [cells[pair.cell].model for pair in pairs],
            "other_model": [cells[pair.other_cell].model for pair in pairs],
            "paired": [pair.is_paired for pair in pairs],
            "tests": (~np.isnan(differences.values)).sum(axis=1),
            "asked_differently": pl.Series(asked_differently, dtype=pl.String),
        }
    )


def rows_to_keep(
    differences: Differences, numbers: CellNumbersMatrix, pairs: Sequence[Pair]
) -> BoolArray:
    """Whether differences become rows of the table, shape (pairs, numbers)."""
    if not differences.kind.is_of_parts:
        present = numbers.has_number[:, differences.kind.rows]
        has_either = [present[pair.cell] | present[pair.other_cell] for pair in pairs]
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
    row_pairs: Sequence[Pair],
    rows: IntArray,
    lacks_interval: BoolArray,
) -> pl.Series:
    """Returns why differences have no interval, null for those that have one.

    Args:
        differences: all differences of a kind.
        numbers: the numbers of all cells.
        cells: all cells.
        row_pairs: the pair of each row of the result.
        rows: the position of each row's number in the kind, shape (rows,).
        lacks_interval: whether each row has no interval, shape (rows,).
    """
    present = numbers.has_number[:, differences.kind.rows]
    texts: list[str | None] = [None] * len(rows)
    for place in np.flatnonzero(lacks_interval).tolist():
        pair, row = row_pairs[place], int(rows[place])
        lacking = [
            cells[side].model for side in (pair.cell, pair.other_cell) if not present[side, row]
        ]
        missing = f"{lacking[0]} has no such number" if lacking else NO_DIFFERENCE_INTERVAL
        texts[place] = pair.reason or missing
    return pl.Series(texts, dtype=pl.String)
