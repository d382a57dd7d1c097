"""Win ratios: the subjects that a model chooses most often for each attribute, with intervals."""

from __future__ import annotations

from itertools import product

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.layout import most_rows
from biasgrid.report.figures.drawing.panels import (
    place_in_model,
    ranked_panel_lines,
    ranked_panels,
)
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    interval,
    significance_point,
)
from biasgrid.report.figures.drawing.theme import OKABE_ITO, empty_figure
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.ordering import select_rows

CAPTION = (
    "For each attribute, the three subjects that win it most often: the share of comparisons that "
    "each wins, with its interval (0.5, the grey line, is no preference). A dot is filled if the "
    "association is significant (q at most 0.05). If there are many attributes or subjects, their "
    "groups are shown, and at most the 12 attributes with the clearest winners, so intervals tend "
    "to be too narrow. A win counts whatever its margin."
)
READABLE = 12
"""Number of attributes or subjects above which their groups are drawn, if they have groups."""
WINNERS = 3
"""Number of subjects of each attribute."""
ROW_HEIGHT = 0.19
"""Height of a winner in inches."""


def win_ratios(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the win ratios of subjects, or of groups if there are too many to read.

    Args:
        measures: the measures of a dataset's cells.

    Returns:
        `model`, `subject` and `attribute` (or groups of them), `value`, `low`, `high`, `clusters`
        and `is_significant`, of the association of the two; false if it was not tested.
    """
    keys = readable_keys(measures)
    rows = select_rows(measures, "win_ratio", keys, intervals=True).drop_nulls("value")
    tests = select_rows(measures, "gamma", keys, intervals=True)
    tests = tests.select("model", *keys, is_significant=is_significant())
    with_tests = rows.join(tests, on=["model", *keys], how="left", maintain_order="left")
    subject, attribute = keys
    return with_tests.select(
        "model",
        "value",
        "low",
        "high",
        "clusters",
        subject=subject,
        attribute=attribute,
        is_significant=pl.col("is_significant").fill_null(value=False),
    )


def readable_keys(measures: pl.DataFrame) -> list[str]:
    """Returns the keys of the win ratios that are drawn: of subjects or groups, and attributes.

    Groups are preferred if there are too many to read, but not every combination is measured.

    Returns:
        The key of subjects and the key of attributes.
    """
    single = select_rows(measures, "win_ratio", ["subject", "attribute"])
    choices = {}
    for key in ("subject", "attribute"):
        is_readable = single[key].n_unique() <= READABLE
        choices[key] = [key] if is_readable else [f"{key}_group", key]
    for subject, attribute in product(choices["subject"], choices["attribute"]):
        if select_rows(measures, "win_ratio", [subject, attribute], intervals=True).height:
            return [subject, attribute]
    return ["subject", "attribute"]


def winners(ratios: pl.DataFrame, most: int) -> pl.DataFrame:
    """Picks the three subjects that win an attribute most often, for the clearest attributes.

    Args:
        ratios: from `win_ratios`.
        most: the maximum number of attributes of a model.

    Returns:
        Rows of `ratios`: in each model the attribute with the highest ratio first, and the winner
        of each attribute first. The rows of models are mixed.
    """
    keys = ["model", "attribute"]
    by_size = ratios.sort(-pl.col("value"), "subject", "attribute", maintain_order=True)
    best = by_size.group_by(keys, maintain_order=True).head(WINNERS)
    attributes = best.group_by(keys, maintain_order=True).agg(clearest=pl.col("value").max())
    clearest = attributes.group_by("model", maintain_order=True).head(most)
    rows = best.join(clearest, on=keys, maintain_order="left")
    rows = rows.sort(
        "clearest", "attribute", "value", descending=[True, False, True], maintain_order=True
    )
    return rows.select(ratios.columns)


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the three highest win ratios of each attribute: a panel per model, a row per ratio.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models.
    """
    title, ratios = f"Who wins which attribute: {context.title}", win_ratios(measures)
    if ratios.is_empty():
        return empty_figure(title, "no two subjects were compared")
    labels = context.model_labels(ratios)
    readable_attributes = most_rows(ranked_panel_lines(len(labels))) // WINNERS
    rows = winners(ratios, min(READABLE, readable_attributes))
    panels = ranked_panels(rows, labels, place_in_model("attribute", "subject"))
    most_winners = max(rows.group_by("model").len()["len"].to_list())
    return (
        draw(
            FigureSpecification(
                rows=panels.rows,
                x="value",
                y="place",
                layers=[interval(color=OKABE_ITO[0], size=0.8), significance_point(size=1.8)],
                title=title,
                subtitle=(
                    "the three highest of each attribute; line: "
                    f"{interval_note(panels.rows, context.level)}; filled: significant"
                ),
                x_title=(
                    "win ratio: share of comparisons that the subject wins (0.5 = no preference)"
                ),
                y_title="attribute: subject",
                orders=panels.orders,
                panels=panels.facet,
                reference=0.5,
                width=max(8, panels.width),
                height=1.5 + panels.lines * (0.5 + ROW_HEIGHT * max(most_winners, 4)),
            )
        )
        + panels.scale
    )
