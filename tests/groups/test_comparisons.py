from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plain import plain_comparison
from small_measures import classified, compare_groups, records_of, score_groups

from biasgrid.groups.combinations import Combination, ImpossibleCombination, possible_combinations
from biasgrid.groups.confusion import AVERAGES
from biasgrid.groups.records import (
    AnswerOutputs,
    ClassOutputs,
    OutputType,
    PoolingMode,
    Records,
    SubjectOutputs,
    TargetOutputs,
)
from biasgrid.groups.scores import SCORES, Argument, score_records

SORTS: tuple[OutputType, ...] = ("classes", "words", "answers", "subjects")
MODES: tuple[PoolingMode, ...] = ("group", "counterfactual")
COMBINATIONS = [combination for sort in SORTS for combination in possible_combinations(sort)]
TEXTS = ["the red hat", "Red hat.", "a hat", "hats", ""]


def outputs_for(sort: OutputType, rows: int, random: np.random.Generator) -> Any:
    """Outputs with many equal numbers, two classes, up to three targets; the first record has all
    targets.
    """
    if sort == "subjects":
        return SubjectOutputs(random.integers(0, 5, (rows, 1)) / 4)
    if sort == "classes":
        first = random.integers(0, 5, rows) / 4
        return ClassOutputs(np.stack([first, 1 - first], axis=1), random.integers(0, 2, rows))
    if sort == "answers":
        return AnswerOutputs(
            random.choice(TEXTS, rows).tolist(), random.choice(TEXTS, rows).tolist()
        )
    targets = random.integers(1, 4, rows)
    targets[0] = 3
    missing = np.arange(3) >= targets[:, None]
    probabilities = np.where(missing, np.nan, random.integers(0, 4, (rows, 3)) / 8)
    return TargetOutputs(probabilities, ~missing & (random.random((rows, 3)) < 0.3))


@st.composite
def random_records(draw: st.DrawFn, sort: OutputType, share: float | None = None) -> Records:
    """Records in any order of up to three bias types, groups, terms and cases, of which some may be
    missing.
    """
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    bias_types = {f"bias {row}": draw(st.integers(1, 3)) for row in range(draw(st.integers(1, 3)))}
    rows = [
        {
            "bias_type": name,
            "group": f"group {group}",
            "term": f"term {term}",
            "case": 7 * case,
            "template": case // 2,
        }
        for case in range(draw(st.integers(1, 3)))
        for name, groups in bias_types.items()
        for group in range(groups)
        for term in range(draw(st.integers(1, 3)))
    ]
    kept = random.random(len(rows)) < (share or draw(st.sampled_from([0.6, 1])))
    kept[0] = True
    shuffled = [rows[place] for place in random.permutation(np.flatnonzero(kept))]
    return records_of(shuffled, outputs_for(sort, len(shuffled), random))


def arguments_of(score: str) -> list[Argument]:
    parameter = SCORES[score].parameter
    if parameter is None:
        return [None]
    if parameter.choices:
        return list(AVERAGES)
    return [None, 0, 1] if parameter.accepts(None) else [0, 1]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("combination", COMBINATIONS, ids="-".join)
@settings(max_examples=3, deadline=None)
@given(data=st.data())
def test_every_comparison_matches_a_plain_loop(
    combination: Combination, mode: PoolingMode, data: st.DataObject
) -> None:
    score, distance, comparison = combination
    records = data.draw(random_records(SCORES[score].output_types[0]))
    argument = data.draw(st.sampled_from(arguments_of(score)))
    found = compare_groups(score_records(records, score, argument), distance, comparison, mode)
    plain = plain_comparison(records, score, argument, distance, comparison, mode)
    found = found.with_columns(pl.col("value").fill_null(np.nan))
    rows = {
        (row["bias_type"], row["group"]): (row["value"], row["n"], row["left_out"])
        for row in found.to_dicts()
    }
    assert len(rows) == found.height
    assert rows == {
        keys: pytest.approx(entry, rel=0, abs=1e-12, nan_ok=True) for keys, entry in plain.items()
    }


@settings(max_examples=20, deadline=None)
@given(random_records("classes", share=1), st.sampled_from(MODES))
def test_parts_make_up_the_whole(records: Records, mode: PoolingMode) -> None:
    """Where every case has all groups, background is the mean of its parts and a divergence half
    their sum.
    """
    scored = score_records(records, "mean_class_probability")

    def by_bias_type(distance: str, comparison: str) -> dict[str, list[float]]:
        found = compare_groups(scored, distance, comparison, mode).with_columns(
            pl.col("value").fill_null(np.nan)
        )
        found = found.group_by("bias_type").agg("value")
        return dict(found.rows())

    wholes, parts = (
        by_bias_type("absolute", "background"),
        by_bias_type("absolute", "background_per_group"),
    )
    for bias_type, whole in wholes.items():
        assert whole == [pytest.approx(np.mean(parts[bias_type]), abs=1e-12, nan_ok=True)]
    wholes = by_bias_type("divergence", "multi_group")
    parts = by_bias_type("divergence_per_group", "multi_group_per_group")
    for bias_type, whole in wholes.items():
        assert whole == [pytest.approx(np.sum(parts[bias_type]) / 2, abs=1e-12, nan_ok=True)]


def test_the_mean_is_over_cases_and_not_over_records() -> None:
    scored = score_records(
        classified({"red": [[0.5], [0.2] * 4], "blue": [[0.9], [0.4]]}), "mean_class_probability"
    )
    row = compare_groups(scored, "absolute", "pairwise", "counterfactual").row(0, named=True)
    assert row == {
        "measure": "distance",
        "options": (
            "score=mean_class_probability, distance=absolute, comparison=pairwise, "
            "mode=counterfactual"
        ),
        "other": None,
        "bias_type": "colour",
        "group": None,
        "value": pytest.approx((0.4 + 0.2) / 2),
        "n": 2,
        "left_out": 0,
    }


def test_cases_whose_scores_sum_to_zero_are_left_out_and_counted() -> None:
    right, wrong = [0.9], [0.1]
    scored = score_records(
        classified({"red": [right, wrong, wrong], "blue": [right, right, wrong]}), "accuracy"
    )
    row = compare_groups(scored, "divergence", "multi_group", "counterfactual").row(0, named=True)
    assert (row["value"], row["n"], row["left_out"]) == (pytest.approx((0 + 0.5) / 2), 2, 1)
    never = score_records(classified({"red": [wrong], "blue": [wrong]}), "accuracy")
    row = compare_groups(never, "divergence", "multi_group", "group").row(0, named=True)
    assert (row["value"], row["n"], row["left_out"]) == (None, 0, 2)


def test_records_without_the_target_are_left_out_and_counted() -> None:
    rows = [
        {"case": case, "template": case, "bias_type": "colour", "group": group, "term": group}
        for case in range(2)
        for group in ("red", "blue")
    ]
    probabilities = np.array([[0.1, 0.2], [0.3, 0.6], [0.5, np.nan], [0.7, np.nan]])
    scored = score_records(
        records_of(rows, TargetOutputs(probabilities, probabilities > 1)), "likelihood", 1
    )
    rows = (
        compare_groups(scored, "wasserstein", "pairwise", "counterfactual")
        .select("value", "n", "left_out")
        .rows()
    )
    assert rows == [(pytest.approx(0.4), 1, 1)]
    assert compare_groups(scored, "wasserstein", "pairwise", "group").select(
        "n", "left_out"
    ).rows() == [(2, 2)]


def test_group_scores_are_listed_with_the_score_of_their_bias_type() -> None:
    scored = score_records(
        classified({"red": [[0.9, 0.8]], "blue": [[0.1, 0.7, 0.6]]}), "f1", "macro"
    )
    scores = {row["group"]: (row["value"], row["n"]) for row in score_groups(scored).to_dicts()}
    assert scores == {
        None: (pytest.approx((8 / 9 + 0) / 2), 5),
        "red": (pytest.approx(1), 2),
        "blue": (pytest.approx((4 / 5 + 0) / 2), 3),
    }


def test_what_cannot_be_is_refused_where_it_is_computed_too() -> None:
    records = classified({"red": [[0.5]], "blue": [[0.5]]})
    with pytest.raises(ImpossibleCombination, match="the score 'accuracy' is one number per group"):
        compare_groups(score_records(records, "accuracy"), "wasserstein", "pairwise", "group")
    with pytest.raises(ValueError, match="class_probability gives no single number for a pool"):
        score_groups(score_records(records, "class_probability"))
