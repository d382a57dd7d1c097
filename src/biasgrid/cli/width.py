"""Tables on narrow terminals: columns are left out, and numbers stay whole."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

NARROWEST_NAME = 12
"""Characters to which a column of names may be cut before other columns are left out."""


def empty_table(texts: Sequence[str], numbers: Sequence[str], width: int) -> Table:
    """Makes a table for a terminal of some width: columns of text, then numbers, which are aligned to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, gap(width), 0, 0), header_style="dim")
    for column in texts:
        table.add_column(column, no_wrap=True, vertical="bottom", overflow="ellipsis")
    for column in numbers:
        table.add_column(column, no_wrap=True, vertical="bottom", justify="right")
    return table


def gap(width: int) -> int:
    """Returns how many characters stand between columns on a terminal of some width."""
    return 2 if width >= 100 else 1


def fitted(table: Table, first_to_go: Sequence[str], width: int, names: int = 1) -> RenderableType:
    """Leaves out columns of a table from `empty_table` until all others can be shown whole, but for names.

    Args:
        table: the table with all its rows.
        first_to_go: titles of columns that may be left out, the least important first.
        width: how many characters a line may have.
        names: how many columns, from the left, hold names, which may be cut.

    Returns:
        The table, with a line below it that says what is left out.
    """
    kept, left_out = list(table.columns), []
    for title in first_to_go:
        if sum(widths(kept, names, NARROWEST_NAME)) + gap(width) * (len(kept) - 1) <= width:
            break
        left_out += [column for column in kept if column.header == title]
        kept = [column for column in kept if column.header != title]
    shown = with_columns(table, kept, width)
    free = width - gap(width) * (len(kept) - 1) - sum(widths(kept, 0, 0)[names:])
    for column, room in zip(shown.columns, shares(widths(kept, 0, 0)[:names], free), strict=False):
        column.max_width = room
    if not left_out:
        return shown
    titles = ", ".join(str(column.header).replace("-\n", "").replace("\n", " ") for column in left_out)
    return Group(shown, Text(f"\nnot shown in {width} characters: {titles}", style="dim"))


def widths(columns: Sequence[Column], names: int, narrowest: int) -> list[int]:
    """Returns how many characters columns need, where those of names, from the left, may be cut."""
    needed = [max(line_length(content) for content in (column.header, *column.cells)) for column in columns]
    return [min(size, narrowest) for size in needed[:names]] + needed[names:]


def line_length(content: RenderableType) -> int:
    """Returns how many characters the longest line of a cell takes."""
    return max((cell_len(line) for line in str(content).splitlines()), default=0)


def shares(needed: Sequence[int], free: int) -> list[int]:
    """Divides room among columns: each gets what it needs, and where that is too much the widest get less."""
    room = list(needed)
    while sum(room) > max(free, len(room)):
        room[room.index(max(room))] -= 1
    return room


def with_columns(table: Table, columns: Sequence[Column], width: int) -> Table:
    """Returns a table with some columns of another one."""
    titles: dict[bool, list[str]] = {False: [], True: []}
    for column in columns:
        titles[column.justify == "right"].append(str(column.header))
    part = empty_table(titles[False], titles[True], width)
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        part.add_row(*cells, style=row.style)
    return part
