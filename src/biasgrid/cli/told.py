"""How commands tell what they have found, and what is wrong."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer
from rich.console import Console

from biasgrid.faults import UserError

# What is not read on a terminal is wrapped nowhere, so that a line of a table stays one line.
console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 1000)


@contextmanager
def told_errors() -> Iterator[None]:
    """Ends the command with the message of a user's error, without a traceback."""
    try:
        yield
    except UserError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
