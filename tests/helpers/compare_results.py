"""Compares two folders of results number by number, also where tables, columns and measures have other names by now.

Run as a program, it compares two folders, or makes both sides: the old one from a commit in a `git worktree`, the new
one from the files that are here, each by its own copy of a config.

    python tests/helpers/compare_results.py OLD NEW
    python tests/helpers/compare_results.py --since HEAD~1 [--config config/demo.yaml]

It prints the largest difference, what is missing and what is new, and ends with 1 where a number is missing or differs
by more than `--tolerance`. The JSON object `--names FILE` says what names of the old folder are called in the new one,
folders, columns and values alike.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import yaml

ROOT = Path(__file__).parents[2]
IN_WORDS = ("reason", "method", "flag")
"""Columns of sentences, which may be worded otherwise."""

NOT_COMPARED = {".answers", ".parts", "predictions", "instances", "logs", "report", "plots", "sums", "timings"}
"""Folders that hold no numbers of measures, or times; what `sums` add up to is in the measures."""
NEW = "_new"


@dataclass
class Comparison:
    """What differs between two folders.

    Attributes:
        numbers: how many numbers both have.
        largest: the largest difference of two of them, relative to the larger one where that is above 1.
        where: the file and the column in which it is.
        missing: rows or columns of the old folder that the new one lacks, with the file.
        added: those of the new folder that the old one lacks.
    """

    numbers: int = 0
    largest: float = 0.0
    where: str = ""
    missing: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)


def compare_results(old: Path, new: Path, names: Mapping[str, str] | None = None) -> Comparison:
    """Compares all tables of two folders of results.

    Args:
        old: the one folder.
        new: the other.
        names: what folders, columns and values of the old one are called in the new one.
    """
    names = names or {}
    found = Comparison()
    ours, theirs = tables_in(old, names), tables_in(new, {})
    for name, path in ours.items():
        if name in theirs:
            compare_tables(name, renamed(pl.read_parquet(path), names), pl.read_parquet(theirs.pop(name)), found)
        else:
            found.missing.append(f"{name}: the table")
    found.added += [f"{name}: the table" for name in theirs]
    return found


def tables_in(folder: Path, names: Mapping[str, str]) -> dict[str, Path]:
    """Returns the tables of a folder of results that hold numbers.

    Args:
        folder: the folder.
        names: what its folders are called now.

    Returns:
        The files, by their paths in the folder under today's names.
    """
    inside = {path.relative_to(folder): path for path in sorted(folder.rglob("*.parquet"))}
    return {renamed_path(name, names): path for name, path in inside.items() if name.parts[0] not in NOT_COMPARED}


def renamed_path(path: Path, names: Mapping[str, str]) -> str:
    """Returns the path of a table under the new names of its folders and of itself."""
    folders = (names.get(part, part) for part in path.parent.parts)
    return str(Path(*folders, f"{names.get(path.stem, path.stem)}.parquet"))


def renamed(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    """Returns a table under the new names of its columns, and of the values of those that hold names."""
    texts = [name for name, kind in table.schema.items() if kind in (pl.String, pl.Categorical, pl.Enum)]
    values = table.with_columns(pl.col(texts).cast(pl.String).replace(dict(names)))
    return values.rename({name: names[name] for name in table.columns if name in names})


def compare_tables(name: str, old: pl.DataFrame, new: pl.DataFrame, found: Comparison) -> None:
    """Adds what differs between two tables: rows are the same whose columns that hold no fractions are the same."""
    found.missing += [f"{name}: the column {column}" for column in old.columns if column not in new.columns]
    found.added += [f"{name}: the column {column}" for column in new.columns if column not in old.columns]
    shared = [column for column in old.columns if column in new.columns and column not in IN_WORDS]
    numbers = [column for column in shared if old.schema[column].is_float() and new.schema[column].is_float()]
    keys = [column for column in shared if column not in numbers]
    one, other = (numbered(table.select(keys + numbers), keys) for table in (old, new))
    on = [*keys, "_row"]
    found.missing += rows_of(name, one.join(other, on=on, how="anti", nulls_equal=True), keys)
    found.added += rows_of(name, other.join(one, on=on, how="anti", nulls_equal=True), keys)
    both = one.join(other, on=on, how="inner", nulls_equal=True, suffix=NEW)
    for column in numbers:
        pair = both.select(old=pl.col(column).cast(pl.Float64), new=pl.col(f"{column}{NEW}").cast(pl.Float64))
        lost = pair.filter(pl.col("old").is_not_null(), pl.col("new").is_null()).height
        gained = pair.filter(pl.col("old").is_null(), pl.col("new").is_not_null()).height
        found.missing += [f"{name}: {lost} values of {column}"] if lost else []
        found.added += [f"{name}: {gained} values of {column}"] if gained else []
        size = pl.max_horizontal(pl.col("old").abs(), pl.col("new").abs(), 1.0)
        known = pair.drop_nulls().select(((pl.col("old") - pl.col("new")).abs() / size).alias("difference"))
        found.numbers += known.height
        largest = known["difference"].fill_nan(0.0).max()
        if isinstance(largest, float) and largest > found.largest:
            found.largest, found.where = largest, f"{name}: {column}"


def numbered(table: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns a table with its keys as texts, and `_row`, which tells rows of the same keys apart in their order."""
    lists = [key for key in keys if table.schema[key].is_nested()]
    texts = table.with_columns(
        pl.col(lists).map_elements(str, return_dtype=pl.String) if lists else [],
        pl.col([key for key in keys if key not in lists]).cast(pl.String),
    )
    return texts.with_columns(_row=pl.int_range(pl.len()).over(keys) if keys else pl.int_range(pl.len()))


def rows_of(name: str, rows: pl.DataFrame, keys: list[str]) -> list[str]:
    """Words the rows that only one table has: one line a table, with an example."""
    if rows.is_empty():
        return []
    example = {key: value for key, value in rows.select(keys).row(0, named=True).items() if value is not None}
    return [f"{name}: {rows.height} rows, such as {example}"]


def results_of(folder: Path, config: str) -> Path:
    """Runs the workflow of a copy of the repository with that copy's config, and returns its folder of results."""
    line = [
        sys.executable,
        "-m",
        "snakemake",
        "--configfile",
        config,
        "--cores",
        str(os.cpu_count()),
        "--quiet",
        "rules",
    ]
    subprocess.run(line, cwd=folder, env=os.environ | {"PYTHONPATH": str(folder / "src")}, check=True)
    return folder / yaml.safe_load((folder / config).read_text())["results"]


def copy_files(folder: Path) -> None:
    """Copies the repository's files as they are here, those that are not committed yet included."""
    line = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(line, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)


def compare_with_commit(commit: str, config: str, names: Mapping[str, str]) -> Comparison:
    """Compares what the files here make of a config with what a commit makes of its own."""
    with TemporaryDirectory() as made:
        old, new = Path(made, "old"), Path(made, "new")
        subprocess.run(["git", "worktree", "add", "--quiet", "--detach", str(old), commit], cwd=ROOT, check=True)
        try:
            copy_files(new)
            return compare_results(results_of(old, config), results_of(new, config), names)
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(old)], cwd=ROOT, check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="*", metavar="FOLDER", help="the old results and the new ones")
    parser.add_argument("--since", metavar="COMMIT", help="makes both sides, the old one from this commit")
    parser.add_argument("--config", default="config/demo.yaml", help="what is run with --since")
    parser.add_argument("--names", type=Path, help="a JSON object: old names and what they are called now")
    parser.add_argument("--tolerance", type=float, default=0.0)
    given = parser.parse_args()
    if (given.since is None) != (len(given.folders) == 2):
        parser.error("expected two folders, or --since COMMIT")
    names = json.loads(given.names.read_text()) if given.names else {}
    if given.since:
        found = compare_with_commit(given.since, given.config, names)
    else:
        found = compare_results(*given.folders, names)
    place = f" ({found.where})" if found.where else ""
    print(f"{found.numbers} numbers compared; largest difference {found.largest:.3g}{place}")
    for title, lines in (("missing", found.missing), ("new", found.added)):
        print(f"{title}: {len(lines)}", *(f"  {line}" for line in lines), sep="\n")
    sys.exit(int(bool(found.missing) or found.largest > given.tolerance))


if __name__ == "__main__":
    main()
