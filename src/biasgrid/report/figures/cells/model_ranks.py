"""Ranks of models, with intervals of all ranks at once."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_grid,
    geom_point,
    geom_segment,
    ggplot,
    labs,
    scale_color_manual,
    scale_x_continuous,
    theme,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import in_lines, order_by_value
from biasgrid.report.figures.drawing.theme import biasgrid_theme, empty_figure, palette
from biasgrid.stats.ordering import values_in_order

CAPTION = (
    "Ranks of the models on each dataset by μ of shares corrected for noise and by strength: 1 is "
    "the most biased. A bar covers every rank that a model may have. It excludes only the ranks of "
    "models that differ significantly (Holm's tests of all pairs, over clusters). A model whose "
    "bar covers all ranks differs significantly from none. Models that were asked about different "
    "lists, or scored differently, are ranked separately, in colours of their own."
)
RANKED_MEASURES = {
    "share_mu_corrected": "mu of shares corrected for noise",
    "share_strength": "strength",
}
RANK_PANEL = 2.3
"""Width of a panel in inches."""
RANK_ROW = 0.24
"""Height of a model in inches."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the ranks of models: a column for each dataset, a row of panels for each measure.

    Args:
        measures: the measures of all cells.
        context: the facts of datasets and models, and the ranks.
    """
    heading = "Ranks of models, 1 = most biased"
    is_ranked = pl.col("measure").is_in(list(RANKED_MEASURES))
    ranks = context.table("ranks").filter(is_ranked, pl.col("bias_type").is_null())
    if not (ranks["models"] > 1).any():
        return empty_figure(heading, "no two models of a dataset may be compared")
    names = context.names(ranks)
    datasets = values_in_order(ranks, "dataset")
    titles = [title for name, title in context.titles.items() if name in datasets]
    together = pl.format("ranked together {}", pl.col("set") + 1)
    colours = values_in_order(ranks.sort("set").select(set=together), "set")
    rows = ranks.select(
        "rank",
        "rank_low",
        "rank_high",
        pl.col("dataset").replace_strict(context.titles),
        pl.col("measure").replace_strict(RANKED_MEASURES),
        model=pl.col("model").replace_strict(names),
        together=together,
    )
    shown = [*names.values()][::-1]
    measure_names = list(RANKED_MEASURES.values())
    points = order_by_value(
        rows, dataset=titles, measure=measure_names, model=shown, together=colours
    )
    last_rank = max(ranks["models"].to_list())
    level = f"{100 * context.level:g} %"
    return (
        ggplot(points, aes("rank", "model", color="together"))
        + geom_segment(aes("rank_low", "model", xend="rank_high", yend="model"), size=1.1)
        + geom_point(size=2.2)
        + facet_grid("measure", "dataset", labeller=in_lines(RANK_PANEL))
        + scale_color_manual(values=palette(len(colours)))
        + scale_x_continuous(breaks=[*range(1, last_rank + 1)], minor_breaks=[])
        + labs(
            title=heading,
            subtitle=(
                f"bars: {level} intervals of all ranks of a panel at once; a full bar is told "
                "from no other model"
            ),
            x="rank",
            y="model",
            color="",
        )
        + biasgrid_theme(
            max(8.5, 2.5 + RANK_PANEL * len(titles)), max(3, 1.8 + 2 * RANK_ROW * len(shown))
        )
        + theme(
            strip_text_y=element_text(angle=0, ha="left"),
            legend_position="bottom" if len(colours) > 1 else "none",
        )
    )
