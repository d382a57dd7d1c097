"""The groups of a cell, from files of instances and predictions to tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from grouped_cells import ALL, from_files, measured, only
from shards import Cell
from small_cases import FOLDER, cases_of, needs_golden_files

from biasgrid.complete import IncompleteCell
from biasgrid.families.counterfactual.expansion import expand
from biasgrid.families.counterfactual.packs import PackFiles
from biasgrid.families.counterfactual.reading import read_pack
from biasgrid.families.grouped import GroupOptions


@needs_golden_files()
def test_a_pack_of_biaxposer_gives_its_published_numbers(tmp_path: Path) -> None:
    """From its own files and its own model: reading, expansion, inference and measures together."""
    inputs = FOLDER / "inputs"
    pack = read_pack(PackFiles(inputs / "templates/single.json", inputs / "fillings", inputs / "biases.json"))
    cell = Cell(tmp_path, "text-classification", expand(pack), FOLDER / "models/single", "cases")
    cell.predict(labels=["LABEL_0", "LABEL_1"])
    tables = from_files(tmp_path, "text-classification", ALL)
    golden = json.loads((FOLDER / "scores_single.json").read_text())
    of_right_class = {"Accuracy": "accuracy", "AverageClassPrediction": "mean_class_probability"}
    for published in (
        each
        for each in golden
        if each["scoring"] in of_right_class and each["scoring_args"] in ({}, {"class_id": None})
    ):
        score = of_right_class[published["scoring"]]
        groups = dict(only(tables, score=score, mode="group").select("bias_type", "value").rows())
        assert groups == about({kind: scores["__all__"] for kind, scores in published["group_scores"].items()})
        compared = [each for each in published["valid"] if each["eval_type"] == "pcm"]
        assert len(compared) == 2
        for each in compared:
            found = only(tables, score=score, mode=each["mode"], distance="absolute", comparison="pairwise")
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
        tmp_path, "text-classification", cases_of(rows), [{"probabilities": [1 - each, each]} for each in chance]
    )
    asked = {
        "score": "mean_class_probability",
        "distance": "absolute",
        "comparison": "pairwise",
        "mode": "counterfactual",
    }
    whole = only(tables, **asked)
    pairs = tables.measures.filter(
        pl.col("other").is_not_null(), *(pl.col(key) == value for key, value in asked.items())
    )
    assert pairs.select("group", "other").rows() == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs["value"].mean() == pytest.approx(whole["value"].item())
    by_template = tables.measures.filter(pl.col("template").is_not_null(), pl.col("comparison") == "pairwise")
    assert by_template["template"].to_list() == [0, 1, 2]
    assert by_template["value"].mean() == pytest.approx(whole["value"].item())
    assert by_template["n"].sum() == whole["n"].item() == 6
    scores = tables.measures.filter(
        pl.col("template").is_null(),
        pl.col("distance").is_null(),
        pl.col("group").is_not_null(),
        score="mean_class_probability",
    )
    of_cases = np.where(
        np.arange(6) % 2 == 1, chance.reshape(6, 3, 2).mean(axis=2).T, 1 - chance.reshape(6, 3, 2).mean(axis=2).T
    )
    assert scores["lower"].to_list() == pytest.approx(np.quantile(of_cases, 0.25, axis=1))
    assert scores["upper"].to_list() == pytest.approx(np.quantile(of_cases, 0.75, axis=1))


def test_target_words_count_as_right_by_their_rank(tmp_path: Path) -> None:
    words = [["kind"], ["rude", "dull"]]
    cases = cases_of(
        [
            {"case": 0, "group": group, "term": group, "text": "[MASK]", "targets": targets}
            for group, targets in zip(("old", "young"), words, strict=True)
        ]
    )
    said = [
        {"instance": 0, "target": 0, "word": "kind", "probability": 0.1, "rank": 2, "pieces": 1},
        {"instance": 1, "target": 0, "word": "rude", "probability": 0.1, "rank": 1, "pieces": 2},
        {"instance": 1, "target": 1, "word": "dull", "probability": 0.3, "rank": 3, "pieces": 1},
    ]
    tables = measured(tmp_path, "fill-mask", cases, said)
    scores = tables.measures.filter(
        pl.col("template").is_null(), pl.col("distance").is_null(), pl.col("group").is_not_null()
    )
    assert dict(scores.filter(score="top_k_accuracy").select("group", "value").rows()) == {"old": 1.0, "young": 0.0}
    likelihood = dict(scores.filter(score="mean_likelihood").select("group", "value").rows())
    assert likelihood == {"old": pytest.approx(0.1), "young": pytest.approx(0.2)}
    assert tables.examples["said"].to_list() == ["dull", "kind"]


def test_answers_are_compared_with_the_right_ones(tmp_path: Path) -> None:
    cases = cases_of(
        [
            {"case": 0, "group": group, "term": group, "text": "q", "text_pair": "c", "answer": "five"}
            for group in ("old", "young")
        ]
    )
    said = [{"answer": "five", "probability": 0.5}, {"answer": "the rain", "probability": 0.5}]
    tables = measured(tmp_path, "question-answering", cases, said)
    assert (
        only(tables, score="mean_exact_match", distance="absolute", comparison="pairwise", mode="group")["value"].item()
        == 1
    )
    assert tables.failures.filter(pl.col("template").is_null(), threshold=1.0)["value"].to_list() == [0, 0]


def test_a_difference_that_is_the_threshold_but_for_rounding_is_no_failure(tmp_path: Path) -> None:
    """Token F1 of 0.8 and 0.6, which floating point holds 0.20000000000000007 apart."""
    rows = [
        {"case": 0, "group": group, "term": group, "text": "q", "text_pair": "c", "answer": "b d e"}
        for group in ("old", "young")
    ]
    said = [{"answer": "b d", "probability": 0.5}, {"answer": "b d f g h i j", "probability": 0.5}]
    options = GroupOptions(None, 0.4)
    failures = measured(tmp_path, "question-answering", cases_of(rows), said, options).failures
    by_threshold = dict(
        failures.filter(pl.col("template").is_null(), difference="largest").select("threshold", "value").rows()
    )
    assert by_threshold[0.4] == 0
    assert by_threshold[0.35] == 1


def test_only_what_is_asked_is_computed(tmp_path: Path) -> None:
    rows = [{"case": 0, "group": group, "term": group, "text": "q", "label": 1} for group in ("old", "young")]
    options = GroupOptions(
        [{"score": "f1", "argument": "micro", "distance": "divergence", "comparison": "multi_group"}],
        0.25,
        ["no", "yes"],
    )
    tables = measured(tmp_path, "text-classification", cases_of(rows), [{"probabilities": [0.4, 0.6]}] * 2, options)
    made = (
        tables.measures.filter(pl.col("comparison").is_not_null())
        .select("score", "argument", "distance", "comparison")
        .unique()
    )
    assert sorted(made.rows(), key=str) == [
        ("f1", "micro", "divergence", "multi_group"),
        ("mean_class_probability", None, "absolute", "pairwise"),
    ]
    assert 0.25 in tables.failures["threshold"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        (
            [{"instance": 0, "target": 0, "word": "kind", "probability": 0.1, "rank": 2, "pieces": 1}],
            "model on dataset: of 2 instances, 1 have no prediction",
        ),
        (
            [
                {"instance": each, "target": 0, "word": "kind", "probability": 0.1, "rank": 2, "pieces": 1}
                for each in range(2)
            ],
            "model on dataset: there are 2 predictions for 3 target words",
        ),
    ],
)
def test_a_cell_that_is_not_whole_is_refused(said: list[dict[str, Any]], message: str, tmp_path: Path) -> None:
    cases = cases_of(
        [
            {"text": "[MASK]", "targets": ["kind"], "group": "a"},
            {"text": "[MASK]", "targets": ["kind", "rude"], "group": "b"},
        ]
    )
    with pytest.raises(IncompleteCell, match=message):
        measured(tmp_path, "fill-mask", cases, said)
