"""The command that shows instances of datasets: the first ones of one, or a random sample of
each.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.options import WordListsFolder, load_checked_config
from biasgrid.cli.output import console, print_data, report_errors

COLUMNS = ("dataset", "variant", "instance", "text", "candidates")


def preview(
    configs: Annotated[
        list[Path], typer.Argument(help="a config; with --sample, one or more", metavar="CONFIG...")
    ],
    dataset: Annotated[
        str | None, typer.Option(help="name of a dataset; with --sample, default: all")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="name of a model whose answers are shown too")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="number of instances to show")] = 8,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1, help="print this many random instances of each variant of each dataset"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="seed of the random sample")] = 1,
    word_lists: WordListsFolder = None,
) -> None:
    """Shows the first instances of a dataset as a model receives them and, with --model, its
    answers.

    With --sample, prints a random sample of all datasets to be read by people. Each line is an
    instance: dataset, variant, number, text and candidates, separated by tabs. Vertical bars
    separate the parts of a text, and "/" stands for a line break in a prompt.
    """
    with report_errors():
        if sample is not None:
            if model is not None:
                raise UserError(
                    "both --sample and --model are given; expected one of them, because answers "
                    "are shown only for the first rows"
                )
            print_sample(configs, dataset, sample, seed, word_lists)
            return
        if len(configs) > 1 or dataset is None:
            problem = f"{len(configs)} configs" if len(configs) > 1 else "no --dataset"
            raise UserError(
                f"{problem}; expected one config and --dataset, or --sample to draw from all "
                "datasets"
            )
        print_first_rows(configs[0], dataset, model, rows, word_lists)


def print_first_rows(
    config: Path, dataset: str, model: str | None, rows: int, word_lists: str | None
) -> None:
    """Prints the first instances of a dataset in tables."""
    from biasgrid.cli.tables import frame_table
    from biasgrid.runs.preview import preview_dataset

    preview = preview_dataset(
        load_checked_config(config, word_lists), dataset, model, rows, str(config)
    )
    for title, frame in preview._asdict().items():
        if frame is not None:
            console.print(frame_table(title, frame))


def print_sample(
    configs: list[Path], dataset: str | None, instance_count: int, seed: int, word_lists: str | None
) -> None:
    """Prints a random sample of each variant of each dataset of some configs."""
    from biasgrid.runs.preview import sample_datasets

    # All samples are made first, so that nothing is printed if a later config has faults.
    rows: list[tuple[object, ...]] = []
    for config in configs:
        checked = load_checked_config(config, word_lists)
        rows += sample_datasets(checked, dataset, instance_count, seed, str(config))
    for row in (COLUMNS, *rows):
        cells = (" / ".join(str(cell).splitlines()).replace("\t", " ") for cell in row)
        print_data("\t".join(cells) + "\n")
