"""Similarity of answers for two groups, beside the similarity of two answers to one text."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.groups.main_scores import main_similarity
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import draw_beside_null
from biasgrid.report.figures.drawing.theme import empty_figure
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
PAIR_COLUMNS = ["model", "group", "other"]
SIMILARITY_NAMES = {"rouge-l": "ROUGE-L", "cosine": "cosine of embeddings"}


def answer_pair_rows(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the similarity of answers for pairs of groups.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `group`, `other`, `value` (the similarity), `corrected` (corrected for noise),
        `null_mean` (the sum of both, which is the noise floor of the prompts that are compared),
        `low` and `high` (the noise floor less the ends of the interval of the corrected value),
        `clusters`, `found` (whether it is significant) and `score`.
    """
    has_vectors = main_similarity(by_vectors=True) in measures["options"]
    similarity = main_similarity(by_vectors=has_vectors)
    own = measures.filter(options=similarity)
    own = own.filter(pl.col("other").is_not_null()).drop_nulls("value")
    values = own.filter(measure="similarity").select(*PAIR_COLUMNS, similarity="value")
    corrected = own.filter(measure="similarity_corrected")
    both = corrected.join(values, on=PAIR_COLUMNS, maintain_order="left")
    null_mean = pl.col("similarity") + pl.col("value")
    return both.select(
        *PAIR_COLUMNS,
        "clusters",
        null_mean=null_mean,
        corrected="value",
        value="similarity",
        low=null_mean - pl.col("high"),
        high=null_mean - pl.col("low"),
        found=is_significant().fill_null(value=False),
        score=pl.lit(parse_options(similarity)["score"]),
    )


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the similarity of each pair of groups and its noise floor: a panel per model.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    heading, rows = f"Answers for two groups: {context.title}", answer_pair_rows(measures)
    if rows.is_empty():
        return empty_figure(
            heading, "no text has two answers that can be compared, so there is no noise floor"
        )
    rows = rows.with_columns(name=pl.format("{}, {}", "group", "other"))
    means = means_by(rows, ["name"], "corrected")
    order = means.sort("corrected", "name", descending=[True, False])["name"].to_list()
    score = rows["score"][0]
    words = {
        "title": heading,
        "subtitle": (
            "grey: two answers to one text (noise floor); dot: answers for two groups, "
            "filled if significant"
        ),
        "x": f"similarity: {SIMILARITY_NAMES.get(score, score)}; 1 is alike",
    }
    return draw_beside_null(rows, context, order, words)
