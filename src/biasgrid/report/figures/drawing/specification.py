"""The specification of a figure: its rows, layers, panels and texts, and the plot made of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl
from plotnine import (
    aes,
    facet_grid,
    facet_wrap,
    geom_point,
    geom_segment,
    geom_vline,
    ggplot,
    labs,
    position_nudge,
    scale_color_manual,
    scale_fill_manual,
    scale_shape_manual,
)
from plotnine.geoms.geom import geom
from plotnine.scales.scale import scale

from biasgrid.report.figures.drawing.layout import order_by_value
from biasgrid.report.figures.drawing.theme import (
    FAINT,
    OKABE_ITO,
    biasgrid_theme,
    palette,
    shapes,
)

POSITIONS = ("x", "y", "xend", "yend")
"""Aesthetics that are places, without which nothing can be drawn."""
INTERVAL_WIDTH = 0.5
"""Width of the line of an interval."""


@dataclass(frozen=True)
class Layer:
    """One geometry that is drawn of many rows, such as their dots or their intervals.

    Attributes:
        geometry: the class of plotnine that draws it.
        columns: the column, or the constant position, of each aesthetic that is not the figure's.
            Rows that are null in a position are not drawn.
        look: aesthetics that are the same for all rows, such as `size`.
        rows: what is drawn; the rows of the figure if None.
        nudge: the distance above the middle of a row of the figure, as a share of the row;
            negative is below.
        scales: the scales of aesthetics that no other layer has.
    """

    geometry: type[geom]
    columns: Mapping[str, str | float] = field(default_factory=dict)
    look: Mapping[str, object] = field(default_factory=dict)
    rows: pl.DataFrame | None = None
    nudge: float = 0
    scales: Sequence[scale] = ()

    def parts(self, figure: FigureSpecification) -> list[geom | scale]:
        """Returns the layer and its scales as plotnine's.

        Returns:
            No part without rows, because plotnine fails at an empty layer.
        """
        rows = figure.rows if self.rows is None else figure.order(self.rows)
        columns = dict(self.columns)
        if "xend" in columns:
            # A horizontal line ends in the row where it begins.
            columns.setdefault("yend", figure.y)
        positions = [columns[name] for name in POSITIONS if name in columns]
        rows = rows.drop_nulls([column for column in positions if isinstance(column, str)])
        if rows.is_empty():
            return []
        look = dict(self.look)
        if self.nudge:
            look["position"] = position_nudge(y=self.nudge)
        return [self.geometry(aes(**columns), rows, **look), *self.scales]


def point(
    x: str | None = None, *, rows: pl.DataFrame | None = None, nudge: float = 0, **look: object
) -> Layer:
    """Returns a layer of points.

    Args:
        x: the column of their horizontal place; the figure's `x` by default.
        rows: see `Layer`.
        nudge: see `Layer`.
        look: their look, such as `color` and `size`.
    """
    columns = {} if x is None else {"x": x}
    return Layer(geom_point, columns, look, rows, nudge)


def significance_point(size: float, stroke: float = 0.5) -> Layer:
    """Returns a layer of points that are filled if the column `is_significant` is true."""
    look = {"size": size, "stroke": stroke, "color": OKABE_ITO[0], "show_legend": False}
    fill = scale_fill_manual({True: OKABE_ITO[0], False: "white"})
    return Layer(geom_point, {"fill": "is_significant"}, look, scales=[fill])


def interval(
    low: str | float = "low",
    high: str | float = "high",
    *,
    rows: pl.DataFrame | None = None,
    nudge: float = 0,
    **look: object,
) -> Layer:
    """Returns a layer of horizontal lines from `low` to `high`, such as intervals or bars.

    Args:
        low: the column of lower ends, or the end of all lines.
        high: the column of upper ends, likewise.
        rows: see `Layer`.
        nudge: see `Layer`.
        look: their look, such as `color` and `size`, the width of the line.
    """
    columns = {"x": low, "xend": high}
    return Layer(geom_segment, columns, {"size": INTERVAL_WIDTH, **look}, rows, nudge)


@dataclass(frozen=True)
class FigureSpecification:
    """A figure whose rows have a horizontal and a vertical place, often in several panels.

    Attributes:
        rows: the rows. Rows without `x` keep their place on the vertical axis.
        x: the column of horizontal places, unless a layer has its own.
        y: the column of vertical places.
        layers: what is drawn, from the bottom to the top.
        title: the title of the figure.
        x_title: the title of the horizontal axis.
        width: the width of the figure in inches.
        height: its height in inches.
        subtitle: explains the layers.
        y_title: the title of the vertical axis.
        orders: the values of columns, in the order of axes (from left to right and from bottom to
            top), panels and legends. A column has no other values.
        panels: the panels; a single one if None.
        color: the column whose values have colours of the palette, in its order in `orders`.
        shape: the column whose values have shapes, likewise.
        legend_title: the title of the legend of colours and shapes.
        reference: where a grey vertical line is drawn below the layers.
    """

    rows: pl.DataFrame
    x: str
    y: str
    layers: Sequence[Layer]
    title: str
    x_title: str
    width: float
    height: float
    subtitle: str | None = None
    y_title: str = ""
    orders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    panels: facet_wrap | facet_grid | None = None
    color: str | None = None
    shape: str | None = None
    legend_title: str = ""
    reference: float | None = None

    def order(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Makes the columns of `orders` that rows have categorical."""
        orders = {name: order for name, order in self.orders.items() if name in rows.columns}
        return order_by_value(rows, **orders)


def draw(figure: FigureSpecification) -> ggplot:
    """Makes a plot of a specification; figures may add to it, such as the scale of an axis."""
    figure = replace(figure, rows=figure.order(figure.rows))
    aesthetics = {"x": figure.x, "y": figure.y}
    texts = {"x": figure.x_title, "y": figure.y_title}
    scales = []
    if figure.color is not None:
        aesthetics["color"], texts["color"] = figure.color, figure.legend_title
        scales.append(scale_color_manual(palette(len(figure.orders[figure.color]))))
    if figure.shape is not None:
        aesthetics["shape"], texts["shape"] = figure.shape, figure.legend_title
        scales.append(scale_shape_manual(shapes(len(figure.orders[figure.shape]))))
    plot = ggplot(figure.rows, aes(**aesthetics))
    if figure.reference is not None:
        plot += geom_vline(xintercept=figure.reference, color=FAINT, size=0.5)
    for layer in figure.layers:
        plot += layer.parts(figure)
    if figure.panels is not None:
        plot += figure.panels
    plot += scales
    plot += labs(title=figure.title, subtitle=figure.subtitle, **texts)
    return plot + biasgrid_theme(figure.width, figure.height)
