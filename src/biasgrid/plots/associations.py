"""The strongest associations of subjects with attributes, and how far models agree on them."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    geom_point,
    geom_vline,
    ggplot,
    labs,
    scale_color_manual,
    scale_shape_manual,
    scale_y_discrete,
)

from biasgrid.plots.drawing.context import FigureContext
from biasgrid.plots.drawing.readable import ordered, shorten_all
from biasgrid.plots.drawing.theme import FAINT, GAMMA, INK, biasgrid_theme, palette, shapes
from biasgrid.statistics.selection import in_order, select_rows
from biasgrid.tables.means import means_by

CAPTION = (
    f"The pairs of subject and attribute with the largest mean |{GAMMA}| over models, of those whose mean {GAMMA} "
    "is not negative (the heat map shows the others too), each model a mark. They are the top of a long list, so "
    "some are there by chance; marks that lie together on one side of zero say that models agree. They describe "
    "these models and questions, not the people who are named."
)
MOST_ASSOCIATIONS = 20
LONGEST_NAME = 70


def strongest(measures: pl.DataFrame, context: FigureContext, count: int = MOST_ASSOCIATIONS) -> pl.DataFrame:
    """Picks the pairs of subject and attribute with the largest mean |gamma| over models.

    Gamma is antisymmetric, so each association of one subject is a dissociation of those it is compared with;
    no pairs with a negative mean gamma are picked.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what knows the models' kinds and labels.
        count: how many pairs to pick.

    Returns:
        `subject`, `attribute`, `mean` (over models), `model`, `kind`, `label`, `gamma`; strongest pair first,
        models in the order of the context.
    """
    gamma = select_rows(measures, "gamma", ["subject", "attribute"])
    sizes = means_by(gamma.with_columns(pl.col("value").abs()), ["subject", "attribute"])
    pairs = (
        means_by(gamma, ["subject", "attribute"])
        .rename({"value": "mean"})
        .with_columns(strength=sizes["value"])
        .filter(pl.col("mean") >= 0)
        .sort(-pl.col("strength"), "subject", "attribute")
        .head(count)
    )
    facts = context.facts(gamma).with_row_index("place")
    return (
        pairs.with_row_index("rank")
        .join(gamma, on=["subject", "attribute"])
        .join(facts, on="model")
        .sort("rank", "place")
        .select("subject", "attribute", "mean", "model", "kind", "label", gamma="value")
    )


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the strongest associations: a row per association, a dot per model, a bar at the mean.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what the figure says of dataset and models.
    """
    dots = strongest(measures, context).with_columns(name=pl.format("{}: {}", "subject", "attribute"))
    short = shorten_all(in_order(dots, "name"), LONGEST_NAME)
    names = list(short.values())
    kinds = in_order(context.facts(dots), "kind")
    dots = ordered(dots.with_columns(pl.col("name").replace_strict(short)), kind=kinds)
    means = dots.unique("name", maintain_order=True)
    return (
        ggplot(dots, aes("gamma", "name"))
        + geom_vline(xintercept=0, color=FAINT, size=0.6)
        + geom_point(aes(color="kind", shape="kind"), size=2, fill="none", stroke=0.7)
        + geom_point(aes("mean"), means, shape="|", size=5, stroke=1.2, color=INK)
        + scale_color_manual(palette(len(kinds)))
        + scale_shape_manual(shapes(len(kinds)))
        + scale_y_discrete(limits=names[::-1])
        + labs(
            title=f"Strongest associations: {context.title}",
            subtitle="one mark per model; the upright bar is the mean over all models",
            x=f"{GAMMA}(subject, attribute): positive = associated more with this subject than others",
            y="subject: attribute",
            color="kind of model",
            shape="kind of model",
        )
        + biasgrid_theme(10, 1.7 + 0.22 * max(len(names), 4))
    )
