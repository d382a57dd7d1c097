"""Convergent validity: whether different families of datasets order the same groups alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from plotnine import geom_point, ggplot, scale_x_continuous

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    Layer,
    draw,
    interval,
    point,
)
from biasgrid.report.figures.drawing.theme import OKABE_ITO, empty_figure
from biasgrid.stats.ordering import values_in_order
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


def figure(_measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws a row for each pair of numbers of different families that have groups in common.

    Args:
        _measures: not used; the numbers are the table `convergence` of the context.
        context: the titles of datasets, and how they agree.
    """
    title = "Agreement of families on the same groups"
    rows = context.table("convergence").drop_nulls("value")
    if rows.is_empty():
        return empty_figure(title, "no datasets of two families have three groups in common")
    pairs = pl.Series([pair_name(row, context) for row in rows.iter_rows(named=True)])
    rows = rows.with_columns(pair=pairs, lower_ceiling=-pl.col("ceiling")).sort("value", "pair")
    ring = {"shape": "o", "fill": "none", "color": OKABE_ITO[1], "size": 2.4}
    return draw(
        FigureSpecification(
            rows=rows,
            x="value",
            y="pair",
            layers=[
                interval(color=OKABE_ITO[0], size=1.1),
                point(color=OKABE_ITO[0], size=2.2),
                Layer(geom_point, {"x": "ceiling"}, ring),
                Layer(geom_point, {"x": "lower_ceiling"}, ring),
            ],
            title=title,
            subtitle="open circles: correlations to expect of full agreement, given the noise",
            x_title="rank correlation of groups within models",
            orders={"pair": values_in_order(rows, "pair")},
            reference=0,
            width=9,
            height=1.8 + ROW_HEIGHT * len(rows),
        )
    ) + scale_x_continuous(limits=(-1, 1))


def pair_name(row: Mapping[str, Any], context: FigureContext) -> str:
    """Returns the name of a pair of numbers: titles of datasets, and scores if they have some.

    Args:
        row: a row of `CONVERGENCE`.
        context: the titles; a dataset without one has its name.
    """
    sides = []
    for prefix in ("", "other_"):
        dataset = row[f"{prefix}dataset"]
        title = context.titles.get(dataset, dataset)
        score = parse_options(row[f"{prefix}options"]).get("score")
        sides.append(f"{title} ({score})" if score else title)
    return " and ".join(sides)
