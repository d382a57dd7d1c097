"""Records of Every Eval Ever: they are valid, and what has two sides is the distance from equal
treatment.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from cells_of_logs import cell_of
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from real_logs import KEPT, write_world
from typer.testing import CliRunner

from biasgrid.cli.app import app
from biasgrid.formats.logs.records import score_details
from biasgrid.tables.files import read_provenance, read_table, write_table
from biasgrid.tables.measures import SUMMARY

SCHEMA = json.loads((Path(__file__).parent / "schemas/eval.schema.json").read_text())
runner = CliRunner()


def row_of(measure: str, value: float, low: float | None, high: float | None) -> dict[str, Any]:
    return {"measure": measure, "value": value, "low": low, "high": high}


FINITE = st.floats(-1, 1)


@given(st.lists(FINITE, min_size=3, max_size=3), st.sampled_from([-0.5, 0.0, 0.5]))
def test_a_distance_holds_what_its_interval_held(numbers: list[float], fair: float) -> None:
    low, value, high = sorted(numbers)
    score = score_details(row_of("bias_ambiguous", value, low, high), fair, (-1, 1))
    assert score.low is not None
    assert score.high is not None
    assert 0 <= score.low <= score.value <= score.high <= score.maximum
    assert (score.lower_is_better, score.is_distance) == (True, True)
    assert (score.low == 0) == (low <= fair <= high)
    assert score.value == pytest.approx(abs(value - fair))


def test_what_has_one_side_keeps_its_number_and_its_direction() -> None:
    accuracy = score_details(row_of("accuracy_ambiguous", 0.4, 0.2, 0.6), 1, (0, 1))
    assert (accuracy.value, accuracy.low, accuracy.high, accuracy.lower_is_better) == (
        0.4,
        0.2,
        0.6,
        False,
    )
    error = score_details(row_of("unknown_disambiguated", 0.4, None, None), 0, (0, 1))
    assert (error.value, error.low, error.lower_is_better, error.is_distance) == (
        0.4,
        None,
        True,
        False,
    )


def test_a_size_below_zero_is_none() -> None:
    score = score_details(row_of("mu_corrected", -0.02, -0.1, 0.06), 0, (-1, 1))
    assert (score.value, score.low, score.high, score.lower_is_better) == (0, 0, 0.06, True)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cell of answers to Inspect, through all stages, with its manifest."""
    world = write_world(tmp_path_factory.mktemp("records"))
    cell_of(world, "inspect", KEPT / "inspect/bbq_own_items.eval", "written")
    manifest = {
        "biasgrid": "0.2.0",
        "title": "Own items",
        "datasets": {"dataset": {"title": "Age", "about": [], "control_of": None}},
        "models": {"model": {"keys": {"answers": "/somewhere/written.jsonl"}}},
        "cells": [{"dataset": "dataset", "model": "model"}],
        "word_lists": {"dataset/written": "0123456789abcdef"},
    }
    (world.parent / "results/manifest.json").write_text(json.dumps(manifest))
    return world.parent / "results"


def exported(
    results: Path, *options: str, model: str = "model"
) -> tuple[int, str, list[dict[str, Any]]]:
    out = results.parent / "records"
    command = [
        "export",
        "eee",
        str(results),
        "--model",
        model,
        "--out",
        str(out),
        "--organization",
        "Us",
        *options,
    ]
    result = runner.invoke(app, command)
    records = [json.loads(path.read_text()) for path in sorted(out.rglob("*.json"))]
    return result.exit_code, " ".join(result.output.split()), records


def test_a_record_of_a_real_cell_is_valid(results: Path) -> None:
    code, output, (record,) = exported(results)
    assert code == 0, output
    Draft7Validator.check_schema(SCHEMA)
    Draft7Validator(SCHEMA).validate(record)
    assert record["eval_library"]["name"] == "biasgrid"
    found = {each["metric_config"]["metric_id"]: each for each in record["evaluation_results"]}
    bias = found["biasgrid.bias_ambiguous"]
    assert bias["score_details"]["score"] == pytest.approx(2 / 3)
    assert float(bias["score_details"]["details"]["signed_value"]) == pytest.approx(2 / 3)
    assert bias["metric_config"]["lower_is_better"] is True
    uncertainty = bias["score_details"]["uncertainty"]
    assert uncertainty["confidence_interval"]["confidence_level"] == 0.95
    assert (
        uncertainty["confidence_interval"]["lower"]
        <= 2 / 3
        <= uncertainty["confidence_interval"]["upper"]
    )
    # Intervals are over templates, of which the last one has no answers.
    assert uncertainty["num_samples"] == 3
    assert uncertainty["confidence_interval"]["method"].startswith("over clusters")
    assert found["biasgrid.accuracy_disambiguated"]["metric_config"]["lower_is_better"] is False
    # Coverage has no value of equal treatment.
    assert "biasgrid.coverage" not in found
    assert {each["score_details"]["details"]["n_counts"] for each in found.values()} == {
        "questions"
    }


def test_a_cost_is_a_distance_and_keeps_its_sign_in_the_details(
    results: Path, tmp_path: Path
) -> None:
    shutil.copytree(results, tmp_path / "results")
    path = tmp_path / "results/summary.parquet"
    # As of a model that answers against the stereotype.
    is_bias, ends = (
        pl.col("measure") == "bias_ambiguous",
        {"value": "value", "low": "high", "high": "low"},
    )
    turned = {
        name: pl.when(is_bias).then(-pl.col(other)).otherwise(name) for name, other in ends.items()
    }
    write_table(
        read_table(path, SUMMARY).with_columns(**turned), path, SUMMARY, read_provenance(path)
    )
    _, _, (record,) = exported(tmp_path / "results")
    found = {
        each["metric_config"]["metric_id"]: each["score_details"]
        for each in record["evaluation_results"]
    }
    assert found["biasgrid.bias_ambiguous"]["score"] == pytest.approx(2 / 3)
    assert float(found["biasgrid.bias_ambiguous"]["details"]["signed_value"]) == pytest.approx(
        -2 / 3
    )


def test_what_cannot_be_exported_is_reported(results: Path) -> None:
    code, output, _ = exported(results, model="modle")
    assert (code, "unknown name 'modle' (did you mean 'model'?)" in output) == (2, True)
    code, output, _ = exported(results, "--relationship", "none")
    assert (code, "unknown name 'none'" in output) == (2, True)


def test_results_whose_run_was_not_finished_are_refused(results: Path) -> None:
    manifest = results / "manifest.json"
    whole = manifest.read_text()
    manifest.write_text(json.dumps(json.loads(whole) | {"datasets": {}}))
    code, output, _ = exported(results)
    manifest.write_text(whole)
    assert (code, "manifest.json says nothing of dataset: finish the run first" in output) == (
        2,
        True,
    ), output
