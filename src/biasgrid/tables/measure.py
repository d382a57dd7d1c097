"""How a measure is declared, once, for docs, captions, summary and report; and how its options are written.

Light, so that a config is read, and a workflow is planned, without what computes measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Unit = Literal["probability", "share", "difference", "distance", "ratio", "slope", "correlation", "count"]


@dataclass(frozen=True)
class Mark:
    """A range of values that its source calls by a letter.

    Attributes:
        letter: what it is called, such as B.
        low: the smallest value in it.
        high: the value that it ends before.
        harm: what the source says of a model in it.
    """

    letter: str
    low: float
    high: float
    harm: str


@dataclass(frozen=True)
class Measure:
    """What is known of a measure beside its numbers.

    Attributes:
        title: its name for people.
        symbol: how a figure or a narrow column calls it.
        meaning: what it is.
        is_not: what it is taken for and is not.
        source: where it is from.
        unit: what its numbers are.
        fair: the value of equal treatment, None where there is none.
        headline: the options of the row that stands in the summary, None where none does.
        design: the keys whose sampling an interval must respect.
        marks: the ranges that its source judges by.
    """

    title: str
    symbol: str
    meaning: str
    is_not: str
    source: str
    unit: Unit
    fair: float | None = None
    headline: str | None = None
    design: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()


OPTIONS = ("score", "argument", "distance", "comparison", "mode", "difference", "threshold")
"""The names of options, in the order in which they are written."""


def written_options(**names: object) -> str:
    """Writes the options of a measure as they stand in tables, such as `score=f1, argument=macro, mode=group`.

    Args:
        names: what was chosen, by names of `OPTIONS`; None where there is nothing to choose.

    Raises:
        ValueError: there is no such option.
    """
    chosen = [name for name in sorted(names, key=OPTIONS.index) if names[name] is not None]
    return ", ".join(f"{name}={names[name]}" for name in chosen)


def options_of(text: str) -> dict[str, str]:
    """Reads what `written_options` wrote."""
    return dict(option.split("=", 1) for option in text.split(", ")) if text else {}
