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
    is_paired,
    model_differences,
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
    across: Collection[str] = (),
    fair: Mapping[str, float] = NO_FAIR_VALUES,
) -> ComparisonTables:
    """Compares all models of a dataset, pair by pair.

    Args:
        dataset: its name.
        cells: the models' cells, in the order of the tables.
        settings: level, and how false discoveries are controlled.
        marks: those of the dataset's measures.
        across: in what models may differ that are compared, of `how_asked.ACROSS`.
        fair: the value of equal treatment of signed measures: models are ranked by how far they are
            from it.
    """
    places = list(combinations(range(len(cells)), 2))
    return compare_cells(dataset, cells, places, settings, marks, across, fair)


def compare_runs(
    dataset: str,
    ones: Sequence[ComparedCell],
    others: Sequence[ComparedCell],
    settings: StatisticsSettings,
    marks: MarksOfMeasures = NO_MARKS,
) -> pl.DataFrame:
    """Compares the models of a run with the same ones of another, however both were scored.

    Args:
        dataset: its name.
        ones: the cells of one run.
        others: those of the other, in the same order.
        settings: level, and how false discoveries are controlled.
        marks: those of the dataset's measures, for both runs.

    Returns:
        Rows of `COMPARISONS`: the values of the first run minus those of the other.
    """
    pairs = [(place, len(ones) + place) for place in range(len(ones))]
    return compare_cells(dataset, [*ones, *others], pairs, settings, marks, ACROSS).comparisons


def compare_cells(
    dataset: str,
    cells: Sequence[ComparedCell],
    places: Sequence[tuple[int, int]],
    settings: StatisticsSettings,
    marks: MarksOfMeasures,
    across: Collection[str],
    fair: Mapping[str, float] = NO_FAIR_VALUES,
) -> ComparisonTables:
    """Compares cells with each other.

    Args:
        dataset: the name of their dataset.
        cells: the cells.
        places: the pairs that are compared.
        settings: level, and how false discoveries are controlled.
        marks: those of the dataset's measures.
        across: in what cells may differ that are compared, of `how_asked.ACROSS`.
        fair: see `compare_models`.
    """
    numbers = CellNumbersMatrix.from_cells(cells)
    pairs = []
    # Pairs that are not listed, such as of two runs, are not comparable.
    comparable = np.diag([not cell.numbers.is_empty() for cell in cells])
    for one, other in places:
        reason = reason_not_comparable(numbers, cells, one, other, across)
        clusters = [numbers.without[place].shape[1] for place in (one, other)]
        paired = is_paired(cells[one], cells[other], clusters)
        pairs.append(Pair(one, other, paired, reason))
        comparable[one, other] = comparable[other, one] = reason is None
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in COMPARISON_TABLES}
    for kind in numbers.kinds if pairs else ():
        measure = str(numbers.names["measure"][int(kind.rows[0])])
        own_pairs, sets = pairs_on_one_scale(measure, cells, pairs, comparable)
        differences = model_differences(numbers, kind, own_pairs, settings)
        rows = comparison_rows(differences, numbers, cells, own_pairs, settings, marks)
        tables["comparisons"].append(rows)
        if not kind.is_of_parts:
            order = ranked_number(differences, numbers, own_pairs, fair.get(measure), settings)
            tables["ranks"].extend(rank_rows(order, numbers, cells, own_pairs, sets, settings))
        tables["agreement"].extend(agreement_rows(kind, numbers, cells, pairs, settings))
    return ComparisonTables(*(stack_tables(parts, name, dataset) for name, parts in tables.items()))


def stack_tables(tables: Iterable[pl.DataFrame], name: str, dataset: str) -> pl.DataFrame:
    """Returns tables below each other in the columns and types of a schema, NaN as null."""
    empty = empty_table(COMPARISON_TABLES[name])
    named = [table.with_columns(dataset=pl.lit(dataset)) for table in tables]
    rows = pl.concat([empty, *named], how="diagonal_relaxed")
    typed = rows.cast(empty.schema).select(empty.columns)
    return typed.with_columns(pl.col(pl.Float64).fill_nan(None))
