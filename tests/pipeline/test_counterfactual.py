"""A cell of cases that differ in the group alone, from its templates to its page."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import polars as pl
import pytest
from pipeline import Pipeline

GROUPS = {"gender": {"female": ["woman", "girl", "lady"], "male": ["man", "boy", "lad"]}}
TERMS = {"woman": 0.06, "girl": 0.05, "lady": 0.04, "man": -0.04, "boy": -0.05, "lad": -0.06}
"""How much more probable the class `good` is where a term is in the text."""
VERBS = {"hired": 1, "thanked": 1, "praised": 1, "cheered": 1, "fired": 0, "blamed": 0, "scolded": 0, "jailed": 0}
"""Templates, and the right class of each."""


def answer(instances: pl.DataFrame) -> dict[str, Any]:
    """Probabilities of the classes `bad` and `good`."""
    good = np.where(instances["label"] == 1, 0.75, 0.25) + instances["term"].cast(pl.String).replace_strict(TERMS)
    return {"probabilities": np.stack([1 - good, good], axis=1).tolist()}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("cases")
    templates = [{"text": f"They {verb} the <group>.", "label": label} for verb, label in VERBS.items()]
    header = {"group_token": "<group>", "input_names": ["text"], "label_name": "label"}
    (folder / "templates.json").write_text(json.dumps(header | {"templates": templates}))
    (folder / "groups.json").write_text(json.dumps(GROUPS))
    task = {"task": "text-classification"}
    model = {"checkpoint": "some/model", "revision": "main", "labels": {"bad": "NEG", "good": "POS"}}
    dataset = {"family": "counterfactual", "labels": ["bad", "good"], "templates": "templates.json"}
    return Pipeline(folder, task | model, task | dataset | {"groups": "groups.json"}, answer)


def test_each_template_is_asked_with_each_term(cell: Pipeline) -> None:
    assert len(cell.instances) == len(VERBS) * len(TERMS)
    assert cell.instances["text"][0] == "They hired the woman."


def test_groups_differ_in_the_class_and_not_in_what_is_right(cell: Pipeline) -> None:
    of = {"bias_type": "gender", "group": "female", "other": "male"}
    good = cell.row("difference", **of)
    assert (good["value"], good["n"], good["generalises_to"]) == (pytest.approx(0.1), len(VERBS), "clusters x terms")
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
    assert "1 of 2 tested differences of groups" in cell.finding.sentence
    assert "female above male in probability of good, 0.100" in cell.finding.sentence


def test_the_page_has_the_sentences_of_both_groups(cell: Pipeline) -> None:
    assert {*cell.evidence["group"]} == {"female", "male"}
    examples = json.dumps(cell.page.blocks["evidence/model/dataset"])
    assert "They hired the woman." in examples
