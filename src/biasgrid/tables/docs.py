"""Tables of documents, generated from schemas and metric definitions (`biasgrid schema --write`
writes them).

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from itertools import groupby

import pandera.polars as pa

from biasgrid.tables.key_columns import Key
from biasgrid.tables.metric import Limit, Measure

Makers = Mapping[str, Callable[[], str]]
"""Functions that write a table in Markdown, by its name."""

COLUMN = ("column", "type", "meaning")
MANY = 3
"""A column that so many tables have, with one type and meaning, is described once."""

TABLE_MARKS = re.compile(r"(<!-- table: ([^>]+) -->\n).*?(<!-- end of table -->)", flags=re.DOTALL)


def with_tables(text: str, makers: Makers) -> str:
    """Returns a document with each of its tables made anew.

    Raises:
        KeyError: there is no table of such a name.
    """
    return TABLE_MARKS.sub(lambda found: f"{found[1]}\n{makers[found[2]]()}\n{found[3]}", text)


def column_tables(schemas: Mapping[str, pa.DataFrameSchema]) -> Makers:
    """Returns tables of the columns of schemas, `columns of NAME` and `columns of many tables`."""
    types: dict[tuple[str, str], list[str]] = {}
    for schema in schemas.values():
        for name, dtype, meaning in column_rows(schema):
            types.setdefault((name, meaning), []).append(dtype)
    common = {column: dtypes for column, dtypes in types.items() if len(dtypes) >= MANY}
    rows = []
    for (name, meaning), dtypes in common.items():
        rows.append((name, "; ".join(dict.fromkeys(dtypes)), meaning))
    tables: dict[str, Callable[[], str]] = {
        "columns of many tables": partial(markdown_table, COLUMN, rows)
    }
    for name, schema in schemas.items():
        tables[f"columns of {name}"] = partial(column_table, schema, common)
    return tables


def column_rows(schema: pa.DataFrameSchema) -> list[tuple[str, str, str]]:
    """Returns name, type and meaning of each column of a schema."""
    rows = []
    for name, column in schema.columns.items():
        dtype = f"{column.dtype.type}{', or null' if column.nullable else ''}"
        rows.append((f"`{name}`", dtype, column.description))
    return rows


def column_table(schema: pa.DataFrameSchema, elsewhere: Collection[tuple[str, str]] = ()) -> str:
    """Writes the columns of a schema.

    Args:
        schema: the schema.
        elsewhere: names and meanings of columns that the table of columns of many tables describes:
            several of these in a row are only named.
    """
    rows: list[tuple[str, str, str]] = []
    for is_elsewhere, run in groupby(
        column_rows(schema), lambda row: (row[0], row[2]) in elsewhere
    ):
        columns = list(run)
        names = ", ".join(name for name, *_ in columns)
        is_short = is_elsewhere and len(columns) > 1
        rows += [(names, "", "[see above](#columns-of-many-tables)")] if is_short else columns
    return markdown_table(COLUMN, rows)


def key_table(keys: Sequence[Key]) -> str:
    """Writes a table of key columns with all that follows from a number having one."""
    header = [field.name for field in fields(Key) if field.name != "description"]
    rows = []
    for key in keys:
        values = [getattr(key, name) for name in header[1:]]
        rows.append([f"`{key.name}`", *map(field_text, values)])
    return markdown_table([name.replace("_", " ") for name in header], rows)


def field_text(value: object) -> str:
    """Writes the value of a field of a key; "" for one that is absent or does not hold."""
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, type):
        return value.__name__
    return "" if value is None else str(value)


def measure_table(declared: Mapping[str, Measure]) -> str:
    """Writes a table of measures: meaning, misreadings and values under equal treatment."""
    rows = []
    for name, measure in declared.items():
        fair = "" if measure.fair is None else f"{measure.fair:g}"
        rows.append((f"`{name}`", f"{measure.title}: {measure.meaning}", measure.is_not, fair))
    return markdown_table(("measure", "what it is", "what it is not", "equal treatment"), rows)


def flag_table(families: Mapping[str, Mapping[str, Measure]]) -> str:
    """Writes a table of validity flags.

    It has their limits and remedies; families that share a flag share its row.
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
    """Writes which measures a flag withholds."""
    if isinstance(limit.withholds, bool):
        return "all claims" if limit.withholds else "nothing"
    return ", ".join(f"`{name}`" for name in limit.withholds)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Writes a table."""
    lines = [header, ["---"] * len(header)]
    for row in rows:
        lines.append([cell.replace("|", "\\|") for cell in row])
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)
