"""Bubbles: two measures of each class side by side, areas being how many answers they are of."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_grid,
    geom_point,
    ggplot,
    guide_legend,
    guides,
    labs,
    lims,
    scale_fill_manual,
    scale_size_area,
    theme,
)

from biasgrid.plots.drawing.context import FigureContext
from biasgrid.plots.drawing.readable import groups_left_out, ordered, readable_groups
from biasgrid.plots.drawing.theme import INK, biasgrid_theme, empty_figure, palette
from biasgrid.statistics.selection import in_order, select_rows

LARGEST = 9
"""Diameter of the largest bubble, in points."""
ROW = 0.24
"""Height of a class in inches."""


def bubbles(
    measures: pl.DataFrame, context: FigureContext, kinds: Mapping[str, str], title: str, axis: str, count: str
) -> ggplot:
    """Draws measures of classes: a block per bias type, a panel per model, a row per class.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what the figure says of dataset and models.
        kinds: the measures that are drawn, by name, and what the legend calls them.
        title: what the figure is about.
        axis: what the measures are.
        count: what is counted.
    """
    heading, rows = f"{title}: {context.title}", rows_of(measures, kinds)
    if rows.is_empty():
        return empty_figure(heading, "there are no answers")
    names = context.names(rows)
    order = {key: in_order(rows.filter(bias_type=key), "group") for key in sorted(in_order(rows, "bias_type"))}
    shown = readable_groups(order)
    chosen = pl.DataFrame(
        [(key, group) for key, groups in shown.items() for group in groups], schema=["bias_type", "group"], orient="row"
    )
    points = rows.join(chosen, on=["bias_type", "group"], how="semi", maintain_order="left")
    points = points.with_columns(pl.col("model").replace_strict(names))
    groups = list(dict.fromkeys(group for groups in shown.values() for group in groups))
    points = ordered(
        points, bias_type=list(order), model=list(names.values()), group=groups[::-1], kind=list(kinds.values())
    )
    lines = sum(map(len, shown.values()))
    return (
        ggplot(points, aes("value", "group", fill="kind", size="n"))
        + geom_point(alpha=0.75, stroke=0.4, color=INK)
        + facet_grid("bias_type", "model", scales="free_y", space="free_y")
        + lims(x=(0, 1))
        + scale_fill_manual(palette(len(kinds)))
        + scale_size_area(max_size=LARGEST)
        + guides(fill=guide_legend(override_aes={"size": 4}))
        + labs(
            title=heading,
            subtitle=f"area: {count}" + groups_left_out(order, shown),
            x=axis,
            y="class",
            fill="",
            size=count,
        )
        + biasgrid_theme(max(7.5, 3 + 2 * len(names)), 2 + ROW * lines + 0.15 * len(order))
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )


def rows_of(measures: pl.DataFrame, kinds: Mapping[str, str]) -> pl.DataFrame:
    """Returns `model`, `bias_type`, `group`, `value`, `n` and `kind` of classes that have a value."""
    tables = [
        select_rows(measures, measure, ["bias_type", "group"]).with_columns(kind=pl.lit(kind))
        for measure, kind in kinds.items()
    ]
    return pl.concat(tables).drop_nulls("value").drop("dataset")
