"""Reasoning errors beside bias intensity: where the errors are large, the intensity means less."""

from __future__ import annotations

import polars as pl
from plotnine import (
    aes,
    element_text,
    expand_limits,
    facet_grid,
    geom_point,
    ggplot,
    labs,
    position_nudge,
    scale_color_manual,
    scale_shape_manual,
    theme,
)
from plotnine.geoms.geom import geom

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.intervals import interval_lines, interval_note
from biasgrid.report.figures.drawing.layout import in_lines, order_by_value
from biasgrid.report.figures.drawing.theme import (
    FAINT,
    FROM_ZERO,
    GAMMA,
    biasgrid_theme,
    palette,
    shapes,
)
from biasgrid.stats.ordering import select_rows, values_in_order

CAPTION = (
    "Positional dependence δ (how much an answer's probability depends on which subject comes "
    "first) and attribute independence ε (how little it follows the negation), next to bias "
    "intensity μ. Lines are intervals over other templates. μ is never below 0, so it has a noise "
    f"floor instead (grey stroke): what noise alone would give. Both cancel in {GAMMA}. They are "
    "larger than μ in every model without bias, so compare them with the answer probability: above "
    "a tenth of it, order or negation alone changes answers (the flag `order`)."
)
MEASURE_DODGE = 0.26
"""Distance of measures from the middle of their row, as a share of the row."""
ERROR_PANEL = 2.0
"""Width of a panel in inches."""
ERROR_ROW = 0.36
"""Height of a model in inches."""
MEASURE_NAMES = {
    "mu": "bias intensity μ",
    "delta": "positional dependence δ",
    "epsilon": "attribute independence ε",
}


def figure(measures: pl.DataFrame, context: FigureContext) -> ggplot:
    """Draws mu, delta and epsilon of every cell: a column per dataset, a block per kind of model.

    A row is a model.

    Args:
        measures: the measures of all cells (schema `MEASURES`); those without these measures are
            left out.
        context: the facts of datasets and models.
    """
    tables = []
    for measure, name in MEASURE_NAMES.items():
        rows = select_rows(measures, measure, intervals=True)
        tables.append(rows.with_columns(measure=pl.lit(name)))
    points = pl.concat(tables)
    facts = context.facts(points)
    kinds, labels = values_in_order(facts, "kind"), values_in_order(facts, "label")[::-1]
    datasets = values_in_order(points, "dataset")
    titles = [title for name, title in context.titles.items() if name in datasets]
    points = points.join(facts, on="model", maintain_order="left")
    points = points.with_columns(pl.col("dataset").replace_strict(context.titles))
    names = list(MEASURE_NAMES.values())
    points = order_by_value(points, dataset=titles, kind=kinds, label=labels, measure=names)
    layers: list[geom] = []
    for name, side in zip(names, (1, 0, -1), strict=True):
        layers += layers_of_measure(points, name, side)
    return (
        ggplot(points, aes("value", "label", color="measure", shape="measure"))
        + layers
        + expand_limits(x=FROM_ZERO)
        + facet_grid(
            "kind", "dataset", scales="free_y", space="free_y", labeller=in_lines(ERROR_PANEL)
        )
        + scale_color_manual(palette(3))
        + scale_shape_manual(shapes(3))
        + labs(
            title="Reasoning errors beside bias intensity",
            subtitle=(
                "all in the units of the answers' probabilities; grey: noise floor of μ, which "
                f"noise alone would give; lines of δ and ε: {interval_note(points, context.level)}"
            ),
            x="value",
            y="model",
            color="",
            shape="",
        )
        + biasgrid_theme(
            max(9, 3 + ERROR_PANEL * len(titles)), 2.2 + ERROR_ROW * facts.height + 0.3 * len(kinds)
        )
        + theme(strip_text_y=element_text(angle=0, ha="left"))
    )


def layers_of_measure(points: pl.DataFrame, name: str, side: int) -> list[geom]:
    """Returns the layers of noise floors, intervals and marks of a measure.

    Args:
        points: the points of all measures.
        name: the name of the measure in the figure.
        side: whether it is drawn above (1), in (0) or below (-1) the middle of the rows.
    """
    own, place = points.filter(measure=name), position_nudge(y=MEASURE_DODGE * side)
    null_means = own.drop_nulls("null_mean")
    layers: list[geom] = []
    if len(null_means):
        look = {"shape": "|", "size": 3, "stroke": 1, "color": FAINT}
        layers.append(geom_point(aes("null_mean"), null_means, position=place, **look))
    layers += interval_lines(own, "label", size=0.7, position=place)
    if len(own):
        marks = geom_point(data=own, fill="none", size=2.2, stroke=0.8, position=place)
        layers.append(marks)
    return layers
