"""Gamma of every subject and attribute as colours, by model or averaged over models of a kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl
from mizani.bounds import squish
from plotnine import facet_wrap, geom_raster, ggplot, scale_fill_gradient2

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.layout import (
    MOST_FIGURE_ROWS,
    both_ends,
    omission_note,
    panel_columns,
    panel_title,
    shorten_all,
)
from biasgrid.report.figures.drawing.specification import FigureSpecification, Layer, draw
from biasgrid.report.figures.drawing.theme import (
    CELL_SIDE,
    GAMMA,
    INK,
    LEAST,
    MOST,
    NEUTRAL,
    NOT_ASKED,
    colour_limit,
    empty_figure,
    geom_dots,
    heat_map_parts,
)
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.ordering import select_rows, seriate, values_in_order
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


def model_to_panel(measures: pl.DataFrame, context: FigureContext) -> dict[str, str]:
    """Returns the panel of each model: its own or, if these were too many to read, its kind's."""
    gamma = select_rows(measures, "share_gamma", ["subject", "attribute"])
    labels = context.model_labels(gamma)
    panel_rows = min(gamma["subject"].n_unique(), MOST_FIGURE_ROWS)
    if len(labels) * panel_rows <= MOST_PANEL_ROWS:
        return labels
    return dict(context.model_facts(gamma).select("model", "kind").iter_rows())


def mean_gamma(measures: pl.DataFrame, panels: Mapping[str, str]) -> pl.DataFrame:
    """Averages gamma(subject, attribute) over the models of each panel.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        panels: the panel of each model.

    Returns:
        All combinations of `kind` (the panel), `subject` and `attribute`, with `gamma` (null if no
        model of the panel was asked) and `is_significant` (in any of its models; null if none was
        tested).
    """
    keys = ["kind", "subject", "attribute"]
    gamma = select_rows(measures, "share_gamma", ["subject", "attribute"], intervals=True)
    gamma = gamma.with_columns(kind=pl.col("model").replace_strict(panels))
    in_any_model = is_significant().any(ignore_nulls=False)
    significance = gamma.group_by(keys).agg(is_significant=in_any_model)
    means = means_by(gamma, keys).rename({"value": "gamma"})
    means = means.join(significance, on=keys, how="left", maintain_order="left")
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
    by_subject, by_attribute = seriate(values)
    return [subjects[row] for row in by_subject], [attributes[column] for column in by_attribute]


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws gamma: a panel per model or kind, a row per subject, a column per attribute.

    There are at most 80 rows and columns.

    Args:
        measures: the measures of a dataset's cells (schema `MEASURES`).
        context: the facts of dataset and models.
    """
    panel_by_model = model_to_panel(measures, context)
    means = mean_gamma(measures, panel_by_model)
    gammas = means["gamma"].drop_nulls()
    if len(gammas) and not gammas.cast(pl.Boolean).any():
        reason = f"{GAMMA} is 0 for all subjects and attributes"
        return empty_figure(f"Subjects and attributes: {context.title}", reason)
    all_subjects, all_attributes = seriated_labels(means)
    subjects, attributes = both_ends(all_subjects), both_ends(all_attributes)
    short_attributes = shorten_all(attributes, LONGEST_ATTRIBUTE)
    attribute_labels = list(short_attributes.values())
    panels = list(dict.fromkeys(panel_by_model.values()))
    cells = means.filter(pl.col("subject").is_in(subjects), pl.col("attribute").is_in(attributes))
    cells = cells.with_columns(pl.col("attribute").replace_strict(short_attributes))
    panel_width = max(cell_side(subjects, len(panels)) * len(attributes), NARROWEST)
    panels_that_fit = int(WIDEST_HEAT_MAP / (panel_width + PANEL_GAP))
    columns = panel_columns(len(panels), max(1, min(HEAT_MAP_PANELS, panels_that_fit)))
    width, height = heat_map_size(subjects, attribute_labels, len(panels), columns, panel_width)
    means_note = ", means over the models of a kind" if len(panels) < len(panel_by_model) else ""
    not_significant = cells.filter(pl.col("is_significant").not_())
    small_dot = {"size": 1.1, "color": INK, "alpha": 0.5}
    plot = draw(
        FigureSpecification(
            rows=cells,
            x="attribute",
            y="subject",
            layers=[
                Layer(geom_raster, {"fill": "gamma"}),
                Layer(geom_dots, look=small_dot, rows=not_significant),
            ],
            title=f"Subjects and attributes{means_note}: {context.title}",
            subtitle=(
                f"{GAMMA}; small dot: not significant; similar subjects and "
                "attributes stand together"
                f"{omission_note(all_subjects, subjects, 'subjects')}"
                f"{omission_note(all_attributes, attributes, 'attributes')}"
            ),
            x_title="attribute",
            y_title="subject",
            orders={"kind": panels, "subject": subjects[::-1], "attribute": attribute_labels},
            # Each panel writes its attributes below it: one may be a page away from the next.
            panels=facet_wrap(
                "kind",
                ncol=columns,
                scales="free_x",
                labeller=panel_title(max(panel_width, SMALLEST / columns - 1)),
            ),
            width=width,
            height=height,
        )
    )
    plot += fill_scale(colour_limit(cells["gamma"]))
    return plot + heat_map_parts(attribute_labels, subjects[::-1], legend_title=GAMMA)


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


def cell_side(subjects: Sequence[str], panel_count: int) -> float:
    """Returns the side of a cell in inches, which is at least the height of a label."""
    if panel_count > FEW_PANELS:
        return CELL_SIDE
    return max(CELL_SIDE, min(0.5, 2.5 / len(subjects)))


def heat_map_size(
    subjects: Sequence[str],
    attributes: Sequence[str],
    panel_count: int,
    columns: int,
    panel_width: float,
) -> tuple[float, float]:
    """Returns width and height of the figure in inches.

    Args:
        subjects: the labels of rows.
        attributes: the labels of columns.
        panel_count: the number of panels.
        columns: the number of panels side by side.
        panel_width: the width of a panel in inches.
    """
    character = 0.06
    subject_width = character * max(map(len, subjects)) + 0.5
    attribute_height = character * max(map(len, attributes)) + 0.3
    lines = -(-panel_count // columns)
    width = subject_width + columns * (panel_width + PANEL_GAP)
    panel_height = cell_side(subjects, panel_count) * len(subjects) + attribute_height + 0.55
    return max(width, SMALLEST), 1.6 + lines * panel_height
