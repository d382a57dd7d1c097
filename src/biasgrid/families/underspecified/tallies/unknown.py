"""Attributes that a model's tokenizer does not know: they are left out, and the dataset is measured
on the rest.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from biasgrid.families.underspecified.observe import UNKNOWN_TEXT


class KnownAttributes(NamedTuple):
    """Which attributes of a cell a tokenizer knows.

    Attributes:
        left_out: those all of whose swap groups have text that it does not know; none if it knows
            no attribute, since then the templates or subjects may be unknown.
        total: how many attributes there are.
    """

    left_out: tuple[str, ...]
    total: int

    def of(self, part: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of a table that are about other attributes than those left out."""
        return (
            part.filter(~pl.col("attribute").cast(pl.String).is_in(self.left_out))
            if self.left_out
            else part
        )


def find_known_attributes(parts: Iterable[pl.DataFrame]) -> KnownAttributes:
    """Finds out which attributes a tokenizer knows.

    Args:
        parts: what was observed of a cell, part by part, with `UNKNOWN_TEXT` where that is known of
            its texts.
    """
    is_unknown: dict[str, bool] = {}
    for part in parts:
        if UNKNOWN_TEXT not in part.columns:
            return KnownAttributes((), 0)
        of_part = part.group_by(pl.col("attribute").cast(pl.String)).agg(pl.col(UNKNOWN_TEXT).all())
        for attribute, are_all in of_part.iter_rows():
            is_unknown[attribute] = is_unknown.get(attribute, True) and are_all
    left_out = tuple(sorted(attribute for attribute, are_all in is_unknown.items() if are_all))
    return KnownAttributes(left_out if len(left_out) < len(is_unknown) else (), len(is_unknown))
