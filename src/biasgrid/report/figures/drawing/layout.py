"""The order of rows in figures, and the rows, columns and characters that a figure has room for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from textwrap import wrap
from typing import TypeVar

import polars as pl

MOST_FIGURE_ROWS = 80
"""Maximum number of rows in a figure; of more rows, both ends of their order are shown."""

MOST_GROUPS = 30
"""Maximum number of groups of a bias type; of more groups, both ends of their order are shown."""

ALL_ROWS = 160
"""Maximum number of rows of all panels below each other."""
FEWEST_ROWS = 20
"""Minimum of the maximum number of rows in a panel, however many panels there are."""

STRIP_CHARACTER = 0.09
"""Width of a character above a panel in inches."""

Ordered = TypeVar("Ordered")


def order_by_value(frame: pl.DataFrame, **orders: Sequence[str]) -> pl.DataFrame:
    """Makes columns categorical, in the order in which plots show their values."""
    return frame.with_columns(
        pl.col(column).cast(pl.Enum(list(order))) for column, order in orders.items()
    )


def both_ends(order: Sequence[Ordered], most: int = MOST_FIGURE_ROWS) -> list[Ordered]:
    """Returns the items at both ends of an order, at most `most` together."""
    if len(order) <= most:
        return list(order)
    return [*order[: most - most // 2], *order[-(most // 2) :]]


def columns_of(panels: int, most: int) -> int:
    """Returns the number of panels side by side, at most `most`, so that lines are equally long."""
    lines = -(-panels // most)
    return -(-panels // lines)


def most_rows(lines: int) -> int:
    """Returns the maximum number of rows in a panel, for a number of lines of panels."""
    return max(FEWEST_ROWS, min(MOST_FIGURE_ROWS, ALL_ROWS // lines))


def omitted_text(order: Sequence[str], shown: Sequence[str], what: str) -> str:
    """Returns a note for a subtitle about items that `both_ends` has left out; empty if none.

    Args:
        order: all items.
        shown: the items that are shown.
        what: the plural noun of the items.
    """
    left_out = len(order) - len(shown)
    return f"; {left_out} {what} in the middle are left out" if left_out else ""


def readable_groups(
    order: Mapping[str, list[str]], most: int = MOST_GROUPS
) -> dict[str, list[str]]:
    """Returns the groups of each bias type at both ends of its order, at most `most` together."""
    return {bias_type: both_ends(groups, most) for bias_type, groups in order.items()}


def omitted_groups(order: Mapping[str, list[str]], shown: Mapping[str, list[str]]) -> str:
    """Returns a note for a subtitle about groups that are not shown; empty if all are."""
    left_out = {}
    for bias_type, groups in order.items():
        if len(shown[bias_type]) < len(groups):
            left_out[bias_type] = len(groups) - len(shown[bias_type])
    if not left_out:
        return ""
    where = f"{len(left_out)} bias types"
    if len(left_out) == 1:
        where = next(iter(left_out))
    return f"; {sum(left_out.values())} groups of {where} in the middle are left out"


def with_names(pairs: pl.DataFrame, between: str = ", ") -> pl.DataFrame:
    """Adds `name`, the name of a pair of groups; with several bias types, the type is in it.

    Args:
        pairs: rows with `bias_type`, `group` and `other`.
        between: the text between the two groups.
    """
    name = pl.format("{}{}{}", "group", pl.lit(between), "other")
    if pairs["bias_type"].n_unique() > 1:
        name = pl.format("{}: {}", "bias_type", name)
    return pairs.with_columns(name=name)


def in_lines(width: float) -> Callable[[str], str]:
    """Returns a function that breaks the title of a panel into lines, for `labeller`.

    Args:
        width: the width of the panel in inches, beyond which its title would meet the next one.
    """
    most = max(int(width / STRIP_CHARACTER), 1)
    return lambda title: "\n".join(wrap(title, most, break_long_words=False))


def shorten_text(text: str, length: int) -> str:
    """Shortens a text to at most `length` characters, with an ellipsis at the end."""
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def shorten_all(texts: Sequence[str], length: int) -> dict[str, str]:
    """Shortens distinct texts, and numbers texts that are equal when shortened.

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
