from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from small_measures import classified, failure_rates, records_of, with_options

from biasgrid.groups.failure_rate import case_differences
from biasgrid.groups.records import Records, SubjectOutputs


def rates_of(records: Records, thresholds: Sequence[float]) -> pl.DataFrame:
    """Failure rates with columns of their options."""
    rates = with_options(failure_rates(records, thresholds))
    assert set(rates["measure"]) == {"failure_rate"}
    return rates.cast({"threshold": pl.Float64})


def differing_by(apart: Sequence[float], templates: Sequence[int]) -> Records:
    """Records of two groups that differ by so much in cases of some templates."""
    rows, scores = [], []
    for case, (difference, template) in enumerate(zip(apart, templates, strict=True)):
        for group, score in (("red", 0.0), ("blue", difference)):
            rows.append(
                {
                    "case": case,
                    "template": template,
                    "bias_type": "colour",
                    "group": group,
                    "term": group,
                }
            )
            scores.append(score)
    return records_of(rows, SubjectOutputs(np.array(scores)[:, None]))


def overall(rates: pl.DataFrame) -> pl.DataFrame:
    return rates.filter(pl.col("template").is_null())


def test_the_mean_difference_hides_what_the_largest_shows() -> None:
    records = classified({"red": [[0.1]], "green": [[0.9]], "blue": [[0.9]], "grey": [[0.9]]})
    assert case_differences(records).to_dicts() == [
        {
            "bias_type": "colour",
            "case": 0,
            "template": 0,
            "mean": pytest.approx(0.4),
            "largest": pytest.approx(0.8),
        }
    ]
    rates = overall(rates_of(records, [0.5]))
    assert dict(rates.select("difference", "value").rows()) == {"mean": 0, "largest": 1}


def test_differences_match_a_plain_loop() -> None:
    random = np.random.default_rng(5)
    records = classified(
        {group: random.random((20, 2)).tolist() for group in ("red", "green", "blue")}
    )
    scores = np.array(
        [records.outputs.probabilities[records.group == group, 1] for group in range(3)]
    )
    apart = np.array(
        [
            np.abs(one - other)
            for one, other in combinations(scores.reshape(3, 20, 2).mean(axis=2), 2)
        ]
    )
    differences = case_differences(records)
    assert differences["mean"].to_list() == pytest.approx(apart.mean(axis=0), abs=1e-12)
    assert differences["largest"].to_list() == pytest.approx(apart.max(axis=0), abs=1e-12)


def test_a_curve_is_the_rates_at_its_thresholds() -> None:
    values = np.random.default_rng(6).random(30)
    records = differing_by(values, [0] * 30)
    values = case_differences(records)["mean"].to_numpy()
    curve = overall(rates_of(records, [0, 0.25, 0.5, *values[:3]]))
    for threshold, value, n in curve.select("threshold", "value", "n").rows():
        assert (value, n) == (pytest.approx(np.mean(values > threshold)), 30)


def test_a_difference_equal_to_the_threshold_does_not_fail() -> None:
    records = classified({"red": [[0.25], [0.5]], "blue": [[0.75], [0.5]]})
    rates = overall(rates_of(records, [0.5, 0, 0.4999])).filter(difference="mean")
    assert rates.select("threshold", "value", "n").rows() == [
        (0.5, 0, 2),
        (0, 0.5, 2),
        (0.4999, 0.5, 2),
    ]


def test_a_case_without_a_pair_of_groups_is_left_out() -> None:
    records = classified({"red": [[0.1], [0.2]], "blue": [[0.9], []]})
    rates = overall(rates_of(records, [0.5]))
    assert rates.select("value", "n", "left_out").rows() == [(1, 1, 1)] * 2


def test_every_template_has_its_own_rate() -> None:
    rates = rates_of(differing_by([0.1, 0.7, 0.8], [4, 4, 9]), [0.5]).filter(difference="mean")
    assert rates.select("template", "value", "n").rows() == [
        (None, pytest.approx(2 / 3), 3),
        (4, 0.5, 2),
        (9, 1, 1),
    ]
