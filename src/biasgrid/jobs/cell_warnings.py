"""Warnings of cells, of which a grid may have very many: those of a kind are one line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from biasgrid.base.faults import first_few

CELL_WARNING = "cell warning: "
"""Prefix of the lines in which jobs print warnings, for `biasgrid run` to gather them."""
CELL_WARNING_LINE = re.compile(rf"{CELL_WARNING}(\S+) on (\S+): (.*)")
END_OF_KIND = re.compile(r":|, such as")
NUMBERS_OF_TEXT = re.compile(r"[\d.,%\s]+")


class CellWarning(NamedTuple):
    """A warning of a cell.

    Attributes:
        model: the name of the model.
        dataset: the name of the dataset.
        text: the warning. Its kind is what precedes the first colon, but for numbers.
    """

    model: str
    dataset: str
    text: str

    @classmethod
    def from_line(cls, line: str) -> CellWarning | None:
        """Returns the warning that a job has printed in a line, None for other lines."""
        match = CELL_WARNING_LINE.match(line)
        return cls(*match.groups()) if match else None

    @property
    def line(self) -> str:
        """The line in which a job prints it."""
        return f"{CELL_WARNING}{self.model} on {self.dataset}: {self.text}"

    @property
    def kind(self) -> str:
        """What warnings of the same kind have in common."""
        return NUMBERS_OF_TEXT.sub(" ", END_OF_KIND.split(self.text)[0])


def gather_warnings(warnings: Iterable[CellWarning]) -> list[str]:
    """Returns a line for each kind of warning: with several of them their number and the first."""
    by_kind: dict[str, list[CellWarning]] = {}
    for warning in warnings:
        by_kind.setdefault(warning.kind, []).append(warning)
    lines = []
    for same in by_kind.values():
        first = same[0]
        place = f"{first.model} on {first.dataset}"
        if len(same) > 1:
            models = first_few(list(dict.fromkeys(warning.model for warning in same)))
            datasets = first_few(list(dict.fromkeys(warning.dataset for warning in same)))
            place = f"{models} on {datasets}, {len(same)} times; the first, {place}"
        lines.append(f"warning: {place}: {first.text}")
    return lines
