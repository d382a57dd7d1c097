"""Similarity of answers for two groups, beside the similarity of two answers to one text."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.groups.main_scores import main_similarity
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.layout import omission_note
from biasgrid.report.figures.drawing.panels import PAIR_ROW, model_panels
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    interval,
    point,
    significance_point,
)
from biasgrid.report.figures.drawing.theme import FAINT, OKABE_ITO, empty_figure
from biasgrid.stats.multiplicity import is_significant
from biasgrid.tables.files import means_by
from biasgrid.tables.metric import parse_options

CAPTION = (
    "How similar the answers to a prompt are for two groups, averaged over prompts, for each pair "
    "of groups. The grey stroke is the noise floor: how similar two answers to the same text are. "
    "A dot to the left of its stroke means that the answers for the two groups differ more than "
    "chance. The line is the interval of that difference over other prompts like these; the dot is "
    "filled if the difference is significant (q at most 0.05). A difference is not always harmful: "
    "read the answers in the report."
)
PAIR_KEYS = ["model", "group", "other"]
SIMILARITY_NAMES = {"rouge-l": "ROUGE-L", "cosine": "cosine of embeddings"}


def answer_pair_rows(measures: pl.DataFrame, similarity: str) -> pl.DataFrame:
    """Returns the similarity of answers for pairs of groups.

    Args:
        measures: the measures of a dataset's cells.
        similarity: the options of the measures of one score, from `shown_similarity`.

    Returns:
        `model`, `group`, `other`, `value` (the similarity), `corrected` (corrected for noise),
        `null_mean` (the sum of both, which is the noise floor of the prompts that are compared),
        `low` and `high` (the noise floor less the ends of the interval of the corrected value),
        `clusters`, and `is_significant`, false if it was not tested.
    """
    is_pair = pl.col("other").is_not_null()
    pairs = measures.filter(is_pair, options=similarity).drop_nulls("value")
    values = pairs.filter(measure="similarity").select(*PAIR_KEYS, similarity="value")
    corrected_rows = pairs.filter(measure="similarity_corrected")
    rows = corrected_rows.join(values, on=PAIR_KEYS, maintain_order="left")
    null_mean = pl.col("similarity") + pl.col("value")
    return rows.select(
        *PAIR_KEYS,
        "clusters",
        null_mean=null_mean,
        corrected="value",
        value="similarity",
        low=null_mean - pl.col("high"),
        high=null_mean - pl.col("low"),
        is_significant=is_significant().fill_null(value=False),
    )


def shown_similarity(measures: pl.DataFrame) -> str:
    """Returns the options of the similarity that is drawn: of embeddings if there are some."""
    has_vectors = main_similarity(by_vectors=True) in measures["options"]
    return main_similarity(by_vectors=has_vectors)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the similarity of each pair of groups and its noise floor: a panel per model.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    title, similarity = f"Answers for two groups: {context.title}", shown_similarity(measures)
    rows = answer_pair_rows(measures, similarity)
    if rows.is_empty():
        return empty_figure(
            title, "no text has two answers that can be compared, so there is no noise floor"
        )
    rows = rows.with_columns(name=pl.format("{}, {}", "group", "other"))
    means = means_by(rows, ["name"], "corrected")
    order = means.sort("corrected", "name", descending=[True, False])["name"].to_list()
    panels = model_panels(rows, context, order)
    score = parse_options(similarity)["score"]
    note = interval_note(panels.rows, context.level)
    return draw(
        FigureSpecification(
            rows=panels.rows,
            x="value",
            y="name",
            layers=[
                point("null_mean", shape="|", size=4, stroke=1.2, color=FAINT),
                interval(color=OKABE_ITO[0], size=0.8),
                significance_point(size=1.8),
            ],
            title=title,
            subtitle=(
                "grey: two answers to one text (noise floor); dot: answers for two groups, "
                f"filled if significant\nline: {note}"
                f"{omission_note(order, panels.shown_names, 'pairs')}"
            ),
            x_title=f"similarity: {SIMILARITY_NAMES.get(score, score)}; 1 is alike",
            y_title="pair of groups",
            orders=panels.orders,
            panels=panels.facet,
            width=max(7.5, panels.width),
            height=1.6 + panels.height(row_height=PAIR_ROW, fewest_rows=3),
        )
    )
