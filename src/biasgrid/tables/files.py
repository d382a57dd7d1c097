"""How tables are written and read.

Every table is a Parquet file that is validated when it is written and when it is read, is written to a temporary name
and renamed, and carries its provenance in the file's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from itertools import chain
from pathlib import Path
from typing import Any

import pandera.polars as pa
import polars as pl
from pandera.errors import SchemaError, SchemaErrors
from pyarrow.parquet import ParquetWriter

from biasgrid.faults import UserError
from biasgrid.files import whole

PROVENANCE_KEY = "biasgrid"
REMEDY = "remove it and run again"


class TableError(UserError):
    """A table that is not what its reader expects."""


def write_table(
    frame: pl.DataFrame, path: str | Path, schema: pa.DataFrameSchema, provenance: Mapping[str, Any]
) -> None:
    """Validates a table and writes it with its provenance; a reader never sees a half-written file.

    Raises:
        TableError: the table does not fit its schema.
        UserError: the disk is full, or the system refuses to write for another reason.
    """
    validate(frame, schema, path)
    # Not written by polars itself: of a full disk it may tell no more than "transport error".
    content = BytesIO()
    frame.write_parquet(content, metadata={PROVENANCE_KEY: json.dumps(provenance, sort_keys=True)})
    with whole(path) as partial:
        partial.write_bytes(content.getbuffer())


def write_table_in_parts(
    parts: Iterable[pl.DataFrame], path: str | Path, schema: pa.DataFrameSchema, provenance: Mapping[str, Any]
) -> None:
    """Writes a table of which only one part at a time is in memory; see `write_table`.

    Args:
        parts: the rows, part by part; of none the table has no rows.
        path: the file.
        schema: the schema, of each part.
        provenance: what the table shall carry.

    Raises:
        TableError: a part does not fit its schema.
        UserError: the disk is full, or the system refuses to write for another reason.
    """
    waiting = iter(parts)
    first, second = next(waiting, empty_table(schema)), next(waiting, None)
    if second is None:
        # As a whole, a table is written in half the time.
        write_table(first, path, schema, provenance)
        return
    metadata = {PROVENANCE_KEY: json.dumps(provenance, sort_keys=True)}
    empty = empty_table(schema).to_arrow()
    # Looking for keys that stand twice, of which there are none, would take a fifth of the time.
    dictionaries = [name for name, column in schema.columns.items() if column.dtype.type != pl.UInt64]
    options = {"compression": "zstd", "use_dictionary": dictionaries}
    with whole(path) as partial, ParquetWriter(partial, empty.schema, **options) as writer:
        writer.add_key_value_metadata(metadata)
        for part in chain([first, second], waiting):
            validate(part, schema, path)
            writer.write_table(part.to_arrow().cast(empty.schema))


def read_table(path: str | Path, schema: pa.DataFrameSchema, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """Reads a table, or some of its columns, and validates what it read.

    Raises:
        TableError: the file is not readable as Parquet, was not made by biasgrid or does not fit its schema.
    """
    read_metadata(path, schema.name)
    try:
        frame = pl.read_parquet(path, columns=None if columns is None else list(columns), glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, schema.name, error) from None
    if columns is not None:
        schema = schema.select_columns(list(columns))
    validate(frame, schema, path, remedy=f"; {REMEDY}")
    return frame


def read_tables(paths: Iterable[str | Path], schema: pa.DataFrameSchema) -> pl.DataFrame:
    """Reads tables of one schema, one below the other; of no tables it returns one without rows.

    Raises:
        TableError: see `read_table`.
    """
    return pl.concat([empty_table(schema), *(read_table(path, schema) for path in paths)])


def unreadable(path: str | Path, kind: str, error: Exception) -> TableError:
    """Words that a file cannot be read as a table."""
    return TableError(f"{path}: not a readable {kind} table ({str(error).splitlines()[0]}); {REMEDY}")


def validate(frame: pl.DataFrame, schema: pa.DataFrameSchema, path: str | Path, remedy: str = "") -> None:
    """Checks a table against its schema.

    Raises:
        TableError: with the file, the remedy, the columns, and what was expected of them.
    """
    try:
        schema.validate(frame, lazy=True)
    except (SchemaError, SchemaErrors) as error:
        cases = getattr(error, "failure_cases", None)
        detail = str(cases) if cases is not None else str(error)
        raise TableError(f"{path}: does not fit the schema of {schema.name}{remedy}:\n{detail}") from None


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
        raise unreadable(path, "biasgrid", error) from None


def read_columns(path: str | Path, kind: str) -> dict[str, pl.DataType]:
    """Returns the names and types of a table's columns, in their order.

    Raises:
        TableError: the file is not readable as Parquet.
    """
    try:
        return dict(pl.scan_parquet(path, glob=False).collect_schema())
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, kind, error) from None


def read_provenance(path: str | Path) -> dict[str, Any]:
    """Returns the provenance that a table carries.

    Raises:
        TableError: the file is not readable as Parquet, or carries none, so it was not made by biasgrid.
    """
    provenance: dict[str, Any] = json.loads(read_metadata(path, "biasgrid")[PROVENANCE_KEY])
    return provenance


def read_metadata(path: str | Path, kind: str) -> dict[str, str]:
    """Returns the metadata of a table that biasgrid has written.

    Raises:
        TableError: the file is not readable as Parquet, or was not made by biasgrid.
    """
    try:
        metadata = pl.read_parquet_metadata(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise unreadable(path, kind, error) from None
    if PROVENANCE_KEY not in metadata:
        raise TableError(f"{path}: carries no provenance; expected a table that biasgrid has written; {REMEDY}")
    return metadata
