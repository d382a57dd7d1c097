"""How far answers are from those of the audit."""

from __future__ import annotations

import polars as pl
import pytest

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.audit import LARGEST_FLOAT32_DRIFT, compare_with_exact, measure_drift


def answers(scores: list[float | None]) -> pl.DataFrame:
    columns = {"key": range(len(scores)), "score": scores, "tokens": 3}
    return pl.DataFrame(columns, schema_overrides={"key": pl.UInt64, "score": pl.Float64})


def test_probabilities_differ_absolutely_and_larger_scores_relatively() -> None:
    assert measure_drift(answers([0.25]), answers([0.5]))["largest_drift"] == 0.25
    assert measure_drift(answers([-300.0, -1.0]), answers([-400.0, -1.0])) == {
        "largest_drift": 0.25,
        "mean_drift": 0.125,
    }


def test_scores_that_are_missing_in_both_do_not_differ() -> None:
    assert measure_drift(answers([None, 0.5]), answers([None, 0.5]))["largest_drift"] == 0
    assert measure_drift(answers([None]), answers([None])) == {"largest_drift": 0, "mean_drift": 0}


def test_a_rounding_to_three_decimals_is_no_drift() -> None:
    compare_with_exact(answers([-0.501]), answers([-0.502]), "float32")
    with pytest.raises(ModelError, match="this architecture does not work with the engine"):
        compare_with_exact(answers([-0.5]), answers([-0.5 - 2 * LARGEST_FLOAT32_DRIFT]), "float32")
