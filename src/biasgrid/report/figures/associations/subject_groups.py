"""What is associated more with the subjects of one cluster than with those of the other, such as female names."""

from __future__ import annotations

import polars as pl
from plotnine import ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import difference_rows, draw_differences
from biasgrid.report.figures.drawing.theme import GAMMA, empty_figure
from biasgrid.stats.selection import in_order

CAPTION = (
    f"{GAMMA} of a cluster of names and each attribute: right of 0 the model gives the attribute more to the cluster "
    "that the title names first. The thick line is the interval over templates, with the same names, the thin one "
    "over other names too. A dot is filled if the attribute is told from noise over both (q at most 0.05)."
)
CLUSTER_KEYS = ["subject_cluster", "attribute"]


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws gamma of the first of two clusters and each attribute: a panel per model, a row per attribute.

    Args:
        measures: the measures of a dataset's cells.
        context: what the figure says of dataset and models, and the tables of statistics.
    """
    rows = difference_rows(measures, context, "gamma", CLUSTER_KEYS, judged_over="all")
    clusters = in_order(rows, "subject_cluster")
    if len(clusters) != 2:
        return empty_figure(f"Clusters of subjects: {context.title}", "there are no two clusters to compare")
    one, other = clusters
    words = {
        "title": f"More {one} than {other}",
        "x": f"{GAMMA}({one}, attribute): positive = associated more with {one} than with {other} subjects",
        "y": "attribute",
        "many": "attributes",
    }
    return draw_differences(rows.filter(subject_cluster=one).with_columns(name="attribute"), context, words)
