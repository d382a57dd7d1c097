"""How far apart any two groups are: a matrix of distances for each bias type and model."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from plotnine import (
    aes,
    facet_grid,
    geom_raster,
    ggplot,
    guides,
    labs,
    scale_x_continuous,
    scale_y_continuous,
)

from biasgrid.plots.group_selection import (
    MOST_GROUPS,
    SCORE_NAMES,
    groups_left_out,
    main_score,
    model_names,
    order_groups,
    pairwise_rows,
    readable_groups,
    scores_of_groups,
)
from biasgrid.plots.selection import ordered
from biasgrid.plots.theme import CELL, colour_bar, colour_limit, distance_scale, heat_map_theme
from biasgrid.summary import ModelFacts

SIDE_BY_SIDE = 96
"""So many columns of cells stand side by side; where models need more their matrices stand below each other."""

MOST_ROWS = 160
"""So many rows the matrices of one bias type may have where those of all models stand below each other."""

CHARACTER = 0.075
"""Width of a character of a panel's name in inches."""


def matrices(pairs: pl.DataFrame, shown: Mapping[str, list[str]]) -> pl.DataFrame:
    """Returns both halves of the matrices of distances, with the places of groups in them.

    Args:
        pairs: `model`, `bias_type`, `group`, `other`, `value`, each pair of groups once.
        shown: the groups of each bias type, in order; others are left out.

    Returns:
        `model`, `bias_type`, `group`, `other`, `value`; `place` (of the group) and `column` (of the other one) count
        from 1 in each bias type, `row` counts the groups of all bias types from 0 downwards.
    """
    keys = [(name, group, place) for name, groups in shown.items() for place, group in enumerate(groups, start=1)]
    places = pl.DataFrame(
        keys, schema={"bias_type": pl.String, "group": pl.String, "place": pl.Int64}, orient="row"
    ).with_columns(row=-pl.int_range(pl.len()))
    columns = places.select("bias_type", other="group", column="place")
    mirrored = pairs.with_columns(group="other", other="group")
    return (
        pl.concat([pairs, mirrored])
        .join(places, on=["bias_type", "group"], maintain_order="left")
        .join(columns, on=["bias_type", "other"], maintain_order="left")
    )


def figure(measures: pl.DataFrame, models: Mapping[str, ModelFacts], dataset: str, title: str) -> ggplot:
    """Draws how far apart each pair of groups is within cases: rows of panels are bias types, columns models.

    Args:
        measures: schema `GROUP_MEASURES`.
        models: the facts of each model, in the order of the panels.
        dataset: the dataset's name.
        title: the dataset's title.
    """
    pairs = pairwise_rows(measures, dataset).drop_nulls("other").drop("template")
    names, order = model_names(models, pairs), order_groups(scores_of_groups(measures, dataset))
    shown = readable_groups(order, min(MOST_GROUPS, max(2, MOST_ROWS // len(names))))
    cells = matrices(pairs, shown).with_columns(pl.col("model").replace_strict(names))
    cells = ordered(cells, bias_type=list(order), model=list(names.values()))
    rows = cells.unique("row").sort("row")
    widest = max(rows["place"])
    beside = widest * len(names) <= SIDE_BY_SIDE
    panels = ("bias_type", "model") if beside else (["bias_type", "model"],)
    return (
        ggplot(cells, aes("column", "row", fill="value"))
        + geom_raster()
        + facet_grid(*panels, scales="free_y", space="free_y")
        + scale_x_continuous(breaks=list(range(1, widest + 1)), minor_breaks=[], expand=(0, 0))
        + scale_y_continuous(
            breaks=rows["row"].to_list(),
            labels=[f"{group}  {place}" for group, place in rows.select("group", "place").iter_rows()],
            minor_breaks=[],
            expand=(0, 0),
        )
        + distance_scale(colour_limit(cells["value"]))
        + guides(fill=colour_bar())
        + labs(
            title=f"Pairs of groups: {title}",
            subtitle=f"distance of {SCORE_NAMES[main_score(measures, dataset)]} within a case, mean over cases"
            + groups_left_out(order, shown),
            x="group, by its number",
            y="group",
            fill="distance",
        )
        + heat_map_theme(*size(rows["group"], list(names.values()), widest, beside))
    )


def size(groups: pl.Series, models: list[str], widest: int, beside: bool) -> tuple[float, float]:
    """Returns width and height in inches with which cells are squares that hold a label's height.

    Args:
        groups: the rows of one model.
        models: names of the models.
        widest: columns of a matrix.
        beside: whether models stand side by side.
    """
    panel = max(widest * CELL, CHARACTER * max(map(len, models)) if beside else 0)
    labels = CHARACTER * max(map(len, groups)) + 1.5
    if beside:
        return max(labels + len(models) * panel, 7.5), 2.1 + len(groups) * CELL
    return max(labels + panel + 1, 7.5), 1.9 + len(models) * (len(groups) * CELL + 0.2)
