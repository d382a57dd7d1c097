"""A measure that is positive for noise: its value, what noise alone would give, and what is beyond that."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    element_text,
    expand_limits,
    facet_grid,
    geom_point,
    geom_segment,
    ggplot,
    labs,
    theme,
)

from biasgrid.report.figures.drawing.certain import interval_lines, over_frames
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.readable import in_lines, ordered
from biasgrid.report.figures.drawing.theme import FAINT, FROM_ZERO, OKABE_ITO, biasgrid_theme
from biasgrid.stats.selection import in_order, select_rows

PANEL = 2.3
"""Width of a panel in inches."""
ROW = 0.24
"""Height of a model in inches."""


def beyond_noise(measures: pl.DataFrame, context: FigureContext, measure: str, title: str, symbol: str) -> ggplot:
    """Draws a measure of every cell with its floor and its excess: a column per dataset, a row per model.

    Args:
        measures: the measures of all cells, with certainty.
        context: what the figure says of datasets and models.
        measure: the measure's name; what is beyond its floor is called `NAME_excess`.
        title: what the figure calls it.
        symbol: its symbol.
    """
    cells = select_rows(measures, measure, certain=True).select("dataset", "model", "value", "floor")
    excess = select_rows(measures, f"{measure}_excess", certain=True)
    beyond = excess.select("dataset", "model", "low", "high", "frames", excess="value")
    facts = context.facts(cells)
    kinds, labels = in_order(facts, "kind"), in_order(facts, "label")[::-1]
    titles = [name for key, name in context.titles.items() if key in in_order(cells, "dataset")]
    rows = cells.join(beyond, on=["dataset", "model"], how="left", maintain_order="left")
    rows = rows.join(facts, on="model", maintain_order="left")
    rows = rows.with_columns(pl.col("dataset").replace_strict(context.titles), zero=pl.lit(0.0))
    rows = ordered(rows, dataset=titles, kind=kinds, label=labels)
    known, floors = rows.drop_nulls("excess"), rows.drop_nulls("floor")
    bars = [geom_segment(aes("zero", "label", xend="floor", yend="label"), floors, size=3.2, color="#D5D5D5")]
    dots = [geom_point(aes("excess"), known, size=1.8, color=OKABE_ITO[0])]
    return (
        ggplot(rows, aes("value", "label"))
        + (bars if len(floors) else [])
        + geom_point(shape="o", fill="none", color=FAINT, size=2.4, stroke=0.7)
        + interval_lines(rows, "label", color=OKABE_ITO[0], size=0.8)
        + (dots if len(known) else [])
        + expand_limits(x=FROM_ZERO)
        + facet_grid("kind", "dataset", scales="free_y", space="free_y", labeller=in_lines(PANEL))
        + labs(
            title=title,
            subtitle=f"ring: {symbol}; grey bar: its floor, which noise alone would give; dot: {symbol} beyond the "
            f"floor, with its interval ({over_frames(rows, context.level)})",
            x=symbol,
            y="model",
        )
        + biasgrid_theme(max(8.5, 2.5 + PANEL * len(titles)), 1.6 + ROW * facts.height + 0.3 * len(kinds))
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )
