"""Measured bias against synthetic bias: whether the pipeline recovers a known effect."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_abline,
    geom_point,
    geom_segment,
    geom_text,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.layout import order_by_value, panel_title
from biasgrid.report.figures.drawing.specification import INTERVAL_WIDTH
from biasgrid.report.figures.drawing.theme import FAINT, INK, biasgrid_theme, palette, shapes
from biasgrid.stats.ordering import values_in_order
from biasgrid.stats.recovery import measured_and_synthetic, recovery, recovery_text
from biasgrid.tables.measures import MEASURE_KEYS

CAPTION = (
    "Models trained on texts with a known bias: the measured effect against the known effect (the "
    "association of a subject, or of a group of names, with an attribute; the score of a group; "
    "the difference between two groups; the bias of a class). On the dashed line they are equal. "
    "Vertical lines are intervals over templates (for groups, also over names or terms). Points on "
    "the dashed line mean that the whole chain returns what was put in, not that the bias of real "
    "models is measured as exactly."
)
PANEL_COLUMNS = 3
FIGURE_WIDTH = 10
"""Width of the figure in inches."""


def panel_texts(pairs: pl.DataFrame) -> pl.DataFrame:
    """Returns the recovery of each strength in words, for each panel.

    Args:
        pairs: `panel`, `strength` and the columns that `recovery` needs.

    Returns:
        `panel` and `text`, with a line for each strength.
    """
    rows = recovery(pairs, "panel", "strength").to_dicts()
    lines = [(row["panel"], f"{row['strength']}: {recovery_text(row)}") for row in rows]
    frame = pl.DataFrame(lines, schema={"panel": pl.String, "text": pl.String}, orient="row")
    return frame.group_by("panel", maintain_order=True).agg(pl.col("text").str.join("\n"))


def without_repeated_gamma(pairs: pl.DataFrame) -> pl.DataFrame:
    """Leaves out gamma of cells that have gamma of shares, so that associations are drawn once."""
    has_share = (pl.col("measure") == "share_gamma").any().over("dataset", "model")
    return pairs.filter(~has_share | (pl.col("measure") != "gamma"))


def recovery_pairs(measures: pl.DataFrame, context: FigureContext) -> pl.DataFrame:
    """Returns the measured and the known effect of each number, with its interval.

    Args:
        measures: the measures of the trained models' cells.
        context: the facts of datasets and models, and the known effect.

    Returns:
        The columns of `measured_and_synthetic`, with `low` and `high` (null without an interval),
        `clusters`, the columns of `FigureContext.model_facts`, and `panel`: dataset and kind of
        model, then `names_or_groups` unless it is null. Rows of `gamma` are left out in cells that
        have `share_gamma`.
    """
    pairs = measured_and_synthetic(measures, context.synthetic, context.strengths)
    keys = ["dataset", "model", "measure", "options", *MEASURE_KEYS]
    ends = measures.select(*keys, "low", "high", "clusters")
    pairs = pairs.join(ends, on=keys, how="left", nulls_equal=True, maintain_order="left")
    pairs = pairs.join(context.model_facts(pairs), on="model", maintain_order="left")
    dataset_title = pl.col("dataset").replace_strict(context.titles)
    with_kind = pl.format("{}, {}", dataset_title, "kind")
    with_subject = pl.format("{}: {}", with_kind, "names_or_groups")
    has_one_subject = pl.col("names_or_groups").is_null()
    panel = pl.when(has_one_subject).then(with_kind).otherwise(with_subject)
    return without_repeated_gamma(pairs).with_columns(panel=panel)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws measured against known effects: a panel per dataset and kind, a colour per strength.

    If subjects are names of groups, names and groups have a panel each.

    Args:
        measures: the measures of the trained models' cells.
        context: the facts of datasets and models, and the known effect.
    """
    pairs = recovery_pairs(measures, context)
    panels, strengths = values_in_order(pairs, "panel"), values_in_order(pairs, "strength")
    # Each panel has scales of its own, and so a corner of its own for its text.
    top = pl.max_horizontal(pl.max("synthetic", "measured", "high"))
    corners = pairs.group_by("panel").agg(pl.min("synthetic"), top.alias("measured"))
    texts = panel_texts(pairs).join(corners, on="panel", maintain_order="left")
    points = order_by_value(pairs, panel=panels, strength=strengths)
    with_interval = points.drop_nulls(["low", "high"])
    upright = aes("synthetic", "low", xend="synthetic", yend="high", color="strength")
    intervals = []
    if len(with_interval):
        intervals = [geom_segment(upright, with_interval, size=INTERVAL_WIDTH, alpha=0.5)]
    return (
        ggplot(points, aes("synthetic", "measured"))
        + geom_abline(slope=1, intercept=0, color=FAINT, linetype="dashed", size=0.6)
        + intervals
        + geom_point(aes(color="strength", shape="strength"), size=1.8, fill="none", stroke=0.6)
        + geom_text(
            aes(label="text"),
            order_by_value(texts, panel=panels),
            ha="left",
            va="top",
            size=8,
            color=INK,
        )
        + facet_wrap(
            "panel",
            ncol=PANEL_COLUMNS,
            scales="free",
            labeller=panel_title(FIGURE_WIDTH / PANEL_COLUMNS - 0.5),
        )
        + scale_color_manual(palette(len(strengths)))
        + scale_shape_manual(shapes(len(strengths)))
        + labs(
            title="Synthetic bias and measured bias",
            subtitle=(
                "dashed: measured = synthetic; "
                f"upright lines: {interval_note(pairs, context.level)}"
            ),
            x="synthetic",
            y="measured",
            color="strength",
            shape="strength",
        )
        + biasgrid_theme(FIGURE_WIDTH, 1.4 + 2.7 * -(-len(panels) // PANEL_COLUMNS))
    )
