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
from biasgrid.cli.choices import choice_text

FAILED, BAD_INPUT, INTERRUPTED = 1, 2, 130
"""Exit codes: failed work or a fault, wrong input, Ctrl-C. See docs/troubleshooting.md."""


class PlainConsole(Console):
    """A console that interprets no markup or control characters, and escapes invisible ones."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Renders text without markup, with invisible characters escaped."""
        return super().render_str(visible_text(text), **options)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Renders anything, with invisible characters escaped."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible_text(segment.text))


# Output that is not for a terminal is not wrapped: a row of a table must stay one line.
console = PlainConsole(
    width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 1000,
    markup=False,
    emoji=False,
)


def print_text(text: str, err: bool = False, nl: bool = True) -> None:
    """Prints a text with invisible characters escaped as in JSON, which keeps the meaning of JSON.

    Args:
        text: the text.
        err: print to standard error.
        nl: end with a newline.
    """
    typer.echo(visible_text(text), err=err, nl=nl)


def print_data(text: str) -> None:
    """Prints data unchanged; on a terminal, with invisible characters escaped."""
    # `typer.echo` would strip colour codes from data for other programs.
    sys.stdout.write(visible_text(text) if sys.stdout.isatty() else text)


@contextmanager
def report_errors() -> Iterator[None]:
    """Turns errors of the user, of the system and of memory into a message and an exit code.

    Raises:
        typer.Exit: `BAD_INPUT` for a UserError and an OSError about a file, else `FAILED`. Other
            exceptions are not changed.
    """
    try:
        with plugin_faults():
            yield
    except (UserError, OSError, MemoryError) as error:
        print_text(user_message(error), err=True)
        names_path = isinstance(error, OSError) and error.filename is not None
        is_bad_input = names_path or isinstance(error, UserError)
        raise typer.Exit(BAD_INPUT if is_bad_input else FAILED) from None


def user_message(error: Exception) -> str:
    """Formats an error for users, with its path if it has one, or advice if memory ran out."""
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
"""The name of each type of option values in help texts, by typer's name."""


class PlainTypes:
    """Help texts without Python types; options without a value have no type at all."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Returns arguments and options, with the types that help shows in their `metavar`."""
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for param in params:
            if param.param_type_name == "option" and param.metavar is None:
                type_name = param.display_type_rich(ctx)
                param.metavar = "" if param.is_flag else TYPE_WORDS.get(type_name, type_name)
        return params


class Command(PlainTypes, TyperCommand):
    """A command, which says what there is to choose from if an argument is missing."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parses arguments; of a missing one the error lists what it may be."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            # The error of a missing argument has no message of its own.
            if error.param is not None and not error.message:
                error.message = choice_text(error.param.name or "")
            raise


class Commands(PlainTypes, TyperGroup):
    """A group of commands that refuses arguments that are not UTF-8."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Refuses arguments that are not UTF-8, mostly file names.

        Polars cannot read tables from such a path, and not every terminal can print it.
        """
        for argument in args:
            if HALF_CHARACTER.search(argument):
                raise typer.BadParameter(
                    f"{argument!a} is not UTF-8; expected names in UTF-8: rename the file or folder"
                )
        if ctx.parent is None and args and args[0].endswith((".yaml", ".yml")):
            raise typer.BadParameter(f"{args[0]} is no command; expected biasgrid run {args[0]}")
        return super().parse_args(ctx, args)
