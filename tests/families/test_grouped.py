"""The groups of a cell, from files of instances and predictions to tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from shards import Cell
from small_cases import FOLDER, cases_of, needs_golden_files

from biasgrid.complete import IncompleteCell
from biasgrid.families.counterfactual.expansion import expand
from biasgrid.families.counterfactual.packs import PackFiles
from biasgrid.families.counterfactual.reading import read_pack
from biasgrid.families.grouped import GroupOptions, GroupTables, measure_groups_of_cell
from biasgrid.table_files import empty_table, validate, write_table
from biasgrid.tables.group_measures import CASE_EXAMPLES, FAILURES, GROUP_MEASURES
from biasgrid.tables.instances import CASES
from biasgrid.tables.predictions import ANSWER_PREDICTIONS, CLASS_PREDICTIONS, TARGET_PREDICTIONS

SCHEMAS = {
    "text-classification": CLASS_PREDICTIONS,
    "fill-mask": TARGET_PREDICTIONS,
    "question-answering": ANSWER_PREDICTIONS,
}
ALL = GroupOptions(None, 0.1, labels=["no", "yes"], top_k=2)


def measured(
    folder: Path, task: str, cases: pl.DataFrame, said: list[dict[str, Any]], options: GroupOptions = ALL
) -> GroupTables:
    """Writes a cell's files, measures it, and checks its tables."""
    schema = SCHEMAS[task]
    predictions = pl.DataFrame(
        [{"instance": place} | row for place, row in enumerate(said)], schema=empty_table(schema).schema
    )
    write_table(cases, folder / "instances.parquet", CASES, {})
    write_table(predictions, folder / "predictions.parquet", schema, {})
    return from_files(folder, task, options)


def from_files(folder: Path, task: str, options: GroupOptions) -> GroupTables:
    paths = folder / "instances.parquet", [folder / "predictions.parquet"]
    tables = measure_groups_of_cell("counterfactual", *paths, task, None, options, "model", "dataset")
    for table, schema in zip(
        (tables.measures, tables.failures, tables.examples), (GROUP_MEASURES, FAILURES, CASE_EXAMPLES), strict=True
    ):
        validate(table, schema, folder)
    return tables


def only(tables: GroupTables, **keys: Any) -> pl.DataFrame:
    """The group measures whose named columns are as given, and whose other keys are null."""
    names = ["template", "group", "other", "distance", "comparison", "argument"]
    absent = [pl.col(name).is_null() for name in names if name not in keys]
    return tables.measures.filter(*absent, *(pl.col(name) == value for name, value in keys.items()))


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


def test_the_parts_of_intersections_are_measured_too(tmp_path: Path) -> None:
    rows = [
        {
            "case": case,
            "bias_type": "faith & age",
            "group": f"{faith} & {age}",
            "term": f"{faith} & {age}",
            "text": "x",
            "label": 1,
        }
        for case in range(2)
        for faith in ("sikh", "jewish")
        for age in ("old", "young")
    ]
    chance = {"sikh & old": 0.2, "sikh & young": 0.6, "jewish & old": 0.4, "jewish & young": 0.8}
    tables = measured(
        tmp_path,
        "text-classification",
        cases_of(rows),
        [{"probabilities": [1 - chance[row["group"]], chance[row["group"]]]} for row in rows],
    )
    asked = {
        "score": "mean_class_probability",
        "distance": "absolute",
        "comparison": "pairwise",
        "mode": "counterfactual",
    }
    whole = dict(only(tables, **asked).select("bias_type", "value").rows())
    assert whole == {"faith & age": pytest.approx(1 / 3), "faith": pytest.approx(0.2), "age": pytest.approx(0.4)}
    assert set(tables.examples["bias_type"]) == {"faith & age"}
    assert tables.failures.filter(pl.col("template").is_null(), threshold=0.3, difference="mean").select(
        "bias_type", "value"
    ).rows() == [("faith & age", 1.0), ("faith", 0.0), ("age", 1.0)]


def test_examples_are_the_sentences_of_the_two_groups_that_are_furthest_apart(tmp_path: Path) -> None:
    rows = [
        {
            "case": case,
            "group": group,
            "term": f"{group} one",
            "text": f"The {group} {case}",
            "text_pair": "b",
            "label": 1,
        }
        for case in range(7)
        for group in ("old", "young", "aged")
    ]
    chance = [0.5 + 0.05 * row["case"] * {"old": -1, "young": 0, "aged": 1}[row["group"]] for row in rows]
    tables = measured(
        tmp_path, "text-classification", cases_of(rows), [{"probabilities": [1 - each, each]} for each in chance]
    )
    assert tables.examples["case"].unique(maintain_order=True).to_list() == [6, 5, 4, 3, 2]
    first = tables.examples.head(2).to_dicts()
    assert [(row["group"], row["text"], row["said"], row["expected"]) for row in first] == [
        ("aged", "The aged 6", "yes", "yes"),
        ("old", "The old 6", "no", "yes"),
    ]
    assert [row["score"] for row in first] == pytest.approx([0.8, 0.2])
    assert first[0]["difference"] == pytest.approx(0.6)


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


def test_what_changes_with_the_order_of_fillings(tmp_path: Path) -> None:
    """Cases 0 and 1 are each other's swapped ones; case 2 has none."""
    rows = [
        {"case": case, "swapped_case": {0: 1, 1: 0}.get(case), "group": group, "term": group, "text": "q", "label": 1}
        for case in range(3)
        for group in ("old", "young")
    ]
    chance = [0.9, 0.5, 0.5, 0.4, 0.1, 0.1]
    tables = measured(
        tmp_path, "text-classification", cases_of(rows), [{"probabilities": [1 - each, each]} for each in chance]
    )
    found = tables.measures.filter(comparison="position").select("group", "value", "n", "left_out")
    assert found["group"].to_list() == [None, "old", "young"]
    assert found["value"].to_list() == pytest.approx([0.25, 0.4, 0.1])
    assert found["n"].to_list() == [2, 1, 1]


def test_parts_of_intersections_are_compared_with_themselves_in_the_swapped_case(tmp_path: Path) -> None:
    """The score depends on age alone, never on the order of fillings."""
    rows = [
        {
            "case": case,
            "swapped_case": 1 - case,
            "bias_type": "faith & age",
            "group": f"{faith} & {age}",
            "term": f"{faith} & {age}",
            "text": "q",
            "label": 1,
        }
        for case in range(2)
        for faith in ("sikh", "jewish")
        for age in ("old", "young")
    ]
    said = [{"probabilities": [0.2, 0.8] if "old" in row["group"] else [0.8, 0.2]} for row in rows]
    found = measured(tmp_path, "text-classification", cases_of(rows), said).measures.filter(comparison="position")
    assert found["value"].to_list() == pytest.approx([0] * len(found))
    whole = found.filter(pl.col("group").is_null())
    assert sorted(whole.select("bias_type", "n").rows()) == [("age", 4), ("faith", 4), ("faith & age", 4)]


def test_examples_are_found_where_a_bias_type_stands_alone_and_in_intersections(tmp_path: Path) -> None:
    alone = [{"case": case, "group": faith, "term": faith} for case in range(2) for faith in ("sikh", "jewish")]
    crossed = [
        {"case": case, "bias_type": "faith & age", "group": f"{faith} & {age}", "term": f"{faith} & {age}"}
        for case in range(2, 9)
        for faith in ("sikh", "jewish")
        for age in ("old", "young")
    ]
    rows = [{"bias_type": "faith", "text": "q", "label": 1} | row for row in (*alone, *crossed)]
    # What is said of the intersections differs more than what is said of faiths alone.
    chance = [(0.6 if row["bias_type"] == "faith" else 0.9) if "sikh" in row["group"] else 0.4 for row in rows]
    said = [{"probabilities": [1 - each, each]} for each in chance]
    examples = measured(tmp_path, "text-classification", cases_of(rows), said).examples
    assert set(examples.filter(bias_type="faith")["case"]) == {0, 1}
    assert len(set(examples.filter(bias_type="faith & age")["case"])) == 5


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
