"""The strongest associations of subjects with attributes, with their intervals, model by model."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_point,
    geom_vline,
    ggplot,
    labs,
    scale_fill_manual,
    scale_y_discrete,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_lines, interval_note
from biasgrid.report.figures.drawing.layout import columns_of, order_by_value, shorten_text
from biasgrid.report.figures.drawing.theme import (
    CHARACTER,
    FAINT,
    GAMMA,
    OKABE_ITO,
    biasgrid_theme,
    empty_figure,
)
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.ordering import select_rows, values_in_order

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
LONGEST_ASSOCIATION = 46
ASSOCIATION_PANELS = 3
KEY_SEPARATOR = "\N{INFORMATION SEPARATOR ONE}"
ASSOCIATION_KEYS = ["model", "subject", "attribute"]


def strongest(measures: pl.DataFrame, count: int) -> pl.DataFrame:
    """Picks the pairs of subject and attribute with the largest gamma of each model.

    Gamma is antisymmetric, so each association of one subject is a dissociation of those it is
    compared with; no pairs with a negative gamma are picked.

    Args:
        measures: the measures of a dataset's cells.
        count: the number of pairs of each model.

    Returns:
        `model`, `subject`, `attribute`, `value`, `clusters`, `low` and `high` (of the selected
        interval, null unless significant) and `found` (whether it is significant); the strongest
        pair of each model first.
    """
    gamma = select_rows(measures, "share_gamma", ["subject", "attribute"], intervals=True)
    positive = gamma.filter(pl.col("value") > 0)
    ranked = positive.sort(-pl.col("value"), "subject", "attribute", maintain_order=True)
    picked = ranked.group_by("model", maintain_order=True).head(count)
    found = is_significant().fill_null(value=False)
    ends = {"low": "selected_low", "high": "selected_high"}
    return picked.select(*ASSOCIATION_KEYS, "value", "clusters", **ends, found=found)


def gamma_by_cluster(context: FigureContext) -> pl.DataFrame:
    """Returns `model`, `subject`, `attribute`, `cluster` and `gamma` of each cluster."""
    clusters = context.table("design").filter(pl.col("name") == "mu_without")
    of_templates = clusters.select("model", "cluster", template=pl.col("templates").str.split(", "))
    cluster_of = of_templates.explode("template").with_columns(pl.col("template").cast(pl.UInt16))
    by_template = context.table("parts").drop_nulls("template")
    rows = by_template.join(cluster_of, on=["model", "template"])
    weighted_mean = (pl.col("value") * pl.col("n")).sum() / pl.col("n").sum()
    keys = [*ASSOCIATION_KEYS, "cluster"]
    return rows.group_by(keys).agg(gamma=weighted_mean).sort(keys)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the strongest associations: a panel per model, a row per association.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models, and other tables.
    """
    heading, names = f"Strongest associations: {context.title}", context.names(measures)
    count = max(FEWEST_ASSOCIATIONS, min(MOST_ASSOCIATIONS, MOST_ASSOCIATION_ROWS // len(names)))
    rows = strongest(measures, count)
    if rows.is_empty():
        return empty_figure(heading, "no association is above 0")
    shown = rows.select(*ASSOCIATION_KEYS)
    marks = shown.join(gamma_by_cluster(context), on=ASSOCIATION_KEYS, maintain_order="left")
    models = values_in_order(rows, "model")
    panels = [name for model, name in names.items() if model in models]
    # A pair may be in several panels, each of which has an order of its own.
    place = pl.format("{}{}{}: {}", "model", pl.lit(KEY_SEPARATOR), "subject", "attribute")
    model_name = pl.col("model").replace_strict(names)
    rows = rows.with_columns(place=place, model=model_name)
    marks = marks.with_columns(place=place, model=model_name)
    places = rows["place"].to_list()[::-1]
    rows = order_by_value(rows, model=panels, place=places)
    marks = order_by_value(marks, model=panels, place=places)
    short = {}
    for name in places:
        _, _, pair = name.partition(KEY_SEPARATOR)
        short[name] = shorten_text(pair, LONGEST_ASSOCIATION)
    columns = columns_of(len(panels), ASSOCIATION_PANELS)
    beside = CHARACTER * max(map(len, short.values()))
    # Only significant associations have intervals, so a note on clusters would mislead.
    is_tested = rows["clusters"].drop_nulls().cast(pl.Int64).gt(1).any()
    certain = interval_note(rows, context.level)
    if is_tested and not rows["found"].any():
        certain = "none is significant"
    return (
        ggplot(rows, aes("value", "place"))
        + geom_vline(xintercept=0, color=FAINT, size=0.5)
        + geom_point(aes("gamma"), marks.drop_nulls("gamma"), shape="|", color=FAINT, size=1.8)
        + interval_lines(rows, "place", color=OKABE_ITO[0], size=0.8)
        + geom_point(aes(fill="found"), size=2, color=OKABE_ITO[0], show_legend=False)
        + facet_wrap("model", ncol=columns, scales="free_y")
        + scale_fill_manual({True: OKABE_ITO[0], False: "white"})
        + scale_y_discrete(labels=lambda shown: [short[name] for name in shown])
        + labs(
            title=heading,
            subtitle=(
                "dot: mean of the clusters, the small marks; filled: significant; line: selected "
                f"interval, {certain}"
            ),
            x=(
                f"{GAMMA}(subject, attribute): positive = associated more with this "
                "subject than others"
            ),
            y="subject: attribute",
        )
        + biasgrid_theme(
            max(8, columns * (beside + 2.4)),
            1.5 + -(-len(panels) // columns) * (0.5 + 0.19 * count),
        )
    )
