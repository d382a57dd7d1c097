"""Ranks of subjects by their association with the attributes, and means over models of a kind."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from plotnine import facet_wrap, ggplot, scale_x_continuous

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import both_ends, omission_note, order_by_value
from biasgrid.report.figures.drawing.specification import FigureSpecification, draw, point
from biasgrid.report.figures.drawing.theme import GAMMA, OKABE_ITO, empty_figure
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
        context: supplies the kind of each model.

    Returns:
        `kind`, `model`, `subject`, `rank` (1 has the largest gamma), `models` (the number of
        models of the kind), `subjects` (the number of subjects that are ranked), and the columns
        of gamma.
    """
    gamma = select_rows(measures, "share_gamma", ["subject"])
    gamma = gamma.join(context.model_facts(gamma), on="model")
    model_count = pl.col("model").n_unique()
    gamma = gamma.with_columns(models=model_count.over("kind"))
    has_all_models = model_count.over("kind", "subject") == pl.col("models")
    return gamma.filter(has_all_models).with_columns(
        rank=pl.col("value").rank(descending=True).over("model"),
        subjects=pl.len().over("model").cast(pl.Int64),
    )


def mean_ranks(measures: pl.DataFrame, context: FigureContext) -> pl.DataFrame:
    """Ranks subjects by gamma(subject) within each model and averages over the models of a kind.

    The spread is the population standard deviation, as in UnQover's `Plot_ranks` notebook.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: supplies the kind of each model.

    Returns:
        `kind`, `subject`, `mean` and `spread` of ranks, `models` and `subjects` as in
        `ranks_in_models`, sorted by the rank relative to the number of subjects, averaged over
        kinds.
    """
    ranks = ranks_in_models(measures, context)
    means = ranks.group_by("kind", "subject", maintain_order=True).agg(
        mean=pl.col("rank").mean(),
        spread=pl.col("rank").std(ddof=0),
        models=pl.col("models").first(),
        subjects=pl.col("subjects").first(),
    )
    relative = ((pl.col("mean") - 0.5) / pl.col("subjects")).mean().over("subject")
    return means.sort(relative, "subject", "kind")


def with_panels(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds `panel`, the kind with its number of models.

    Args:
        rows: from `mean_ranks` or `ranks_in_models`.
    """
    noun = pl.when(pl.col("models") == 1).then(pl.lit("model")).otherwise(pl.lit("models"))
    return rows.with_columns(panel=pl.format("{} ({} {})", "kind", "models", noun))


def panel_order(rows: pl.DataFrame, kinds: Sequence[str]) -> list[str]:
    """Returns the panels of rows, in the order of the kinds.

    Args:
        rows: from `with_panels`.
        kinds: all kinds of models, in order.
    """
    panels = rows.unique("panel")
    return order_by_value(panels, kind=kinds).sort("kind")["panel"].to_list()


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws ranks in models and their means: a row per subject, a panel per kind of model.

    Of more than 80 subjects, those at both ends are shown.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    means = mean_ranks(measures, context)
    has_means = (means["models"] > 1).any()
    title, sizes = f"Ranks of subjects: {context.title}", ""
    if has_means:
        title = f"Ranks of subjects, means over the models of a kind: {context.title}"
        sizes = "; large: mean; small: each model"
    if means.is_empty():
        reason = "the models of each kind share no subject, so no ranks can be averaged"
        return empty_figure(title, reason)
    order = values_in_order(means, "subject")
    subjects = both_ends(order)
    is_shown = pl.col("subject").is_in(subjects)
    rows = with_panels(means.filter(is_shown))
    panels = panel_order(rows, values_in_order(context.model_facts(measures), "kind"))
    layers = [point(size=1.8, color=OKABE_ITO[0])]
    if has_means:
        ranks = with_panels(ranks_in_models(measures, context).filter(is_shown))
        layers.insert(0, point("rank", rows=ranks, size=1.0, color=OKABE_ITO[4]))
    return draw(
        FigureSpecification(
            rows=rows,
            x="mean",
            y="subject",
            layers=layers,
            title=title,
            subtitle=(
                f"1 = most associated with the attributes{sizes}"
                f"{omission_note(order, subjects, 'subjects')}"
            ),
            x_title=f"rank by {GAMMA}(subject)",
            y_title="subject",
            orders={"subject": subjects[::-1], "panel": panels},
            panels=facet_wrap("panel", nrow=1),
            width=2 + 3 * max(len(panels), 2),
            height=1.4 + 0.15 * max(len(subjects), 6),
        )
    ) + scale_x_continuous(minor_breaks=[])
