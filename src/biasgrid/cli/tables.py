"""Tables for a terminal that fit its width, and numbers in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.runs.counts import Estimate
    from biasgrid.runs.plan import CellPlan
    from biasgrid.runs.status import CellStatus

NARROWEST_NAME = 12
"""Characters to which a column of names may be cut before other columns are left out."""
PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z")


def terminal_table(texts: Sequence[str], numbers: Sequence[str], width: int) -> Table:
    """Makes a table for a terminal of some width: columns of text, then numbers, which are aligned
    to the right.
    """
    table = Table(
        box=None, pad_edge=False, padding=(0, column_gap(width), 0, 0), header_style="dim"
    )
    for column in texts:
        # Where there is no room for all, rich cuts the widest of the columns that it may wrap.
        table.add_column(column, vertical="bottom", overflow="ellipsis")
    for column in numbers:
        table.add_column(column, no_wrap=True, vertical="bottom", justify="right")
    return table


def column_gap(width: int) -> int:
    """Returns how many characters stand between columns on a terminal of some width."""
    return 2 if width >= 100 else 1


def fit_to_width(
    table: Table, first_to_go: Sequence[str], width: int, names: int = 1
) -> RenderableType:
    """Leaves out columns of a table from `terminal_table` until all others can be shown whole, but
    for names.

    Args:
        table: the table with all its rows.
        first_to_go: titles of columns that may be left out, the least important first.
        width: how many characters a line may have.
        names: how many columns, from the left, hold names, which may be cut.

    Returns:
        The table, with a line below it that lists what is left out.
    """
    kept, left_out = list(table.columns), []
    for title in first_to_go:
        if least_width(kept, names) + column_gap(width) * (len(kept) - 1) <= width:
            break
        left_out += [column for column in kept if column.header == title]
        kept = [column for column in kept if column.header != title]
    shown = with_columns(table, kept, width)
    if not left_out:
        return shown
    titles = ", ".join(
        str(column.header).replace("-\n", "").replace("\n", " ") for column in left_out
    )
    return Group(shown, Text(f"\nleft out at {width} characters: {titles}", style="dim"))


def least_width(columns: Sequence[Column], names: int) -> int:
    """Returns how many characters columns need, where those of names, from the left, may be cut."""
    needed = [
        max(line_length(content) for content in (column.header, *column.cells))
        for column in columns
    ]
    return sum(min(size, NARROWEST_NAME) for size in needed[:names]) + sum(needed[names:])


def line_length(content: RenderableType) -> int:
    """Returns how many characters the longest line of a cell takes."""
    return max((cell_len(line) for line in str(content).splitlines()), default=0)


def with_columns(table: Table, columns: Sequence[Column], width: int) -> Table:
    """Returns a table with some columns of another one."""
    titles: dict[bool, list[str]] = {False: [], True: []}
    for column in columns:
        titles[column.justify == "right"].append(str(column.header))
    part = terminal_table(titles[False], titles[True], width)
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        part.add_row(*cells, style=row.style)
    return part


def number_text(value: float, unit: str = "") -> str:
    """Returns a number in two or three digits: `7`, `950`, `5.5 M`, `33 MB`."""
    size = 0
    # What would be rounded to 1000 is 1 of the next prefix.
    while value >= 999.5 and size < len(PREFIXES) - 1:
        value, size = value / 1000, size + 1
    digits = f"{value:.1f}" if size and value < 9.95 else f"{value:.0f}"
    return f"{digits} {PREFIXES[size]}{unit}".rstrip()


def estimate_text(figure: Estimate, word: Callable[[float], str] = number_text) -> str:
    """Returns an estimate with its mark, `-` where it is unknown."""
    return "-" if figure.value is None else ("" if figure.exact else "~") + word(figure.value)


def bytes_text(value: float) -> str:
    """Returns a size in bytes in words."""
    return number_text(value, "B")


def cost_text(value: float) -> str:
    """Returns a cost in words, in the currency of the config's prices."""
    return f"{value:.2f}" if value < 1000 else f"{value:,.0f}"


def cell_name(asked: CellPlan | CellStatus) -> str:
    """Returns the name of a cell's model, with the writer whose texts a scorer reads."""
    return f"{asked.model} of {asked.writer}'s texts" if asked.writer else asked.model


def frame_table(title: str, frame: pl.DataFrame) -> Table:
    """Makes a table of a few rows of a data frame, without columns that hold nothing."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    kept = [column for column in frame.columns if frame[column].null_count() < len(frame)]
    for column in kept:
        table.add_column(column, overflow="fold")
    for row in frame.select(kept).iter_rows():
        table.add_row(*(table_value(value) for value in row))
    return table


def table_value(value: Any) -> str:
    """Returns a value of a data frame in words."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(map(table_value, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
