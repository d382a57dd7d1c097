"""Where the matrices of many models stand in one figure: in lines, a block of them for each bias type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import wrap

import polars as pl

from biasgrid.plots.drawing.readable import MOST_GROUPS, readable_groups
from biasgrid.plots.drawing.theme import CELL, CHARACTER

SIDE_BY_SIDE = 96
"""So many columns of cells stand side by side; where models need more their matrices stand in further lines."""

MOST_ROWS = 180
"""So many rows of cells and names a figure may have; where there are more, groups are left out."""

NAME_WIDTH = 14
"""Characters after which a model's name goes on in the next line."""


@dataclass(frozen=True)
class MatrixLayout:
    """How the matrices of models stand in lines, counted in cells.

    Attributes:
        names: the models' names, which stand above their matrices, in lines; by model, in order.
        shown: the groups of each bias type, in order.
    """

    names: Mapping[str, str]
    shown: Mapping[str, list[str]]

    @property
    def pitch(self) -> int:
        """Columns from one matrix to the next."""
        longest = max(len(line) for name in self.names.values() for line in name.split("\n"))
        return 1 + max(ceil(longest * CHARACTER / CELL), *map(len, self.shown.values()))

    @property
    def header(self) -> int:
        """Rows that the names above a line of matrices take."""
        return 1 + max(name.count("\n") + 1 for name in self.names.values())

    @property
    def lines(self) -> int:
        """Lines of matrices of each bias type."""
        return ceil(len(self.names) / max(1, SIDE_BY_SIDE // self.pitch))

    @property
    def beside(self) -> int:
        """Matrices of a line; the last line may have fewer."""
        return ceil(len(self.names) / self.lines)

    @property
    def rows(self) -> int:
        """Rows of the figure."""
        return sum(self.height(groups) for groups in self.shown.values())

    def height(self, groups: Sequence[str]) -> int:
        """Returns the rows of a bias type of these groups; below more than one line is a gap."""
        return self.lines * (self.header + len(groups)) + (self.lines > 1)

    def corners(self) -> pl.DataFrame:
        """Returns `bias_type`, `model`, `name`, `left` and `top` of each matrix, whose cells count from 1 from there.

        Rows go downwards from 0, so all but the highest are negative.
        """
        places, top = [], 0
        for bias_type, groups in self.shown.items():
            for place, (model, name) in enumerate(self.names.items()):
                line, slot = divmod(place, self.beside)
                left, above = slot * self.pitch, line * (self.header + len(groups)) + self.header
                places.append((bias_type, model, name, left, top - above))
            top -= self.height(groups)
        return pl.DataFrame(places, schema=["bias_type", "model", "name", "left", "top"], orient="row")


def lay_out(names: Mapping[str, str], order: Mapping[str, list[str]]) -> MatrixLayout:
    """Lays matrices out with as many groups of each bias type as fit into the figure's height, at least two.

    Args:
        names: what to call the models, in order.
        order: the groups of each bias type, in order.
    """
    broken = {model: "\n".join(wrap(name, NAME_WIDTH)) for model, name in names.items()}
    layouts = (MatrixLayout(broken, readable_groups(order, most)) for most in range(MOST_GROUPS, 1, -1))
    return next(
        (layout for layout in layouts if layout.rows <= MOST_ROWS), MatrixLayout(broken, readable_groups(order, 2))
    )
