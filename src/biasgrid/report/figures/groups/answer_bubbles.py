"""Certainty and contradictions of answers about each class; areas are numbers of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import NamedTuple

import polars as pl
from plotnine import (
    facet_grid,
    geom_point,
    ggplot,
    guide_legend,
    guides,
    labs,
    scale_fill_manual,
    scale_size_area,
    scale_x_continuous,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.layout import group_omission_note, readable_groups
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    Layer,
    draw,
    interval,
)
from biasgrid.report.figures.drawing.theme import INK, OKABE_ITO, empty_figure
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


class Bubble(NamedTuple):
    """How a measure is drawn: its half, the kind of its answers, and its place in a row.

    Attributes:
        half: the half of a bias type's panels that the measure is drawn in, `SURE` or
            `CONTRADICTING`.
        kind: the answers that it is about, which have a colour.
        nudge: the distance above the middle of a row, as a share of the row.
    """

    half: str
    kind: str
    nudge: float


BUBBLE_MEASURES = {
    "certainty_right": Bubble(SURE, "right", 0.2),
    "certainty_wrong": Bubble(SURE, "wrong", -0.2),
    "inconsistency_differing": Bubble(CONTRADICTING, "answers to both differ", 0.2),
    "inconsistency_same": Bubble(CONTRADICTING, "the same answer to both", -0.2),
}
KINDS = [bubble.kind for bubble in BUBBLE_MEASURES.values()]
KIND_COLORS = dict(zip(KINDS, OKABE_ITO, strict=False))
NAME_WIDTH = 14
"""Characters after which a model's name goes on in the next line."""
LARGEST_BUBBLE = 6
"""Diameter of the largest bubble, in points."""
ROW_HEIGHT = 0.34
"""Height of a class in inches."""
NARROWEST, WIDEST = 1.25, 2.4
"""Minimum and maximum width of a panel in inches."""
WIDEST_PANELS = 20
"""Width of all panels side by side in inches, if it leaves each the minimum."""


def class_rows(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the measures of classes.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `bias_type`, `group`, `value`, `low`, `high`, `clusters`, `n`, `half` and `kind`
        (see `Bubble`), without null values.
    """
    columns = ["model", "bias_type", "group", "value", "low", "high", "clusters", "n"]
    tables = []
    for measure, bubble in BUBBLE_MEASURES.items():
        rows = select_rows(measures, measure, ["bias_type", "group"], intervals=True)
        table = rows.select(columns).with_columns(
            half=pl.lit(bubble.half), kind=pl.lit(bubble.kind)
        )
        tables.append(table)
    return pl.concat(tables).drop_nulls("value")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws certainty and inconsistency: two rows of panels per bias type, a panel per model.

    A row is a class.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    title, rows = f"Answers to statements: {context.title}", class_rows(measures)
    if rows.is_empty():
        return empty_figure(title, "there are no answers")
    labels = {}
    for model, label in context.model_labels(rows).items():
        labels[model] = "\n".join(wrap(label, NAME_WIDTH))
    order = {}
    for bias_type in sorted(values_in_order(rows, "bias_type")):
        order[bias_type] = values_in_order(rows.filter(bias_type=bias_type), "group")
    shown_groups = readable_groups(order)
    rows = shown_rows(rows, shown_groups)
    rows = rows.with_columns(pl.col("model").replace_strict(labels))
    orders = {"model": list(labels.values()), **row_orders(rows, shown_groups)}
    class_count = rows.unique(["block", "group"]).height
    width = max(NARROWEST, min(WIDEST, WIDEST_PANELS / len(labels)))
    note = interval_note(rows, context.level)
    plot = draw(
        FigureSpecification(
            rows=rows,
            x="value",
            y="group",
            layers=bubble_layers(rows),
            title=title,
            subtitle=f"area: how many; line: {note}{group_omission_note(order, shown_groups)}",
            x_title=(
                f"{SURE}: mean share of the answer in P(Yes) + P(No)\n"
                f"{CONTRADICTING}: mean of |P(Yes | T) + P(Yes | T') - 1|"
            ),
            y_title="class",
            orders=orders,
            panels=facet_grid("block", "model", scales="free_y", space="free_y"),
            width=max(9, 3.5 + width * len(labels)),
            height=2 + ROW_HEIGHT * class_count + 0.15 * len(orders["block"]),
        )
    )
    plot += scale_x_continuous(limits=(0, 1), breaks=[0, 0.5, 1], labels=["0", "0.5", "1"])
    plot += scale_fill_manual(KIND_COLORS, limits=orders["kind"])
    plot += scale_size_area(max_size=LARGEST_BUBBLE)
    plot += guides(fill=guide_legend(override_aes={"size": 4}))
    return plot + labs(fill="", size="answers or pairs")


def bubble_layers(rows: pl.DataFrame) -> list[Layer]:
    """Returns bubbles and their intervals, kind by kind.

    Args:
        rows: from `shown_rows`.
    """
    columns = {"fill": "kind", "size": "n"}
    look = {"alpha": 0.75, "stroke": 0.3, "color": INK}
    layers = []
    for bubble in BUBBLE_MEASURES.values():
        kind_rows = rows.filter(kind=bubble.kind)
        layers.append(Layer(geom_point, columns, look, kind_rows, bubble.nudge))
        layers.append(interval(rows=kind_rows, nudge=bubble.nudge, color=INK))
    return layers


def shown_rows(rows: pl.DataFrame, shown_groups: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Returns the rows of the groups that are shown, with the row of panels that each is in.

    Args:
        rows: from `class_rows`.
        shown_groups: the groups of each bias type.

    Returns:
        The rows with `block`, the title of a row of panels: `BIAS_TYPE: HALF`.
    """
    keys = []
    for bias_type, groups in shown_groups.items():
        keys += [(bias_type, group) for group in groups]
    shown_keys = pl.DataFrame(keys, schema=["bias_type", "group"], orient="row")
    rows = rows.join(shown_keys, on=["bias_type", "group"], how="semi", maintain_order="left")
    return rows.with_columns(block=pl.format("{}: {}", "bias_type", "half"))


def row_orders(
    rows: pl.DataFrame, shown_groups: Mapping[str, Sequence[str]]
) -> dict[str, list[str]]:
    """Returns the order of blocks, groups and kinds that rows have.

    Args:
        rows: from `shown_rows`.
        shown_groups: the groups of each bias type, from top to bottom.
    """
    all_groups: list[str] = []
    blocks = []
    for bias_type, groups in shown_groups.items():
        all_groups += groups
        blocks += [f"{bias_type}: {half}" for half in (SURE, CONTRADICTING)]
    # A group may be in two bias types.
    distinct_groups = list(dict.fromkeys(all_groups))
    present_blocks, present_kinds = set(rows["block"]), set(rows["kind"])
    return {
        "block": [block for block in blocks if block in present_blocks],
        "group": distinct_groups[::-1],
        "kind": [kind for kind in KINDS if kind in present_kinds],
    }
