"""Figures that are declared: their layers, orders and scales."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from project import ROOT
from report_tables import FAITHS
from small_measures import measures_of

from biasgrid.report.figures.drawing import intervals, specification, theme
from biasgrid.report.figures.drawing.specification import (
    FigureSpecification,
    Layer,
    draw,
    interval,
    point,
    significance_point,
)
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.stats.ordering import select_rows

ROWS = pl.DataFrame(
    {
        "name": ["a", "b", "c"],
        "value": [0.1, 0.2, None],
        "low": [0.0, None, None],
        "high": [0.3, None, None],
        "is_significant": [True, False, False],
    }
)
FIGURE = FigureSpecification(
    rows=ROWS,
    x="value",
    y="name",
    layers=[interval(), significance_point(size=2)],
    title="Three",
    x_title="value",
    orders={"name": ["c", "b", "a"]},
    width=4,
    height=2,
)


def geoms(figure: FigureSpecification) -> list[Any]:
    return [layer.geom for layer in draw(figure).layers]


def test_a_line_is_drawn_where_both_ends_are_known_and_a_row_without_number_keeps_its_place() -> (
    None
):
    segments, points = geoms(FIGURE)
    assert segments.data["name"].to_list() == ["a"]
    assert points.data["name"].to_list() == ["a", "b", "c"]


@pytest.mark.parametrize("layer", [interval("low", "low"), point("low"), interval(rows=ROWS)])
def test_a_layer_without_rows_is_none(layer: Layer) -> None:
    empty = ROWS.with_columns(low=pl.lit(None, pl.Float64))
    rows = None if layer.rows is None else empty
    assert geoms(replace(FIGURE, rows=empty, layers=[replace(layer, rows=rows)])) == []


def test_values_are_in_the_given_order_in_all_layers() -> None:
    plot = draw(replace(FIGURE, layers=[point("low", rows=ROWS)]))
    for data in (plot.data, plot.layers[0].geom.data):
        assert data.schema["name"].categories.to_list() == ["c", "b", "a"]


def test_a_value_that_is_in_no_order_is_refused() -> None:
    with pytest.raises(pl.exceptions.InvalidOperationError):
        draw(replace(FIGURE, orders={"name": ["a", "b"]}))


def test_the_figure_of_the_guide_for_contributors_can_be_drawn(tmp_path: Path) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    code = re.search(r"```python\n(CAPTION.*?)```", text, re.DOTALL)
    assert code is not None
    names: dict[str, Any] = {"pl": pl, "select_rows": select_rows, "ggplot": None}
    for module in (intervals, specification, theme):
        names |= vars(module)
    names["FigureContext"] = type(FAITHS)
    exec(code[1], names)
    rows = [{"model": "one", "measure": "refused", "value": 0.2, "low": 0.1, "high": 0.3}]
    figure = names["figure"](measures_of(rows, clusters=4), FAITHS)
    assert figure.labels.subtitle == "line: 95 % over 4 clusters"
    save_figure(figure, tmp_path / "refusals")
    nothing = names["figure"](measures_of([]), FAITHS)
    assert nothing.labels.subtitle == "no model was asked for an answer"
