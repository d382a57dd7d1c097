"""Documentation of the tables, generated from their schemas (`biasgrid schema` writes it, a test keeps it in step)."""

from __future__ import annotations

import re

import pandera.polars as pa

from biasgrid.tables import group_measures, instances, measures, planted, predictions

SCHEMAS = {
    name: schema
    for stage in (instances, predictions, measures, group_measures, planted)
    for name, schema in vars(stage).items()
    if isinstance(schema, pa.DataFrameSchema)
}
"""All schemas, by the names of their constants."""

MARKS = re.compile(r"(<!-- columns of (\w+) -->\n).*?(<!-- end of columns -->)", flags=re.DOTALL)


def with_column_tables(text: str) -> str:
    """Returns a document with the table of columns between each pair of marks made anew.

    A pair is `<!-- columns of NAME -->` and `<!-- end of columns -->`, with a key of `SCHEMAS`.
    """
    return MARKS.sub(lambda found: f"{found[1]}\n{column_table(SCHEMAS[found[2]])}\n{found[3]}", text)


def column_table(schema: pa.DataFrameSchema) -> str:
    """Writes the columns of a schema as a table in Markdown."""
    lines = ["| column | type | meaning |", "| --- | --- | --- |"]
    for name, column in schema.columns.items():
        kind = f"{column.dtype.type}{', or null' if column.nullable else ''}"
        meaning = column.description.replace("|", "\\|")
        lines.append(f"| `{name}` | {kind} | {meaning} |")
    return "\n".join([*lines, ""])
