"""Attributes associated more with one group's subjects than with the other's."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.differences import draw_differences, signed_rows
from biasgrid.report.figures.drawing.theme import GAMMA, empty_figure
from biasgrid.stats.ordering import values_in_order

CAPTION = (
    f"{GAMMA} of shares of a group of names for each attribute: to the right of 0, the model gives "
    "the attribute more to the group that the title names first. The thick line is the interval "
    "over templates with the same names; the thin one also covers other names. A dot is filled if "
    "the attribute is significant over both (q at most 0.05)."
)
SUBJECT_GROUP_KEYS = ["subject_group", "attribute"]


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws gamma of the first of two groups and each attribute: a panel per model, a row per
    attribute.

    Args:
        measures: the measures of a dataset's cells.
        context: the facts of dataset and models, and other tables.
    """
    rows = signed_rows(measures, context, "share_gamma", SUBJECT_GROUP_KEYS)
    subject_groups = values_in_order(rows, "subject_group")
    if len(subject_groups) != 2:
        return empty_figure(
            f"Groups of subjects: {context.title}", "there are no two groups to compare"
        )
    group, other_group = subject_groups
    return draw_differences(
        rows.filter(subject_group=group).with_columns(name="attribute"),
        context,
        title=f"More {group} than {other_group}",
        x_title=(
            f"{GAMMA}({group}, attribute): positive = associated more with {group} than "
            f"with {other_group} subjects"
        ),
        y_title="attribute",
        plural_noun="attributes",
    )
