"""All models of a dataset against each other, and the models of one run against those of
another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.stats.compare.agreement import agreement_rows
from biasgrid.stats.compare.cells import CellNumbersMatrix, ComparedCell
from biasgrid.stats.compare.comparability import pairs_on_one_scale, reason_not_comparable
from biasgrid.stats.compare.differences import (
    MarksOfMeasures,
    Pair,
    comparison_rows,
    model_differences,
    share_clusters,
)
from biasgrid.stats.compare.how_asked import ACROSS
from biasgrid.stats.compare.ranks import rank_rows, ranked_number
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.tables.comparison import COMPARISON_TABLES
from biasgrid.tables.files import empty_table

NO_MARKS: MarksOfMeasures = MappingProxyType({})
NO_FAIR_VALUES: Mapping[str, float] = MappingProxyType({})


class ComparisonTables(NamedTuple):
    """The comparison of models: tables of the schemas in `tables.comparison.COMPARISON_TABLES`."""

    comparisons: pl.DataFrame
    ranks: pl.DataFrame
    agreement: pl.DataFrame


def compare_models(
    dataset: str,
    cells: Sequence[ComparedCell],
    settings: StatisticsSettings,
    marks: MarksOfMeasures = NO_MARKS,
    *,
    may_differ_in: Collection[str] = (),
    fair_values: Mapping[str, float] = NO_FAIR_VALUES,
) -> ComparisonTables:
    """Compares all models of a dataset, pair by pair.

    Args:
        dataset: its name.
        cells: the models' cells, in the order of the tables.
        settings: level, and how false discoveries are controlled.
        marks: the marks of the dataset's measures.
        may_differ_in: the facts in which compared models may differ, of `how_asked.ACROSS`.
        fair_values: the value of equal treatment by signed measure; models are ranked by their
            distance from it. Other measures are absent, and ranked by their values.
    """
    places = list(combinations(range(len(cells)), 2))
    return compare_cells(
        dataset,
        cells,
        places,
        settings,
        marks,
        may_differ_in=may_differ_in,
        fair_values=fair_values,
    )


def compare_runs(
    dataset: str,
    cells: Sequence[ComparedCell],
    other_cells: Sequence[ComparedCell],
    settings: StatisticsSettings,
    marks: MarksOfMeasures = NO_MARKS,
) -> pl.DataFrame:
    """Compares the models of a run with the same ones of another, however both were scored.

    Args:
        dataset: its name.
        cells: the cells of one run.
        other_cells: the cells of the same models in the other run, in the same order.
        settings: level, and how false discoveries are controlled.
        marks: the marks of the dataset's measures, for both runs.

    Returns:
        Rows of `COMPARISONS`: the values of the first run minus those of the other.
    """
    pairs = [(place, len(cells) + place) for place in range(len(cells))]
    return compare_cells(
        dataset, [*cells, *other_cells], pairs, settings, marks, may_differ_in=ACROSS
    ).comparisons


def compare_cells(
    dataset: str,
    cells: Sequence[ComparedCell],
    places: Sequence[tuple[int, int]],
    settings: StatisticsSettings,
    marks: MarksOfMeasures,
    *,
    may_differ_in: Collection[str],
    fair_values: Mapping[str, float] = NO_FAIR_VALUES,
) -> ComparisonTables:
    """Compares pairs of cells of one dataset.

    Args:
        dataset: the name of their dataset.
        cells: the cells.
        places: the positions of both cells of each pair; the second one is subtracted.
        settings: level, and how false discoveries are controlled.
        marks: the marks of the dataset's measures.
        may_differ_in: the facts in which compared cells may differ, of `how_asked.ACROSS`.
        fair_values: see `compare_models`.
    """
    numbers = CellNumbersMatrix.from_cells(cells)
    pairs = []
    # Pairs that are not in `places` are not comparable, so they are never ranked together.
    comparable = np.diag([not cell.numbers.is_empty() for cell in cells])
    for cell, other_cell in places:
        reason = reason_not_comparable(numbers, cells, cell, other_cell, may_differ_in)
        cluster_counts = [numbers.without[place].shape[1] for place in (cell, other_cell)]
        is_paired = share_clusters(cells[cell], cells[other_cell], cluster_counts)
        pairs.append(Pair(cell, other_cell, is_paired, reason))
        comparable[cell, other_cell] = comparable[other_cell, cell] = reason is None
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in COMPARISON_TABLES}
    for kind in numbers.kinds if pairs else ():
        measure = str(numbers.keys["measure"][int(kind.rows[0])])
        own_pairs, sets = pairs_on_one_scale(measure, cells, pairs, comparable)
        differences = model_differences(numbers, kind, own_pairs, settings)
        rows = comparison_rows(differences, numbers, cells, own_pairs, settings, marks)
        tables["comparisons"].append(rows)
        if not kind.is_of_parts:
            ranked = ranked_number(
                differences, numbers, own_pairs, fair_values.get(measure), settings
            )
            tables["ranks"].extend(rank_rows(ranked, numbers, cells, own_pairs, sets, settings))
        tables["agreement"].extend(agreement_rows(kind, numbers, cells, pairs, settings))
    return ComparisonTables(*(stack_tables(parts, name, dataset) for name, parts in tables.items()))


def stack_tables(tables: Iterable[pl.DataFrame], name: str, dataset: str) -> pl.DataFrame:
    """Stacks tables in the columns and types of `COMPARISON_TABLES[name]`, with NaN as null."""
    empty = empty_table(COMPARISON_TABLES[name])
    labelled_tables = [table.with_columns(dataset=pl.lit(dataset)) for table in tables]
    rows = pl.concat([empty, *labelled_tables], how="diagonal_relaxed")
    cast_rows = rows.cast(empty.schema).select(empty.columns)
    return cast_rows.with_columns(pl.col(pl.Float64).fill_nan(None))
