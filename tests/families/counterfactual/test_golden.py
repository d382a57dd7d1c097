"""Every number of BiaXposer's golden files, computed again from what its models said."""

import json
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from golden import GOLDEN
from small_measures import (
    classified,
    compare_groups,
    failure_rates,
    records_of,
    score_groups,
    with_options,
)

from biasgrid.groups.combinations import ImpossibleCombination, check_combination
from biasgrid.groups.distances import divergence
from biasgrid.groups.records import ClassOutputs, OutputType, Records, TargetOutputs
from biasgrid.groups.scores import exact_match, normalize_answer, score_records, token_f1

FOLDER = GOLDEN / "biaxposer"

SORTS: dict[str, OutputType] = {"single": "classes", "mlm": "words"}
SCORES = {
    "Accuracy": "accuracy",
    "F1": "f1",
    "Precision": "precision",
    "Recall": "recall",
    "ClassPrediction": "class_probability",
    "AverageClassPrediction": "mean_class_probability",
    "Likelihood": "likelihood",
    "AverageLikelihood": "mean_likelihood",
    "AccuracyForLM": "top_k_accuracy",
}
DISTANCES = {
    "AbsoluteDistance": ["absolute"],
    "WassersteinDistance": ["wasserstein"],
    "AbsoluteDivergenceFromExpectedOutcome": ["divergence", "normalized_divergence"],
    "AbsoluteDivergenceFromExpectedOutcome_PerGroup": ["divergence_per_group"],
}
COMPARISONS = {
    "pcm": "pairwise",
    "bcm": "background",
    "mcm": "multi_group",
    "vbcm": "background_per_group",
    "vmcm": "multi_group_per_group",
}


def exactly(number: float) -> Any:
    return pytest.approx(number, rel=0, abs=1e-9)


def read(name: str) -> Any:
    return json.loads((FOLDER / name).read_text())


@cache
def records(name: str) -> Records:
    rows = [json.loads(line) for line in (FOLDER / f"raw_{name}.jsonl").read_text().splitlines()]
    keyed = [row | {"case": row["case_id"], "template": row["template_id"]} for row in rows]
    if name == "single":
        gold = np.array([row["gold_label"] for row in rows])
        return records_of(keyed, ClassOutputs(np.array([row["output"] for row in rows]), gold))
    shape = len(rows), max(len(row["output"]) for row in rows)
    probabilities, in_top_k = np.full(shape, np.nan), np.zeros(shape, dtype=bool)
    for place, row in enumerate(rows):
        probabilities[place, : len(row["output"])] = row["output"]
        in_top_k[place, : len(row["output"])] = row["target_in_topk"]
    return records_of(keyed, TargetOutputs(probabilities, in_top_k))


def by_name(table: pl.DataFrame) -> dict[tuple[str, str | None], float]:
    return {
        (bias_type, group): value
        for bias_type, group, value in table.select("bias_type", "group", "value").rows()
    }


def named(result: dict[str, Any]) -> dict[tuple[str, str | None], Any]:
    """Golden numbers by bias type and group, None for the whole bias type."""
    return {
        (bias_type, None if group == "__all__" else group): exactly(number)
        for bias_type, found in result.items()
        for group, number in (found if isinstance(found, dict) else {None: found}).items()
    }


SCORED = [(name, entry) for name in SORTS for entry in read(f"scores_{name}.json")]
IDS = [
    f"{entry['scoring']}-{'-'.join(map(str, entry['scoring_args'].values()))}"
    for _, entry in SCORED
]


@pytest.mark.parametrize(("name", "entry"), SCORED, ids=IDS)
def test_comparisons_match_the_original(name: str, entry: dict[str, Any]) -> None:
    arguments = list(entry["scoring_args"].values())
    scored = score_records(records(name), SCORES[entry["scoring"]], *arguments)
    if entry["group_scores"] is not None:
        assert by_name(score_groups(scored)) == named(entry["group_scores"])
    assert entry["valid"]
    for valid in entry["valid"]:
        distance = DISTANCES[valid["distance"]][valid["distance_args"].get("normalized", False)]
        found = compare_groups(scored, distance, COMPARISONS[valid["eval_type"]], valid["mode"])
        if "result" in valid:
            assert by_name(found) == named(valid["result"]), valid
            assert found["left_out"].sum() == 0
        else:
            assert valid["error"] == "ZeroDivisionError"
            assert found["left_out"].sum() > 0


@pytest.mark.parametrize(("name", "entry"), SCORED, ids=IDS)
def test_what_the_original_rejects_is_refused(name: str, entry: dict[str, Any]) -> None:
    argument = next(iter(entry["scoring_args"].values()), None)
    for comparison, rejected in entry["rejected"]:
        for distance in DISTANCES[rejected]:
            with pytest.raises(ImpossibleCombination):
                check_combination(
                    SORTS[name],
                    score=SCORES[entry["scoring"]],
                    distance=distance,
                    comparison=COMPARISONS[comparison],
                    argument=argument,
                )


@pytest.mark.parametrize("name", SORTS)
def test_failure_rates_match_the_original(name: str) -> None:
    golden = read(f"failure_{name}.json")
    rates = with_options(failure_rates(records(name), [float(threshold) for threshold in golden]))
    published = (
        rates.cast({"threshold": pl.Float64})
        .filter(difference="mean")
        .select("threshold", "template", "bias_type", "value")
        .rows()
    )
    expected = {}
    for threshold, parts in golden.items():
        for template, rates_of in [(None, parts["global"]), *parts["per_template"].items()]:
            for bias_type, rate in rates_of.items():
                key = float(threshold), None if template is None else int(template), bias_type
                expected[key] = exactly(rate)
    assert {tuple(keys): value for *keys, value in published} == expected


def test_distances_match_the_original() -> None:
    for case in read("distance_cases.json"):
        if case["distance"] == "WassersteinDistance":
            scored = score_records(
                classified({"x": [case["x"]], "y": [case["y"]]}), "class_probability", 1
            )
            for mode in ("group", "counterfactual"):
                assert compare_groups(scored, "wasserstein", "pairwise", mode)[
                    "value"
                ].to_list() == [exactly(case["value"])]
        else:
            scores = np.array([case["x"]], dtype=float)
            assert divergence(scores, "divergence")[0] == exactly(case["value"])
            assert divergence(scores, "normalized_divergence")[0] == exactly(case["normalized"])
            assert divergence(scores, "divergence_per_group")[0] == exactly(case["per_group"])


@pytest.mark.parametrize(
    "case", read("qa_text_cases.json"), ids=lambda case: f"{case['pred']!r} for {case['gold']!r}"
)
def test_answers_are_scored_as_in_squad(case: dict[str, Any]) -> None:
    assert exact_match(case["pred"], case["gold"]) == case["exact"]
    assert token_f1(case["pred"], case["gold"]) == exactly(case["f1"])
    assert [normalize_answer(case[side]) for side in ("pred", "gold")] == [
        case["normalized_pred"],
        case["normalized_gold"],
    ]


def test_the_golden_files_have_every_combination() -> None:
    """Nothing is passed over: all scores of both tasks, all distances and comparisons, both
    modes.
    """
    seen = {
        (valid["eval_type"], valid["distance"], valid["mode"])
        for _, entry in SCORED
        for valid in entry["valid"]
    }
    possible = [(each, "AbsoluteDistance") for each in ("pcm", "bcm", "vbcm")]
    possible += [(each, "WassersteinDistance") for each in ("pcm", "bcm", "vbcm")]
    possible += [("mcm", "AbsoluteDivergenceFromExpectedOutcome")]
    possible += [("vmcm", "AbsoluteDivergenceFromExpectedOutcome_PerGroup")]
    assert seen == {(*pair, mode) for pair, mode in product(possible, ("group", "counterfactual"))}
    assert {entry["scoring"] for _, entry in SCORED} == SCORES.keys()
