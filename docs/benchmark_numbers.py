"""Tables and numbers of documents that benchmarks wrote into `benchmarks/results/`.

A document shows all tables of a script between `<!-- table: benchmark NAME -->` and `<!-- end of
table -->`. A single number follows a comment `<!-- NAME: ROW / COLUMN -->`, where ROW is how the
row begins, its cells joined by commas.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from biasgrid.tables.docs import Makers

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
MARKED = re.compile(r"(<!-- (\w+): ([^>/]+) / ([^>/]+) -->)\S+")


def benchmark_tables() -> Makers:
    """Returns the tables of benchmarks by the name of their script."""
    return {
        f"benchmark {path.stem}": partial(path.read_text, encoding="utf-8")
        for path in RESULTS.glob("*.txt")
    }


def rows_of(benchmark: str) -> Iterator[dict[str, str]]:
    """Yields the rows of a benchmark's tables, their cells by column."""
    columns: list[str] = []
    for line in (RESULTS / f"{benchmark}.txt").read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|"):
            columns = []
        elif not columns:
            columns = cells
        elif set(cells) != {"---"}:
            yield dict(zip(columns, cells, strict=True))


def number(benchmark: str, row: str, column: str) -> str:
    """Returns the number of a column in the first row that begins so.

    Raises:
        ValueError: no row begins so, or it has no such column.
    """
    for cells in rows_of(benchmark):
        if ", ".join(cells.values()).startswith(f"{row},") and column in cells:
            return cells[column]
    raise ValueError(
        f"benchmarks/results/{benchmark}.txt has no row that begins with {row!r} and has {column!r}"
    )


def with_numbers(text: str) -> str:
    """Returns a document with each of its marked numbers made anew."""
    return MARKED.sub(lambda found: f"{found[1]}{number(found[2], found[3], found[4])}", text)
