"""Tables of documents, generated from what declares their content (`biasgrid schema --write` writes them).

A table stands between `<!-- table: NAME -->` and `<!-- end of table -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial

import pandera.polars as pa

from biasgrid.tables.measure import Measure

Makers = Mapping[str, Callable[[], str]]
"""What writes a table in Markdown, by its name."""

MARKS = re.compile(r"(<!-- table: ([^>]+) -->\n).*?(<!-- end of table -->)", flags=re.DOTALL)


def with_tables(text: str, makers: Makers) -> str:
    """Returns a document with each of its tables made anew.

    Raises:
        KeyError: there is no table of such a name.
    """
    return MARKS.sub(lambda found: f"{found[1]}\n{makers[found[2]]()}\n{found[3]}", text)


def column_tables(schemas: Mapping[str, pa.DataFrameSchema]) -> Makers:
    """Returns the tables of columns, `columns of NAME`, of some schemas."""
    return {f"columns of {name}": partial(column_table, schema) for name, schema in schemas.items()}


def column_table(schema: pa.DataFrameSchema) -> str:
    """Writes the columns of a schema."""
    rows = [
        (f"`{name}`", f"{column.dtype.type}{', or null' if column.nullable else ''}", column.description)
        for name, column in schema.columns.items()
    ]
    return markdown(("column", "type", "meaning"), rows)


def measure_table(declared: Mapping[str, Measure]) -> str:
    """Writes what measures are, what they are not, and their values where all are treated alike."""
    rows = [
        (
            f"`{name}`",
            f"{measure.title}: {measure.meaning}",
            measure.is_not,
            "" if measure.fair is None else f"{measure.fair:g}",
        )
        for name, measure in declared.items()
    ]
    return markdown(("measure", "what it is", "what it is not", "equal treatment"), rows)


def flag_table(families: Mapping[str, Mapping[str, Measure]]) -> str:
    """Writes what speaks against cells, from where on, and what to do, of all families."""
    header = ("flag", "families", "what it is", "speaks against a cell", "withholds the headline", "what to do")
    measures = {name: measure for flags in families.values() for name, measure in flags.items()}
    rows = [
        (
            f"`{name}`",
            ", ".join(family for family, flags in families.items() if name in flags),
            measure.meaning,
            f"{'below' if measure.limit.below else 'above'} {measure.limit.value:g}",
            "yes" if measure.limit.withholds else "no",
            measure.limit.remedy,
        )
        for name, measure in measures.items()
        if measure.limit is not None
    ]
    return markdown(header, rows)


def markdown(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Writes a table."""
    cells = ([cell.replace("|", "\\|") for cell in row] for row in rows)
    return "".join(f"| {' | '.join(row)} |\n" for row in [header, ["---"] * len(header), *cells])
