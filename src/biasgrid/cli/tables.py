"""Tables for a terminal that fit its width, and numbers in words."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
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
"""The width to which a column of names may be cut before other columns are left out."""
SHOW_ALL = "COLUMNS=200 before the command shows all"
PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z")


def terminal_table(texts: Sequence[str], numbers: Sequence[str], width: int) -> Table:
    """Makes an empty table for a terminal.

    Args:
        texts: titles of the columns of text, which come first.
        numbers: titles of the columns of numbers, aligned to the right.
        width: the number of characters in a line.
    """
    padding = (0, column_gap(width), 0, 0)
    table = Table(box=None, pad_edge=False, padding=padding, header_style="dim")
    for column in texts:
        # If there is no room for all columns, rich cuts the widest that it may wrap.
        table.add_column(column, vertical="bottom", overflow="ellipsis")
    for column in numbers:
        table.add_column(column, no_wrap=True, vertical="bottom", justify="right")
    return table


def column_gap(width: int) -> int:
    """Returns the number of characters between columns on a terminal of some width."""
    return 2 if width >= 100 else 1


def fit_to_width(
    table: Table, least_needed: Sequence[str], width: int, *, name_titles: Collection[str] = ()
) -> RenderableType:
    """Leaves out columns of a table until all others can be shown whole, except for names.

    Args:
        table: a table from `terminal_table`, with all its rows and at least one column.
        least_needed: titles of columns that may be left out, the least important first. Titles
            that the table does not have are skipped.
        width: the maximum number of characters in a line.
        name_titles: titles of columns of names, which may be cut to `NARROWEST_NAME`. By default
            the first column alone.

    Returns:
        The table. If columns are left out, a line below it lists them.
    """
    name_titles = name_titles or [str(table.columns[0].header)]
    columns, left_out = list(table.columns), []
    for title in least_needed:
        gaps = column_gap(width) * (len(columns) - 1)
        if least_width(columns, name_titles) + gaps <= width:
            break
        left_out += [column for column in columns if column.header == title]
        columns = [column for column in columns if column.header != title]
    fitted = with_columns(table, columns, width)
    if not left_out:
        return fitted
    titles = [str(column.header).replace("-\n", "").replace("\n", " ") for column in left_out]
    note = f"\nleft out at {width} characters ({SHOW_ALL}): {', '.join(titles)}"
    return Group(fitted, Text(note, style="dim"))


def least_width(columns: Sequence[Column], name_titles: Collection[str]) -> int:
    """Returns the number of characters that columns need, without the gaps between them.

    Args:
        columns: the columns.
        name_titles: titles of columns that may be cut to `NARROWEST_NAME`, if they may wrap.
    """
    needed = 0
    for column in columns:
        widest = max(map(line_length, (column.header, *column.cells)))
        may_be_cut = column.header in name_titles and not column.no_wrap
        needed += min(widest, NARROWEST_NAME) if may_be_cut else widest
    return needed


def line_length(cell: RenderableType) -> int:
    """Returns the width of the longest line of a cell on a terminal."""
    return max((cell_len(line) for line in str(cell).splitlines()), default=0)


def with_columns(table: Table, columns: Sequence[Column], width: int) -> Table:
    """Returns a table with some columns of another table, each with its title and rows."""
    texts: list[str] = []
    numbers: list[str] = []
    for column in columns:
        titles = numbers if column.justify == "right" else texts
        titles.append(str(column.header))
    part = terminal_table(texts, numbers, width)
    for column, original in zip(part.columns, columns, strict=True):
        column.no_wrap = original.no_wrap
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        part.add_row(*cells, style=row.style)
    return part


def number_text(value: float, unit: str = "") -> str:
    """Formats a number of at least 0 in two or three digits: `7`, `950`, `5.5 M`, `33 MB`."""
    prefix = 0
    # A value that would be rounded to 1000 is 1 of the next prefix.
    while value >= 999.5 and prefix < len(PREFIXES) - 1:
        value, prefix = value / 1000, prefix + 1
    digits = f"{value:.1f}" if prefix and value < 9.95 else f"{value:.0f}"
    return f"{digits} {PREFIXES[prefix]}{unit}".rstrip()


def estimate_text(estimate: Estimate, format_value: Callable[[float], str] = number_text) -> str:
    """Formats an estimate: `-` if it is unknown, with the mark `~` unless it is exact."""
    if estimate.value is None:
        return "-"
    mark = "" if estimate.exact else "~"
    return f"{mark}{format_value(estimate.value)}"


def bytes_text(value: float) -> str:
    """Formats a size in bytes: `33 MB`."""
    return number_text(value, "B")


def cost_text(value: float) -> str:
    """Formats a cost, without the currency, which is the one of the config's prices."""
    return f"{value:.2f}" if value < 1000 else f"{value:,.0f}"


def cell_name(cell: CellPlan | CellStatus) -> str:
    """Returns the name of a cell's model, for a scorer with the model whose texts it reads."""
    return f"{cell.model} of {cell.writer}'s texts" if cell.writer else cell.model


def frame_table(title: str, frame: pl.DataFrame) -> Table:
    """Makes a table of the rows of a data frame, without columns that are null in all rows."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    columns = [column for column in frame.columns if frame[column].null_count() < len(frame)]
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in frame.select(columns).iter_rows():
        table.add_row(*(table_value(value) for value in row))
    return table


def table_value(value: Any) -> str:
    """Formats a value of a data frame: null as `-`, a list with commas, floats in four digits."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(map(table_value, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
