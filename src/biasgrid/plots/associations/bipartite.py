"""Who wins which attribute: subjects on the left, attributes on the right, lines as wide as the win ratio."""

from __future__ import annotations

import polars as pl
from mizani.bounds import squish
from plotnine import (
    aes,
    element_blank,
    element_text,
    geom_segment,
    geom_text,
    ggplot,
    guide_legend,
    guides,
    labs,
    scale_color_gradient,
    scale_size_continuous,
    scale_x_continuous,
    theme,
)

from biasgrid.plots.drawing.context import FigureContext
from biasgrid.plots.drawing.readable import shorten_all
from biasgrid.plots.drawing.theme import biasgrid_theme
from biasgrid.statistics.selection import in_order, select_rows
from biasgrid.tables.means import means_by

CAPTION = (
    "For each attribute the three subjects that win it most often: the wider and darker the line, the "
    "larger the share of comparisons that the subject wins (0.5 = no preference), averaged over "
    "models. Where there are many attributes or subjects their clusters stand for them, and at most "
    "12 attributes are shown, those won most clearly. A win counts whether its margin is large or "
    "minute."
)
READABLE = 12
"""Of more attributes or subjects than this, their clusters are drawn, where they have some."""

WINNERS = 3
LONGEST_NAME = 40
CHARACTER = 0.022
"""Width of a character, where the distance between both sides is 1."""

# The same in all figures: the thinnest line is no preference, the widest one always wins.
RATIO_SCALE = {
    "limits": (0.5, 1),
    "breaks": [0.5, 0.75, 1],
    "labels": ["0.5 or less", "0.75", "1"],
    "oob": squish,
}

HEADINGS = {
    "subject": "subjects",
    "subject_cluster": "clusters of subjects",
    "attribute": "attributes",
    "attribute_cluster": "clusters of attributes",
}


def win_ratios(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean win ratio over models, by cluster where there are too many subjects or attributes.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).

    Returns:
        `left` (a subject or a cluster of subjects), `right` (an attribute or a cluster of attributes),
        `ratio` and `names` (of the two key columns that were used, such as `subject_cluster, attribute`).
    """
    single = select_rows(measures, "win_ratio", ["subject", "attribute"])
    many = {key: single[key].n_unique() > READABLE for key in ("subject", "attribute")}
    wanted = [
        (f"subject{'_cluster' * by_subject}", f"attribute{'_cluster' * by_attribute}")
        for by_subject in ((True, False) if many["subject"] else (False,))
        for by_attribute in ((True, False) if many["attribute"] else (False,))
    ]
    tables = ((keys, select_rows(measures, "win_ratio", keys)) for keys in wanted)
    (left, right), rows = next((keys, rows) for keys, rows in tables if rows.height or keys == wanted[-1])
    means = means_by(rows, [left, right]).rename({"value": "ratio"})
    return means.select(left=left, right=right, ratio="ratio", names=pl.lit(f"{left}, {right}"))


def winners(ratios: pl.DataFrame) -> pl.DataFrame:
    """Keeps the three subjects that win each attribute most often, and the attributes won most clearly.

    Args:
        ratios: what `win_ratios` returns.

    Returns:
        The same columns; at most 12 attributes, that with the highest ratio first, in each the winner first.
    """
    best = ratios.sort(-pl.col("ratio"), "left", "right").group_by("right", maintain_order=True).head(WINNERS)
    shown = in_order(best.sort(-pl.col("ratio"), "right", "left"), "right")[:READABLE]
    place = pl.col("right").replace_strict({right: place for place, right in enumerate(shown)}, default=None)
    return best.filter(pl.col("right").is_in(shown)).sort(place, -pl.col("ratio"), "left").select(ratios.columns)


def place_nodes(edges: pl.DataFrame) -> pl.DataFrame:
    """Adds where lines end: `left_y` and `right_y`, both from 0 (bottom) to 1 (top).

    Attributes with the same winner stand together, and subjects near the middle of their attributes (the
    barycentre heuristic), so that few lines cross.

    Args:
        edges: what `winners` returns.
    """
    winner = pl.col("left").first().over("right")
    clearest = pl.col("ratio").max().over(winner)
    rights = in_order(edges.sort(-clearest, winner, maintain_order=True), "right")
    edges = edges.with_columns(right_y=pl.col("right").replace_strict(spread(rights), return_dtype=pl.Float64))
    centre = edges.group_by("left", maintain_order=True).agg(
        middle=(pl.col("right_y") * pl.col("ratio")).sum() / pl.col("ratio").sum()
    )
    lefts = centre.sort(-pl.col("middle"), "left")["left"].to_list()
    return edges.with_columns(left_y=pl.col("left").replace_strict(spread(lefts), return_dtype=pl.Float64))


def spread(names: list[str]) -> dict[str, float]:
    """Returns evenly spaced heights, from top to bottom."""
    return {name: 1 - (place + 0.5) / len(names) for place, name in enumerate(names)}


def headings(edges: pl.DataFrame) -> list[str]:
    """Returns what stands on the left and on the right, in words."""
    return [HEADINGS[key] for key in edges["names"].item(0).split(", ")]


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws the graph of subjects and the attributes that they win most often.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what the figure says of dataset and models.
    """
    edges = place_nodes(winners(win_ratios(measures)))
    edges = edges.with_columns(pl.col("right").replace_strict(shorten_all(in_order(edges, "right"), LONGEST_NAME)))
    lefts = edges.unique("left", maintain_order=True)
    rights = edges.unique("right", maintain_order=True)
    margin = [0.05 + CHARACTER * max(8, *map(len, nodes)) for nodes in (lefts["left"], rights["right"])]
    return (
        # The weakest lines are drawn first, so that they do not cover the others.
        ggplot(edges.sort("ratio"))
        + geom_segment(aes(x=0, y="left_y", xend=1, yend="right_y", size="ratio", color="ratio"), lineend="round")
        + geom_text(aes(x=-0.02, y="left_y", label="left"), lefts, ha="right", size=9)
        + geom_text(aes(x=1.02, y="right_y", label="right"), rights, ha="left", size=9)
        + scale_size_continuous(range=(0.4, 4), **RATIO_SCALE)
        + scale_color_gradient("#C9DCEB", "#0B4F85", **RATIO_SCALE)
        + guides(color=guide_legend(), size=guide_legend())
        + scale_x_continuous(limits=(-margin[0], 1 + margin[1]), breaks=[0, 1], labels=headings(edges))
        + labs(
            title=f"Who wins which attribute, means over models: {context.title}",
            subtitle="the three highest mean win ratios of each attribute (0.5 = no preference)",
            x="",
            y="",
            color="win ratio",
            size="win ratio",
        )
        + biasgrid_theme(4 + 4 * sum(margin), 1.6 + 0.3 * max(lefts.height, rights.height, 6))
        + theme(axis_text_y=element_blank(), axis_text_x=element_text(weight="bold"), panel_grid=element_blank())
    )
