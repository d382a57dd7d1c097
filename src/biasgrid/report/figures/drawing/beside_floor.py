"""A number of each pair of groups with its interval, beside what noise alone would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_point, ggplot, labs, scale_fill_manual, scale_y_discrete, theme

from biasgrid.report.figures.drawing.certain import interval_lines, over_frames
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.readable import (
    both_ends,
    columns_of,
    in_lines,
    left_out,
    most_rows,
    ordered,
    shorten_all,
)
from biasgrid.report.figures.drawing.theme import CHARACTER, FAINT, OKABE_ITO, biasgrid_theme

SIDE_BY_SIDE = 5
PANEL = 2.1
"""Width of a panel in inches."""
LONGEST_NAME = 44
ROW = 0.19
"""Height of a pair in inches."""


def beside_floor(
    rows: pl.DataFrame, context: FigureContext, order: Sequence[str], words: Mapping[str, str | None]
) -> ggplot:
    """Draws a number of each pair: a panel per model, a row per pair.

    Args:
        rows: `model`, `name` (of the pair), `value`, `low`, `high`, `floor`, `frames` and `found`, whether its dot is
            filled.
        context: what the figure says of dataset and models.
        order: the names, from top to bottom; where they are too many those in the middle are left out.
        words: `title`, `subtitle` (what stroke and dot are) and `x`.
    """
    names = context.names(rows)
    panels = list(names.values())
    columns = columns_of(len(panels), SIDE_BY_SIDE)
    lines = -(-len(panels) // columns)
    shown = both_ends(order, most_rows(lines))
    short = shorten_all(shown, LONGEST_NAME)
    labels = list(short.values())[::-1]
    points = rows.filter(pl.col("name").is_in(shown)).with_columns(
        pl.col("name").replace_strict(short), pl.col("model").replace_strict(names)
    )
    points = ordered(points, model=panels, name=labels)
    floors = points.drop_nulls("floor")
    beside = CHARACTER * max(map(len, labels))
    certain = f"{over_frames(points, context.level)}{left_out(order, shown, 'pairs')}"
    return (
        ggplot(points, aes("value", "name"))
        + ([geom_point(aes("floor"), floors, shape="|", size=4, stroke=1.2, color=FAINT)] if len(floors) else [])
        + interval_lines(points, "name", color=OKABE_ITO[0], size=0.8)
        + geom_point(aes(fill="found"), size=1.8, color=OKABE_ITO[0], stroke=0.5, show_legend=False)
        + facet_wrap("model", ncol=columns, labeller=in_lines(PANEL))
        + scale_fill_manual({True: OKABE_ITO[0], False: "white"})
        + scale_y_discrete(limits=labels)
        + labs(
            title=words["title"],
            subtitle=f"{words['subtitle']}\nline: {certain}",
            x=words["x"],
            y="pair of groups",
        )
        + biasgrid_theme(max(7.5, beside + 0.6 + PANEL * columns), 1.6 + lines * (0.45 + ROW * max(len(shown), 3)))
        + theme(plot_title_position="plot")
    )
