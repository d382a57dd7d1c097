"""Where what is measured comes from: subjects and attributes, or the templates that were chosen."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_grid,
    geom_segment,
    ggplot,
    labs,
    scale_color_manual,
    theme,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import in_lines, order_by_value
from biasgrid.report.figures.drawing.theme import OKABE_ITO, biasgrid_theme, empty_figure
from biasgrid.stats.ordering import values_in_order

CAPTION = (
    "Shares of the variance of preferences C, with one bar per model. Blue: what a subject or an "
    "attribute gets in all templates alike, that is, associations. Orange: what differs between "
    "clusters (templates that only reword each other are one cluster) and would change with other "
    "templates. Green: what differs between prompt formats, if there are several. Grey: what "
    "depends on the pair compared, or on its order. The bars are estimates without intervals. "
    "Shares are not sizes: the bar of an unbiased model is as long as any other."
)
VARIANCE_PANEL = 2.3
"""Width of a panel in inches."""
VARIANCE_COLOURS = {
    "subject": "#0B4F85",
    "association": OKABE_ITO[4],
    "subject x cluster": OKABE_ITO[5],
    "association x cluster": OKABE_ITO[1],
    "subject x format": "#B7E3B0",
    "association x format": "#5AAE61",
    "subject x cluster x format": "#1B7837",
    "association x cluster x format": "#00441B",
    "pair": "#8A8A8A",
    "order": "#CFCFCF",
}
"""The sources of variance, in the order of the bars, and their colours."""


def variance_shares(design: pl.DataFrame) -> pl.DataFrame:
    """Returns `model`, `dataset`, `name` and `share` of each source, blocks of attributes weighed
    by their variance.

    Args:
        design: schema `DESIGN`.
    """
    known = design.filter(pl.col("name").is_in(list(VARIANCE_COLOURS))).with_columns(
        pl.col("value").clip(lower_bound=0)
    )
    sums = known.group_by("model", "dataset", "name", maintain_order=True).agg(
        pl.col("value").sum()
    )
    whole = pl.col("value").sum().over("model", "dataset")
    return (
        sums.with_columns(share=pl.when(whole > 0).then(pl.col("value") / whole))
        .drop("value")
        .drop_nulls("share")
    )


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the shares of variance: a column per dataset, a bar per model.

    Args:
        measures: the measures of all cells that are measurable.
        context: the facts of datasets and models, and other tables.
    """
    heading = "Where differences come from"
    cells = measures.select("model", "dataset").unique()
    bars = variance_shares(context.table("design")).join(
        cells, on=["model", "dataset"], how="semi", maintain_order="left"
    )
    if bars.is_empty():
        return empty_figure(
            heading, "there are too few clusters, subjects or attributes to tell sources apart"
        )
    facts = context.facts(bars)
    kinds, labels = values_in_order(facts, "kind"), values_in_order(facts, "label")[::-1]
    titles = [
        title for name, title in context.titles.items() if name in values_in_order(bars, "dataset")
    ]
    bars = bars.join(facts, on="model", maintain_order="left")
    bars = bars.with_columns(pl.col("dataset").replace_strict(context.titles))
    sources = [name for name in VARIANCE_COLOURS if name in values_in_order(bars, "name")]
    bars = order_by_value(bars, dataset=titles, kind=kinds, label=labels, name=sources).sort(
        "name", maintain_order=True
    )
    bars = bars.with_columns(end=pl.col("share").cum_sum().over("model", "dataset"))
    bars = bars.with_columns(begin=pl.col("end") - pl.col("share"))
    return (
        ggplot(bars, aes("begin", "label", xend="end", yend="label", color="name"))
        + geom_segment(size=4.5)
        + facet_grid(
            "kind", "dataset", scales="free_y", space="free_y", labeller=in_lines(VARIANCE_PANEL)
        )
        + scale_color_manual([VARIANCE_COLOURS[name] for name in sources])
        + labs(
            title=heading,
            subtitle="shares of the variance of C; a cluster is a template with its rewordings",
            x="share of the variance",
            y="model",
            color="",
        )
        + biasgrid_theme(
            max(8.5, 2.5 + VARIANCE_PANEL * len(titles)), 2 + 0.24 * facts.height + 0.3 * len(kinds)
        )
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )
