"""Tables of documents, generated from schemas and metric definitions (`biasgrid schema --write`
writes them).

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby

import pandera.polars as pa

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
    """Returns the tables of columns, `columns of NAME`, of some schemas, and `columns of many
    tables`.
    """
    types: dict[tuple[str, str], list[str]] = {}
    for schema in schemas.values():
        for name, dtype, meaning in column_rows(schema):
            types.setdefault((name, meaning), []).append(dtype)
    many = {column: found for column, found in types.items() if len(found) >= MANY}
    rows = [
        (name, "; ".join(dict.fromkeys(found)), meaning) for (name, meaning), found in many.items()
    ]
    tables = {
        f"columns of {name}": partial(column_table, schema, many)
        for name, schema in schemas.items()
    }
    return {"columns of many tables": partial(markdown_table, COLUMN, rows), **tables}


def column_rows(schema: pa.DataFrameSchema) -> list[tuple[str, str, str]]:
    """Returns name, type and meaning of each column of a schema."""
    return [
        (
            f"`{name}`",
            f"{column.dtype.type}{', or null' if column.nullable else ''}",
            column.description,
        )
        for name, column in schema.columns.items()
    ]


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


def measure_table(declared: Mapping[str, Measure]) -> str:
    """Writes what measures are, what they are not, and their values under equal treatment."""
    rows = [
        (
            f"`{name}`",
            f"{measure.title}: {measure.meaning}",
            measure.is_not,
            "" if measure.fair is None else f"{measure.fair:g}",
        )
        for name, measure in declared.items()
    ]
    return markdown_table(("measure", "what it is", "what it is not", "equal treatment"), rows)


def flag_table(families: Mapping[str, Mapping[str, Measure]]) -> str:
    """Writes what speaks against cells, from where on, and what to do; a flag has a row for
    families that share it.
    """
    header = ("flag", "families", "what it is", "speaks against a cell", "withholds", "what to do")
    rows: dict[str, dict[tuple[str, ...], list[str]]] = {}
    for family, flags in families.items():
        for name, measure in flags.items():
            if (limit := measure.limit) is not None:
                beyond = f"{'below' if limit.below else 'above'} {limit.value:g}"
                what = (measure.meaning, beyond, withheld_text(limit), limit.remedy)
                rows.setdefault(name, {}).setdefault(what, []).append(family)
    return markdown_table(
        header,
        [
            (f"`{name}`", ", ".join(of), meaning, *rest)
            for name, found in rows.items()
            for (meaning, *rest), of in found.items()
        ],
    )


def withheld_text(limit: Limit) -> str:
    """Writes which measures a flag withholds."""
    if isinstance(limit.withholds, bool):
        return "all claims" if limit.withholds else "nothing"
    return ", ".join(f"`{name}`" for name in limit.withholds)


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Writes a table."""
    cells = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in [header, ["---"] * len(header), *cells])
