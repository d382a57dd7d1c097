"""The command that shows the first instances of a dataset."""

from __future__ import annotations

from typing import Annotated

import typer

from biasgrid.cli.options import ConfigPath, WordListsFolder, load_checked_config
from biasgrid.cli.output import console, report_errors


def preview(
    config: ConfigPath,
    dataset: Annotated[str, typer.Option(help="name of a dataset")],
    model: Annotated[str | None, typer.Option(help="name of a model: shows its answers too")] = None,
    rows: Annotated[int, typer.Option(min=1, help="how many instances")] = 8,
    word_lists: WordListsFolder = None,
) -> None:
    """Shows the first instances of a dataset as a model gets them; with --model, its answers too."""
    from biasgrid.cli.tables import frame_table
    from biasgrid.runs.preview import preview_dataset

    with report_errors():
        shown = preview_dataset(load_checked_config(config, word_lists), dataset, model, rows, str(config))
    for title, frame in shown._asdict().items():
        if frame is not None:
            console.print(frame_table(title, frame))
