"""Commands for UnQover's files; each returns the lines that it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biasgrid.formats.unqover import GroupBy


def import_file(
    file: Annotated[Path, typer.Argument(help="a source.json or an output.json")],
    out: Annotated[
        Path,
        typer.Option(help="folder for instances.parquet and, with answers, predictions.parquet"),
    ],
) -> list[str]:
    """Reads a file of UnQover into tables."""
    from biasgrid.formats.unqover.reading import import_unqover

    return [f"{table} written." for table in import_unqover(file, out)]


def export_cell(
    config: Annotated[Path, typer.Argument(help="config whose results are written")],
    dataset: Annotated[str, typer.Option(help="name of a dataset")],
    out: Annotated[Path, typer.Option(help="file to write")],
    variant: Annotated[
        str | None, typer.Option(help="variant of the dataset whose source.json is written")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="name of a model whose output.json is written")
    ] = None,
    log: Annotated[
        GroupBy | None,
        typer.Option(help="with --model: write log.txt with the associations grouped this way"),
    ] = None,
) -> list[str]:
    """Writes results as UnQover's source.json, output.json or log.txt."""
    from biasgrid.formats.unqover.cells import Cells

    if (variant is None) == (model is None) or (log is not None and model is None):
        raise typer.BadParameter(
            "expected either --variant or --model, and --log only with --model"
        )
    cells = Cells(config, dataset)
    if model is None:
        cells.write_source(str(variant), out)
    elif log is None:
        cells.write_output(model, out)
    else:
        cells.write_log(model, log, out)
    return [f"{out} written."]
