"""Commands for LangFair; each returns the lines that it prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def import_words(
    package: Annotated[
        Path,
        typer.Argument(help="LangFair: its wheel, or the folder that contains its folder langfair"),
    ],
    out: Annotated[
        Path, typer.Option(help="folder to write the word files, within `word_lists` of a config")
    ],
) -> list[str]:
    """Writes the words of your copy of LangFair as files for `mode: langfair`; runs none of its
    code.
    """
    from biasgrid.formats.langfair.word_lists import import_package

    return import_package(package, out)
