"""How commands print results and errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import typer
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text
from typer.core import TyperCommand, TyperGroup

from biasgrid.base.faults import UserError, out_of_memory
from biasgrid.base.names import visible_text
from biasgrid.base.references import plugin_faults
from biasgrid.base.text import HALF_CHARACTER

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit codes, see docs/troubleshooting.md: work that failed or found a fault, wrong input,
Ctrl-C.
"""


class PlainConsole(Console):
    """A console that shows texts as they are, whoever wrote them: it obeys nothing in them, and
    hides nothing.
    """

    def render_str(self, text: str, **options: Any) -> Text:
        """Returns a text, with what cannot be seen made visible."""
        return super().render_str(visible_text(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Yields what is printed of anything, with what cannot be seen made visible."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible_text(segment.text))


# What is not read on a terminal is wrapped nowhere, so that a line of a table stays one line.
console = PlainConsole(
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 1000,
    markup=False,
    emoji=False,
)


def print_text(text: str, err: bool = False, nl: bool = True) -> None:
    """Prints a text as it is, with what cannot be seen made visible; JSON means the same.

    Args:
        text: the text.
        err: whether on the standard error.
        nl: whether the line ends behind it.
    """
    typer.echo(visible_text(text), err=err, nl=nl)


def print_data(text: str) -> None:
    """Prints data, of which only a terminal gets what cannot be seen made visible."""
    # `typer.echo` would take colours out of what a program gets.
    sys.stdout.write(visible_text(text) if sys.stdout.isatty() else text)


@contextmanager
def report_errors() -> Iterator[None]:
    """Ends the command with the message of a user's error, or of the system's or of memory, without
    a traceback.
    """
    try:
        with plugin_faults():
            yield
    except (UserError, OSError, MemoryError) as error:
        print_text(message_of(error), err=True)
        names_path = isinstance(error, OSError) and error.filename is not None
        raise typer.Exit(
            BAD_INPUT if names_path or isinstance(error, UserError) else FAILED
        ) from None


def message_of(error: Exception) -> str:
    """Returns the message of an error for users."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}; expected a file or folder that can be used"
    return str(out_of_memory(error) or error)


TYPE_WORDS = {
    "<str>": "TEXT",
    "<list[str]>": "TEXT",
    "<path>": "PATH",
    "<int range>": "NUMBER",
    "<float range>": "NUMBER",
}
"""What help calls the values of options, by what typer calls them."""


class PlainTypes:
    """Commands whose help names no Python types, and none at all beside an option that takes no
    value.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """Returns arguments and options."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for one in params:
            if one.param_type_name == "option" and one.metavar is None:
                shown = one.display_type_rich(ctx)
                one.metavar = "" if one.is_flag else TYPE_WORDS.get(shown, shown)
        return params


class Command(PlainTypes, TyperCommand):
    """A command."""


class Commands(PlainTypes, TyperGroup):
    """Commands whose arguments are texts."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuses names of files that are no UTF-8: tables cannot be read there, nor can they be
        printed everywhere.
        """
        for argument in args:
            if HALF_CHARACTER.search(argument):
                raise typer.BadParameter(
                    f"{argument!a} is not UTF-8; expected names in UTF-8: rename the file or folder"
                )
        return super().parse_args(ctx, args)
