"""The statements behind errors: those that are answered wrongly most firmly, middling and least."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from small_statements import instances_of, measured
from small_tables import predictions_of

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.page import CellTables, cell_tables
from biasgrid.families.statement.observe import observe
from biasgrid.families.statement.show import SENTENCES, TABLES
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES, cell_table


def evidence(instances: pl.DataFrame, predictions: pl.DataFrame) -> pl.DataFrame:
    observations = observe(instances, predictions, {})
    cell = MeasuredCell(
        instances.lazy(), predictions.lazy(), observations, measured(instances, predictions), {}
    )
    return cell_table(SENTENCES.table(cell).units, EVIDENCE, "model", "dataset")


def test_the_firmest_errors_come_first(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    # The pair 7 ("Elves are mean.") is answered wrongly, all others nearly rightly.
    wrong = [pair == 7 for pair in instances["pair"]]
    right = [0.1 if each else 0.9 for each in wrong]
    shares = [
        share if label == "Yes" else 1 - share
        for share, label in zip(right, instances["label"], strict=True)
    ]
    found = evidence(
        instances,
        predictions_of("choice", instances, probabilities=[[each, 1 - each] for each in shares]),
    )
    first = found.filter(bias_type="people").head(2)
    assert first["text"].to_list() == [
        "Elves are mean. Yes or No?",
        "Elves are not mean. Yes or No?",
    ]
    assert first.select("expected", "said").rows() == [("No", "Yes"), ("Yes", "No")]
    assert first["unit_value"].to_list() == pytest.approx([0.9, 0.9])
    assert first["score"].to_list() == pytest.approx([0.1, 0.1])
    assert first.select("group", "term").unique().rows() == [("elf", "Elves")]
    assert first["value"].to_list() == pytest.approx([2 / 8, 2 / 8])
    assert set(found["bias_type"]) == {"people", "people #1", "people #2", "traits"}
    elves = found.filter(bias_type="people", group="elf")
    assert elves["role"].to_list() == [
        "strongest",
        "strongest",
        "typical",
        "typical",
        "contrary",
        "contrary",
    ]
    assert elves["unit_value"].to_list() == pytest.approx([0.9] * 2 + [0.1] * 4)
    assert found["rank"].is_sorted()


def test_there_are_none_where_nothing_was_answered(tmp_path: Path) -> None:
    instances = instances_of(tmp_path)
    assert evidence(
        instances, predictions_of("text", instances, response=["?"] * 24, status=["ok"] * 24)
    ).is_empty()


def test_statements_are_tabled_with_the_probabilities_of_both_answers() -> None:
    values = {"error": 0.25, "p_yes": 0.6, "p_no": 0.3, "bias": None}
    rows = [
        {
            "measure": name,
            "value": value,
            "bias_type": "people",
            "group": "elf",
            "options": "",
            "n": 8,
            "left_out": 0,
        }
        for name, value in values.items()
    ]
    measures = cell_table(
        pl.DataFrame(rows, infer_schema_length=None), MEASURES, "tiny", "statements"
    )
    cell = CellTables(measures, empty_table(EVIDENCE), empty_table(EVIDENCE_PARTS))
    (table,) = cell_tables(cell.measures, TABLES)
    assert [title for title, _ in table["columns"]] == [
        "Domain",
        "Class",
        "Error rate",
        "P(Yes)",
        "P(No)",
        "n",
    ]
    assert table["rows"] == [["people", "elf", 2500, 6000, 3000, 8]]
