"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biasgrid.cli.output import print_text, report_errors

if TYPE_CHECKING:
    from biasgrid.config import Config


def own_or_shipped(config: Path) -> Path:
    """Returns the path of a config: as it is typed, or in the workflow if it is only there."""
    from biasgrid.config.paths import WORKFLOW

    shipped = WORKFLOW / config
    try:
        is_shipped_alone = shipped.is_file() and not config.exists()
    except OSError:
        # Such as a name that is too long. Reading the config will say so.
        return config
    return shipped if is_shipped_alone else config


ConfigPath = Annotated[
    Path,
    typer.Argument(
        help="a config: your own, or a shipped one, such as config/config.yaml",
        callback=own_or_shipped,
    ),
]
WordListsFolder = Annotated[
    str | None, typer.Option(help="folder of word lists, in place of the config's")
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


def results_folder(path: Path) -> Path:
    """Returns the folder of results of an argument, or of the config that the argument is."""
    from biasgrid.runs.results import find_results

    with report_errors():
        results = find_results(path)
    if results != path:
        print_text(f"{path}: its results are in {results}", err=True)
    return results


ResultsFolder = Annotated[
    Path,
    typer.Argument(
        help="folder of results, such as results/demo; or their config", callback=results_folder
    ),
]


def load_checked_config(path: Path, word_lists: str | None) -> Config:
    """Reads a config, with another folder of word lists where one is given.

    Raises:
        InputError: with every fault in it.
    """
    from biasgrid.config import load_config

    return load_config(path, {} if word_lists is None else {"word_lists": word_lists})
