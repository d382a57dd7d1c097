"""Commands for files of APES; each returns the lines that it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_file(
    file: Annotated[Path, typer.Argument(help="a predictions.csv")],
    out: Annotated[
        Path, typer.Option(help="folder for instances, predictions and measures, and apes.csv")
    ],
) -> list[str]:
    """Measures predictions in the format of APES, and writes the table that APES makes."""
    from biasgrid.formats.apes.reading import import_predictions

    return import_predictions(file, out)


def export_cell(
    config: Annotated[Path, typer.Argument(help="config whose results are written")],
    dataset: Annotated[str, typer.Option(help="name of a dataset")],
    out: Annotated[Path, typer.Option(help="file to write")],
    model: Annotated[
        str | None, typer.Option(help="name of a model whose predictions.csv is written")
    ] = None,
) -> list[str]:
    """Writes the prompts as an examples.csv of APES or, with a model, its predictions.csv."""
    from biasgrid.formats.apes.export import write_examples, write_predictions

    if model is None:
        write_examples(config, dataset, out)
    else:
        write_predictions(config, dataset, model, out)
    return [f"{out} written."]
