"""The groups of a cell, from files of instances and predictions to tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from golden import GOLDEN
from grouped_cells import from_files, measured, of_bias_types, rows_of, write_cell
from small_cases import cases_of
from small_measures import with_options
from small_packs import read_pack
from small_tables import whole

from biasgrid.families.counterfactual.ask import expand
from biasgrid.families.counterfactual.pack import CasePackFiles
from biasgrid.tables.completeness import IncompleteCell

BIAXPOSER = GOLDEN / "biaxposer"
NO_CANDIDATES: dict[str, Any] = {"starts": [], "ends": [], "probability": 0.5}


def test_a_pack_of_biaxposer_gives_its_published_numbers(tmp_path: Path) -> None:
    """From its own files and what its own model answered: reading, expansion and measures
    together.
    """
    inputs = BIAXPOSER / "inputs"
    pack = read_pack(
        CasePackFiles(inputs / "templates/single.json", inputs / "fillings", inputs / "biases.json")
    )
    cases = whole(expand(pack))
    lines = map(json.loads, (BIAXPOSER / "raw_single.jsonl").read_text().splitlines())
    answers = {
        (line["bias_type"], line["term"], line["inputs"]["text"]): line["output"] for line in lines
    }
    asked = cases.select(pl.col("bias_type", "term", "text").cast(pl.String)).rows()
    said = [{"probabilities": answers[each]} for each in asked]
    write_cell(tmp_path, "text-classification", cases, said)
    tables = from_files(tmp_path, "text-classification")
    golden = json.loads((BIAXPOSER / "scores_single.json").read_text())
    of_right_class = {"Accuracy": "accuracy", "AverageClassPrediction": "mean_class_probability"}
    for published in (
        each
        for each in golden
        if each["scoring"] in of_right_class and each["scoring_args"] in ({}, {"class_id": None})
    ):
        score = of_right_class[published["scoring"]]
        groups = dict(
            of_bias_types(tables, "score", score=score, mode="group")
            .select("bias_type", "value")
            .rows()
        )
        assert groups == about(
            {kind: scores["__all__"] for kind, scores in published["group_scores"].items()}
        )
        compared = [each for each in published["valid"] if each["eval_type"] == "pcm"]
        assert len(compared) == 2
        for each in compared:
            asked = {
                "score": score,
                "mode": each["mode"],
                "distance": "absolute",
                "comparison": "pairwise",
            }
            found = of_bias_types(tables, "distance", **asked)
            assert dict(found.select("bias_type", "value").rows()) == about(each["result"])


def about(numbers: dict[str, float]) -> dict[str, Any]:
    """Predictions are stored as float32."""
    return {name: pytest.approx(number, abs=1e-6) for name, number in numbers.items()}


def test_pairs_and_templates_make_up_the_whole(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    rows = [
        {
            "case": case,
            "template": case // 2,
            "group": group,
            "term": f"{group} {term}",
            "bias_type": "faith",
            "text": "x",
            "label": case % 2,
        }
        for case in range(6)
        for group in "abc"
        for term in range(2)
    ]
    chance = random.random(len(rows))
    tables = measured(
        tmp_path,
        "text-classification",
        cases_of(rows),
        [{"probabilities": [1 - each, each]} for each in chance],
    )
    main = {"score": "mean_class_probability"}
    distances = rows_of(
        tables,
        "distance",
        **main,
        distance="absolute",
        comparison="pairwise",
        mode="counterfactual",
    )
    together = distances.filter(pl.all_horizontal(pl.col("template", "group", "other").is_null()))
    pairs = distances.filter(pl.col("other").is_not_null())
    assert pairs.select("group", "other").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs["value"].mean() == pytest.approx(together["value"].item())
    by_template = distances.filter(pl.col("template").is_not_null())
    assert by_template["template"].to_list() == [0, 1, 2]
    assert by_template["value"].mean() == pytest.approx(together["value"].item())
    assert by_template["n"].sum() == together["n"].item() == 6
    of_cases = np.where(
        np.arange(6) % 2 == 1,
        chance.reshape(6, 3, 2).mean(axis=2).T,
        1 - chance.reshape(6, 3, 2).mean(axis=2).T,
    )
    for name, share in (("score_lower", 0.25), ("score_upper", 0.75)):
        quartiles = rows_of(tables, name, **main, mode="group")
        assert quartiles["group"].to_list() == ["a", "b", "c"]
        assert quartiles["value"].to_list() == pytest.approx(np.quantile(of_cases, share, axis=1))
        assert quartiles.select("n", "left_out").unique().rows() == [(6, 0)]


def test_target_words_count_as_right_by_their_rank(tmp_path: Path) -> None:
    words = [["kind"], ["rude", "dull"]]
    cases = cases_of(
        [
            {"case": 0, "group": group, "term": group, "text": "[MASK]", "targets": targets}
            for group, targets in zip(("old", "young"), words, strict=True)
        ]
    )
    said = [
        {"probabilities": [0.1, None], "ranks": [2, None], "tokens": [1, None]},
        {"probabilities": [0.1, 0.3], "ranks": [1, 3], "tokens": [2, 1]},
    ]
    tables = measured(tmp_path, "fill-mask", cases, said)
    scores = with_options(tables.measures).filter(
        pl.col("template").is_null(), pl.col("group").is_not_null(), measure="score"
    )
    assert dict(scores.filter(score="top_k_accuracy").select("group", "value").rows()) == {
        "old": 1.0,
        "young": 0.0,
    }
    likelihood = dict(scores.filter(score="mean_likelihood").select("group", "value").rows())
    assert likelihood == {"old": pytest.approx(0.1), "young": pytest.approx(0.2)}
    assert tables.evidence["said"].to_list() == ["dull", "kind"]


def test_answers_are_compared_with_the_right_ones(tmp_path: Path) -> None:
    cases = cases_of(
        [
            {
                "case": 0,
                "group": group,
                "term": group,
                "text": "q",
                "text_pair": "c",
                "answer": "five",
            }
            for group in ("old", "young")
        ]
    )
    said = [{**NO_CANDIDATES, "answer": "five"}, {**NO_CANDIDATES, "answer": "the rain"}]
    tables = measured(tmp_path, "question-answering", cases, said)
    asked = {
        "score": "mean_exact_match",
        "distance": "absolute",
        "comparison": "pairwise",
        "mode": "group",
    }
    assert of_bias_types(tables, "distance", **asked)["value"].item() == 1
    for difference in ("mean", "largest"):
        assert of_bias_types(tables, "failure_rate", difference=difference, threshold="1.0")[
            "value"
        ].to_list() == [0]


def test_a_difference_that_is_the_threshold_but_for_rounding_is_no_failure(tmp_path: Path) -> None:
    """Token F1 of 0.8 and 0.6, which floating point holds 0.20000000000000007 apart."""
    rows = [
        {"case": 0, "group": group, "term": group, "text": "q", "text_pair": "c", "answer": "b d e"}
        for group in ("old", "young")
    ]
    said = [{**NO_CANDIDATES, "answer": "b d"}, {**NO_CANDIDATES, "answer": "b d f g h i j"}]
    tables = measured(tmp_path, "question-answering", cases_of(rows), said, failure_threshold=0.4)
    for threshold, rate in (("0.4", 0), ("0.35", 1)):
        failures = of_bias_types(tables, "failure_rate", difference="largest", threshold=threshold)
        assert failures["value"].to_list() == [rate]


def test_only_what_is_asked_is_computed(tmp_path: Path) -> None:
    rows = [
        {"case": 0, "group": group, "term": group, "text": "q", "label": 1}
        for group in ("old", "young")
    ]
    tables = measured(
        tmp_path,
        "text-classification",
        cases_of(rows),
        [{"probabilities": [0.4, 0.6]}] * 2,
        measures=[
            {
                "score": "f1",
                "argument": "micro",
                "distance": "divergence",
                "comparison": "multi_group",
            }
        ],
        failure_threshold=0.37,
    )
    distances = with_options(tables.measures).filter(measure="distance")
    made = distances.select("score", "argument", "distance", "comparison").unique()
    assert sorted(made.rows(), key=str) == [
        ("f1", "micro", "divergence", "multi_group"),
        ("mean_class_probability", None, "absolute", "pairwise"),
    ]
    assert "difference=mean, threshold=0.37" in tables.measures["options"]


def test_a_cell_that_is_not_whole_is_refused(tmp_path: Path) -> None:
    cases = cases_of(
        [
            {"text": "[MASK]", "targets": ["kind"], "group": "a"},
            {"text": "[MASK]", "targets": ["kind", "rude"], "group": "b"},
        ]
    )
    said = [{"probabilities": [0.1, None], "ranks": [2, None], "tokens": [1, None]}]
    with pytest.raises(
        IncompleteCell, match="model on dataset: of 2 instances, 1 have no prediction"
    ):
        measured(tmp_path, "fill-mask", cases, said)
