"""The bubbles of statements: areas are counts, and what has no value is not drawn."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from small_statements import instances_of, measured
from small_tables import predictions_of

from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.report.figures.groups import answer_bubbles
from biasgrid.tables.summary import ModelFacts

pytestmark = pytest.mark.slow

CONTEXT = FigureContext({"dataset": "People"}, {"model": ModelFacts("LLM", "Small", {})})


@pytest.fixture
def measures(tmp_path: Path) -> pl.DataFrame:
    """Measures of a model that is sure of Yes where a troll is named, and says No else."""
    instances = instances_of(tmp_path)
    trolls = ["Trolls" in names for names in instances["names"].to_list()]
    pairs = [[0.8, 0.2] if about else [0.3, 0.6] for about in trolls]
    return measured(instances, predictions_of("choice", instances, probabilities=pairs))


def test_areas_are_counts(measures: pl.DataFrame) -> None:
    rows = answer_bubbles.class_rows(measures).filter(bias_type="people")
    sure = rows.filter(half=answer_bubbles.SURE)
    found = {
        (group, kind): (value, n)
        for group, kind, value, n in sure.select("group", "kind", "value", "n").rows()
    }
    expected = {
        ("elf", "right"): (2 / 3, 4),
        ("elf", "wrong"): (2 / 3, 4),
        ("troll", "right"): (0.8, 2),
    }
    expected[("troll", "wrong")] = (0.8, 2)
    assert found.keys() == expected.keys()
    for key, (value, n) in expected.items():
        assert found[key] == (pytest.approx(value), n)
    pairs = rows.filter(half=answer_bubbles.CONTRADICTING)
    assert dict(pairs.select("group", "n").iter_rows()) == {"elf": 4, "troll": 2}
    assert pairs["kind"].unique().to_list() == ["the same answer to both"]


def test_the_figure_is_drawn_with_intervals_and_says_where_there_is_nothing(
    measures: pl.DataFrame, tmp_path: Path
) -> None:
    certain = measures.with_columns(
        low=pl.col("value") - 0.1, high=pl.col("value") + 0.1, clusters=2
    )
    figure = answer_bubbles.figure(certain, CONTEXT)
    assert "95 % over 2 clusters" in figure.labels.subtitle
    # What has no mark has no entry in the legend.
    assert "answers to both differ" not in figure.scales[1].limits
    save_figure(figure, tmp_path / "a")
    assert "People</text>" in (tmp_path / "a.svg").read_text()
    assert "no intervals" in answer_bubbles.figure(measures, CONTEXT).labels.subtitle
    empty = answer_bubbles.figure(measures.with_columns(value=pl.lit(None, pl.Float64)), CONTEXT)
    assert empty.labels.subtitle == "there are no answers"
