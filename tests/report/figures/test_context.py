"""Figures of what is measurable, and what they say of the rest."""

from pathlib import Path
from xml.sax.saxutils import escape

import polars as pl
import pytest
from small_measures import measures_of

from biasgrid.config.registry import BUILT_IN
from biasgrid.report.figures.drawing.context import FigureContext, draw_figure
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.tables.summary import ModelFacts

MODELS = {name: ModelFacts("LM", name.title(), {}) for name in ("one", "two", "three")}
FAITHS = FigureContext({"faith": "Faiths"}, MODELS)
BOTH = FigureContext({"faith": "Faiths", "land": "Countries"}, MODELS)
MU = "biasgrid.report.figures.cells.intensity_mu"
REASON = "not measurable: nothing is read"


def measures(*withheld: tuple[str, str], datasets: tuple[str, ...] = ("faith",)) -> pl.DataFrame:
    rows = [
        {"model": model, "dataset": of, "measure": "mu"}
        | ({"value": None, "flag": REASON} if (model, of) in withheld else {"value": 0.5})
        for model in MODELS
        for of in datasets
    ]
    return measures_of(rows)


def test_a_figure_of_measurable_cells_says_nothing_besides() -> None:
    figure = draw_figure(MU, measures(), FAITHS)
    assert figure.data["label"].to_list() == ["One", "Two", "Three"]
    assert figure.labels.caption is None


def test_cells_that_are_not_measurable_are_left_out_and_named() -> None:
    figure = draw_figure(MU, measures(("two", "faith")), FAITHS)
    assert figure.data["label"].to_list() == ["One", "Three"]
    assert figure.labels.caption == "Left out, because not measurable: Two."


def test_of_several_datasets_the_cell_is_named() -> None:
    figure = draw_figure(MU, measures(("two", "land"), datasets=("faith", "land")), BOTH)
    assert len(figure.data) == 5
    assert figure.labels.caption == "Left out, because not measurable: Two on Countries."


@pytest.mark.parametrize("figure", ["intensity_mu", "ranks", "heat_map", "group_pairs", "failure_curve"])
def test_where_nothing_is_measurable_the_figure_says_so_in_words(figure: str) -> None:
    drawn = draw_figure(BUILT_IN.figure(figure), measures(*((model, "faith") for model in MODELS)), FAITHS)
    assert drawn.labels.subtitle == "Left out, because not measurable: One, Two, Three."


@pytest.mark.parametrize("label", ["a $2$ b", r"$\foo$", "_x_ <b> & \\n %s"])
def test_names_are_drawn_as_they_stand(label: str, tmp_path: Path) -> None:
    """Matplotlib would set what stands between dollars as a formula, and fail where it is none."""
    context = FigureContext({"faith": label}, {"one": ModelFacts("LM", label, {})})
    figure = draw_figure(
        MU, measures_of([{"model": "one", "dataset": "faith", "measure": "mu", "value": 0.5}]), context
    )
    save_figure(figure, tmp_path / "mu.svg", tmp_path / "mu.png")
    assert escape(label) in (tmp_path / "mu.svg").read_text()
