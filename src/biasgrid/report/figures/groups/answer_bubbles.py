"""Certainty and contradictions of answers about each class; areas are numbers of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap

import polars as pl
from plotnine import (
    aes,
    element_text,
    facet_grid,
    geom_point,
    ggplot,
    guide_legend,
    guides,
    labs,
    position_nudge,
    scale_fill_manual,
    scale_size_area,
    scale_x_continuous,
    theme,
)
from plotnine.geoms.geom import geom

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_lines, interval_note
from biasgrid.report.figures.drawing.layout import omitted_groups, order_by_value, readable_groups
from biasgrid.report.figures.drawing.theme import INK, OKABE_ITO, biasgrid_theme, empty_figure
from biasgrid.stats.ordering import select_rows, values_in_order

CAPTION = (
    "Answers to statements about each class. The area of a bubble is the number of answers; the "
    "lines are intervals over other templates. Above: how sure the model is of right and of wrong "
    "answers. A large bubble of wrong answers far to the right is a firm prejudice; bubbles near "
    "0.5 are guesses. Below: how far P(Yes) of a statement and P(Yes) of its negation are from "
    "adding up to 1, separately for pairs with different answers (as there should be) and with the "
    "same answer. A model that always gives the same answer has large bubbles of the second kind, "
    "and its errors say little about prejudice. A class with several parameters of its domain has "
    "a block for each."
)
SURE, CONTRADICTING = "how sure", "contradiction"
BUBBLE_MEASURES = {
    "certainty_right": (SURE, "right", 1),
    "certainty_wrong": (SURE, "wrong", -1),
    "inconsistency_differing": (CONTRADICTING, "answers to both differ", 1),
    "inconsistency_same": (CONTRADICTING, "the same answer to both", -1),
}
"""The block of each measure, its answers, and its side: above (1) or below (-1) the middle."""
BUBBLE_LOOKS = dict(zip((kind for _, kind, _ in BUBBLE_MEASURES.values()), OKABE_ITO, strict=False))
BUBBLE_DODGE = 0.2
"""Distance of bubbles from the middle of their row, as a share of the row."""
NAME_WIDTH = 14
"""Characters after which a model's name goes on in the next line."""
LARGEST_BUBBLE = 6
"""Diameter of the largest bubble, in points."""
BUBBLE_ROW = 0.34
"""Height of a class in inches."""
SMALLEST, WIDEST = 1.25, 20
"""Minimum width of a panel, and width of all panels side by side if it allows more, in inches."""


def class_rows(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the measures of classes.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `bias_type`, `group`, `value`, `low`, `high`, `clusters`, `n`, `what` (the block)
        and `kind` (of answers), without null values.
    """
    columns = ["model", "bias_type", "group", "value", "low", "high", "clusters", "n"]
    tables = []
    for measure, (block, kind, _) in BUBBLE_MEASURES.items():
        rows = select_rows(measures, measure, ["bias_type", "group"], intervals=True)
        table = rows.select(columns).with_columns(what=pl.lit(block), kind=pl.lit(kind))
        tables.append(table)
    return pl.concat(tables).drop_nulls("value")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws certainty and inconsistency: two blocks per bias type, a panel per model.

    A row is a class.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    heading, rows = f"Answers to statements: {context.title}", class_rows(measures)
    if rows.is_empty():
        return empty_figure(heading, "there are no answers")
    names = {}
    for model, name in context.names(rows).items():
        names[model] = "\n".join(wrap(name, NAME_WIDTH))
    order = {}
    for bias_type in sorted(values_in_order(rows, "bias_type")):
        order[bias_type] = values_in_order(rows.filter(bias_type=bias_type), "group")
    shown = readable_groups(order)
    points = place_points(rows, shown)
    points = points.with_columns(pl.col("model").replace_strict(names))
    points = order_by_value(points, model=list(names.values()))
    blocks = points["block"].unique().to_list()
    kinds = [kind for kind in BUBBLE_LOOKS if kind in set(points["kind"])]
    bubbles: list[geom] = []
    for _, kind, side in BUBBLE_MEASURES.values():
        bubbles += layers_of(points.filter(kind=kind), side)
    lines = points.unique(["block", "group"]).height
    width = max(SMALLEST, min(2.4, WIDEST / len(names)))
    return (
        ggplot(points, aes("value", "group", fill="kind", size="n"))
        + bubbles
        + facet_grid("block", "model", scales="free_y", space="free_y")
        + scale_x_continuous(limits=(0, 1), breaks=[0, 0.5, 1], labels=["0", "0.5", "1"])
        + scale_fill_manual(BUBBLE_LOOKS, limits=kinds)
        + scale_size_area(max_size=LARGEST_BUBBLE)
        + guides(fill=guide_legend(override_aes={"size": 4}))
        + labs(
            title=heading,
            subtitle=(
                "area: how "
                f"many; line: {interval_note(points, context.level)}{omitted_groups(order, shown)}"
            ),
            x=f"{SURE}: mean share of the answer in P(Yes) + P(No)\n"
            f"{CONTRADICTING}: mean of |P(Yes | T) + P(Yes | T') - 1|",
            y="class",
            fill="",
            size="answers or pairs",
        )
        + biasgrid_theme(
            max(9, 3.5 + width * len(names)), 2 + BUBBLE_ROW * lines + 0.15 * len(blocks)
        )
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )


def place_points(rows: pl.DataFrame, shown: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Returns the points of the groups that are shown, with `block`, in the order of the figure.

    Args:
        rows: from `class_rows`.
        shown: the groups of each bias type, from top to bottom.
    """
    pairs, blocks = [], []
    for bias_type, groups in shown.items():
        pairs += [(bias_type, group) for group in groups]
        blocks += [f"{bias_type}: {what}" for what in (SURE, CONTRADICTING)]
    chosen = pl.DataFrame(pairs, schema=["bias_type", "group"], orient="row")
    points = rows.join(chosen, on=["bias_type", "group"], how="semi", maintain_order="left")
    points = points.with_columns(block=pl.format("{}: {}", "bias_type", "what"))
    # A group may be in two bias types.
    distinct_groups = list(dict.fromkeys(group for _, group in pairs))
    return order_by_value(
        points,
        block=[block for block in blocks if block in set(points["block"])],
        group=distinct_groups[::-1],
        kind=[kind for kind in BUBBLE_LOOKS if kind in set(points["kind"])],
    )


def layers_of(points: pl.DataFrame, side: int) -> list[geom]:
    """Returns the layers of bubbles of a kind and of their intervals; empty without points.

    Args:
        points: the points of the kind.
        side: 1 for bubbles above the middle of their rows, -1 for bubbles below.
    """
    place = position_nudge(y=BUBBLE_DODGE * side)
    bubbles: list[geom] = []
    if len(points):
        bubbles = [geom_point(data=points, alpha=0.75, stroke=0.3, color=INK, position=place)]
    return bubbles + interval_lines(points, "group", color=INK, position=place)
