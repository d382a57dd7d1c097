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
    """Makes columns categorical, in the order in which plots show their values.

    Args:
        frame: rows whose values of these columns are all in their order.
        orders: the values of each column; on a vertical axis the first is at the bottom.
    """
    return frame.with_columns(
        pl.col(column).cast(pl.Enum(list(order))) for column, order in orders.items()
    )


def both_ends(order: Sequence[Ordered], most: int = MOST_FIGURE_ROWS) -> list[Ordered]:
    """Returns the items at both ends of an order, at most `most` together."""
    if len(order) <= most:
        return list(order)
    return [*order[: most - most // 2], *order[-(most // 2) :]]


def panel_columns(panel_count: int, most: int) -> int:
    """Returns the number of panels side by side, at most `most`, so that lines are equally long."""
    lines = -(-panel_count // most)
    return -(-panel_count // lines)


def most_rows(lines: int) -> int:
    """Returns the maximum number of rows in a panel, for a number of lines of panels."""
    return max(FEWEST_ROWS, min(MOST_FIGURE_ROWS, ALL_ROWS // lines))


def omission_note(order: Sequence[str], shown_items: Sequence[str], plural_noun: str) -> str:
    """Returns a note for a subtitle about items that `both_ends` has left out; empty if none.

    Args:
        order: all items.
        shown_items: the items that are shown.
        plural_noun: names the items, such as `pairs`.
    """
    omitted_count = len(order) - len(shown_items)
    if not omitted_count:
        return ""
    return f"; {omitted_count} {plural_noun} in the middle are left out"


def readable_groups(
    order: Mapping[str, list[str]], most: int = MOST_GROUPS
) -> dict[str, list[str]]:
    """Returns the groups of each bias type at both ends of its order, at most `most` together."""
    return {bias_type: both_ends(groups, most) for bias_type, groups in order.items()}


def group_omission_note(
    order: Mapping[str, Sequence[str]], shown_groups: Mapping[str, Sequence[str]]
) -> str:
    """Returns a note for a subtitle about groups that `readable_groups` has left out.

    Args:
        order: all groups of each bias type.
        shown_groups: the groups of each bias type that are shown.

    Returns:
        The note; empty if all groups are shown.
    """
    omitted_counts = {}
    for bias_type, groups in order.items():
        omitted_count = len(groups) - len(shown_groups[bias_type])
        if omitted_count:
            omitted_counts[bias_type] = omitted_count
    if not omitted_counts:
        return ""
    bias_types = f"{len(omitted_counts)} bias types"
    if len(omitted_counts) == 1:
        bias_types = next(iter(omitted_counts))
    return f"; {sum(omitted_counts.values())} groups of {bias_types} in the middle are left out"


def with_pair_names(pairs: pl.DataFrame, separator: str = ", ") -> pl.DataFrame:
    """Adds `name`, the name of a pair of groups; with several bias types, the type is in it.

    Args:
        pairs: rows with `bias_type`, `group` and `other`.
        separator: the text between the two groups.
    """
    name = pl.format("{}{}{}", "group", pl.lit(separator), "other")
    if pairs["bias_type"].n_unique() > 1:
        name = pl.format("{}: {}", "bias_type", name)
    return pairs.with_columns(name=name)


def panel_title(width: float) -> Callable[[str], str]:
    """Returns a `labeller` that breaks the titles of panels into lines.

    Args:
        width: the width of a panel in inches, beyond which its title would meet the next one.
    """
    characters = max(int(width / STRIP_CHARACTER), 1)
    return lambda title: "\n".join(wrap(title, characters, break_long_words=False))


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
        candidate, repetition = shorten_text(text, length), 1
        while candidate in short.values():
            repetition += 1
            candidate = f"{shorten_text(text, length - 4)} ({repetition})"
        short[text] = candidate
    return short
