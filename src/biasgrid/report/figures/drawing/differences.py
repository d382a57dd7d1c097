"""Signed numbers over two things: a thick interval over templates alone, a thin one over all that was sampled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from plotnine import aes, facet_wrap, geom_point, geom_vline, ggplot, labs, scale_fill_manual, scale_y_discrete

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
from biasgrid.tables.means import means_by
from biasgrid.tables.statistics import DISCOVERED

SIDE_BY_SIDE = 5
PANEL = 2.1
"""Width of a panel in inches."""
LONGEST_NAME = 44
ROW = 0.15
"""Height of a row in inches."""


def rows_of(
    measures: pl.DataFrame, context: FigureContext, measure: str, keys: Sequence[str], judged_over: str
) -> pl.DataFrame:
    """Picks numbers with their intervals over templates and over all.

    Args:
        measures: those of the cells that are measurable.
        context: what has the tables of statistics.
        measure: the measure's name.
        keys: the keys of its rows.
        judged_over: over what a number must be told from noise.

    Returns:
        `model`, the keys, `value`, `frames`, `low`, `high` (over templates), `low_all`, `high_all` and `found`.
    """
    cells = measures.select("model", "dataset").unique()
    known = context.table("statistics").join(cells, on=["model", "dataset"], how="semi", maintain_order="left")
    chosen = known.filter(pl.all_horizontal(pl.col(key).is_not_null() for key in keys), measure=measure)
    names = ["model", *keys]
    own = chosen.filter(over="templates").select(*names, "value", "frames", "low", "high", "q")
    of_all = chosen.filter(over="all").select(*names, low_all="low", high_all="high", q_all="q")
    q = "q_all" if judged_over == "all" else "q"
    return own.join(of_all, on=names, how="left", maintain_order="left").with_columns(
        found=(pl.col(q) <= DISCOVERED).fill_null(value=False)
    )


def differences(rows: pl.DataFrame, context: FigureContext, words: Mapping[str, str]) -> ggplot:
    """Draws signed numbers: a panel per model, a row per name, in the order of their means over models.

    Args:
        rows: from `rows_of`, with `name`, what a row is called.
        context: what the figure says of dataset and models.
        words: `title`, `x`, `y` and `many`, what the rows are.
    """
    names = context.names(rows)
    order = means_by(rows, ["name"]).sort("value", "name", descending=[True, False])["name"].to_list()
    panels = list(names.values())
    columns = columns_of(len(panels), SIDE_BY_SIDE)
    lines = -(-len(panels) // columns)
    shown = both_ends(order, most_rows(lines))
    short = shorten_all(shown, LONGEST_NAME)
    points = rows.filter(pl.col("name").is_in(shown)).with_columns(
        pl.col("name").replace_strict(short), pl.col("model").replace_strict(names)
    )
    points = ordered(points, model=panels, name=list(short.values())[::-1])
    beside = CHARACTER * max(map(len, short.values()))
    return (
        ggplot(points, aes("value", "name"))
        + geom_vline(xintercept=0, color=FAINT, size=0.5)
        + interval_lines(points, "name", color=OKABE_ITO[4], size=1.6)
        + interval_lines(points, "name", "low_all", "high_all", color=OKABE_ITO[0], size=0.5)
        + geom_point(aes(fill="found"), size=1.5, color=OKABE_ITO[0], stroke=0.4, show_legend=False)
        + facet_wrap("model", ncol=columns, labeller=in_lines(PANEL))
        + scale_fill_manual({True: OKABE_ITO[0], False: "white"})
        + scale_y_discrete(limits=list(short.values())[::-1])
        + labs(
            title=f"{words['title']}: {context.title}",
            subtitle=f"thick: {over_frames(points, context.level)}; thin: over these and all else that was sampled; "
            f"filled: told from noise{left_out(order, shown, words['many'])}",
            x=words["x"],
            y=words["y"],
        )
        + biasgrid_theme(max(9, beside + 0.6 + PANEL * columns), 1.5 + lines * (0.45 + ROW * max(len(shown), 4)))
    )
