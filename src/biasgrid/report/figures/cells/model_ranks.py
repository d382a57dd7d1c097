"""Ranks of models, with intervals of all ranks at once."""

from __future__ import annotations

import polars as pl
from plotnine import facet_grid, ggplot, scale_x_continuous, theme

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import panel_title
from biasgrid.report.figures.drawing.panels import shown_titles
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    interval,
    point,
)
from biasgrid.report.figures.drawing.theme import empty_figure
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
PANEL_WIDTH, ROW_HEIGHT = 2.3, 0.24
"""Size in inches of the panel of a dataset, and of the row of a model."""


def figure(_measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the ranks of models: a column for each dataset, a row of panels for each measure.

    Args:
        _measures: not used; the ranks are the table `ranks` of the context.
        context: the facts of datasets and models, and the ranks.
    """
    title = "Ranks of models, 1 = most biased"
    is_ranked = pl.col("measure").is_in(list(RANKED_MEASURES))
    ranks = context.table("ranks").filter(is_ranked, pl.col("bias_type").is_null())
    if not (ranks["models"] > 1).any():
        return empty_figure(title, "no two models of a dataset may be compared")
    labels = context.model_labels(ranks)
    titles = shown_titles(ranks, context)
    # Sets are numbered from 0.
    together = pl.format("ranked together {}", pl.col("set") + 1)
    sets = values_in_order(ranks.sort("set").select(set=together), "set")
    rows = ranks.select(
        "rank",
        "rank_low",
        "rank_high",
        pl.col("dataset").replace_strict(context.titles),
        pl.col("measure").replace_strict(RANKED_MEASURES),
        model=pl.col("model").replace_strict(labels),
        together=together,
    )
    last_rank = max(ranks["models"].to_list())
    plot = draw(
        FigureSpecification(
            rows=rows,
            x="rank",
            y="model",
            layers=[interval("rank_low", "rank_high", size=1.1), point(size=2.2)],
            title=title,
            subtitle=(
                f"bars: {100 * context.level:g} % intervals of all ranks of a panel at once; "
                "a full bar is told from no other model"
            ),
            x_title="rank",
            y_title="model",
            orders={
                "dataset": titles,
                "measure": list(RANKED_MEASURES.values()),
                "model": list(labels.values())[::-1],
                "together": sets,
            },
            panels=facet_grid("measure", "dataset", labeller=panel_title(PANEL_WIDTH)),
            color="together",
            width=max(8.5, 2.5 + PANEL_WIDTH * len(titles)),
            height=max(3, 1.8 + 2 * ROW_HEIGHT * len(labels)),
        )
    )
    plot += scale_x_continuous(breaks=[*range(1, last_rank + 1)], minor_breaks=[])
    return plot + theme(legend_position="bottom" if len(sets) > 1 else "none")
