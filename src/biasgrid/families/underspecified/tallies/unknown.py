"""Attributes that a model's tokenizer does not know, which are left out of a cell."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import polars as pl

from biasgrid.families.underspecified.observe import UNKNOWN_TEXT


class KnownAttributes(NamedTuple):
    """Which attributes of a cell a tokenizer knows.

    Attributes:
        left_out: the attributes all of whose swap groups have text that it does not know; none if
            it knows no attribute, since then the templates or subjects may be unknown.
        total: how many attributes there are.
    """

    left_out: tuple[str, ...]
    total: int

    def of(self, part: pl.DataFrame) -> pl.DataFrame:
        """Returns the rows of a table that are about other attributes than those left out."""
        if not self.left_out:
            return part
        return part.filter(~pl.col("attribute").cast(pl.String).is_in(self.left_out))


def find_known_attributes(parts: Iterable[pl.DataFrame]) -> KnownAttributes:
    """Finds the attributes that a tokenizer knows.

    Args:
        parts: the observations of a cell, part by part. If they do not have `UNKNOWN_TEXT`, all
            attributes count as known, and the total as 0.
    """
    is_unknown: dict[str, bool] = {}
    for part in parts:
        if UNKNOWN_TEXT not in part.columns:
            return KnownAttributes((), 0)
        attributes = part.group_by(pl.col("attribute").cast(pl.String))
        for attribute, are_all in attributes.agg(pl.col(UNKNOWN_TEXT).all()).iter_rows():
            is_unknown[attribute] = is_unknown.get(attribute, True) and are_all
    unknown = sorted(attribute for attribute, are_all in is_unknown.items() if are_all)
    left_out = tuple(unknown) if len(unknown) < len(is_unknown) else ()
    return KnownAttributes(left_out, len(is_unknown))
