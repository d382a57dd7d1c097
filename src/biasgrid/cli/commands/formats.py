"""The commands that read and write files of other projects, as the families offer them."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

import typer

from biasgrid.base.references import load_reference
from biasgrid.cli.output import console, report_errors
from biasgrid.config.registry import BUILT_IN

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


for _family in map(BUILT_IN.family, BUILT_IN.families):
    for _name, _format in _family.formats.items():
        imports.command(_name)(printing_command(load_reference(_format.importer)))
        if _format.exporter:
            exports.command(_name)(printing_command(load_reference(_format.exporter)))
