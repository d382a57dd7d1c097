"""Measured against planted gamma: whether what was put into the training texts comes out of the pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_abline,
    geom_point,
    geom_text,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
)

from biasgrid.plots.captions import GAMMA
from biasgrid.plots.recovery import in_words, measured_and_planted, recovery
from biasgrid.plots.selection import in_order, ordered
from biasgrid.plots.theme import FAINT, INK, biasgrid_theme, palette, shapes

COLUMNS = 3


def panel_texts(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns `panel` and `text`: correlation and slope over all datasets, or what came out of nothing."""
    sizes = dict(pairs.group_by("panel").agg(pl.col("measured").abs().mean()).iter_rows())
    texts = {}
    for row in recovery(pairs, "panel").iter_rows(named=True):
        if row["slope"] is None:
            texts[row["panel"]] = f"nothing planted\nmean |{GAMMA}| {sizes[row['panel']]:.3f}"
        else:
            texts[row["panel"]] = in_words(row, separator="\n")
    schema = {"panel": pl.String, "text": pl.String}
    return pl.DataFrame(list(texts.items()), schema=schema, orient="row")


def beside_diagonal(pairs: pl.DataFrame, texts: pl.DataFrame, mark: str, names: Sequence[str]) -> ggplot:
    """Draws what was measured against what was planted, with the line on which both are equal.

    Args:
        pairs: `panel`, `planted`, `measured` and a column that tells marks apart.
        texts: what each panel says in its upper left corner: `panel`, `text`.
        mark: the column that tells marks apart, by colour and shape.
        names: its values, in the order of the legend.
    """
    panels = in_order(pairs, "panel")
    corner = pairs.select(pl.min("planted"), pl.max_horizontal(pl.max("planted", "measured")).alias("measured"))
    texts = ordered(texts, panel=panels).join(corner, how="cross")
    return (
        ggplot(ordered(pairs, panel=panels, **{mark: names}), aes("planted", "measured"))
        + geom_abline(slope=1, intercept=0, color=FAINT, linetype="dashed", size=0.6)
        + geom_point(aes(color=mark, shape=mark), size=1.8, fill="none", stroke=0.6)
        + geom_text(aes(label="text"), texts, ha="left", va="top", size=8, color=INK)
        + facet_wrap("panel", ncol=COLUMNS)
        + scale_color_manual(palette(len(names)))
        + scale_shape_manual(shapes(len(names)))
        + biasgrid_theme(10, 1.4 + 2.7 * -(-len(panels) // COLUMNS))
    )


def figure(
    measures: pl.DataFrame,
    planted: pl.DataFrame,
    summary: pl.DataFrame,
    strengths: Mapping[str, str],
    titles: Mapping[str, str],
) -> ggplot:
    """Draws measured against planted gamma: a panel per model, a mark per dataset, subject and attribute.

    Args:
        measures: schema `MEASURES`.
        planted: schema `PLANTED`.
        summary: schema `SUMMARY`.
        strengths: the strength that each trained model learned; other models are left out.
        titles: the title of each dataset that is shown, in the order of the legend.
    """
    pairs = measured_and_planted(measures, planted, summary, strengths)
    pairs = pairs.filter(pl.col("dataset").is_in(list(titles))).with_columns(
        pl.col("dataset").replace_strict(titles), panel=pl.format("{}, {}", "kind", "label")
    )
    return beside_diagonal(pairs, panel_texts(pairs), "dataset", list(titles.values())) + labs(
        title="Planted bias and measured bias",
        subtitle="dashed: measured = planted",
        x=f"planted {GAMMA}(subject, attribute)",
        y=f"measured {GAMMA}(subject, attribute)",
        color="dataset",
        shape="dataset",
    )
