"""Documentation of the tables, generated from their schemas (`biasgrid schema` writes it, a test keeps it in step)."""

from __future__ import annotations

import re

import pandera.polars as pa

from biasgrid import tables

MARKS = re.compile(r"(<!-- columns of (\w+) -->\n).*?(<!-- end of columns -->)", flags=re.DOTALL)


def with_column_tables(text: str) -> str:
    """Returns a document with the table of columns between each pair of marks made anew.

    A pair is `<!-- columns of NAME -->` and `<!-- end of columns -->`, with the name of a schema in `biasgrid.tables`.
    """
    return MARKS.sub(lambda found: f"{found[1]}\n{column_table(getattr(tables, found[2]))}\n{found[3]}", text)


def column_table(schema: pa.DataFrameSchema) -> str:
    """Writes the columns of a schema as a table in Markdown."""
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    for name, column in schema.columns.items():
        kind = f"{column.dtype.type}{', or null' if column.nullable else ''}"
        meaning = column.description.replace("|", "\\|")
        lines.append(f"| `{name}` | {kind} | {meaning} |")
    return "\n".join([*lines, ""])
