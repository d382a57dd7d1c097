"""Puts values into the texts of templates, a column at a time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

import polars as pl

Piece = str | int
"""A part of a text: as it stands, or the place of the parameter whose value stands there."""
SLOT = re.compile(r"#(\d+)")
HALF_SLOT = re.compile(r"#\d*$")


def texts(text: str, parameters: Sequence[str], names: Sequence[pl.Series], as_original: bool) -> pl.Series:
    """Fills the text of a template.

    Args:
        text: the template's text, with `#1` for the value of parameter 1.
        parameters: the numbers of the parameters.
        names: the values of each parameter, row by row.
        as_original: whether parameters are replaced one after another, as in APES, so that `#1` is found in `#10` and
            `#2` in the value of parameter 1; or only those that stand in the template.

    Returns:
        The texts, row by row.
    """
    frame = pl.DataFrame([name.alias(str(place)) for place, name in enumerate(names)])
    pieces = in_turn(text, parameters) if as_original else at_once(text, parameters)
    if not as_original or is_safe(pieces, names):
        parts = [pl.lit(piece) if isinstance(piece, str) else pl.col(str(piece)) for piece in pieces]
        return frame.with_columns(text=pl.concat_str([pl.lit(""), *parts]))["text"]
    frame = frame.with_columns(text=pl.lit(text))
    for place, number in enumerate(parameters):
        frame = frame.with_columns(pl.col("text").str.replace_all(f"#{number}", pl.col(str(place)), literal=True))
    return frame["text"]


def at_once(text: str, parameters: Sequence[str]) -> list[Piece]:
    """Splits a text at its parameters."""
    parts = SLOT.split(text)
    return [parameters.index(part) if place % 2 else part for place, part in enumerate(parts)]


def in_turn(text: str, parameters: Sequence[str]) -> list[Piece]:
    """Splits a text at one parameter after another."""
    pieces: list[Piece] = [text]
    for place, number in enumerate(parameters):
        pieces = [each for piece in pieces for each in split(piece, f"#{number}", place)]
    return pieces


def split(piece: Piece, slot: str, place: int) -> list[Piece]:
    """Splits a part of a text at a parameter."""
    if isinstance(piece, int):
        return [piece]
    literals: list[Piece] = list(piece.split(slot))
    return [each for literal in literals for each in (place, literal)][1:]


def is_safe(pieces: Sequence[Piece], names: Sequence[pl.Series]) -> bool:
    """Says whether no value can make a parameter, alone or with what stands before it."""
    before = [one for one, other in pairwise(pieces) if isinstance(one, str) and isinstance(other, int)]
    with_mark = any(name.unique().str.contains("#", literal=True).any() for name in names)
    return not with_mark and not any(HALF_SLOT.search(literal) for literal in before)
