"""How alike answers for two groups are, beside how alike two answers to one text are."""

from __future__ import annotations

import polars as pl
from plotnine import aes, facet_wrap, geom_point, ggplot, labs, scale_fill_manual, scale_y_discrete, theme

from biasgrid.groups.main_scores import main_similarity
from biasgrid.plots.drawing.certain import interval_lines, over_frames
from biasgrid.plots.drawing.context import FigureContext
from biasgrid.plots.drawing.readable import both_ends, left_out, ordered, shorten_all
from biasgrid.plots.drawing.theme import CHARACTER, FAINT, OKABE_ITO, biasgrid_theme, empty_figure
from biasgrid.statistics.selection import in_order
from biasgrid.tables.means import means_by
from biasgrid.tables.measure import options_of
from biasgrid.tables.statistics import DISCOVERED

CAPTION = (
    "How alike answers to a prompt for two groups are, mean over prompts, for each pair of groups. The grey stroke is "
    "the noise floor: how alike two answers to the very same text are. A dot left of its stroke says that answers for "
    "the two groups differ by more than answers do by chance. The line is the interval of that difference over other "
    "prompts like these; a dot is filled where it is told from noise (q at most 0.05). A difference need not be harm: "
    "the answers stand in the report."
)
PAIR = ["model", "group", "other"]
SIDE_BY_SIDE = 5
LONGEST_NAME = 44
ROW = 0.19
"""Height of a pair in inches."""
NAMES = {"rouge-l": "ROUGE-L", "cosine": "cosine of embeddings"}


def pairs_of(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns how alike answers for pairs of groups are.

    Args:
        measures: the measures of a dataset's cells, with certainty.

    Returns:
        `model`, `group`, `other`, `value` (how alike answers are), `excess` (what is beyond the noise), `floor` (the
        sum of both, which is the floor of the prompts that are compared), `low` and `high` (the floor less the ends of
        the interval of the excess), `frames` and `found` (told from noise).
    """
    similarity = main_similarity(by_vectors=main_similarity(by_vectors=True) in measures["options"])
    own = measures.filter(options=similarity)
    own = own.filter(pl.col("other").is_not_null()).drop_nulls("value")
    alike = own.filter(measure="similarity").select(*PAIR, similarity="value")
    both = own.filter(measure="similarity_excess").join(alike, on=PAIR, maintain_order="left")
    floor = pl.col("similarity") + pl.col("value")
    return both.select(
        *PAIR,
        "frames",
        floor=floor,
        excess="value",
        value="similarity",
        low=floor - pl.col("high"),
        high=floor - pl.col("low"),
        found=(pl.col("q") <= DISCOVERED).fill_null(value=False),
        score=pl.lit(options_of(similarity)["score"]),
    )


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the similarity of each pair of groups with its floor: a panel per model, a row per pair.

    Args:
        measures: the measures of a dataset's cells.
        context: what the figure says of dataset and models.
    """
    heading, rows = f"Answers for two groups: {context.title}", pairs_of(measures)
    if rows.is_empty():
        return empty_figure(heading, "no text has two answers that can be compared, so there is no noise floor")
    rows = rows.with_columns(name=pl.format("{}, {}", "group", "other"))
    names = context.names(rows)
    order = means_by(rows, ["name"], "excess").sort("excess", "name", descending=[True, False])["name"].to_list()
    shown = both_ends(order)
    short = shorten_all(shown, LONGEST_NAME)
    labels = list(short.values())[::-1]
    points = rows.filter(pl.col("name").is_in(shown)).with_columns(
        pl.col("name").replace_strict(short), pl.col("model").replace_strict(names)
    )
    panels = [name for model, name in names.items() if model in in_order(rows, "model")]
    points = ordered(points, model=panels, name=labels)
    columns = min(len(panels), SIDE_BY_SIDE)
    lines, beside = -(-len(panels) // columns), CHARACTER * max(map(len, labels))
    score = rows["score"][0]
    return (
        ggplot(points, aes("value", "name"))
        + geom_point(aes("floor"), shape="|", size=4, stroke=1.2, color=FAINT)
        + interval_lines(points, "name", color=OKABE_ITO[0], size=0.8)
        + geom_point(aes(fill="found"), size=1.8, color=OKABE_ITO[0], stroke=0.5, show_legend=False)
        + facet_wrap("model", ncol=columns)
        + scale_fill_manual({True: OKABE_ITO[0], False: "white"})
        + scale_y_discrete(limits=labels)
        + labs(
            title=heading,
            subtitle="grey: two answers to one text (floor); dot: answers for two groups, filled if told from noise\n"
            f"line: {over_frames(points, context.level)}{left_out(order, shown, 'pairs')}",
            x=f"similarity: {NAMES.get(score, score)}; 1 is alike",
            y="pair of groups",
        )
        + biasgrid_theme(max(7.5, beside + 0.6 + 2.1 * columns), 1.6 + lines * (0.45 + ROW * max(len(shown), 3)))
        + theme(plot_title_position="plot")
    )
