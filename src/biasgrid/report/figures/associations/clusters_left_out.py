"""What hangs on single clusters: mu without each of them, and how each agrees with the others."""

from __future__ import annotations

import polars as pl
from plotnine import aes, facet_wrap, geom_blank, geom_point, geom_segment, ggplot, labs

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import cluster_count_text
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import (
    FAINT,
    GAMMA,
    OKABE_ITO,
    biasgrid_theme,
    empty_figure,
)
from biasgrid.stats.ordering import select_rows

CAPTION = (
    "How much the results depend on single clusters (templates that only reword each other are one "
    "cluster). Left: μ without each cluster, one stroke per cluster, with a line over their range; "
    "the ring is μ of all clusters. A stroke far from the others belongs to a cluster that "
    f"contributes much of μ; noise puts all strokes a little right of the ring. Right: how {GAMMA} "
    f"in each cluster correlates with {GAMMA} in the others. Near 1, all clusters agree; near 0, a "
    "cluster disagrees or there is nothing to find. The lines are ranges over these "
    "clusters, not intervals."
)
WITHOUT, AGREEMENT = "μ without one cluster", "correlation with the other clusters"
AXIS_ENDS = pl.DataFrame({"panel": [WITHOUT, AGREEMENT, AGREEMENT], "value": [0.0, 0.0, 1.0]})
"""What the axes hold at least."""
CLUSTER_ROW = 0.26
"""Height of a model in inches."""


def cluster_rows(context: FigureContext, measures: pl.DataFrame) -> pl.DataFrame:
    """Returns what is known of each cluster of the cells that are measurable.

    Args:
        context: what has the table `design`.
        measures: those of the cells that are measurable.

    Returns:
        `model`, `cluster`, `templates`, `clusters` (how many there are), `value` and `panel`.
    """
    cells = measures.select("model", "dataset").unique()
    known = context.table("design").join(
        cells, on=["model", "dataset"], how="semi", maintain_order="left"
    )
    names = ["model", "cluster", "templates", "clusters"]
    parts = [
        known.filter(name=name)
        .with_columns(clusters=pl.len().over("model").cast(pl.Int64))
        .select(*names, "value", panel=pl.lit(panel))
        for panel, name in {WITHOUT: "mu_without", AGREEMENT: "correlation"}.items()
    ]
    return pl.concat(parts).drop_nulls("value")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws mu without each cluster and the agreement of clusters: two panels, a row per model.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models, and other tables.
    """
    heading, marks = (
        f"What hangs on single clusters: {context.title}",
        cluster_rows(context, measures),
    )
    if marks.is_empty():
        return empty_figure(heading, "there are no two clusters to compare")
    names, panels = context.names(marks), [WITHOUT, AGREEMENT]
    whole = (
        select_rows(measures, "mu")
        .drop_nulls("value")
        .select("model", "value", panel=pl.lit(WITHOUT))
    )
    whole = whole.filter(pl.col("model").is_in(list(names)))
    ranges = marks.group_by("model", "panel", maintain_order=True).agg(
        low=pl.col("value").min(), high=pl.col("value").max()
    )
    marks, whole, ranges, ends = (
        order_by_value(
            part.with_columns(pl.col("model").replace_strict(names)),
            model=list(names.values())[::-1],
            panel=panels,
        )
        for part in (
            marks,
            whole,
            ranges,
            AXIS_ENDS.join(marks.select("model").unique(), how="cross"),
        )
    )
    return (
        ggplot(marks, aes("value", "model"))
        + geom_segment(
            aes("low", "model", xend="high", yend="model"), ranges, color=OKABE_ITO[4], size=1.4
        )
        + geom_point(shape="|", size=3, stroke=0.9, color=OKABE_ITO[0])
        + (
            geom_point(data=whole, shape="o", fill="none", color=FAINT, size=2.6)
            if len(whole)
            else []
        )
        + geom_blank(data=ends)
        + facet_wrap("panel", ncol=2, scales="free_x")
        + labs(
            title=heading,
            subtitle=(
                f"strokes: {cluster_count_text(marks)}; line: their range; ring: μ of all clusters"
            ),
            x="",
            y="model",
        )
        + biasgrid_theme(8.5, max(2.4, 1.4 + CLUSTER_ROW * len(names)))
    )
