"""Bias intensity of every cell, beside the intensity that noise alone would give."""

from __future__ import annotations

import polars as pl
from plotnine import expand_limits, ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.panels import cell_grid
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    draw,
    interval,
    point,
)
from biasgrid.report.figures.drawing.theme import FAINT, FROM_ZERO, OKABE_ITO
from biasgrid.stats.ordering import select_rows

CAPTION = (
    "Bias intensity μ of every cell, with a row per model and a column per dataset. Even an "
    "unbiased model has a μ about as long as the grey bar, because the largest of many differences "
    "is never 0. Only the part beyond it (the dot) is meaningful, and only if its interval "
    "excludes 0. μ does not say which subjects are preferred, nor that people have the same "
    "preference. It tends to grow with the number of attributes: compare datasets "
    "by their strength."
)
PANEL_WIDTH, ROW_HEIGHT = 2.3, 0.24
"""Size in inches of the panel of a dataset, and of the row of a model."""
NOISE_COLOR = "#D5D5D5"


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws mu of every cell, its noise floor and its corrected value: a column per dataset.

    A row is a model.

    Args:
        measures: the measures of all cells.
        context: the facts of datasets and models.
    """
    grid = cell_grid(intensity_rows(measures), context)
    note = interval_note(grid.rows, context.level)
    return draw(
        FigureSpecification(
            rows=grid.rows,
            x="value",
            y="label",
            layers=[
                interval(0, "null_mean", size=3.2, color=NOISE_COLOR),
                point(shape="o", fill="none", color=FAINT, size=2.4, stroke=0.7),
                interval(color=OKABE_ITO[0], size=0.8),
                point("corrected", size=1.8, color=OKABE_ITO[0]),
            ],
            title="Bias intensity μ",
            subtitle=(
                "ring: μ; grey bar: its noise floor, which noise alone would give; dot: μ beyond "
                f"the floor, with its interval ({note})"
            ),
            x_title="μ",
            y_title="model",
            orders=grid.orders,
            panels=grid.facet(PANEL_WIDTH),
            width=max(8.5, 2.5 + grid.width(PANEL_WIDTH)),
            height=1.6 + grid.height(ROW_HEIGHT),
        )
    ) + expand_limits(x=FROM_ZERO)


def intensity_rows(measures: pl.DataFrame) -> pl.DataFrame:
    """Returns mu of each cell, its noise floor, and its value corrected for noise.

    Args:
        measures: the measures of all cells.

    Returns:
        `dataset`, `model`, `value` (mu), `null_mean` (its noise floor), `corrected`, and `low`,
        `high` and `clusters` of the corrected value.
    """
    keys = ["dataset", "model"]
    rows = select_rows(measures, "mu", intervals=True).select(*keys, "value", "null_mean")
    corrected_rows = select_rows(measures, "mu_corrected", intervals=True)
    corrected_rows = corrected_rows.select(*keys, "low", "high", "clusters", corrected="value")
    return rows.join(corrected_rows, on=keys, how="left", maintain_order="left")
