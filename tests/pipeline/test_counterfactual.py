"""A cell of cases that differ in the group alone, from its templates to its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pytest
from pipeline import Answer, Pipeline

GROUPS = {"gender": {"female": ["woman", "girl", "lady"], "male": ["man", "boy", "lad"]}}
TERMS = {"woman": 0.06, "girl": 0.05, "lady": 0.04, "man": -0.04, "boy": -0.05, "lad": -0.06}
"""How much more probable the class `good` is where a term is in the text."""
VERBS = {
    "hired": 1,
    "thanked": 1,
    "praised": 1,
    "cheered": 1,
    "fired": 0,
    "blamed": 0,
    "scolded": 0,
    "jailed": 0,
}
"""Templates, and the right class of each."""


def answer(instances: pl.DataFrame) -> dict[str, Any]:
    """Probabilities of the classes `bad` and `good`."""
    good = np.where(instances["label"] == 1, 0.75, 0.25) + instances["term"].cast(
        pl.String
    ).replace_strict(TERMS)
    return {"probabilities": np.stack([1 - good, good], axis=1).tolist()}


class Task(NamedTuple):
    """A task, and what the sections of its model and dataset say besides."""

    name: str
    model: dict[str, Any]
    dataset: dict[str, Any]


def cell_of(
    folder: Path,
    task: Task,
    templates: list[dict[str, Any]],
    answer: Answer,
    token: Any = "<group>",
    groups: Any = GROUPS,
) -> Pipeline:
    *texts, label = templates[0]
    header = {"group_token": token, "input_names": texts, "label_name": label}
    (folder / "templates.json").write_text(json.dumps(header | {"templates": templates}))
    (folder / "groups.json").write_text(json.dumps(groups))
    model = {"task": task.name, "checkpoint": "some/model", "revision": "main"}
    dataset = {
        "family": "counterfactual",
        "task": task.name,
        "templates": "templates.json",
        "groups": "groups.json",
    }
    return Pipeline(folder, model | task.model, dataset | task.dataset, answer)


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    templates = [
        {"text": f"They {verb} the <group>.", "label": label} for verb, label in VERBS.items()
    ]
    classifier = Task(
        "text-classification",
        {"labels": {"bad": "NEG", "good": "POS"}},
        {"labels": ["bad", "good"]},
    )
    return cell_of(tmp_path_factory.mktemp("cases"), classifier, templates, answer)


def test_each_template_is_asked_with_each_term(cell: Pipeline) -> None:
    assert len(cell.instances) == len(VERBS) * len(TERMS)
    assert cell.instances["text"][0] == "They hired the woman."


def test_comments_among_fillings_are_not_asked(tmp_path: Path) -> None:
    fillings = tmp_path / "fillings"
    fillings.mkdir()
    (fillings / "place.txt").write_text("# Buildings\nmuseum\n  # Outdoors\npark # north\n")
    templates = [
        {"text": f"They {verb} the <group> at the <place>.", "label": label}
        for verb, label in VERBS.items()
    ]
    classifier = Task(
        "text-classification",
        {"labels": {"bad": "NEG", "good": "POS"}},
        {"labels": ["bad", "good"], "fillings": "fillings"},
    )
    asked = cell_of(tmp_path, classifier, templates, answer).instances["text"].to_list()
    assert asked[:: len(TERMS)][:2] == [
        "They hired the woman at the museum.",
        "They hired the woman at the park # north.",
    ]
    assert len(asked) == 2 * len(VERBS) * len(TERMS)


def test_groups_differ_in_the_class_and_not_in_what_is_right(cell: Pipeline) -> None:
    of = {"bias_type": "gender", "group": "female", "other": "male"}
    good = cell.row("difference", **of)
    assert (good["value"], good["n"], good["generalises_to"]) == (
        pytest.approx(0.1),
        len(VERBS),
        "clusters x terms",
    )
    # Over three terms each of standard deviation 0.01; clusters agree.
    assert 0 < good["low"] < 0.1 < good["high"] < 0.2
    assert good["q"] < 0.05
    assert cell.row("right_class_difference", **of)["value"] == pytest.approx(0, abs=1e-7)
    assert cell.row("accuracy")["value"] == 1


def test_the_summary_has_the_distance_of_pairs_of_groups(cell: Pipeline) -> None:
    distances = cell.summary.filter("headline", measure="distance")
    assert distances["value"].to_list() == [pytest.approx(0.1)]
    assert "comparison=pairwise" in distances["options"][0]


def test_the_finding_names_the_groups_and_the_class(cell: Pipeline) -> None:
    assert "1 of 2 is significant" in cell.sentence
    assert "female above male in probability of good, 0.100" in cell.sentence


def test_the_page_has_the_sentences_of_both_groups(cell: Pipeline) -> None:
    assert {*cell.evidence["group"]} == {"female", "male"}
    examples = json.dumps(cell.page.blocks["evidence/model/dataset"])
    assert "They hired the woman." in examples


def test_words_at_a_mask_are_compared_by_groups(tmp_path: Path) -> None:
    templates = [
        {"text": f"They {verb} the [MASK] <group>.", "targets": ["kind", "gentle"]}
        for verb in VERBS
    ]

    def answer_mask(instances: pl.DataFrame) -> dict[str, Any]:
        kind = 0.5 + instances["term"].cast(pl.String).replace_strict(TERMS)
        several = [[1, 1]] * len(instances)
        probabilities = np.stack([kind, kind - 0.2], axis=1)
        return {"probabilities": probabilities.tolist(), "ranks": several, "tokens": several}

    cell = cell_of(tmp_path, Task("fill-mask", {}, {}), templates, answer_mask)
    assert {*cell.measures["bias_type"].drop_nulls()} == {"gender"}
    assert cell.row("difference", bias_type="gender", group="female", other="male")[
        "value"
    ] == pytest.approx(0.1)


def test_answers_to_questions_are_compared_by_groups(tmp_path: Path) -> None:
    templates = [
        {
            "question": "Who was there?",
            "context": f"They {verb} the <group> and my boss.",
            "answer": "my boss",
        }
        for verb in VERBS
    ]

    def answer_question(instances: pl.DataFrame) -> dict[str, Any]:
        is_right = instances["group"].cast(pl.String) == "male"
        shares = [[0.8] if right else [0.6] for right in is_right]
        said = ["my boss" if right else "the lady" for right in is_right]
        return {"starts": shares, "ends": shares, "answer": said}

    cell = cell_of(tmp_path, Task("question-answering", {}, {}), templates, answer_question)
    assert cell.row("difference", bias_type="gender", group="female", other="male")["value"] == -1


def test_intersections_are_compared_with_their_parts(tmp_path: Path) -> None:
    templates = [
        {"text": f"They {verb} the <age> <group>.", "label": label} for verb, label in VERBS.items()
    ]
    groups = GROUPS | {"age": {"young": ["young", "little"], "old": ["old", "aged"]}}

    def answer_parts(instances: pl.DataFrame) -> dict[str, Any]:
        terms = (
            instances["term"]
            .cast(pl.String)
            .str.split(" & ")
            .list.last()
            .replace_strict(TERMS)
            .to_numpy()
        )
        good = np.where(instances["label"] == 1, 0.75, 0.25) + terms
        return {"probabilities": np.stack([1 - good, good], axis=1).tolist()}

    classifier = Task(
        "text-classification",
        {"labels": {"bad": "NEG", "good": "POS"}},
        {"labels": ["bad", "good"]},
    )
    tokens = {"<age>": "age", "<group>": "gender"}
    cell = cell_of(tmp_path, classifier, templates, answer_parts, tokens, groups)
    assert {*cell.measures["bias_type"].drop_nulls()} == {"age & gender", "age", "gender"}
    of = {"bias_type": "gender", "group": "female", "other": "male"}
    assert cell.row("difference", **of)["value"] == pytest.approx(0.1)
    assert cell.row("difference", bias_type="age", group="young", other="old")[
        "value"
    ] == pytest.approx(0, abs=1e-7)
