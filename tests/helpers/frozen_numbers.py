"""The frozen grid: its stored answers, and every number that a run makes of them.

`make freeze` runs the grid and writes its numbers again, with what has moved. `make freeze
ANSWERS=1` makes the answers again first, of tiny checkpoints and of worlds with a known bias.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from parsed_page import Page
from project import Project

from biasgrid.tables.measures import MEASURE_KEYS

FROZEN = Path(__file__).parents[1] / "frozen"
NUMBERS = FROZEN / "numbers"
CONFIG = "frozen/config.yaml"
TABLES = ("sums", "measures", "intervals", "design", "comparisons", "ranks", "agreement", "summary")
"""Tables of results: folders of them, or one file."""
PAGE = "page"
"""The data of the page, which is no table."""
KEYS = (
    *(
        "file",
        "model",
        "dataset",
        "measure",
        "options",
        *MEASURE_KEYS,
        "factor",
        "claims_all",
        "is_input",
    ),
    *(
        "other_model",
        "other_dataset",
        "other_measure",
        "other_options",
        "set",
        "kind",
        "label",
        "name",
        "block",
    ),
    *("cluster", "like", "size", "strength"),
)
"""Columns that say what a row is about, of those that a table has; rows that share all of them are
counted.
"""
RELATIVE, ABSOLUTE = 1e-9, 1e-12
"""How far a number may be from the frozen one, on any processor."""
SHOWN = 10
VALUES = {"where": pl.String, "number": pl.Float64, "text": pl.String}


class Moves(NamedTuple):
    """What differs between two sets of values: `where`, and of each side `number` and `text`.

    Attributes:
        missing: values that only the frozen side has.
        added: values that only the new side has.
        moved: values that differ by more than the tolerance, the largest move first.
    """

    missing: pl.DataFrame
    added: pl.DataFrame
    moved: pl.DataFrame

    @property
    def count(self) -> int:
        return len(self.missing) + len(self.added) + len(self.moved)

    def lines(self, table: str) -> Iterator[str]:
        """Describes the moves: how many, the largest, and the first ones, before and after."""
        counts = (
            f"{len(self.moved)} values moved, {len(self.missing)} missing, {len(self.added)} added"
        )
        largest = self.moved["move"].max() if len(self.moved) else None
        yield f"{table}: {counts}" + (
            f"; largest move {largest:.3g}" if isinstance(largest, float) else ""
        )
        for row in self.moved.head(SHOWN).iter_rows(named=True):
            yield f"  {row['where']}: {shown(row, '')} -> {shown(row, '_new')}"
        for sign, rows in (("-", self.missing), ("+", self.added)):
            yield from (
                f"  {sign} {row['where']}: {shown(row, '')}"
                for row in rows.head(SHOWN).iter_rows(named=True)
            )


def shown(row: Mapping[str, Any], side: str) -> Any:
    """Returns the number or the text of one side."""
    return row[f"text{side}"] if row[f"number{side}"] is None else row[f"number{side}"]


def compare(frozen: pl.DataFrame, new: pl.DataFrame) -> Moves:
    """Compares values by their places."""
    missing = frozen.join(new, on="where", how="anti", maintain_order="left")
    added = new.join(frozen, on="where", how="anti", maintain_order="left")
    both = frozen.join(new, on="where", suffix="_new", maintain_order="left")
    move = (pl.col("number") - pl.col("number_new")).abs()
    limit = ABSOLUTE + RELATIVE * pl.max_horizontal(
        pl.col("number").abs(), pl.col("number_new").abs()
    )
    is_near = pl.col("number").eq_missing(pl.col("number_new")) | (move <= limit).fill_null(
        value=False
    )
    is_same = is_near & pl.col("text").eq_missing(pl.col("text_new"))
    moved = both.with_columns(move=move).filter(~is_same)
    return Moves(
        missing, added, moved.sort("move", descending=True, nulls_last=True, maintain_order=True)
    )


def values_of(table: pl.DataFrame) -> pl.DataFrame:
    """Returns all values of a table that are not null, with their places: the keys of the row, and
    the column.
    """
    keys = [name for name in KEYS if name in table.columns]
    named = [pl.concat_str(pl.lit(f"{name}="), pl.col(name).cast(pl.String)) for name in keys]
    rows = table.with_columns(_row=pl.concat_str(named, separator=" ", ignore_nulls=True))
    rows = rows.with_columns(
        _row=pl.concat_str("_row", pl.int_range(pl.len()).over("_row"), separator=" #")
    )
    parts = [column_values(rows, name) for name in table.columns if name not in keys]
    return pl.concat([pl.DataFrame(schema=VALUES), *parts])


def column_values(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Returns the values of a column; of lists each one."""
    place = pl.concat_str("_row", pl.lit(f": {name}"))
    part = rows.select(where=place, value=name)
    if isinstance(part.schema["value"], pl.List):
        part = part.with_columns(item=pl.int_ranges(pl.col("value").list.len())).explode(
            "item", "value"
        )
        part = part.select(
            pl.concat_str("where", pl.lit(" "), pl.col("item").cast(pl.String)), "value"
        )
    is_text = part.schema["value"] in (pl.String, pl.Categorical)
    number = pl.lit(None, pl.Float64) if is_text else pl.col("value").cast(pl.Float64)
    text = pl.col("value").cast(pl.String) if is_text else pl.lit(None, pl.String)
    return part.drop_nulls("value").select("where", number=number, text=text)


def tables_of(results: Path) -> dict[str, pl.DataFrame]:
    """Returns the tables of a finished run by name, those of all cells one below the other, and the
    page's data.
    """
    found = {}
    for name in TABLES:
        files = sorted((results / name).rglob("*.parquet")) or [results / f"{name}.parquet"]
        parts = [
            pl.read_parquet(path).with_columns(file=pl.lit(str(path.relative_to(results))))
            for path in files
            if path.exists()
        ]
        assert parts, f"no {name} in {results}"
        found[name] = pl.concat(parts, how="diagonal_relaxed").with_columns(
            pl.col(pl.Categorical).cast(pl.String)
        )
    return found | {PAGE: page_values(results)}


def page_values(results: Path) -> pl.DataFrame:
    """Returns the numbers and texts of the page's data by their places; none of them depends on the
    machine.
    """
    blocks = Page((results / "report/index.html").read_text()).blocks
    rows = [row for name, content in sorted(blocks.items()) for row in leaves(name, content)]
    return pl.DataFrame(rows, schema=VALUES, orient="row")


def leaves(where: str, content: Any) -> Iterator[tuple[str, float | None, str | None]]:
    """Yields the numbers and texts in nested objects and lists."""
    if content is None:
        return
    if isinstance(content, dict | list):
        items = content.items() if isinstance(content, dict) else enumerate(content)
        for name, value in items:
            yield from leaves(f"{where}.{name}", value)
    elif isinstance(content, bool | int | float):
        yield where, float(content), None
    else:
        yield where, None, str(content)


def read_frozen(table: str) -> pl.DataFrame:
    """Returns the frozen values of a table; none where there is no file."""
    path = NUMBERS / f"{table}.parquet"
    if not path.exists():
        return pl.DataFrame(schema=VALUES)
    stored = pl.read_parquet(path)
    return stored if table == PAGE else values_of(stored)


def moves_of(table: str, made: pl.DataFrame) -> Moves:
    """Compares what a run has made with the frozen values."""
    return compare(read_frozen(table), made if table == PAGE else values_of(made))


def create_project(folder: Path) -> Project:
    """Returns a copy of the project with the frozen grid, which is not run yet."""
    Project.create(folder, {}, "config/unused.yaml")
    shutil.copytree(FROZEN, folder / "frozen", ignore=shutil.ignore_patterns("numbers"))
    return Project(folder, CONFIG)


def freeze() -> None:
    """Runs the grid, writes its numbers, and prints what has moved."""
    with tempfile.TemporaryDirectory() as folder:
        project = create_project(Path(folder, "project"))
        process = project.start("--quiet", "rules")
        output, _ = process.communicate()
        if process.returncode:
            raise SystemExit(output)
        made = tables_of(project.results)
    moves = {name: moves_of(name, table) for name, table in made.items()}
    NUMBERS.mkdir(exist_ok=True)
    for name, table in made.items():
        if moves[name].count:
            table.write_parquet(
                NUMBERS / f"{name}.parquet", compression="zstd", compression_level=22
            )
        print("\n".join(moves[name].lines(name)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--answers", action="store_true", help="make the stored answers again first"
    )
    if parser.parse_args().answers:
        # Imported here: it needs torch, and checkpoints take a minute.
        from frozen_answers import make_answers

        with tempfile.TemporaryDirectory() as work:
            make_answers(Path(work))
    freeze()


if __name__ == "__main__":
    main()
