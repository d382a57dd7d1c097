"""The statements behind errors are those that are answered wrongly most firmly."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from small_statements import instances_of, measured
from small_tables import predictions_of

from biasgrid.families.statement.examples import firmest_errors
from biasgrid.families.statement.observe import observe
from biasgrid.tables.measures import EXAMPLES, table_of_cell


def examples(instances: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
    found = firmest_errors(instances.lazy(), observe(instances, predictions, {}), measured(instances, predictions))
    return table_of_cell(found, EXAMPLES, "model", "dataset")


def test_the_firmest_errors_come_first(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    # The pair 7 ("Elves are mean.") is answered wrongly, all others nearly rightly.
    wrong = [pair == 7 for pair in instances["pair"]]
    right = [0.1 if each else 0.9 for each in wrong]
    shares = [share if label == "Yes" else 1 - share for share, label in zip(right, instances["label"], strict=True)]
    found = examples(
        instances, predictions_of("choice", instances, probabilities=[[each, 1 - each] for each in shares])
    )
    first = found.filter(bias_type="people", rank=0)
    assert first["text"].to_list() == ["Elves are mean. Yes or No?", "Elves are not mean. Yes or No?"]
    assert first.select("expected", "said").rows() == [("No", "Yes"), ("Yes", "No")]
    assert first["unit_value"].to_list() == pytest.approx([0.9, 0.9])
    assert first["score"].to_list() == pytest.approx([0.1, 0.1])
    assert first.select("group", "term").unique().rows() == [("elf", "Elves")]
    assert first["value"].to_list() == pytest.approx([2 / 8, 2 / 8])
    assert set(found["bias_type"]) == {"people", "people #1", "people #2", "traits"}
    assert found["rank"].max() == 4


def test_there_are_none_where_nothing_was_answered(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    assert examples(instances, predictions_of("text", instances, response=["?"] * 24, status=["ok"] * 24)).is_empty()
