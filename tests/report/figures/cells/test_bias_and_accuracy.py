"""The plane of bias and accuracy: a model that always answers `unknown` is no good model there."""

from __future__ import annotations

from pathlib import Path

import pytest
from small_measures import measures_of

from biasgrid.report.figures.cells import bias_and_accuracy
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.tables.summary import ModelFacts

MODELS = {name: ModelFacts("LLM", name.title(), {}) for name in ("biased", "silent")}
CONTEXT = FigureContext({"bbq": "BBQ"}, MODELS)
NUMBERS = {
    "biased": {
        "bias_ambiguous": 0.4,
        "accuracy_disambiguated": 0.9,
        "unknown_disambiguated": 0.05,
        "refused": 0.0,
    },
    "silent": {
        "bias_ambiguous": None,
        "accuracy_disambiguated": 0.0,
        "unknown_disambiguated": 0.8,
        "refused": 0.5,
    },
}
ROWS = [
    {
        "model": model,
        "dataset": "bbq",
        "bias_type": category,
        "measure": name,
        "value": value,
        "n": 8,
        "left_out": 0,
        "low": None if value is None else value - 0.1,
        "high": None if value is None else value + 0.1,
    }
    for model, numbers in NUMBERS.items()
    for category in ("Age", "Gender_identity (names)")
    for name, value in numbers.items()
]


def test_who_names_nobody_is_on_the_line_and_abstains_most() -> None:
    drawn = bias_and_accuracy.figure(measures_of(ROWS), CONTEXT).data.to_dicts()
    assert [(row["bias"], round(row["abstained"], 3)) for row in drawn] == [(0.4, 0.05)] * 2 + [
        (0, 0.9)
    ] * 2


@pytest.mark.slow
def test_the_figure_can_be_saved(tmp_path: Path) -> None:
    save_figure(bias_and_accuracy.figure(measures_of(ROWS), CONTEXT), tmp_path / "one")
    assert "bias, ambiguous" in (tmp_path / "one.svg").read_text()


def test_without_accuracy_there_is_nothing_to_draw() -> None:
    empty = bias_and_accuracy.figure(
        measures_of([{"model": "biased", "dataset": "bbq", "value": 1.0}]), CONTEXT
    )
    assert "no bias with an accuracy" in empty.labels.subtitle


def test_a_category_without_targets_is_not_drawn_as_one_without_bias() -> None:
    rows = [
        {**row, "value": None, "n": 0} if row["measure"] == "bias_ambiguous" else row
        for row in ROWS[:4]
    ]
    drawn = bias_and_accuracy.figure(measures_of([*rows, *ROWS[4:]]), CONTEXT).data
    assert drawn.filter(model="Biased")["category"].to_list() == ["Gender_identity (names)"]
