"""Ranks of subjects by their association with the attributes, and means over models of a kind."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    facet_wrap,
    geom_point,
    ggplot,
    labs,
    scale_x_continuous,
    scale_y_discrete,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import both_ends, omitted_text, order_by_value
from biasgrid.report.figures.drawing.theme import GAMMA, OKABE_ITO, biasgrid_theme, empty_figure
from biasgrid.stats.ordering import select_rows, values_in_order

CAPTION = (
    f"Subjects ranked by {GAMMA}(subject) of shares, averaged over all attributes: rank 1 is the "
    "subject that a model associates most with the attributes. Large points are means over the "
    "models of a kind, and small points are the models: they show how much the models agree, not "
    "how certain a rank is. Ranks hide how far apart subjects are, and a mean between distant "
    "points means that models disagree. Only subjects that all models of the kind were asked about "
    "are included."
)


def ranks_in_models(measures: pl.DataFrame, context: FigureContext) -> pl.DataFrame:
    """Ranks subjects by gamma(subject) within each model.

    Only subjects that every model of a kind was asked about are ranked, so that the ranks of its
    models are comparable.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what knows the models' kinds.

    Returns:
        `kind`, `model`, `subject`, `rank`, `models` and `subjects` (counts) and more; rank 1 has
        the largest gamma.
    """
    gamma = select_rows(measures, "share_gamma", ["subject"])
    gamma = gamma.join(context.facts(gamma), on="model")
    models = pl.col("model").n_unique()
    gamma = gamma.with_columns(models=models.over("kind"))
    shared = gamma.filter(models.over("kind", "subject") == pl.col("models"))
    return shared.with_columns(
        rank=pl.col("value").rank(descending=True).over("model"),
        subjects=pl.len().over("model").cast(pl.Int64),
    )


def mean_ranks(measures: pl.DataFrame, context: FigureContext) -> pl.DataFrame:
    """Ranks subjects by gamma(subject) within each model and averages over the models of a kind.

    The spread is the population standard deviation, as in UnQover's `Plot_ranks` notebook.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what knows the models' kinds.

    Returns:
        `kind`, `subject`, `mean`, `spread`, `models` and `subjects` (counts), sorted by the rank
        relative to the number of subjects, averaged over kinds; rank 1 has the largest gamma.
    """
    ranked = ranks_in_models(measures, context)
    means = ranked.group_by("kind", "subject", maintain_order=True).agg(
        mean=pl.col("rank").mean(),
        spread=pl.col("rank").std(ddof=0),
        models=pl.col("models").first(),
        subjects=pl.col("subjects").first(),
    )
    relative = ((pl.col("mean") - 0.5) / pl.col("subjects")).mean().over("subject")
    return means.sort(relative, "subject", "kind")


def place_in_panels(means: pl.DataFrame, kinds: list[str]) -> pl.DataFrame:
    """Adds `panel`, the kind with its number of models, in the order of the kinds."""
    noun = pl.when(pl.col("models") == 1).then(pl.lit("model")).otherwise(pl.lit("models"))
    points = means.with_columns(panel=pl.format("{} ({} {})", "kind", "models", noun))
    present = order_by_value(points.unique("panel"), kind=kinds).sort("kind")
    return order_by_value(points, panel=present["panel"].to_list())


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws ranks in models and their means: a row per subject, a panel per kind of model.

    Of more than 80 subjects, those at both ends are shown.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    means = mean_ranks(measures, context)
    several = (means["models"] > 1).any()
    of_means = ", means over the models of a kind" if several else ""
    heading = f"Ranks of subjects{of_means}: {context.title}"
    if means.is_empty():
        reason = "the models of each kind share no subject, so no ranks can be averaged"
        return empty_figure(heading, reason)
    order = values_in_order(means, "subject")
    shown = both_ends(order)
    kinds = values_in_order(context.facts(measures), "kind")
    is_shown = pl.col("subject").is_in(shown)
    points = place_in_panels(means.filter(is_shown), kinds)
    small_points = []
    if several:
        ranks = ranks_in_models(measures, context).filter(is_shown)
        of_models = place_in_panels(ranks, kinds)
        small_points = [geom_point(aes("rank"), of_models, size=1.0, color=OKABE_ITO[4])]
    return (
        ggplot(points, aes("mean", "subject"))
        + small_points
        + geom_point(size=1.8, color=OKABE_ITO[0])
        + facet_wrap("panel", nrow=1)
        + scale_y_discrete(limits=shown[::-1])
        + scale_x_continuous(minor_breaks=[])
        + labs(
            title=heading,
            subtitle="1 = most associated with the attributes"
            + ("; large: mean; small: each model" if several else "")
            + omitted_text(order, shown, "subjects"),
            x=f"rank by {GAMMA}(subject)",
            y="subject",
        )
        + biasgrid_theme(
            2 + 3 * max(points["panel"].n_unique(), 2), 1.4 + 0.15 * max(len(shown), 6)
        )
    )
