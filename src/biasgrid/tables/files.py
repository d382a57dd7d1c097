"""Writes and reads tables, and averages their columns by keys.

Every table is a Parquet file. It is validated when it is written and when it is read, is written to
a temporary name and renamed, and carries its provenance in the file's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandera.polars as pa
import polars as pl
import pyarrow
from pandera.errors import SchemaError, SchemaErrors
from pyarrow import parquet

from biasgrid.base.arrays import IntArray
from biasgrid.base.faults import UserError
from biasgrid.base.files import whole_file

PROVENANCE_KEY = "biasgrid"
OF = "of"
"""The fact of a table's provenance that names its dataset, model and shard, as its path does:
`DATASET/MODEL/SHARD`. Tables that belong to no dataset do not have it.
"""
REMEDY = "remove it and run again"
ROWS_A_GROUP = 2**17
"""Rows per row group of a file, the smallest unit that is read."""
NUMBERING_TYPES = (pl.UInt32, pl.UInt64)
"""The types of columns that number something, such as instances, or have digests. Most of them rise
from row to row.
"""
FLOATS = (pl.Float32, pl.Float64)
IN_MEMORY = pl.InMemoryEngine()
"""pandera asks polars twice a column; its usual engine, made for tables that do not fit into
memory, takes ten times as long for a question.
"""


class TableError(UserError):
    """A table that is not what its reader expects."""


def write_table(
    frame: pl.DataFrame, path: str | Path, schema: pa.DataFrameSchema, provenance: Mapping[str, Any]
) -> None:
    """Validates a table and writes it with its provenance, which must be JSON.

    A reader never sees a half-written file: after an error the old file, if any, is still there.

    Raises:
        TableError: the table does not fit its schema.
        UserError: the disk is full, or the system refuses to write for another reason.
    """
    validate_table(frame, schema, path)
    write_parts([frame], path, schema, provenance)


def write_table_in_parts(
    parts: Iterable[pl.DataFrame],
    path: str | Path,
    schema: pa.DataFrameSchema,
    provenance: Mapping[str, Any],
) -> None:
    """Writes a table of which only a few parts at a time are in memory; see `write_table`.

    Each part is validated by itself, so a check of whole columns, such as `Unique`, does not see
    repetitions in different parts.

    Args:
        parts: the rows, part by part, in the order of the table; without parts it has no rows.
        path: the file.
        schema: the schema of each part.
        provenance: the provenance of the table, as JSON.

    Raises:
        TableError: a part does not fit its schema.
        UserError: the disk is full, or the system refuses to write for another reason.
    """

    def validated_parts() -> Iterator[pl.DataFrame]:
        for part in parts:
            validate_table(part, schema, path)
            yield part

    write_parts(validated_parts(), path, schema, provenance)


def write_parts(
    parts: Iterable[pl.DataFrame],
    path: str | Path,
    schema: pa.DataFrameSchema,
    provenance: Mapping[str, Any],
) -> None:
    """Writes the parts of a table, without validating them; see `write_table_in_parts`."""
    empty = empty_table(schema)
    columns = arrow_table(empty).schema
    options = encodings(empty.schema)
    with (
        whole_file(path) as partial,
        partial.open("wb", buffering=0) as file,
        parquet.ParquetWriter(file, columns, **options) as writer,
    ):
        for part in parts:
            # A row group has the categories of its own rows. Without any, a whole table takes less
            # memory to write.
            has_categories = pl.Categorical in part.dtypes
            for rows in part.iter_slices(ROWS_A_GROUP) if has_categories else [part]:
                writer.write_table(arrow_table(rows), ROWS_A_GROUP)
        writer.add_key_value_metadata({PROVENANCE_KEY: json.dumps(provenance, sort_keys=True)})


def arrow_table(frame: pl.DataFrame) -> pyarrow.Table:
    """Returns a table for pyarrow, without a copy, in types that other readers of Parquet know."""
    return frame.to_arrow(compat_level=pl.CompatLevel.oldest())


def encodings(columns: Mapping[str, pl.DataType]) -> dict[str, Any]:
    """Returns the encodings of columns, as arguments of pyarrow's writer.

    Numberings are written as differences, which take no room if they rise evenly. Of all other
    columns but floats, of which few are equal, distinct values are written once per row group.

    Args:
        columns: names and types.
    """
    rising, dictionary_columns = [], []
    for name, dtype in columns.items():
        if dtype in NUMBERING_TYPES:
            rising.append(name)
            continue
        if isinstance(dtype, pl.List):
            # Parquet names the elements of a list, not the list.
            if dtype.inner not in FLOATS:
                dictionary_columns.append(f"{name}.list.element")
        elif dtype not in FLOATS:
            dictionary_columns.append(name)
    return {
        "compression": "zstd",
        "column_encoding": dict.fromkeys(rising, "DELTA_BINARY_PACKED"),
        "use_dictionary": dictionary_columns,
        # Statistics would help to skip row groups, but rows are always read by position.
        "write_statistics": False,
    }


def read_table(
    path: str | Path,
    schema: pa.DataFrameSchema,
    columns: Sequence[str] | None = None,
    *,
    anywhere: bool = False,
    rows: range | None = None,
) -> pl.DataFrame:
    """Reads a table, or some of its columns and rows, and validates what it read.

    Args:
        path: the file.
        schema: its schema.
        columns: the columns, all by default.
        anywhere: whether the file may lie elsewhere than where it was made, see `check_place`.
        rows: positions of consecutive rows, all by default. Only the row groups with these rows are
            read. The range may end beyond the table, which is then read to its end.

    Raises:
        TableError: the file is not readable as Parquet, was not made by biasgrid, is of another
            cell or does not fit its schema.
    """
    frame = read_unchecked(path, schema, columns, anywhere=anywhere, rows=rows)
    if columns is not None:
        schema = schema.select_columns(list(columns))
    validate_table(frame, schema, path, remedy=f"; {REMEDY}")
    return frame


def read_unchecked(
    path: str | Path,
    schema: pa.DataFrameSchema,
    columns: Sequence[str] | None = None,
    *,
    anywhere: bool = False,
    rows: range | None = None,
) -> pl.DataFrame:
    """Reads a table without validating it; see `read_table`."""
    read_facts(path, schema.name, anywhere=anywhere)
    table = pl.scan_parquet(path, glob=False)
    if columns is not None:
        table = table.select(columns)
    if rows is not None:
        table = table.slice(rows.start, len(rows))
    try:
        return table.collect()
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable_table(path, schema.name, error) from None


def read_tables(paths: Iterable[str | Path], schema: pa.DataFrameSchema) -> pl.DataFrame:
    """Reads tables of one schema, one below the other; without paths, a table without rows.

    Raises:
        TableError: see `read_table`.
    """
    tables = [(path, read_unchecked(path, schema)) for path in paths]
    empty = empty_table(schema)
    # A check takes half a millisecond a column, however few the rows. So all tables are checked at
    # once, and one by one only to name the one with a fault.
    with_empty = [empty, *(table for _, table in tables)]
    if all(table.schema == empty.schema for table in with_empty):
        together = pl.concat(with_empty)
        with suppress(TableError):
            validate_table(together, schema, "all together")
            return together
    # Tables may also fail together and pass one by one, such as if values are unique in each.
    for path, table in tables:
        validate_table(table, schema, path, remedy=f"; {REMEDY}")
    return pl.concat(with_empty)


def read_table_rows(path: str | Path, schema: pa.DataFrameSchema, rows: IntArray) -> pl.DataFrame:
    """Reads some rows of a table, and validates the row groups with them.

    It is not checked that the file lies in the place of its cell, see `check_place`.

    Args:
        path: the file.
        schema: its schema.
        rows: positions from 0, rising, none twice; shape (rows,).

    Raises:
        TableError: the file is not readable as Parquet, was not made by biasgrid, has no such rows
            or does not fit its schema.
    """
    group_of, place_in_group = np.divmod(rows, ROWS_A_GROUP)
    groups = np.unique(group_of)
    table = read_row_groups(path, schema, groups)
    # All row groups but the last one of the file are full.
    places = np.searchsorted(groups, group_of) * ROWS_A_GROUP + place_in_group
    if places.max(initial=-1) >= len(table):
        raise unreadable_table(path, schema.name, IndexError(f"no row {rows[-1]}"))
    return table if len(places) == len(table) else table[places]


def read_row_groups(path: str | Path, schema: pa.DataFrameSchema, groups: IntArray) -> pl.DataFrame:
    """Reads some row groups of a table, one below the other, and validates them.

    Args:
        path: the file. All of its row groups but the last one must have `ROWS_A_GROUP` rows.
        schema: its schema.
        groups: positions of row groups from 0, rising, none twice; shape (groups,).

    Raises:
        TableError: see `read_table_rows`.
    """
    read_facts(path, schema.name, anywhere=True)
    # Consecutive row groups are read at once.
    gaps = np.flatnonzero(np.diff(groups) > 1) + 1
    runs = [run for run in np.split(groups, gaps) if len(run)]
    table = pl.scan_parquet(path, glob=False)
    slices = [table.slice(run[0] * ROWS_A_GROUP, len(run) * ROWS_A_GROUP) for run in runs]
    try:
        parts = pl.collect_all(slices)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable_table(path, schema.name, error) from None
    rows = pl.concat(parts) if parts else empty_table(schema)
    validate_table(rows, schema, path, remedy=f"; {REMEDY}")
    return rows


class TablesInRows:
    """Tables of one schema, one below the other, of which some rows at a time are read.

    Attributes:
        row_count: the number of rows of all tables.
    """

    def __init__(self, paths: Sequence[str | Path], schema: pa.DataFrameSchema):
        """Reads the sizes of the files, of which there must be at least one.

        Raises:
            TableError: a file is not readable as Parquet, was not made by biasgrid, or is of
                another cell.
        """
        self.paths, self.schema = paths, schema
        for path in paths:
            read_facts(path, schema.name)
        self.ends = np.cumsum([count_rows(path) for path in paths])
        self.row_count = int(self.ends[-1])

    def read(
        self, start: int, row_count: int, columns: Sequence[str], *, check: bool
    ) -> pl.DataFrame:
        """Reads some columns of consecutive rows.

        Args:
            start: the position of the first row, from 0.
            row_count: the number of rows, at least 1. All must exist: fewer come back in silence.
            columns: the columns.
            check: whether they are validated.

        Raises:
            TableError: a file is not readable, or the rows do not fit its schema.
        """
        read = read_table if check else read_unchecked
        file_starts = [0, *self.ends[:-1]]
        end = start + row_count
        parts = []
        for path, file_start, file_end in zip(self.paths, file_starts, self.ends, strict=True):
            if end > file_start and start < file_end:
                # The range may end beyond this file: a slice stops there.
                own_rows = range(max(start - file_start, 0), end - file_start)
                parts.append(read(path, self.schema, columns, rows=own_rows))
        return pl.concat(parts)


def unreadable_table(path: str | Path, kind: str, error: Exception) -> TableError:
    """Returns the error of a file that cannot be read as a table."""
    return TableError(
        f"{path}: is not a readable {kind} table ({str(error).splitlines()[0]}); {REMEDY}"
    )


def validate_table(
    frame: pl.DataFrame, schema: pa.DataFrameSchema, path: str | Path, remedy: str = ""
) -> None:
    """Checks a table against its schema.

    Args:
        frame: the table.
        schema: the schema.
        path: the name of its file, for the message.
        remedy: the end of the message's first line, such as `; remove it and run again`.

    Raises:
        TableError: with all columns that do not fit, and the values that were expected.
    """
    try:
        with pl.Config(set_engine_affinity=IN_MEMORY):
            schema.validate(frame, lazy=True)
    except (SchemaError, SchemaErrors) as error:
        cases = getattr(error, "failure_cases", None)
        detail = str(cases) if cases is not None else str(error)
        raise TableError(
            f"{path}: does not fit the schema of {schema.name}{remedy}:\n{detail}"
        ) from None


def empty_table(schema: pa.DataFrameSchema) -> pl.DataFrame:
    """Returns a table of a schema without rows."""
    return pl.DataFrame(schema={name: column.dtype.type for name, column in schema.columns.items()})


def count_rows(path: str | Path) -> int:
    """Counts the rows of a table, from its metadata.

    Raises:
        TableError: the file is not readable as Parquet.
    """
    try:
        return int(pl.scan_parquet(path, glob=False).select(pl.len()).collect().item())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable_table(path, "biasgrid", error) from None


def read_column_types(path: str | Path, kind: str) -> dict[str, pl.DataType]:
    """Returns the names and types of a table's columns, in their order.

    Raises:
        TableError: the file is not readable as Parquet.
    """
    try:
        return dict(pl.scan_parquet(path, glob=False).collect_schema())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable_table(path, kind, error) from None


def read_provenance(path: str | Path, *, anywhere: bool = False) -> dict[str, Any]:
    """Returns the provenance that a table carries.

    Args:
        path: the table.
        anywhere: whether the file may lie elsewhere than where it was made; else see `check_place`.

    Raises:
        TableError: the file is not readable as Parquet, or carries no provenance, so it was not
            made by biasgrid; or it is of another cell, unless it may lie `anywhere`.
    """
    return read_facts(path, "biasgrid", anywhere=anywhere)


def read_facts(path: str | Path, kind: str, *, anywhere: bool = False) -> dict[str, Any]:
    """Returns the provenance of a table; see `read_provenance`.

    Args:
        path: the table.
        kind: the kind of table, for the message if it is not readable.
        anywhere: whether the file may lie elsewhere than where it was made; else see `check_place`.
    """
    try:
        metadata = pl.read_parquet_metadata(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable_table(path, kind, error) from None
    if PROVENANCE_KEY not in metadata:
        raise TableError(
            f"{path}: has no provenance; expected a table that biasgrid wrote; {REMEDY}"
        )
    facts: dict[str, Any] = json.loads(metadata[PROVENANCE_KEY])
    if not anywhere and OF in facts:
        check_place(Path(path), facts[OF])
    return facts


def check_place(path: Path, origin: str) -> None:
    """Refuses a table that lies in the place of another cell, dataset or shard.

    Args:
        path: the file: `DATASET/MODEL.parquet`, `DATASET/MODEL/SHARD.parquet` and the like, or for
            several tables of one cell a file of any name in a folder `DATASET/MODEL`.
        origin: the cell, dataset or shard in its provenance, such as `DATASET/MODEL`.

    Raises:
        TableError: with both, and what to do.
    """
    parts = path.absolute().with_suffix("").parts
    depth = origin.count("/") + 1
    place = "/".join(parts[-depth:])
    folder_place = "/".join(parts[-depth - 1 : -1])
    if origin not in (place, folder_place):
        raise TableError(f"{path}: is the table of {origin}; expected that of {place}; {REMEDY}")


def means_by(frame: pl.DataFrame, keys: Sequence[str], value: str = "value") -> pl.DataFrame:
    """Returns the mean of a column by keys, to the last bit the same in each run.

    Args:
        frame: the keys, and the column of numbers.
        keys: the columns to group by; null is a key like any other.
        value: the column of numbers; nulls are left out.

    Returns:
        The keys in the order of their first appearance, and the column, Float64, null for a group
        of nulls.
    """
    groups = frame.select(keys).unique(maintain_order=True)
    rows = frame.select(*keys, value).join(
        groups.with_row_index("group_number"),
        on=list(keys),
        nulls_equal=True,
        maintain_order="left",
    )
    rows_with_value = rows.drop_nulls(value)
    group = rows_with_value["group_number"].to_numpy()
    counts = np.bincount(group, minlength=len(groups))
    # polars sums the groups of large tables in whatever order its threads meet their rows.
    sums = np.bincount(group, rows_with_value[value].to_numpy(), minlength=len(groups))
    has_value = counts > 0
    with np.errstate(invalid="ignore"):
        means = pl.Series(value, np.where(has_value, sums / counts, np.nan))
    return groups.with_columns(pl.when(pl.Series(has_value)).then(means).alias(value))
