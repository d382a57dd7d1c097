"""How a probe tells which values have which mark."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from pydantic import Field, model_validator

from biasgrid.base.sections import KeysError, Section
from biasgrid.tables.metric import LETTERS, Mark

Letter = Literal["A", "B", "C", "D"]
Range = tuple[float, float]


class MarkRanges(Section):
    """The marks of a metric.

    `cuts` are the borders of A | B | C | D, growing or falling; with `centre` they are distances from it, to both
    sides. `ranges` names any ranges, which must meet and not overlap.
    """

    measure: str = Field(description="the metric that is judged")
    cuts: list[float] | None = Field(
        None, min_length=5, max_length=5, description="the borders of A, B, C and D: five numbers"
    )
    centre: float | None = Field(None, description="what `cuts` are distances from, to both sides")
    ranges: dict[Letter, list[list[float]]] | None = Field(
        None, min_length=1, description="in place of `cuts`: for each letter its ranges, such as `{A: [[0, 0.1]], ...}`"
    )
    harms: list[str] = Field(default_factory=list, description="what the mark warns of")
    counts: bool = Field(
        True, description="whether it counts in the mark of the section; not where another metric says the same"
    )

    @model_validator(mode="after")
    def _whole(self) -> MarkRanges:
        if (self.cuts is None) == (self.ranges is None):
            raise KeysError("expected either `cuts` or `ranges`")
        if self.cuts is None:
            self._check_ranges()
        else:
            self._check_cuts(self.cuts)
        return self

    def _check_cuts(self, cuts: list[float]) -> None:
        steps = [other - one for one, other in pairwise(cuts)]
        if not (min(steps) > 0 or max(steps) < 0):
            raise KeysError(
                f"expected `cuts` that grow from one to the next, or fall: {numbers_text(cuts)} leave a hole"
            )
        if self.centre is not None and cuts[0] != 0:
            raise KeysError(f"expected `cuts` that begin with 0, as they are distances from the centre: {cuts[0]:g}")

    def _check_ranges(self) -> None:
        if self.centre is not None:
            raise KeysError("expected no `centre` beside `ranges`")
        for limits in (limits for ranges in (self.ranges or {}).values() for limits in ranges):
            if len(limits) != 2 or limits[0] > limits[1]:
                raise KeysError(f"expected ranges of two numbers, the smaller one first: {numbers_text(limits)}")
        ordered = sorted((low, high, letter) for letter, low, high in self.pieces())
        for (_, end, before), (begin, _, behind) in pairwise(ordered):
            if begin > end:
                raise KeysError(
                    f"expected ranges that meet: between {before} and {behind} is a hole, {end:g} to {begin:g}"
                )
            if begin < end:
                raise KeysError(f"expected ranges that meet: {before} and {behind} overlap from {begin:g} to {end:g}")

    def pieces(self) -> Iterator[tuple[str, float, float]]:
        """Yields letter, least and largest value of each range."""
        for letter, ranges in (self.ranges or {}).items():
            yield from ((letter, low, high) for low, high in ranges)
        for mark, (one, other) in zip(LETTERS, pairwise(self.cuts or []), strict=False):
            if self.centre is None:
                yield mark, min(one, other), max(one, other)
            elif one == 0:
                yield mark, self.centre - other, self.centre + other
            else:
                yield mark, self.centre - other, self.centre - one
                yield mark, self.centre + one, self.centre + other

    def marks(self) -> tuple[Mark, ...]:
        """Returns what a measure is declared with."""
        harm = ", ".join(self.harms)
        return tuple(Mark(letter, low, high, harm, self.counts) for letter, low, high in self.pieces())


def numbers_text(numbers: list[float]) -> str:
    """Writes a list of numbers."""
    return ", ".join(f"{number:g}" for number in numbers)
