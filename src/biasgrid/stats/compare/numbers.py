"""The numbers of several cells side by side, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.stats.compare.cells import Cell
from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.statistics import ROW

OF_WHOLES = ("bias_type",)
"""Keys that numbers of whole cells may have."""
PARTS = [key for key in MEASURE_KEYS if key not in OF_WHOLES]


@dataclass(frozen=True)
class Kind:
    """Numbers that are tested together.

    Attributes:
        rows: shape (rows,), their places among all numbers.
        keys: which keys they have.
        is_of_parts: whether they are about parts of cells.
        is_moderated: whether their variances strengthen each other.
    """

    rows: IntArray
    keys: tuple[str, ...]
    is_of_parts: bool
    is_moderated: bool


@dataclass(frozen=True)
class Numbers:
    """The numbers of some cells.

    Attributes:
        names: what each number is: the columns `ROW`.
        kinds: which are tested together.
        values: shape (cells, numbers), NaN where a cell has no such number.
        without: of each cell, shape (numbers, clusters), the numbers without each cluster.
        asked: shape (cells, parts), which parts each cell has any number of.
    """

    names: pl.DataFrame
    kinds: Sequence[Kind]
    values: FloatArray
    without: Sequence[FloatArray]
    asked: BoolArray

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Numbers:
        """Puts the numbers of cells side by side."""
        # Numbers of the same name are moderated in all cells or in none.
        told = pl.concat([cell.numbers.select(*ROW, "moderated") for cell in cells])
        names = told.unique(ROW, keep="first", maintain_order=True).with_row_index("row")
        values, without = np.full((len(cells), len(names)), np.nan), []
        for cell, own in zip(cells, values, strict=True):
            placed = cell.numbers.join(names.drop("moderated"), on=ROW, nulls_equal=True, maintain_order="left")
            rows = placed["row"].to_numpy()
            own[rows] = placed["value"].to_numpy()
            lists = matrix_of(placed["without"])
            found = np.full((len(names), lists.shape[1]), np.nan)
            found[rows] = lists
            without.append(found)
        parts = names.filter(pl.Series(are_of_parts(names)))
        each = parts.select(MEASURE_KEYS).unique(maintain_order=True).with_row_index("part")
        placed = parts.join(each, on=MEASURE_KEYS, how="left", nulls_equal=True, maintain_order="left")
        part_of = placed["part"].to_numpy()
        asked = np.zeros((len(cells), len(each)), dtype=np.bool_)
        for own, there in zip(asked, ~np.isnan(values[:, parts["row"].to_numpy()]), strict=True):
            own[part_of[there]] = True
        return cls(names.select(ROW), kinds_of(names), values, without, asked)

    @property
    def there(self) -> BoolArray:
        """Which numbers each cell has, shape (cells, numbers)."""
        return ~np.isnan(self.values)


def matrix_of(lists: pl.Series) -> FloatArray:
    """Returns lists of one length as the rows of an array, null as NaN."""
    flat: FloatArray = lists.explode(empty_as_null=False).fill_null(np.nan).to_numpy()
    return flat.reshape(len(lists), len(flat) // max(len(lists), 1))


def are_of_parts(names: pl.DataFrame) -> BoolArray:
    """Says which numbers are about parts of cells."""
    found: BoolArray = names.select(pl.any_horizontal(pl.col(PARTS).is_not_null())).to_series().to_numpy()
    return found


def kinds_of(names: pl.DataFrame) -> list[Kind]:
    """Divides numbers into kinds: a measure of parts that have the same keys, or a single number of whole cells.

    Args:
        names: `row`, `moderated` and the columns `ROW`.
    """
    has = [pl.col(key).is_not_null().alias(f"has {key}") for key in MEASURE_KEYS]
    parts = pl.Series(are_of_parts(names))
    table = names.with_columns(*has, whole=pl.when(~parts).then("bias_type"))
    of_kind = ["measure", "options", "whole", *(f"has {key}" for key in MEASURE_KEYS)]
    kinds = []
    for _, rows in table.group_by(of_kind, maintain_order=True):
        keys = tuple(key for key in MEASURE_KEYS if rows[f"has {key}"][0])
        is_of_parts = bool({*keys} & {*PARTS})
        kinds.append(Kind(rows["row"].to_numpy().astype(np.int64), keys, is_of_parts, bool(rows["moderated"].all())))
    return kinds
