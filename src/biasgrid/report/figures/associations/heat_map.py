"""Gamma of every subject and attribute as colours, by model or averaged over models of a kind."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from mizani.bounds import squish
from plotnine import (
    aes,
    element_text,
    facet_wrap,
    geom_raster,
    ggplot,
    guides,
    labs,
    scale_fill_gradient2,
    scale_x_discrete,
    scale_y_discrete,
    theme,
)

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import (
    MOST_FIGURE_ROWS,
    both_ends,
    columns_of,
    in_lines,
    omitted_text,
    order_by_value,
    shorten_all,
)
from biasgrid.report.figures.drawing.theme import (
    CELL_SIDE,
    GAMMA,
    INK,
    LEAST,
    MOST,
    NEUTRAL,
    NOT_ASKED,
    colour_bar,
    colour_limit,
    empty_figure,
    geom_dots,
    heat_map_theme,
)
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.ordering import select_rows, values_in_order
from biasgrid.stats.ordering import seriate as seriated
from biasgrid.tables.files import means_by

CAPTION = (
    f"{GAMMA} of shares for each subject (row) and attribute (column), in a panel for each model "
    "or, if the title says so, averaged over the models of a kind. Red: associated more with this "
    "subject than with its partners; blue: less; grey: not asked. A small dot marks cells that are "
    "not significant (q above 0.05; in means: in no model). Colours compare the subjects within a "
    "column; red does not mean that the model thinks the attribute likely. The 2 % strongest cells "
    "share the end colours. Rows and columns are sorted by similarity (leading singular vectors)."
)
LONGEST_ATTRIBUTE = 44
MOST_PANEL_ROWS = 200
"""Maximum number of rows of all panels; if there are more, models of a kind share a panel."""
WIDEST_HEAT_MAP = 20
"""Maximum width of panels side by side, in inches."""
HEAT_MAP_PANELS = 5
SMALLEST = 7.5
"""Minimum width of a figure in inches."""
NARROWEST = 1.3
"""Minimum width of a panel in inches, so that there is room above it for the model's name."""
PANEL_GAP = 0.3
"""Inches between panels."""
FEW_PANELS = 4
"""Number of panels above which cells are as small as possible."""


def panels_of(measures: pl.DataFrame, context: FigureContext) -> dict[str, str]:
    """Returns the panel of each model: its own or, if these were too many to read, its kind's."""
    gamma = select_rows(measures, "share_gamma", ["subject", "attribute"])
    names = context.names(gamma)
    rows_of_panel = min(gamma["subject"].n_unique(), MOST_FIGURE_ROWS)
    if len(names) * rows_of_panel <= MOST_PANEL_ROWS:
        return names
    kinds = dict(context.facts(gamma).select("model", "kind").iter_rows())
    return {model: kinds[model] for model in names}


def mean_gamma(measures: pl.DataFrame, panels: Mapping[str, str]) -> pl.DataFrame:
    """Averages gamma(subject, attribute) over the models of each panel.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        panels: the panel of each model.

    Returns:
        All combinations of `kind` (the panel), `subject` and `attribute`, with `gamma` (null if no
        model of the panel was asked) and `found` (whether it is significant in any of its models,
        null if none was tested).
    """
    keys = ["kind", "subject", "attribute"]
    gamma = select_rows(measures, "share_gamma", ["subject", "attribute"], intervals=True)
    gamma = gamma.with_columns(kind=pl.col("model").replace_strict(panels))
    found = gamma.group_by(keys).agg(found=is_significant().any(ignore_nulls=False))
    means = means_by(gamma, keys).rename({"value": "gamma"})
    means = means.join(found, on=keys, how="left", maintain_order="left")
    kinds, subjects, attributes = (
        means.select(pl.col(key).unique(maintain_order=True)) for key in keys
    )
    combinations = kinds.join(subjects, how="cross").join(attributes, how="cross")
    return combinations.join(means, on=keys, how="left", maintain_order="left")


def seriated_labels(means: pl.DataFrame) -> tuple[list[str], list[str]]:
    """Orders subjects and attributes so that similar patterns of gamma are together.

    Both are sorted by the leading singular vectors of the matrix subjects x attributes (mean over
    kinds, 0 if no model was asked), signed so that subjects with a large gamma come first. Mean
    gamma cannot order attributes: gamma sums to zero over the subjects of each.

    Args:
        means: from `mean_gamma`.

    Returns:
        The subjects and the attributes, in order.
    """
    matrix = means_by(means, ["subject", "attribute"], "gamma")
    matrix = matrix.with_columns(pl.col("gamma").fill_null(0))
    subjects, attributes = values_in_order(matrix, "subject"), values_in_order(matrix, "attribute")
    values = matrix["gamma"].to_numpy().reshape(len(subjects), len(attributes))
    by_subject, by_attribute = seriated(values)
    return [subjects[row] for row in by_subject], [attributes[column] for column in by_attribute]


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws gamma: a panel per model or kind, a row per subject, a column per attribute.

    There are at most 80 rows and columns.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    panels = panels_of(measures, context)
    means = mean_gamma(measures, panels)
    known = means["gamma"].drop_nulls()
    if len(known) and not known.cast(pl.Boolean).any():
        reason = f"{GAMMA} is 0 for all subjects and attributes"
        return empty_figure(f"Subjects and attributes: {context.title}", reason)
    all_subjects, all_attributes = seriated_labels(means)
    subjects, attributes = both_ends(all_subjects), both_ends(all_attributes)
    short = shorten_all(attributes, LONGEST_ATTRIBUTE)
    kinds = list(dict.fromkeys(panels.values()))
    cells = means.filter(pl.col("subject").is_in(subjects), pl.col("attribute").is_in(attributes))
    cells = cells.with_columns(pl.col("attribute").replace_strict(short))
    cells = order_by_value(cells, kind=kinds)
    panel = max(cell_side(subjects, len(kinds)) * len(short), NARROWEST)
    panels_that_fit = int(WIDEST_HEAT_MAP / (panel + PANEL_GAP))
    columns = columns_of(len(kinds), max(1, min(HEAT_MAP_PANELS, panels_that_fit)))
    of_means = ", means over the models of a kind" if len(kinds) < len(panels) else ""
    return (
        ggplot(cells, aes("attribute", "subject", fill="gamma"))
        + geom_raster()
        + not_significant_layer(cells)
        # Each panel writes its attributes below it: one may be a page away from the next.
        + facet_wrap(
            "kind",
            ncol=columns,
            scales="free_x",
            labeller=in_lines(max(panel, SMALLEST / columns - 1)),
        )
        + scale_x_discrete(limits=list(short.values()), expand=(0, 0))
        + scale_y_discrete(limits=subjects[::-1], expand=(0, 0))
        + fill_scale(colour_limit(cells["gamma"]))
        + guides(fill=colour_bar())
        + labs(
            title=f"Subjects and attributes{of_means}: {context.title}",
            subtitle=(
                f"{GAMMA}; small dot: not significant; similar subjects and "
                "attributes stand together"
            )
            + omitted_text(all_subjects, subjects, "subjects")
            + omitted_text(all_attributes, attributes, "attributes"),
            x="attribute",
            y="subject",
            fill=GAMMA,
        )
        + heat_map_theme(*size(subjects, list(short.values()), len(kinds), columns, panel))
        + theme(axis_text_x=element_text(size=7, angle=90, ha="center", va="top"))
    )


def not_significant_layer(cells: pl.DataFrame) -> list[geom_dots]:
    """Returns the layer of dots on cells that were tested and are not significant."""
    marked = cells.filter(pl.col("found").not_())
    return [geom_dots(data=marked, size=1.1, color=INK, alpha=0.5)] if len(marked) else []


def fill_scale(limit: float) -> scale_fill_gradient2:
    """Returns a diverging scale of colours, which do not change beyond -limit and limit."""
    return scale_fill_gradient2(
        LEAST,
        NEUTRAL,
        MOST,
        limits=(-limit, limit),
        breaks=[-limit, 0, limit],
        labels=[f"{-limit:.2g} or less", "0", f"{limit:.2g} or more"],
        oob=squish,
        na_value=NOT_ASKED,
    )


def cell_side(subjects: list[str], panels: int) -> float:
    """Returns the side of a cell in inches, which is at least the height of a label."""
    if panels > FEW_PANELS:
        return CELL_SIDE
    return max(CELL_SIDE, min(0.5, 2.5 / len(subjects)))


def size(
    subjects: list[str], attributes: list[str], panels: int, columns: int, panel: float
) -> tuple[float, float]:
    """Returns width and height of the figure in inches.

    Args:
        subjects: the labels of rows.
        attributes: the labels of columns.
        panels: the number of panels.
        columns: the number of panels side by side.
        panel: the width of a panel in inches.
    """
    character = 0.06
    beside = character * max(map(len, subjects)) + 0.5
    below = character * max(map(len, attributes)) + 0.3
    rows = -(-panels // columns)
    width = beside + columns * (panel + PANEL_GAP)
    height_of_panel = cell_side(subjects, panels) * len(subjects) + below + 0.55
    return max(width, SMALLEST), 1.6 + rows * height_of_panel
