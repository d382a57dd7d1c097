"""Figures of what is measurable, and what they say of the rest."""

import re
from pathlib import Path
from xml.sax.saxutils import escape

import polars as pl
import pytest
from small_measures import measures_of

from biasgrid.config.registry import BUILT_IN
from biasgrid.report.figures.drawing.context import FigureContext, draw_figure
from biasgrid.report.figures.drawing.theme import empty_figure, save_figure
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


@pytest.mark.parametrize(
    "figure", ["intensity_mu", "ranks", "heat_map", "group_pairs", "failure_curve"]
)
def test_where_nothing_is_measurable_the_figure_says_so_in_words(figure: str) -> None:
    drawn = draw_figure(
        BUILT_IN.figure(figure), measures(*((model, "faith") for model in MODELS)), FAITHS
    )
    assert drawn.labels.subtitle == "Left out, because not measurable: One, Two, Three."


@pytest.mark.parametrize("label", ["a $2$ b", r"$\foo$", "_x_ <b> & \\n %s"])
def test_names_are_drawn_unchanged(label: str, tmp_path: Path) -> None:
    """Matplotlib would set what stands between dollars as a formula, and fail where it is none."""
    context = FigureContext({"faith": label}, {"one": ModelFacts("LM", label, {})})
    figure = draw_figure(
        MU,
        measures_of([{"model": "one", "dataset": "faith", "measure": "mu", "value": 0.5}]),
        context,
    )
    save_figure(figure, tmp_path / "mu")
    assert escape(label) in (tmp_path / "mu.svg").read_text()


def test_font_and_size_match_the_config_and_text_keeps_its_size(tmp_path: Path) -> None:
    figure = empty_figure("Nothing", "no model was asked")
    save_figure(figure, tmp_path / "usual")
    save_figure(figure, tmp_path / "small", "DejaVu Serif", 0.5)
    usual, small = ((tmp_path / f"{name}.svg").read_text() for name in ("usual", "small"))
    assert "DejaVu Serif" in small
    assert "DejaVu Serif" not in usual
    widths = [float(re.search(r'<svg [^>]*width="([\d.]+)pt"', text)[1]) for text in (usual, small)]  # type: ignore[index]
    assert widths == [7.5 * 72, 7.5 * 36]
    sizes = [{*re.findall(r"font-size: ([\d.]+)px", text)} for text in (usual, small)]
    assert sizes == [{"12", "9"}] * 2


def test_a_pdf_is_the_same_each_time_and_its_fonts_are_truetype(tmp_path: Path) -> None:
    for name in ("one", "other"):
        save_figure(empty_figure("Nothing", "no model was asked"), tmp_path / name)
    one, other = ((tmp_path / f"{name}.pdf").read_bytes() for name in ("one", "other"))
    assert one == other
    assert b"/Type0" in one
    assert b"/Type3" not in one
