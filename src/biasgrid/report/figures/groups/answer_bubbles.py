"""How sure answers about each class are and whether they contradict each other, areas being how
many there are.
"""

from __future__ import annotations

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
"""Of each measure its block, the answers it is about, and whether it is drawn above or below the
other one.
"""
BUBBLE_LOOKS = dict(zip((kind for _, kind, _ in BUBBLE_MEASURES.values()), OKABE_ITO, strict=False))
BUBBLE_DODGE = 0.2
"""By how much of a row each is drawn above or below its middle."""
NAME_WIDTH = 14
"""Characters after which a model's name goes on in the next line."""
LARGEST_BUBBLE = 6
"""Diameter of the largest bubble, in points."""
BUBBLE_ROW = 0.34
"""Height of a class in inches."""
SMALLEST, WIDEST = 1.25, 20
"""Inches of a panel at least, and of all panels side by side where they can be larger."""


def class_rows(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns what is measured of classes.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `bias_type`, `group`, `value`, `low`, `high`, `clusters`, `n`, `what` and `kind`,
        without null values.
    """
    tables = [
        select_rows(measures, measure, ["bias_type", "group"], intervals=True)
        .select("model", "bias_type", "group", "value", "low", "high", "clusters", "n")
        .with_columns(what=pl.lit(what), kind=pl.lit(kind))
        for measure, (what, kind, _) in BUBBLE_MEASURES.items()
    ]
    return pl.concat(tables).drop_nulls("value")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws certainty and inconsistency: two blocks per bias type, a panel per model, a row per
    class.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    heading, rows = f"Answers to statements: {context.title}", class_rows(measures)
    if rows.is_empty():
        return empty_figure(heading, "there are no answers")
    names = {
        model: "\n".join(wrap(name, NAME_WIDTH)) for model, name in context.names(rows).items()
    }
    order = {
        key: values_in_order(rows.filter(bias_type=key), "group")
        for key in sorted(values_in_order(rows, "bias_type"))
    }
    shown = readable_groups(order)
    chosen = pl.DataFrame(
        [(key, group) for key, groups in shown.items() for group in groups],
        schema=["bias_type", "group"],
        orient="row",
    )
    points = rows.join(chosen, on=["bias_type", "group"], how="semi", maintain_order="left")
    block = pl.format("{}: {}", "bias_type", "what")
    points = points.with_columns(pl.col("model").replace_strict(names), block=block)
    groups = list(dict.fromkeys(group for groups in shown.values() for group in groups))
    blocks = [f"{key}: {what}" for key in order for what in (SURE, CONTRADICTING)]
    present = [name for name in blocks if name in set(points["block"])]
    kinds = [kind for kind in BUBBLE_LOOKS if kind in set(points["kind"])]
    points = order_by_value(
        points, block=present, model=list(names.values()), group=groups[::-1], kind=kinds
    )
    lines = points.unique(["block", "group"]).height
    width = max(SMALLEST, min(2.4, WIDEST / len(names)))
    return (
        ggplot(points, aes("value", "group", fill="kind", size="n"))
        + [
            layer
            for _, kind, side in BUBBLE_MEASURES.values()
            for layer in layers_of(points.filter(kind=kind), side)
        ]
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
            max(9, 3.5 + width * len(names)), 2 + BUBBLE_ROW * lines + 0.15 * len(present)
        )
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )


def layers_of(points: pl.DataFrame, side: int) -> list[geom]:
    """Returns the layers of bubbles of a kind, and of their intervals; no layer where there are
    none.

    Args:
        points: those of the kind.
        side: 1 where they stand above the middle of their rows, -1 where below.
    """
    place = position_nudge(y=BUBBLE_DODGE * side)
    bubbles = (
        [geom_point(data=points, alpha=0.75, stroke=0.3, color=INK, position=place)]
        if len(points)
        else []
    )
    return bubbles + interval_lines(points, "group", color=INK, position=place)
