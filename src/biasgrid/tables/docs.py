"""Tables of documents, generated from schemas and metric definitions (`biasgrid schema --write .`
writes them).

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import groupby
from typing import NamedTuple

import pandera.polars as pa

from biasgrid.tables.key_columns import Key
from biasgrid.tables.metric import Limit, Measure

Makers = Mapping[str, Callable[[], str]]
"""Functions that return a table in Markdown, by the table's name."""

COLUMN_HEADER = ("column", "type", "meaning")
MANY_TABLES = 3
"""A column that at least so many tables have with the same meaning is described once."""

TABLE_MARKS = re.compile(r"(<!-- table: ([^>]+) -->\n).*?(<!-- end of table -->)", flags=re.DOTALL)


def with_tables(text: str, makers: Makers) -> str:
    """Returns a document with its tables replaced by those of `makers`.

    Raises:
        KeyError: there is no maker of a table's name.
    """
    return TABLE_MARKS.sub(lambda match: f"{match[1]}\n{makers[match[2]]()}\n{match[3]}", text)


class ColumnKey(NamedTuple):
    """What columns of several tables must share to be described once; their types may differ."""

    name: str
    meaning: str


class ColumnRow(NamedTuple):
    """A row of a table of columns, as `COLUMN_HEADER` has it, but for backticks around the name."""

    name: str
    dtype: str
    meaning: str

    @property
    def key(self) -> ColumnKey:
        """Name and meaning."""
        return ColumnKey(self.name, self.meaning)


def column_tables(schemas: Mapping[str, pa.DataFrameSchema]) -> Makers:
    """Returns tables of the columns of schemas, `columns of NAME` and `columns of many tables`."""
    types: dict[ColumnKey, list[str]] = {}
    for schema in schemas.values():
        for row in column_rows(schema):
            types.setdefault(row.key, []).append(row.dtype)
    common = {key: dtypes for key, dtypes in types.items() if len(dtypes) >= MANY_TABLES}
    rows = []
    for key, dtypes in common.items():
        rows.append((f"`{key.name}`", "; ".join(dict.fromkeys(dtypes)), key.meaning))
    tables: dict[str, Callable[[], str]] = {
        "columns of many tables": partial(markdown_table, COLUMN_HEADER, rows)
    }
    for name, schema in schemas.items():
        tables[f"columns of {name}"] = partial(column_table, schema, common)
    return tables


def column_rows(schema: pa.DataFrameSchema) -> list[ColumnRow]:
    """Returns a row for each column of a schema, in their order."""
    rows = []
    for name, column in schema.columns.items():
        dtype = f"{column.dtype.type}{', or null' if column.nullable else ''}"
        rows.append(ColumnRow(name, dtype, column.description))
    return rows


def column_table(schema: pa.DataFrameSchema, common: Collection[ColumnKey] = ()) -> str:
    """Writes a table of the columns of a schema.

    Args:
        schema: the schema.
        common: columns that the table of columns of many tables describes. Two or more of them in a
            row become one row, which links there; a single one is described here, too.
    """
    rows: list[tuple[str, str, str]] = []
    for is_common, run in groupby(column_rows(schema), lambda row: row.key in common):
        columns = list(run)
        if is_common and len(columns) > 1:
            names = ", ".join(f"`{column.name}`" for column in columns)
            rows.append((names, "", "[see above](#columns-of-many-tables)"))
        else:
            rows += [(f"`{column.name}`", column.dtype, column.meaning) for column in columns]
    return markdown_table(COLUMN_HEADER, rows)


def key_table(keys: Sequence[Key]) -> str:
    """Writes a table of key columns with all fields of `Key` but the description."""
    header = [field.name for field in fields(Key) if field.name != "description"]
    rows = []
    for key in keys:
        values = [getattr(key, name) for name in header[1:]]
        rows.append([f"`{key.name}`", *map(field_text, values)])
    return markdown_table([name.replace("_", " ") for name in header], rows)


def field_text(value: object) -> str:
    """Writes the value of a field of a key; "" for None and False."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, type):
        return value.__name__
    return "" if value is None else str(value)


def measure_table(measures: Mapping[str, Measure]) -> str:
    """Writes a table of measures: meaning, misreadings and values under equal treatment.

    Args:
        measures: the measures by name.
    """
    rows = []
    for name, measure in measures.items():
        fair = "" if measure.fair is None else f"{measure.fair:g}"
        rows.append((f"`{name}`", f"{measure.title}: {measure.meaning}", measure.is_not, fair))
    return markdown_table(("measure", "what it is", "what it is not", "equal treatment"), rows)


def flag_table(families: Mapping[str, Mapping[str, Measure]]) -> str:
    """Writes a table of validity flags, with their limits and remedies.

    Families that define a flag alike share its row.

    Args:
        families: measures by family and name; those without a limit are left out.
    """
    header = ("flag", "families", "what it is", "speaks against a cell", "withholds", "what to do")
    flags: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for family, measures in families.items():
        for name, measure in measures.items():
            limit = measure.limit
            if limit is None:
                continue
            beyond = f"{'below' if limit.below else 'above'} {limit.value:g}"
            texts = (measure.meaning, beyond, withheld_text(limit), limit.remedy)
            flags.setdefault(name, {}).setdefault(texts, []).append(family)
    rows = []
    for name, families_by_texts in flags.items():
        for (meaning, *limit_texts), sharing in families_by_texts.items():
            rows.append((f"`{name}`", ", ".join(sharing), meaning, *limit_texts))
    return markdown_table(header, rows)


def withheld_text(limit: Limit) -> str:
    """Returns the measures that a flag withholds: `all claims`, `nothing` or their names."""
    if limit.withholds_all_claims:
        return "all claims"
    return ", ".join(f"`{name}`" for name in limit.withheld_measures) or "nothing"


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Writes a Markdown table. Pipes in rows are escaped, in the header not.

    Args:
        header: the titles of columns.
        rows: one text for each column, without line breaks.
    """
    lines = [header, ["---"] * len(header)]
    for row in rows:
        lines.append([cell.replace("|", "\\|") for cell in row])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
