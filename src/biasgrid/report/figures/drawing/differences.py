"""Figures of signed differences, with intervals over clusters and over all factors."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.layout import omission_note
from biasgrid.report.figures.drawing.panels import model_panels
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    interval,
    significance_point,
)
from biasgrid.report.figures.drawing.theme import OKABE_ITO
from biasgrid.stats.multiplicity import is_significant
from biasgrid.tables.files import means_by
from biasgrid.tables.measures import ROW, is_over_first_factor

DIFFERENCE_ROW = 0.15
"""Height of a row in inches."""


def signed_rows(
    measures: pl.DataFrame, context: FigureContext, measure: str, keys: Sequence[str]
) -> pl.DataFrame:
    """Picks numbers with their intervals over the first factor and over all factors.

    Args:
        measures: the measures of the cells that are measurable.
        context: the context of the figure, with the table of intervals.
        measure: the measure's name.
        keys: the keys of its rows; rows without one of them are left out.

    Returns:
        `model`, the keys, `value`, `clusters`, `low`, `high` (over clusters, items or prompts),
        `low_all`, `high_all` (over names or terms as well, null if there are none) and
        `is_significant`, over the factors of the number's claim.
    """
    cells = measures.select("model", "dataset").unique()
    intervals = context.table("intervals")
    intervals = intervals.join(cells, on=["model", "dataset"], how="semi", maintain_order="left")
    claims = measures.select(intervals.columns).with_columns(is_claim=pl.lit(value=True))
    rows = pl.concat([claims, intervals.with_columns(is_claim=pl.lit(value=False))])
    # A number that is compared with a control has a second row, against 0, over the same factors.
    rows = rows.unique(["model", *ROW, "generalises_to"], keep="first", maintain_order=True)
    has_keys = pl.all_horizontal(pl.col(key).is_not_null() for key in keys)
    rows = rows.filter(has_keys, measure=measure)
    row_keys = ["model", *keys]
    over_clusters = rows.filter(is_over_first_factor())
    over_clusters = over_clusters.select(*row_keys, "value", "clusters", "low", "high")
    over_all = rows.filter(pl.col("generalises_to").str.contains(" x "))
    over_all = over_all.select(*row_keys, low_all="low", high_all="high")
    # With prompt formats there are several such rows, of which the claim is first.
    over_all = over_all.unique(row_keys, maintain_order=True)
    # A number that was not tested is not significant.
    significance = is_significant().fill_null(value=False)
    tests = rows.filter("is_claim").select(*row_keys, is_significant=significance)
    with_both = over_clusters.join(over_all, on=row_keys, how="left", maintain_order="left")
    return with_both.join(tests, on=row_keys, how="left", maintain_order="left")


def draw_differences(
    rows: pl.DataFrame,
    context: FigureContext,
    *,
    title: str,
    x_title: str,
    y_title: str,
    plural_noun: str,
) -> ggplot:
    """Draws signed numbers: a panel per model, a row per name, in the order of mean values.

    Args:
        rows: from `signed_rows`, with `name`, the name of a row.
        context: the facts of dataset and models.
        title: the title, without the dataset.
        x_title: the title of the horizontal axis.
        y_title: the title of the vertical axis.
        plural_noun: names the rows, such as `pairs`.
    """
    means = means_by(rows, ["name"]).sort("value", "name", descending=[True, False])
    order = means["name"].to_list()
    panels = model_panels(rows, context, order)
    note = interval_note(panels.rows, context.level)
    return draw(
        FigureSpecification(
            rows=panels.rows,
            x="value",
            y="name",
            layers=[
                interval(color=OKABE_ITO[4], size=1.6),
                interval("low_all", "high_all", color=OKABE_ITO[0], size=0.5),
                significance_point(size=1.5, stroke=0.4),
            ],
            title=f"{title}: {context.title}",
            subtitle=(
                f"thick: {note}; thin: over these and all else that was sampled; filled: "
                f"significant{omission_note(order, panels.shown_names, plural_noun)}"
            ),
            x_title=x_title,
            y_title=y_title,
            orders=panels.orders,
            panels=panels.facet,
            reference=0,
            width=max(9, panels.width),
            height=1.5 + panels.height(row_height=DIFFERENCE_ROW, fewest_rows=4),
        )
    )
