"""File systems of their own, such as a small one that is soon full, and damaged files."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import needs
import polars as pl

from biasgrid.tables.files import empty_table, write_table
from biasgrid.tables.measures import SYNTHETIC


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mounts a file system on a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = subprocess.run(
        ["mount", *options, str(folder)], capture_output=True, text=True, check=False
    )
    if mount.returncode:
        needs.mounts.skip(mount.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def replace(path: Path) -> None:
    write_table(empty_table(SYNTHETIC), path, SYNTHETIC, {})


def strip_provenance(path: Path) -> None:
    pl.read_parquet(path).write_parquet(path)


DAMAGES = [
    (truncate, r"is not a readable .* table"),
    (
        replace,
        r"(not (up to date|made) with .*|not made by the model in|does not fit the schema of)",
    ),
    (strip_provenance, r"has no provenance; expected a table that biasgrid wrote"),
]
"""Ways to damage a table, and what is then said of it."""
