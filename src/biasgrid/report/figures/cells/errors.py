"""Reasoning errors beside bias intensity: where the errors are large, the intensity means less."""

from __future__ import annotations

import polars as pl
from plotnine import expand_limits, ggplot

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_note
from biasgrid.report.figures.drawing.panels import cell_grid
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    Layer,
    draw,
    interval,
    point,
)
from biasgrid.report.figures.drawing.theme import FAINT, FROM_ZERO, GAMMA
from biasgrid.stats.ordering import select_rows

CAPTION = (
    "Positional dependence δ (how much an answer's probability depends on which subject comes "
    "first) and attribute independence ε (how little it follows the negation), next to bias "
    "intensity μ. Lines are intervals over other templates. μ is never below 0, so it has a noise "
    f"floor instead (grey stroke): what noise alone would give. Both cancel in {GAMMA}. They are "
    "larger than μ in every model without bias, so compare them with the answer probability: above "
    "a tenth of it, order or negation alone changes answers (the flag `order`)."
)
PANEL_WIDTH, ROW_HEIGHT = 2.0, 0.36
"""Size in inches of the panel of a dataset, and of the row of a model."""
MEASURE_LABELS = {
    "mu": "bias intensity μ",
    "delta": "positional dependence δ",
    "epsilon": "attribute independence ε",
}
NUDGES = (0.26, 0, -0.26)
"""Distance of each measure above the middle of its row, as a share of the row."""


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws mu, delta and epsilon of every cell: a column per dataset, a block per kind of model.

    A row is a model.

    Args:
        measures: the measures of all cells (schema `MEASURES`); cells without these measures are
            left out.
        context: the facts of datasets and models.
    """
    tables = []
    for measure, label in MEASURE_LABELS.items():
        rows = select_rows(measures, measure, intervals=True)
        tables.append(rows.with_columns(measure=pl.lit(label)))
    grid = cell_grid(pl.concat(tables), context)
    labels = list(MEASURE_LABELS.values())
    layers: list[Layer] = []
    for label, nudge in zip(labels, NUDGES, strict=True):
        rows = grid.rows.filter(measure=label)
        noise_floor = point(
            "null_mean", rows=rows, nudge=nudge, shape="|", size=3, stroke=1, color=FAINT
        )
        layers += [
            noise_floor,
            interval(rows=rows, nudge=nudge, size=0.7),
            point(rows=rows, nudge=nudge, fill="none", size=2.2, stroke=0.8),
        ]
    note = interval_note(grid.rows, context.level)
    return draw(
        FigureSpecification(
            rows=grid.rows,
            x="value",
            y="label",
            layers=layers,
            title="Reasoning errors beside bias intensity",
            subtitle=(
                "all in the units of the answers' probabilities; grey: noise floor of μ, which "
                f"noise alone would give; lines of δ and ε: {note}"
            ),
            x_title="value",
            y_title="model",
            orders={**grid.orders, "measure": labels},
            panels=grid.facet(PANEL_WIDTH),
            color="measure",
            shape="measure",
            width=max(9, 3 + grid.width(PANEL_WIDTH)),
            height=2.2 + grid.height(ROW_HEIGHT),
        )
    ) + expand_limits(x=FROM_ZERO)
