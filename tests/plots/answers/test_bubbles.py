"""The bubbles of statements: areas are counts, and what has no value is not drawn."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from small_statements import instances_of, measured
from small_tables import predictions_of

from biasgrid.plots.answers import answer_bubbles, negation_bubbles
from biasgrid.plots.drawing.bubbles import rows_of
from biasgrid.plots.drawing.context import FigureContext
from biasgrid.plots.drawing.theme import save
from biasgrid.tables.summary import ModelFacts

CONTEXT = FigureContext({"dataset": "People"}, {"model": ModelFacts("LLM", "Small", {})})


@pytest.fixture
def measures(tmp_path: Path) -> pl.DataFrame:
    """Measures of a model that is sure of Yes where a troll is named, and says No else."""
    instances = instances_of(tmp_path)
    trolls = ["Trolls" in names for names in instances["names"].to_list()]
    pairs = [[0.8, 0.2] if about else [0.3, 0.6] for about in trolls]
    return measured(instances, predictions_of("choice", instances, probabilities=pairs))


def test_areas_are_counts(measures: pl.DataFrame) -> None:
    rows = rows_of(measures, answer_bubbles.KINDS).filter(bias_type="people")
    found = {(group, kind): (value, n) for group, kind, value, n in rows.select("group", "kind", "value", "n").rows()}
    expected = {("elf", "right"): (2 / 3, 4), ("elf", "wrong"): (2 / 3, 4), ("troll", "right"): (0.8, 2)}
    expected[("troll", "wrong")] = (0.8, 2)
    assert found.keys() == expected.keys()
    for key, (value, n) in expected.items():
        assert found[key] == (pytest.approx(value), n)
    pairs = rows_of(measures, negation_bubbles.KINDS).filter(bias_type="people")
    assert dict(pairs.select("group", "n").iter_rows()) == {"elf": 4, "troll": 2}
    assert pairs["kind"].unique().to_list() == ["the same answer"]


@pytest.mark.parametrize("module", [answer_bubbles, negation_bubbles])
def test_figures_are_drawn_and_say_where_there_is_nothing(
    module: object, measures: pl.DataFrame, tmp_path: Path
) -> None:
    draw = module.figure  # type: ignore[attr-defined]
    svg, png = tmp_path / "a.svg", tmp_path / "a.png"
    save(draw(measures, CONTEXT), svg, png)
    assert "People" in svg.read_text()
    empty = draw(measures.with_columns(value=pl.lit(None, pl.Float64)), CONTEXT)
    assert empty.labels.subtitle == "there are no answers"
