"""How commands tell what they have found, and what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from biasgrid.faults import UserError, out_of_memory
from biasgrid.reading import HALF_CHARACTER
from biasgrid.references import plugin_faults

# What is not read on a terminal is wrapped nowhere, so that a line of a table stays one line.
console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 1000)


@contextmanager
def told_errors(code: int = 1) -> Iterator[None]:
    """Ends the command with the message of a user's error, or of the system's or of memory, without a traceback.

    Args:
        code: the exit code.
    """
    try:
        with plugin_faults():
            yield
    except (UserError, OSError, MemoryError) as error:
        typer.echo(message_of(error), err=True)
        raise typer.Exit(code) from None


def message_of(error: Exception) -> str:
    """Words an error for users."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; expected a file or folder that can be used"
    return str(out_of_memory(error) or error)


class Commands(TyperGroup):
    """Commands whose arguments are texts."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuses names of files that are no UTF-8: tables cannot be read there, nor can they be printed everywhere."""
        for argument in args:
            if HALF_CHARACTER.search(argument):
                raise typer.BadParameter(
                    f"{argument!a} is not UTF-8; expected names in UTF-8: rename the file or folder"
                )
        return super().parse_args(ctx, args)
