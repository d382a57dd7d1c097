"""The strongest associations of subjects with attributes, with their intervals, model by model."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.panels import place_in_model, ranked_panels
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    interval,
    point,
    significance_point,
)
from biasgrid.report.figures.drawing.theme import FAINT, GAMMA, OKABE_ITO, empty_figure
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.ordering import select_rows

CAPTION = (
    f"The pairs of subject and attribute with the largest positive {GAMMA} of shares for each "
    "model. Small marks are clusters (templates that only reword each other are one cluster); the "
    "dot is their mean. A filled dot is significant (q at most 0.05), and its line is an interval "
    "that allows for the selection. A hollow dot may be chance, so it has no interval. "
    "Associations describe these models and questions, not people."
)
MOST_ASSOCIATIONS = 20
"""Maximum number of associations of a single model; the more models, the fewer of each."""
FEWEST_ASSOCIATIONS = 6
MOST_ASSOCIATION_ROWS = 90
"""Number of associations of all models, if this leaves each at least the fewest."""
ROW_HEIGHT = 0.19
"""Height of an association in inches."""
ASSOCIATION_KEYS = ["model", "subject", "attribute"]


def strongest(measures: pl.DataFrame, most: int) -> pl.DataFrame:
    """Picks the pairs of subject and attribute with the largest gamma of each model.

    Gamma is antisymmetric, so each association of one subject is a dissociation of those it is
    compared with; no pairs with a negative gamma are picked.

    Args:
        measures: the measures of a dataset's cells.
        most: the maximum number of pairs of each model.

    Returns:
        `model`, `subject`, `attribute`, `value`, `clusters`, `low` and `high` (of the selected
        interval, null unless significant) and `is_significant`, false if it was not tested; the
        strongest pair of each model first.
    """
    gamma = select_rows(measures, "share_gamma", ["subject", "attribute"], intervals=True)
    positive = gamma.filter(pl.col("value") > 0)
    by_size = positive.sort(-pl.col("value"), "subject", "attribute", maintain_order=True)
    strongest_rows = by_size.group_by("model", maintain_order=True).head(most)
    significance = is_significant().fill_null(value=False)
    ends = {"low": "selected_low", "high": "selected_high"}
    return strongest_rows.select(
        *ASSOCIATION_KEYS, "value", "clusters", **ends, is_significant=significance
    )


def gamma_by_cluster(context: FigureContext) -> pl.DataFrame:
    """Returns `model`, `subject`, `attribute`, `cluster` and `gamma` of each cluster."""
    clusters = context.table("design").filter(pl.col("name") == "mu_without")
    cluster_templates = clusters.select(
        "model", "cluster", template=pl.col("templates").str.split(", ")
    )
    template_clusters = cluster_templates.explode("template").with_columns(
        pl.col("template").cast(pl.UInt16)
    )
    by_template = context.table("parts").drop_nulls("template")
    rows = by_template.join(template_clusters, on=["model", "template"])
    weighted_mean = (pl.col("value") * pl.col("n")).sum() / pl.col("n").sum()
    keys = [*ASSOCIATION_KEYS, "cluster"]
    return rows.group_by(keys).agg(gamma=weighted_mean).sort(keys)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the strongest associations: a panel per model, a row per association.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models, and other tables.
    """
    title, labels = f"Strongest associations: {context.title}", context.model_labels(measures)
    readable_count = min(MOST_ASSOCIATIONS, MOST_ASSOCIATION_ROWS // len(labels))
    most = max(FEWEST_ASSOCIATIONS, readable_count)
    rows = strongest(measures, most)
    if rows.is_empty():
        return empty_figure(title, "no association is above 0")
    place = place_in_model("subject", "attribute")
    panels = ranked_panels(rows, labels, place)
    keys = rows.select(ASSOCIATION_KEYS)
    clusters = keys.join(gamma_by_cluster(context), on=ASSOCIATION_KEYS, maintain_order="left")
    clusters = clusters.with_columns(place=place, model=pl.col("model").replace_strict(labels))
    return (
        draw(
            FigureSpecification(
                rows=panels.rows,
                x="value",
                y="place",
                layers=[
                    point("gamma", rows=clusters, shape="|", color=FAINT, size=1.8),
                    interval(color=OKABE_ITO[0], size=0.8),
                    significance_point(size=2),
                ],
                title=title,
                subtitle=(
                    "dot: mean of the clusters, the small marks; filled: significant; line: "
                    f"selected interval, {selected_interval_note(rows, context.level)}"
                ),
                x_title=(
                    f"{GAMMA}(subject, attribute): positive = associated more with this subject "
                    "than others"
                ),
                y_title="subject: attribute",
                orders=panels.orders,
                panels=panels.facet,
                reference=0,
                width=max(8, panels.width),
                height=1.5 + panels.lines * (0.5 + ROW_HEIGHT * most),
            )
        )
        + panels.scale
    )


def selected_interval_note(rows: pl.DataFrame, level: float) -> str:
    """Returns coverage and clusters of the intervals, or that there are none.

    Args:
        rows: from `strongest`.
        level: the coverage of intervals.
    """
    has_clusters = rows["clusters"].drop_nulls().cast(pl.Int64).gt(1).any()
    # Only significant associations have intervals, so a note on clusters would mislead.
    if has_clusters and not rows["is_significant"].any():
        return "none is significant"
    return interval_note(rows, level)
