"""The commands that read and write files of other projects, as the families offer them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

import typer

from biasgrid.base.references import load_reference
from biasgrid.cli.output import console, report_errors
from biasgrid.config.registry import BUILT_IN
from biasgrid.families.family import Format

imports = typer.Typer(no_args_is_help=True, help="Imports files of other projects.")
exports = typer.Typer(no_args_is_help=True, help="Exports tables as files of other projects.")


@imports.callback()
@exports.callback()
def formats() -> None:
    """Keeps the format a word of its own, though there is one alone."""


def printing_command(command: Callable[..., list[str]]) -> Callable[..., None]:
    """Returns a command that prints the lines which another one returns, and its errors without a traceback."""

    @wraps(command)
    def run(*arguments: object, **options: object) -> None:
        with report_errors():
            lines = command(*arguments, **options)
        for line in lines:
            console.print(line, soft_wrap=True)

    return run


def formats_of_families() -> Iterator[tuple[str, Format]]:
    """Yields the file formats of all families, by name."""
    for name in BUILT_IN.families:
        yield from BUILT_IN.family(name).formats.items()


for _name, _format in formats_of_families():
    imports.command(_name)(printing_command(load_reference(_format.importer)))
    if _format.exporter:
        exports.command(_name)(printing_command(load_reference(_format.exporter)))
