"""The figure of answers for two groups beside the noise floor."""

from itertools import combinations
from typing import Any

import polars as pl
import pytest
from report_tables import FAITHS
from small_measures import measures_of

from biasgrid.report.figures.groups import answer_pairs

GROUPS = ("female", "male", "non-binary")


def measured(null_mean: bool = True) -> pl.DataFrame:
    """What is measured of a model; of each pair similarity and excess are 0.01 more."""
    told: dict[str, Any] = {"options": "score=rouge-l", "bias_type": "gender", "model": "one"}
    pairs = [
        told | {"measure": measure, "group": one, "other": other, "value": value}
        for place, (one, other) in enumerate(combinations(GROUPS, 2), start=1)
        for measure, value in (
            ("similarity", 0.2 + place / 100),
            ("similarity_corrected", place / 100 if null_mean else None),
        )
    ]
    others = [row | {"options": "score=bleu", "value": 0.9} for row in pairs]
    rows = measures_of(pairs + others)
    value = pl.col("value")
    return rows.with_columns(
        low=value - 0.01, high=value + 0.03, q=pl.when(value > 0.025).then(0.01).otherwise(0.2)
    )


def test_answers_for_two_groups_are_as_far_from_the_floor_as_was_measured() -> None:
    figure = answer_pairs.figure(measured(), FAITHS)
    rows = {row["name"]: row for row in figure.data.to_dicts()}
    assert list(rows) == ["female, male", "female, non-binary", "male, non-binary"]
    shown = rows["female, non-binary"]
    assert (shown["null_mean"], shown["value"]) == pytest.approx((0.24, 0.22))
    assert (shown["low"], shown["high"]) == pytest.approx((0.19, 0.23))
    assert [row["is_significant"] for row in rows.values()] == [False, False, True]
    # The pair that is least alike stands at the top.
    assert figure.data.schema["name"].categories[-1] == "male, non-binary"  # type: ignore[attr-defined]
    assert "ROUGE-L" in figure.labels.x
    figure.draw()


def test_without_a_floor_the_figure_says_why_it_is_empty() -> None:
    assert (
        "there is no noise floor"
        in answer_pairs.figure(measured(null_mean=False), FAITHS).labels.subtitle
    )
