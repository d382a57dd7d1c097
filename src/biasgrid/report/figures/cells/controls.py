"""Tests of datasets beside those of their negative controls, in which there is nothing to find."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_grid,
    geom_hline,
    geom_rect,
    ggplot,
    labs,
    scale_fill_manual,
    theme,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import FAINT, OKABE_ITO, biasgrid_theme, empty_figure
from biasgrid.stats.compare.controls import against_zero
from biasgrid.stats.ordering import values_in_order
from biasgrid.stats.verdicts.counts import single_tests

CAPTION = (
    "The p of every single association, or difference of two groups, in the datasets (blue) and in "
    "their negative controls (orange), where there is nothing to find. Both are against 0; the "
    "report tests numbers of a dataset against its control. Without any association, p is spread "
    "evenly and all bars reach the dashed line; associations raise the bars at the left. If the "
    "bars of a control rise at the left, the templates or the tokenizer produce associations of "
    "their own. p is not the size of an effect."
)
BINS = 20
DATASET, CONTROL = "dataset", "control"
CONTROL_COLOURS = {DATASET: OKABE_ITO[0], CONTROL: OKABE_ITO[1]}
GAP = 0.1
"""The share of a bin's width that stays free at each side."""


def histogram(measures: pl.DataFrame, context: FigureContext) -> pl.DataFrame:
    """Counts the p of datasets and of their controls.

    Args:
        measures: schema `MEASURES`.
        context: which cells are controls, and the p of numbers against 0.

    Returns:
        `dataset` (that which the control is about), `model`, `role` (`dataset` or `control`), `bin`
        from 0 to `BINS` - 1 and `share` of the p of that role.
    """
    cells = measures.select("model", "dataset").unique(maintain_order=True).rows()
    roles = [
        (model, of, about, role)
        for model, control, about, _ in context.controls.pairs(cells)
        for of, role in ((control, CONTROL), *(((about, DATASET),) if about != control else ()))
    ]
    names = dict.fromkeys(("model", "dataset", "about", "role"), pl.String)
    chosen = pl.DataFrame(roles, schema=names, orient="row").unique(maintain_order=True)
    alike = against_zero(measures, context.table("intervals"))
    tests = (
        single_tests(alike)
        .drop_nulls("p")
        .join(chosen, on=["model", "dataset"], maintain_order="left")
    )
    place = (pl.col("p") * BINS).floor().clip(upper_bound=BINS - 1).cast(pl.Int64)
    panel = ["model", "about", "role"]
    counts = tests.group_by(*panel, bin=place, maintain_order=True).agg(count=pl.len())
    shares = counts.with_columns(share=pl.col("count") / pl.col("count").sum().over(panel))
    return shares.select(pl.col("about").alias("dataset"), "model", "role", "bin", "share")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws histograms of p: a row per model, a column per dataset that has a control.

    Args:
        measures: the measures of all cells that are measurable.
        context: the facts of datasets and models, which cells are controls, and other tables.
    """
    heading = "Datasets and their controls"
    bars = histogram(measures, context)
    if bars.is_empty():
        return empty_figure(heading, "there are too few clusters for tests of single associations")
    names = context.names(bars)
    titles = [
        title for name, title in context.titles.items() if name in values_in_order(bars, "dataset")
    ]
    models = list(names.values())
    bars = bars.with_columns(
        pl.col("dataset").replace_strict(context.titles),
        pl.col("model").replace_strict(names),
        begin=(pl.col("bin") + GAP + pl.when(role=CONTROL).then((1 - 2 * GAP) / 2).otherwise(0.0))
        / BINS,
    )
    bars = bars.with_columns(end=pl.col("begin") + (1 - 2 * GAP) / 2 / BINS)
    return (
        ggplot(order_by_value(bars, dataset=titles, model=models, role=list(CONTROL_COLOURS)))
        + geom_rect(aes(xmin="begin", xmax="end", ymin=0, ymax="share", fill="role"))
        + geom_hline(yintercept=1 / BINS, color=FAINT, linetype="dashed", size=0.5)
        + facet_grid("model", "dataset")
        + scale_fill_manual(CONTROL_COLOURS)
        + labs(
            title=heading,
            subtitle="dashed: the share of each bin where there is nothing to find",
            x="p of a single association",
            y="share of the tests",
            fill="",
        )
        + biasgrid_theme(max(7, 2 + 3 * len(titles)), 1.8 + 1.3 * len(models))
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )
