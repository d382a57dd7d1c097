"""Convergent validity: whether different families of datasets order the same groups alike."""

from __future__ import annotations

import polars as pl
from plotnine import aes, geom_point, geom_segment, geom_vline, ggplot, labs, scale_x_continuous

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import FAINT, OKABE_ITO, biasgrid_theme, empty_figure
from biasgrid.tables.metric import parse_options

CAPTION = (
    "Whether two datasets of different families rank the same groups in the same order: Spearman's "
    "correlation of groups within models, with its interval over groups. The open circles are the "
    "correlations, positive and negative, to expect of full agreement, given the noise of both "
    "measures. A negative correlation can be agreement too, if one dataset asks about bad things "
    "and the other about good ones."
)
ROW_HEIGHT = 0.34
"""Height of the row of a pair of numbers, in inches."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a row for each pair of numbers of different families that have groups in common.

    Args:
        measures: the measures of all cells that are measurable.
        context: the titles of datasets, and how they agree.
    """
    heading = "Agreement of families on the same groups"
    rows = context.table("convergence").drop_nulls("value")
    if rows.is_empty():
        return empty_figure(heading, "no datasets of two families have three groups in common")
    pairs = pl.Series([pair_name(row, context) for row in rows.iter_rows(named=True)])
    rows = rows.with_columns(pair=pairs, lower_ceiling=-pl.col("ceiling")).sort("value", "pair")
    points = order_by_value(rows, pair=rows["pair"].unique(maintain_order=True).to_list())
    return (
        ggplot(points, aes("value", "pair"))
        + geom_vline(xintercept=0, color=FAINT, size=0.5)
        + geom_segment(
            aes("low", "pair", xend="high", yend="pair"), color=OKABE_ITO[0], size=1.1, na_rm=True
        )
        + geom_point(color=OKABE_ITO[0], size=2.2)
        + geom_point(
            aes("ceiling", "pair"), shape="o", fill="none", color=OKABE_ITO[1], size=2.4, na_rm=True
        )
        + geom_point(
            aes("lower_ceiling", "pair"),
            shape="o",
            fill="none",
            color=OKABE_ITO[1],
            size=2.4,
            na_rm=True,
        )
        + scale_x_continuous(limits=(-1, 1))
        + labs(
            title=heading,
            subtitle="open circles: correlations to expect of full agreement, given the noise",
            x="rank correlation of groups within models",
            y="",
        )
        + biasgrid_theme(9, 1.8 + ROW_HEIGHT * len(rows))
    )


def pair_name(row: dict[str, str], context: FigureContext) -> str:
    """Returns the name of a pair of numbers: titles of datasets, and scores if they have some."""
    sides = []
    for prefix in ("", "other_"):
        title = context.titles.get(row[f"{prefix}dataset"], row[f"{prefix}dataset"])
        score = parse_options(row[f"{prefix}options"]).get("score")
        sides.append(f"{title} ({score})" if score else title)
    return " and ".join(sides)
