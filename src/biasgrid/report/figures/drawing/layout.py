"""How many rows, columns and characters of a name a figure can show, and in which order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import TypeVar

import polars as pl

MOST_FIGURE_ROWS = 80
"""More rows than this cannot be read in one figure; both ends of an order are shown then."""

MOST_GROUPS = 30
"""More groups of a bias type than this are not readable; those at both ends of their order are
shown then.
"""

ALL_ROWS = 160
"""So many rows panels below each other may have together."""
FEWEST_ROWS = 20
"""So many rows a panel has, however many there are."""

STRIP_CHARACTER = 0.09
"""Width of a character above a panel in inches."""

Ordered = TypeVar("Ordered")


def order_by_value(frame: pl.DataFrame, **orders: Sequence[str]) -> pl.DataFrame:
    """Gives columns the order in which plots show their values: first value first."""
    return frame.with_columns(
        pl.col(column).cast(pl.Enum(list(order))) for column, order in orders.items()
    )


def both_ends(order: Sequence[Ordered], most: int = MOST_FIGURE_ROWS) -> list[Ordered]:
    """Returns the items at both ends of an order, at most `most`; all where there are no more."""
    if len(order) <= most:
        return list(order)
    return [*order[: most - most // 2], *order[-(most // 2) :]]


def columns_of(panels: int, most: int) -> int:
    """Returns how many of some panels stand side by side, at most `most`, so that lines are as long
    as each other.
    """
    lines = -(-panels // most)
    return -(-panels // lines)


def most_rows(lines: int) -> int:
    """Returns how many rows a panel may have where so many lines of panels stand below each
    other.
    """
    return max(FEWEST_ROWS, min(MOST_FIGURE_ROWS, ALL_ROWS // lines))


def omitted_text(order: Sequence[str], shown: Sequence[str], what: str) -> str:
    """Returns how many items `both_ends` has left out, as an addition to a subtitle; empty if
    none.
    """
    return (
        f"; {len(order) - len(shown)} {what} in the middle are left out"
        if len(shown) < len(order)
        else ""
    )


def readable_groups(
    order: Mapping[str, list[str]], most: int = MOST_GROUPS
) -> dict[str, list[str]]:
    """Returns of each bias type the groups at both ends of its order, at most `most`; all where
    there are no more.
    """
    return {bias_type: both_ends(groups, most) for bias_type, groups in order.items()}


def omitted_groups(order: Mapping[str, list[str]], shown: Mapping[str, list[str]]) -> str:
    """Returns how many groups are not shown, as an addition to a subtitle; empty if all are."""
    cut = [bias_type for bias_type, groups in order.items() if len(shown[bias_type]) < len(groups)]
    count = sum(len(order[bias_type]) - len(shown[bias_type]) for bias_type in cut)
    where = cut[0] if len(cut) == 1 else f"{len(cut)} bias types"
    return f"; {count} groups of {where} in the middle are left out" if cut else ""


def with_names(pairs: pl.DataFrame, between: str = ", ") -> pl.DataFrame:
    """Adds `name`, what a pair of groups is called: both groups, and of several bias types which
    one.

    Args:
        pairs: with `bias_type`, `group` and `other`.
        between: the text between the two groups.
    """
    name = pl.format("{}{}{}", "group", pl.lit(between), "other")
    several = pairs["bias_type"].n_unique() > 1
    return pairs.with_columns(name=pl.format("{}: {}", "bias_type", name) if several else name)


def in_lines(width: float) -> Callable[[str], str]:
    """Returns what breaks the title of a panel into lines, so that it does not run into the next
    one's.

    Args:
        width: of the panel, in inches.
    """
    most = max(int(width / STRIP_CHARACTER), 1)
    return lambda title: "\n".join(wrap(title, most, break_long_words=False))


def shorten_text(text: str, length: int) -> str:
    """Cuts a text to at most `length` characters, the last of which is an ellipsis if something is
    cut.
    """
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def shorten_all(texts: Sequence[str], length: int) -> dict[str, str]:
    """Shortens distinct texts; those that would look the same then are numbered.

    Returns:
        The short form of each text; the short forms are distinct.
    """
    short: dict[str, str] = {}
    for text in texts:
        candidate, number = shorten_text(text, length), 2
        while candidate in short.values():
            candidate, number = f"{shorten_text(text, length - 4)} ({number})", number + 1
        short[text] = candidate
    return short
