"""The commands that read and write files of other projects."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biasgrid.cli.told import console, told_errors
from biasgrid.unqover import GroupBy

imports = typer.Typer(no_args_is_help=True, help="Reads files of other projects into tables.")
exports = typer.Typer(no_args_is_help=True, help="Writes tables as files of other projects.")


@imports.callback()
@exports.callback()
def formats() -> None:
    """Keeps the format a word of its own, though there is one alone."""


@imports.command("unqover")
def import_unqover(
    file: Annotated[Path, typer.Argument(help="a source.json or an output.json")],
    out: Annotated[Path, typer.Option(help="folder for instances.parquet and, with answers, predictions.parquet")],
) -> None:
    """Reads a file of UnQover into tables."""
    from biasgrid.unqover.dumps import import_unqover

    with told_errors():
        tables = import_unqover(file, out)
    for table in tables:
        console.print(f"{table} written.", soft_wrap=True)


@exports.command("unqover")
def export_unqover(
    config: Annotated[Path, typer.Argument(help="the config whose results are written")],
    dataset: Annotated[str, typer.Option(help="name of a dataset")],
    out: Annotated[Path, typer.Option(help="the file to write")],
    variant: Annotated[str | None, typer.Option(help="variant of the dataset: writes its source.json")] = None,
    model: Annotated[str | None, typer.Option(help="name of a model: writes the output.json of its cell")] = None,
    log: Annotated[GroupBy | None, typer.Option(help="with --model: writes log.txt, associations grouped so")] = None,
) -> None:
    """Writes results as UnQover's source.json, output.json or log.txt."""
    from biasgrid.unqover.cells import Cells

    if (variant is None) == (model is None) or (log is not None and model is None):
        raise typer.BadParameter("expected either --variant or --model, and --log only with --model")
    with told_errors():
        cells = Cells(config, dataset)
        if model is None:
            cells.write_source(str(variant), out)
        elif log is None:
            cells.write_output(model, out)
        else:
            cells.write_log(model, log, out)
    console.print(f"{out} written.", soft_wrap=True)
