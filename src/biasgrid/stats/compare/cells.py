"""The cells that are compared: their numbers with and without each cluster, and the numbers that
are tested together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.base.references import load, stage_module
from biasgrid.stats.compare.how_asked import Asked, how_asked
from biasgrid.stats.compare.names import claims_over_more
from biasgrid.stats.noise.random_factors import SHARE_OF_TWO
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import MEAN, Sums, read_cell_sums
from biasgrid.tables.claims.facts import WITHHELD
from biasgrid.tables.files import REMEDY, TableError, empty_table, read_provenance, read_table
from biasgrid.tables.key_columns import KEYS, is_about_whole
from biasgrid.tables.measures import (
    DESIGN,
    INTERVALS,
    MEASURE_KEYS,
    MEASURE_PART_KEYS,
    MEASURES,
    ROW,
)
from biasgrid.tables.metric import HOW_ANSWERED, NOT_MEASURABLE
from biasgrid.tables.provenance import digest
from biasgrid.tables.sums import SUMS


class ComparedCell(NamedTuple):
    """The numbers of one model on a dataset.

    Attributes:
        model: its name.
        numbers: from `compared_numbers`; no rows if nothing was measured.
        how_asked: how it was asked, see `how_asked.how_asked`.
        templates: a digest of its templates, None if unknown.
        reliability: how well other clusters would repeat its numbers of subjects over all
            attributes, from 0 to 1; None if unknown.
        units: the names of clusters, items or prompts, in the order of the lists `without` in
            `numbers`.
        over_more: the sums of its numbers that are claims about other factors as well, see
            `names.claims_over_more`.
    """

    model: str
    numbers: pl.DataFrame
    how_asked: Asked = MappingProxyType({})
    templates: str | None = None
    reliability: float | None = None
    units: Sequence[str] = ()
    over_more: Sequence[Sums] = ()


def read_compared_cell(model: str, sums: Path, measures: Path, design: Path) -> ComparedCell:
    """Reads the tables of a cell.

    Withheld numbers are left out; if all claims of the cell are withheld, all numbers but those of
    how answers ended.

    Args:
        model: the model's name.
        sums: its table of sums, from which the numbers are computed.
        measures: its table of measures, whose provenance has the settings.
        design: its table of variances, which has the reliability.

    Raises:
        TableError: a table is damaged, or was not made together with the others.
    """
    facts = read_provenance(measures)
    if facts != read_provenance(design) or facts.get("sums") != digest(read_provenance(sums)):
        raise TableError(f"{measures}: not made with {design} or from {sums}; {REMEDY}")
    settings = StatisticsSettings(clusters=facts["clusters"], **facts["statistics"])
    cell = facts["cell"]
    parts, _ = read_cell_sums(cell["family"], read_table(sums, SUMS), cell["options"])
    numbers, units = compared_numbers(cell["family"], parts, cell["options"], settings)
    measures_table = read_table(measures, MEASURES)
    withheld = measures_table.filter(pl.col("reason").str.starts_with(NOT_MEASURABLE)).select(ROW)
    kept_numbers = numbers.join(
        withheld, on=list(ROW), how="anti", nulls_equal=True, maintain_order="left"
    )
    if facts.get(WITHHELD):
        # How answers ended was observed whatever they say.
        kept_numbers = kept_numbers.filter(pl.col("measure").is_in(HOW_ANSWERED))
    reliability = read_table(design, DESIGN).filter(name="subject_reliability")["value"].mean()
    compared_parts = [part.clustered(settings.clusters) for part in parts if part.compares_models]
    return ComparedCell(
        model,
        kept_numbers,
        how_asked(facts.get("predictions", {}), measures_table),
        facts.get("templates"),
        float(reliability) if isinstance(reliability, float) else None,
        units,
        claims_over_more(compared_parts),
    )


class LeftOutNumbers(NamedTuple):
    """Numbers of one measure, with and without each cluster.

    Attributes:
        rows: the columns `ROW`, `value` and `n`, perhaps others; one row per number.
        units: the names of the clusters.
        without: shape (numbers, clusters), each number without each cluster, NaN if it has nothing
            of it.
        is_moderated: whether variances borrow from others of their kind.
        share_counts: for shares, shape (numbers, clusters, 2), counted answers and cases; None for
            other numbers.
    """

    rows: pl.DataFrame
    units: Sequence[str]
    without: FloatArray
    is_moderated: bool = False
    share_counts: FloatArray | None = None

    @classmethod
    def from_sums(cls, part: Sums) -> LeftOutNumbers:
        """Leaves each unit of the first factor out of the numbers of some sums."""
        along = part.along[part.factor]
        return cls(
            part.keys.with_columns(value=pl.Series(part.values)),
            along.units,
            part.without,
            part.interval == "moderated t",
            along.sums[..., :2] if is_share_part(part) else None,
        )

    def table(self, cell_units: Sequence[str]) -> pl.DataFrame:
        """Returns the numbers as rows, see `compared_numbers`.

        Args:
            cell_units: all clusters of the cell, in the order of the lists in the table.
        """
        places = [cell_units.index(unit) for unit in self.units]
        without = np.full((len(self.without), len(cell_units)), np.nan)
        without[:, places] = self.without
        rows = self.rows.drop("left_out", "cases", "low", "high", strict=False).with_columns(
            without=list_series(without).list.eval(pl.element().fill_nan(None)),
            moderated=pl.lit(self.is_moderated),
        )
        if self.share_counts is None:
            return rows
        counts = np.zeros((len(self.share_counts), len(cell_units), 2))
        counts[:, places] = self.share_counts
        return rows.with_columns(shares=list_series(counts.reshape(len(counts), -1)))


def list_series(rows: FloatArray) -> pl.Series:
    """Returns the rows of an array of shape (rows, columns) as a series of lists."""
    return pl.Series(rows, dtype=pl.Array(pl.Float64, rows.shape[1])).arr.to_list()


def compared_numbers(
    family: str,
    parts: Sequence[Sums],
    measure_options: Mapping[str, Any],
    settings: StatisticsSettings,
) -> tuple[pl.DataFrame, list[str]]:
    """Returns the numbers by which models are compared.

    Args:
        family: the reference of the dataset's family.
        parts: the cell's sums, from `read_cell_sums`.
        measure_options: what decides the measures, see `Question`.
        settings: clusters.

    Returns:
        A table of `ROW`, `value`, `n`, `moderated` (whether variances borrow from others of their
        kind), `without` (a list of the number without each cluster, null if it has nothing of the
        cluster, all null if it is unknown), and for shares `shares` (a list of counted answers and
        cases, cluster after cluster, null for other numbers). And the names of the clusters, in the
        order of the lists.
    """
    numbers = [
        LeftOutNumbers.from_sums(part.clustered(settings.clusters))
        for part in parts
        if part.compares_models and not part.is_input
    ]
    derive = getattr(load(stage_module(family, "measures")), "jackknife_derived", None)
    if derive is not None:
        for measure, value, units, without in derive(parts, measure_options, settings):
            row = {"measure": [measure], "options": [""], "value": [value], "n": [0]}
            numbers.append(LeftOutNumbers(pl.DataFrame(row), units, without))
    names = sorted({unit for part in numbers for unit in part.units}, key=number_first)
    # A table without rows, so that all columns are there whatever was measured.
    lists_of_none = {name: pl.lit(None, pl.List(pl.Float64)) for name in ("without", "shares")}
    empty = empty_table(INTERVALS).select(*ROW, "value", "n")
    empty = empty.with_columns(moderated=pl.lit(None, pl.Boolean), **lists_of_none)
    tables = [empty, *(part.table(names) for part in numbers)]
    table = pl.concat(tables, how="diagonal_relaxed").with_columns(pl.col("value").fill_nan(None))
    return table.drop_nulls("value"), names


def is_share_part(part: Sums) -> bool:
    """Whether numbers are shares of cases, for which counts are compared."""
    return part.interval in ("effective Wilson", SHARE_OF_TWO) and part.finish.name == MEAN.name


def number_first(name: str) -> tuple[bool, int, str]:
    """Returns a sorting key: numeric names by their number, before all others."""
    return (False, int(name), "") if name.isdecimal() else (True, 0, name)


@dataclass(frozen=True)
class HypothesisFamily:
    """Numbers that are tested together.

    Attributes:
        rows: shape (rows,), their positions in `CellNumbersMatrix.keys`.
        keys: the names of the keys that all of them have.
        is_of_parts: whether they are about parts of cells.
        is_moderated: whether their variances strengthen each other.
    """

    rows: IntArray
    keys: tuple[str, ...]
    is_of_parts: bool
    is_moderated: bool


@dataclass(frozen=True)
class CellNumbersMatrix:
    """The numbers of some cells side by side.

    Attributes:
        keys: the columns `ROW` of each number.
        kinds: the numbers that are tested together.
        values: shape (cells, numbers), NaN if a cell has no such number.
        without: for each cell, shape (numbers, clusters), the numbers without each cluster; NaN if
            a number has nothing of the cluster.
        shares: for each cell, by the position of a number that is a share, shape (clusters, 2),
            counted answers and cases.
        over_more: for each cell, see `ComparedCell`.
        has_part: shape (cells, parts), whether a cell has any number of a part. Cells that differ
            here were asked unlike lists.
    """

    keys: pl.DataFrame
    kinds: Sequence[HypothesisFamily]
    values: FloatArray
    without: Sequence[FloatArray]
    shares: Sequence[Mapping[int, FloatArray]]
    over_more: Sequence[Sequence[Sums]]
    has_part: BoolArray

    @classmethod
    def from_cells(cls, cells: Sequence[ComparedCell]) -> CellNumbersMatrix:
        """Puts the numbers of cells side by side."""
        # Numbers with the same keys are moderated in all cells or in none.
        every_number = pl.concat([cell.numbers.select(*ROW, "moderated") for cell in cells])
        keys = every_number.unique(ROW, keep="first", maintain_order=True).with_row_index("row")
        values = np.full((len(cells), len(keys)), np.nan)
        without: list[FloatArray] = []
        shares: list[dict[int, FloatArray]] = []
        for cell, own_values in zip(cells, values, strict=True):
            own_numbers = cell.numbers.join(
                keys.drop("moderated"), on=ROW, nulls_equal=True, maintain_order="left"
            )
            rows = own_numbers["row"].to_numpy()
            own_values[rows] = own_numbers["value"].to_numpy()
            lists = list_matrix(own_numbers["without"])
            own_without = np.full((len(keys), lists.shape[1]), np.nan)
            own_without[rows] = lists
            without.append(own_without)
            share_rows = own_numbers.drop_nulls("shares").select("row", "shares").rows()
            shares.append({row: np.array(counts).reshape(-1, 2) for row, counts in share_rows})
        return cls(
            keys.select(ROW),
            hypothesis_families(keys),
            values,
            without,
            shares,
            [cell.over_more for cell in cells],
            measured_parts(keys, values),
        )

    @property
    def has_number(self) -> BoolArray:
        """Whether a cell has a number, shape (cells, numbers)."""
        return ~np.isnan(self.values)


def measured_parts(keys: pl.DataFrame, values: FloatArray) -> BoolArray:
    """Whether each cell has any number of each part, shape (cells, parts).

    Parts are distinct combinations of keys, in the order of their first appearance.

    Args:
        keys: `row` and the columns `ROW` of all numbers.
        values: shape (cells, numbers), NaN if a cell has no such number.
    """
    part_numbers = keys.filter(pl.Series(part_mask(keys)))
    parts = part_numbers.select(MEASURE_KEYS).unique(maintain_order=True).with_row_index("part")
    numbered = part_numbers.join(
        parts, on=MEASURE_KEYS, how="left", nulls_equal=True, maintain_order="left"
    )
    part_of = numbered["part"].to_numpy()
    has_number = ~np.isnan(values[:, part_numbers["row"].to_numpy()])
    has_part = np.zeros((len(values), len(parts)), dtype=np.bool_)
    for own_parts, own_numbers in zip(has_part, has_number, strict=True):
        own_parts[part_of[own_numbers]] = True
    return has_part


def list_matrix(lists: pl.Series) -> FloatArray:
    """Returns lists, all of one length, as the rows of an array, null as NaN."""
    flat: FloatArray = lists.explode(empty_as_null=False).fill_null(np.nan).to_numpy()
    return flat.reshape(len(lists), len(flat) // max(len(lists), 1))


def part_mask(keys: pl.DataFrame) -> BoolArray:
    """Whether each number is about a part of a cell, shape (numbers,)."""
    mask: BoolArray = keys.select(~is_about_whole()).to_series().to_numpy()
    return mask


def hypothesis_families(keys: pl.DataFrame) -> list[HypothesisFamily]:
    """Divides numbers into kinds, whose tests are corrected together.

    A kind is a measure of parts that have the same keys, or a single number of whole cells.

    Args:
        keys: `row`, `moderated` and the columns `ROW`.
    """
    has_key = {f"has {key}": pl.col(key).is_not_null() for key in MEASURE_KEYS}
    whole_keys = {}
    for key in KEYS:
        if not key.is_corrected_together:
            whole_keys[f"whole {key.name}"] = pl.when(is_about_whole()).then(key.name)
    table = keys.with_columns(**has_key, **whole_keys)
    families = []
    kind = ("measure", "options", *whole_keys, *has_key)
    for _, rows in table.group_by(kind, maintain_order=True):
        key_names = tuple(key for key in MEASURE_KEYS if rows[f"has {key}"][0])
        families.append(
            HypothesisFamily(
                rows=rows["row"].to_numpy().astype(np.int64),
                keys=key_names,
                is_of_parts=not set(MEASURE_PART_KEYS).isdisjoint(key_names),
                is_moderated=bool(rows["moderated"].all()),
            )
        )
    return families
