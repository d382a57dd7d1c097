"""How far apart any two groups are: a matrix of distances for each bias type and model."""

from __future__ import annotations

from collections.abc import Mapping
from textwrap import wrap

import polars as pl
from plotnine import (
    aes,
    coord_fixed,
    geom_raster,
    geom_text,
    ggplot,
    guides,
    labs,
    scale_x_continuous,
    scale_y_continuous,
    theme,
)

from biasgrid.groups.main_scores import SCORE_NAMES
from biasgrid.plots.drawing.context import FigureContext
from biasgrid.plots.drawing.matrix_layout import lay_out
from biasgrid.plots.drawing.readable import groups_left_out
from biasgrid.plots.drawing.theme import (
    CELL,
    CHARACTER,
    FAINT,
    INK,
    colour_bar,
    colour_limit,
    distance_scale,
    empty_figure,
    heat_map_theme,
)
from biasgrid.statistics.groups import main_score, order_groups, pairwise_options, scores_of_groups
from biasgrid.statistics.selection import select_rows

CAPTION = (
    "How far apart a model scores two groups in one and the same case, averaged over cases: a block for each bias "
    "type, in it a matrix for each model, all in one scale of colours. A group's number stands beside its row "
    "and, on the diagonal, in its column. Darker: farther apart; it does not say which of the two scores higher. "
    "A dark row with its column is a group that is treated unlike the others. Distances are never negative, so "
    "noise alone makes them larger than 0. The 2 % largest ones share the darkest colour. Where models and groups "
    "are too many, the groups in the middle of the order by score are left out."
)
LARGE = 0.1
"""Width of a character of a bias type's name in inches."""

SUBTITLE_CHARACTER = 0.07
"""Width of a character of the subtitle in inches."""

NARROWEST = 7.5
"""Inches that a figure is wide at least."""


def matrices(pairs: pl.DataFrame, shown: Mapping[str, list[str]]) -> pl.DataFrame:
    """Returns both halves of the matrices of distances, with the places of groups in them.

    Args:
        pairs: `model`, `bias_type`, `group`, `other`, `value`, each pair of groups once.
        shown: the groups of each bias type, in order; others are left out.

    Returns:
        `model`, `bias_type`, `group`, `other`, `value`; `place` (of the group) and `column` (of the other one) count
        from 1 in each bias type.
    """
    places = places_of(shown)
    columns = places.rename({"group": "other", "place": "column"})
    mirrored = pairs.with_columns(group="other", other="group")
    return (
        pl.concat([pairs, mirrored])
        .join(places, on=["bias_type", "group"], maintain_order="left")
        .join(columns, on=["bias_type", "other"], maintain_order="left")
    )


def places_of(shown: Mapping[str, list[str]]) -> pl.DataFrame:
    """Returns `bias_type`, `group` and `place`, which counts from 1 in each bias type."""
    keys = [(name, group, place) for name, groups in shown.items() for place, group in enumerate(groups, start=1)]
    return pl.DataFrame(keys, schema={"bias_type": pl.String, "group": pl.String, "place": pl.Int64}, orient="row")


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws how far apart each pair of groups is within cases: a block per bias type, in it a matrix per model.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: what the figure says of dataset and models.
    """
    heading = f"Pairs of groups: {context.title}"
    pairs = select_rows(measures, "distance", ["bias_type", "group", "other"], pairwise_options(measures))
    if pairs["value"].drop_nulls().is_empty():
        return empty_figure(heading, "no two groups have a distance within a case")
    order = order_groups(scores_of_groups(measures))
    layout = lay_out(context.names(pairs), order)
    corners = layout.corners()
    cells = at_corners(matrices(pairs, layout.shown), corners, ["bias_type", "model"])
    diagonal = at_corners(places_of(layout.shown).with_columns(column="place"), corners, ["bias_type"])
    rows = diagonal.unique("y", maintain_order=True)
    edge = layout.beside * layout.pitch
    subtitle = f"distance of {SCORE_NAMES[main_score(measures)]} within a case, mean over cases"
    subtitle += groups_left_out(order, layout.shown)
    labels = [f"{group}  {place}" for group, place in rows.select("group", "place").iter_rows()]
    beside = CHARACTER * max(map(len, labels)) + 0.7
    right = max(edge + 1 + LARGE * max(map(len, order)) / CELL, (NARROWEST - beside) / CELL)
    width = beside + CELL * right
    lines = wrap(subtitle, int(width / SUBTITLE_CHARACTER))
    return (
        ggplot(cells, aes("x", "y"))
        + geom_raster(aes(fill="value"))
        + words(corners, diagonal, edge)
        + coord_fixed(xlim=(0.5, right), ylim=(-layout.rows - 0.5, 0), expand=False)
        + scale_x_continuous(breaks=[])
        + scale_y_continuous(breaks=rows["y"].to_list(), labels=labels, minor_breaks=[])
        + distance_scale(colour_limit(cells["value"]))
        + guides(fill=colour_bar())
        + labs(
            title=heading,
            subtitle="\n".join(lines),
            x="group, by its number, which stands on the diagonal",
            y="group",
            fill="distance",
        )
        + heat_map_theme(width, 1.45 + 0.15 * len(lines) + CELL * layout.rows)
        + theme(plot_title_position="plot")
    )


def at_corners(cells: pl.DataFrame, corners: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Adds where cells stand in the figure: `x` and `y`.

    Args:
        cells: the columns of the keys, `place` and `column`.
        corners: see `MatrixLayout.corners`.
        keys: what tells apart the matrices of the cells, which are in those of all models where `model` is no key.
    """
    placed = cells.join(corners, on=keys, maintain_order="left")
    return placed.with_columns(x=pl.col("left") + pl.col("column"), y=pl.col("top") - pl.col("place"))


def words(corners: pl.DataFrame, diagonal: pl.DataFrame, edge: int) -> list[geom_text]:
    """Returns the layers of the models' names, the numbers on diagonals, and the bias types right of the edge."""
    blocks = diagonal.group_by("bias_type", maintain_order=True).agg(pl.col("y").mean())
    bold = {"fontweight": "bold", "ha": "left", "color": INK}
    return [
        geom_text(aes("left + 0.5", "top - 0.3", label="name"), corners, size=8, va="bottom", **bold),
        geom_text(aes(label="place"), diagonal, size=6, color=FAINT),
        geom_text(aes(edge, "y", label="bias_type"), blocks, size=10, **bold),
    ]
