"""How large an association must be to be found, over the number of clusters that are asked."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_line,
    geom_point,
    ggplot,
    labs,
    scale_color_manual,
    scale_linetype_manual,
    scale_x_continuous,
    scale_y_log10,
    theme,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import (
    GAMMA,
    biasgrid_theme,
    empty_figure,
    legend_below,
    legend_height,
    line_looks,
)
from biasgrid.stats.ordering import select_rows, values_in_order
from biasgrid.stats.power import POWER, minimal_detectable_effect

CAPTION = (
    "How large an association must be to be detected in 80 of 100 cells like these, by the number "
    "of clusters (templates that only reword each other are one cluster). There is a line per "
    "model, and a dot at the number of clusters it was asked. The figure is about a single "
    "association (p below 0.05); among many, an association must be larger to be detected. A line "
    "shows what could be detected, not what is there."
)
CLUSTER_COUNTS = range(2, 21)
"""Lines go from and to so many clusters."""
INDICES = ("noise_sd", "prior_df", "mde")
EFFECTS = {"model": pl.String, "dataset": pl.String, "clusters": pl.Int64, "effect": pl.Float64}
POWER_PANELS = 2
BREAKS = [digit * 10.0**power for power in range(-6, 1) for digit in (1, 1.5, 2, 3, 5, 7)]
"""Of sizes of associations."""


def detectable_effects(design: pl.DataFrame) -> pl.DataFrame:
    """Returns the smallest association that is found in 80 % of cells, by the number of clusters.

    It is `mde` at the clusters that were asked, and elsewhere as much larger or smaller as that of
    an association of mean noise.

    Args:
        design: schema `DESIGN`.

    Returns:
        `model`, `dataset`, `clusters` and `effect`, without cells whose clusters do not differ.
    """
    indices = design.filter(pl.col("block").is_null(), pl.col("name").is_in(INDICES)).drop_nulls(
        "value"
    )
    of_clusters = (
        design.drop_nulls("cluster")
        .group_by("model", "dataset")
        .agg(asked=pl.col("cluster").n_unique())
    )
    known = indices.pivot("name", index=["model", "dataset"], values="value")
    if not set(INDICES) <= set(known.columns):
        return pl.DataFrame(schema=EFFECTS)
    cells = known.join(of_clusters, on=["model", "dataset"], maintain_order="left").drop_nulls()
    rows = []
    for row in cells.filter(pl.col("noise_sd") > 0, pl.col("asked") > 1).to_dicts():
        of_mean_noise = [
            minimal_detectable_effect(row["noise_sd"] ** 2, row["prior_df"], clusters)
            for clusters in (row["asked"], *CLUSTER_COUNTS)
        ]
        effects = (row["mde"] * each / of_mean_noise[0] for each in of_mean_noise[1:])
        rows += [
            (row["model"], row["dataset"], clusters, effect)
            for clusters, effect in zip(CLUSTER_COUNTS, effects, strict=True)
        ]
    return pl.DataFrame(rows, schema=EFFECTS, orient="row")


def clusters_asked(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns `model`, `dataset` and `clusters`, how many the associations of a cell are made of at
    most.
    """
    gamma = select_rows(measures, "share_gamma", ["subject", "attribute"], intervals=True)
    return gamma.group_by("model", "dataset", maintain_order=True).agg(
        pl.col("clusters").cast(pl.Int64).max()
    )


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the smallest association that is found over the number of clusters: a panel per
    dataset, a line per model.

    Args:
        measures: the measures of all cells.
        context: the facts of datasets and models, and other tables.
    """
    heading = "How many clusters show how small an association"
    cells = measures.select("model", "dataset").unique()
    lines = detectable_effects(context.table("design")).join(
        cells, on=["model", "dataset"], how="semi", maintain_order="left"
    )
    if lines.is_empty():
        return empty_figure(heading, "there are no two clusters that differ")
    names = context.names(lines)
    titles = [
        title for name, title in context.titles.items() if name in values_in_order(lines, "dataset")
    ]
    dots = lines.join(
        clusters_asked(measures),
        on=["model", "dataset", "clusters"],
        how="semi",
        maintain_order="left",
    )
    labels = list(names.values())
    lines, dots = (
        order_by_value(
            part.with_columns(
                pl.col("dataset").replace_strict(context.titles),
                pl.col("model").replace_strict(names),
            ),
            dataset=titles,
            model=labels,
        )
        for part in (lines, dots)
    )
    colours, linetypes = zip(*line_looks(len(labels)), strict=True)
    columns = min(len(titles), POWER_PANELS)
    width = max(7.5, 1 + 3.5 * columns)
    return (
        ggplot(lines, aes("clusters", "effect", color="model", linetype="model"))
        + geom_line(size=0.8)
        + (geom_point(data=dots, size=2, show_legend=False) if len(dots) else [])
        + facet_wrap("dataset", ncol=columns)
        + scale_color_manual(colours)
        + scale_linetype_manual(linetypes)
        + scale_x_continuous(breaks=[2, 4, 7, 10, 15, 20], minor_breaks=[])
        + scale_y_log10(
            breaks=BREAKS, labels=lambda shown: [f"{each:g}" for each in shown], minor_breaks=[]
        )
        + legend_below(labels, width, "color", "linetype")
        + labs(
            title=heading,
            subtitle=(
                f"what is as large as its line is found in {100 * POWER:g} % of cells (p below "
                "0.05 over clusters)\n"
                "dot: the clusters that were asked"
            ),
            x="clusters",
            y=f"{GAMMA}(subject, attribute), by size",
            color="model",
            linetype="model",
        )
        + biasgrid_theme(
            width, 1.5 + 2.4 * -(-len(titles) // columns) + legend_height(labels, width)
        )
        + theme(legend_key_width=32)
    )
