"""All models of a dataset against each other, and the models of one run against those of another."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.stats.cell import Settings
from biasgrid.stats.compare.agreement import agreement_of
from biasgrid.stats.compare.cells import Cell
from biasgrid.stats.compare.comparability import sets_of, why_not
from biasgrid.stats.compare.differences import Marks, Pair, differences_of, is_paired, table_of
from biasgrid.stats.compare.numbers import Numbers
from biasgrid.stats.compare.ranks import ranks_of
from biasgrid.tables.comparison import TABLES
from biasgrid.tables.files import empty_table

NO_MARKS: Marks = MappingProxyType({})


class Compared(NamedTuple):
    """What is found of models that are compared; tables of the schemas in `tables.comparison.TABLES`."""

    comparisons: pl.DataFrame
    ranks: pl.DataFrame
    agreement: pl.DataFrame


def compare_models(dataset: str, cells: Sequence[Cell], settings: Settings, marks: Marks = NO_MARKS) -> Compared:
    """Compares all models of a dataset, pair by pair.

    Args:
        dataset: its name.
        cells: the models' cells, in the order in which they are told.
        settings: level, and how false discoveries are controlled.
        marks: those of the dataset's measures.
    """
    return compare(dataset, cells, list(combinations(range(len(cells)), 2)), settings, marks)


def compare_runs(
    dataset: str, ones: Sequence[Cell], others: Sequence[Cell], settings: Settings, marks: Marks = NO_MARKS
) -> pl.DataFrame:
    """Compares the models of a run with the same ones of another, however both were scored.

    Args:
        dataset: its name.
        ones: the cells of one run.
        others: those of the other, in the same order.
        settings: level, and how false discoveries are controlled.
        marks: those of the dataset's measures, by which both are judged.

    Returns:
        Rows of `COMPARISONS`: those of the other run are taken from those of the one.
    """
    pairs = [(place, len(ones) + place) for place in range(len(ones))]
    return compare(dataset, [*ones, *others], pairs, settings, marks, scored_alike=False).comparisons


def compare(
    dataset: str, cells: Sequence[Cell], places: Sequence[tuple[int, int]], settings: Settings, marks: Marks, *,
    scored_alike: bool = True,
) -> Compared:  # fmt: skip
    """Compares cells with each other.

    Args:
        dataset: the name of their dataset.
        cells: the cells.
        places: the pairs that are compared.
        settings: level, and how false discoveries are controlled.
        marks: those of the dataset's measures.
        scored_alike: whether only cells are compared that were scored in one way.
    """
    numbers = Numbers.of(cells)
    pairs, comparable = [], np.diag([not cell.numbers.is_empty() for cell in cells])
    for one, other in places:
        reason = why_not(numbers, cells, one, other, scored_alike=scored_alike)
        clusters = [numbers.without[place].shape[1] for place in (one, other)]
        pairs.append(Pair(one, other, is_paired(cells[one], cells[other], clusters), reason))
        comparable[[one, other], [other, one]] = reason is None
    sets = sets_of(comparable)
    tables: dict[str, list[pl.DataFrame]] = {name: [] for name in TABLES}
    for kind in numbers.kinds if pairs else ():
        found = differences_of(numbers, kind, pairs, settings)
        tables["comparisons"].append(table_of(found, numbers, cells, pairs, settings, marks))
        tables["ranks"].extend(ranks_of(found, numbers, cells, pairs, sets, settings))
        tables["agreement"].extend(agreement_of(kind, numbers, cells, pairs, settings))
    return Compared(*(fitted(each, name, dataset) for name, each in tables.items()))


def fitted(tables: Iterable[pl.DataFrame], name: str, dataset: str) -> pl.DataFrame:
    """Returns tables below each other in the columns and types of a schema, NaN as null."""
    empty = empty_table(TABLES[name])
    rows = pl.concat(
        [empty, *(table.with_columns(dataset=pl.lit(dataset)) for table in tables)], how="diagonal_relaxed"
    )
    return rows.cast(empty.schema).select(empty.columns).with_columns(pl.col(pl.Float64).fill_nan(None))
