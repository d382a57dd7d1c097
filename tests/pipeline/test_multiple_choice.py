"""A cell of questions with options, from the items that come with the project to its page; its bias
is known.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pipeline import Pipeline
from project import ROOT
from scipy.special import stdtrit

from biasgrid.formats.bbq.commands import import_file

TEMPLATES = 6
"""How many templates a category has; what the model does depends on the template alone."""


def chosen_option(row: dict[str, Any]) -> int:
    """Leans to the stereotype in half of the templates, and to the other person in the last one."""
    template, target = row["template"] % TEMPLATES, row["target"]
    other = 3 - target - row["unknown_option"]
    if row["condition"] == "ambig":
        return [target, target, target, row["unknown_option"], row["unknown_option"], other][
            template
        ]
    return {0: target, TEMPLATES - 1: row["unknown_option"]}.get(template, row["label"])


def answer(instances: pl.DataFrame) -> dict[str, Any]:
    places = [row["places"].index(chosen_option(row)) for row in instances.iter_rows(named=True)]
    return {
        "probabilities": [[0.8 if place == one else 0.1 for one in range(3)] for place in places]
    }


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("questions")
    for category in ("Age", "Gender_identity"):
        (folder / f"{category}.jsonl").write_bytes(
            (ROOT / f"word_lists/benchmarks/{category}.jsonl").read_bytes()
        )
    model = {"task": "text-generation", "checkpoint": "some/model", "revision": "main"}
    return Pipeline(
        folder, model, {"family": "multiple_choice", "layout": "bbq", "files": ["*.jsonl"]}, answer
    )


def test_each_item_is_asked_in_all_orders(cell: Pipeline) -> None:
    assert len(cell.instances) == 192 * 6
    assert cell.instances["text"].unique().len() == len(cell.instances)
    first = cell.instances.filter(item=0, places=[0, 1, 2])["text"][0]
    assert first.splitlines()[-1] == "Answer with the letter of one option."


@pytest.mark.parametrize("category", ["Age", "Gender_identity (names)"])
def test_the_bias_of_the_model_is_found(cell: Pipeline, category: str) -> None:
    expected = {
        "bias_ambiguous": (3 - 1) / 6, "accuracy_ambiguous": 2 / 6, "unknown_ambiguous": 2 / 6,
        "error_alignment": 3 / 4, "bias_disambiguated": 1 / 5, "accuracy_disambiguated": 4.5 / 6,
        "unknown_disambiguated": 1 / 6, "nonalignment_cost": -1 / 6,
    }  # fmt: skip
    found = {name: cell.row(name, bias_type=category, options="") for name in expected}
    assert {name: row["value"] for name, row in found.items()} == pytest.approx(expected)
    assert (found["bias_ambiguous"]["clusters"], found["bias_ambiguous"]["generalises_to"]) == (
        TEMPLATES,
        "clusters",
    )
    # Templates with 1, 1, 1, 0, 0 and -1, and Student's t of 5 degrees of freedom.
    assert 1 / 3 - found["bias_ambiguous"]["low"] == pytest.approx(
        2.5706 * 0.8165 / 6**0.5, rel=1e-3
    )


def test_words_and_names_are_never_averaged(cell: Pipeline) -> None:
    whole = cell.measures.filter(
        pl.all_horizontal(pl.col("bias_type", "group", "template").is_null())
    )
    assert "bias_ambiguous" not in whole["measure"].to_list()
    assert set(cell.summary.filter("headline", measure="bias_ambiguous")["bias_type"]) == {
        "Age",
        "Gender_identity (names)",
    }


def test_the_page_has_numbers_and_sentences(cell: Pipeline) -> None:
    assert {*cell.evidence["bias_type"]} == {"Age", "Gender_identity (names)"}
    examples = json.dumps(cell.page.blocks["evidence/model/dataset"])
    assert "grandfather" in examples
    assert "Cost of nonalignment" in json.dumps(cell.page.blocks)


@pytest.mark.slow
def test_published_answers_are_a_model_of_the_grid(tmp_path: Path) -> None:
    items = [
        json.loads(line)
        for line in (ROOT / "word_lists/benchmarks/Age.jsonl").read_text().splitlines()
    ]
    # The model names the first person of the file, whatever is asked.
    answers = [item | {"prediction": f"{item['ans0']}."} for item in items]
    (tmp_path / "Age.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    (tmp_path / "preds_Age.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in answers))
    import_file([tmp_path / "preds_Age.jsonl"], "prediction", tmp_path / "answers.jsonl")
    model = {"task": "text-generation", "answers": str(tmp_path / "answers.jsonl")}
    keys = {
        "layout": "bbq",
        "files": ["Age.jsonl"],
        "answers": "written",
        "orders": "file",
        "matching": "paper",
    }
    cell = Pipeline(tmp_path, model, {"family": "multiple_choice"} | keys)
    right = [item["label"] == 0 for item in items if item["context_condition"] == "disambig"]
    assert cell.row("accuracy_disambiguated", bias_type="Age", options="")["value"] == sum(
        right
    ) / len(right)
    assert cell.row("coverage", bias_type="Age", options="")["value"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2])
def test_a_model_that_is_right_has_no_bias_in_a_small_sample(seed: int, tmp_path: Path) -> None:
    items = [
        json.loads(line)
        for line in (ROOT / "word_lists/benchmarks/Age.jsonl").read_text().splitlines()
    ]
    # In the order of the file, whose first half of each pair agrees with the stereotype.
    answers = [item | {"prediction": item["ans" + str(item["label"])]} for item in items]
    (tmp_path / "Age.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    (tmp_path / "preds_Age.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in answers))
    import_file([tmp_path / "preds_Age.jsonl"], "prediction", tmp_path / "answers.jsonl")
    model = {"task": "text-generation", "answers": str(tmp_path / "answers.jsonl")}
    keys = {
        "layout": "bbq",
        "files": ["Age.jsonl"],
        "answers": "written",
        "sample": {"units": 24, "seed": seed},
    }
    cell = Pipeline(tmp_path, model, {"family": "multiple_choice", "orders": "file"} | keys)
    assert (len(cell.instances), cell.instances["template"].n_unique()) == (24, 3)
    of_items = cell.measures.filter(
        pl.col("measure").is_in(["bias_ambiguous", "bias_disambiguated"])
    )
    assert of_items["value"].drop_nulls().unique().to_list() == [0]
    accuracy = cell.row("accuracy_disambiguated", bias_type="Age", options="")
    assert (accuracy["value"], accuracy["n"]) == (1, 12)


@pytest.mark.slow
def test_random_answers_have_no_bias(tmp_path: Path) -> None:
    (tmp_path / "Age.jsonl").write_bytes((ROOT / "word_lists/benchmarks/Age.jsonl").read_bytes())
    keys = {"layout": "bbq", "files": ["Age.jsonl"], "prompt": "race"}
    cell = Pipeline(
        tmp_path,
        {"task": "text-generation", "random": {"seed": 1}},
        {"family": "multiple_choice"} | keys,
    )
    bias, accuracy = (
        cell.row(name, bias_type="Age", options="")
        for name in ("bias_ambiguous", "accuracy_disambiguated")
    )
    assert bias["low"] < 0 < bias["high"]
    assert abs(bias["value"]) < 0.2
    assert accuracy["value"] == pytest.approx(1 / 3, abs=0.1)
    assert cell.row("one_place")["value"] < 0.5


def spans(instances: pl.DataFrame) -> dict[str, Any]:
    """Answers that are right or, in ambiguous contexts, name the first person; the stereotype's has
    a higher score.
    """
    rows = instances.to_dicts()
    mentions = [[row["candidate1"], row["candidate2"]] for row in rows]
    # The first mention is that of the option with the smaller number.
    known = [[place for place in range(3) if place != row["unknown_option"]] for row in rows]
    firsts = [int(row["position2"] < row["position1"]) for row in rows]
    places = [
        first if row["condition"] == "ambig" else both.index(row["label"])
        for row, first, both in zip(rows, firsts, known, strict=True)
    ]
    scores = [
        [0.4 if place == row["target"] else 0.1 for place in both]
        for row, both in zip(rows, known, strict=True)
    ]
    said = [both[place] for both, place in zip(mentions, places, strict=True)]
    return {"starts": scores, "ends": scores, "answer": said}


@pytest.mark.slow
def test_extractive_models_are_asked_for_a_span_and_both_mentions(tmp_path: Path) -> None:
    (tmp_path / "Age.jsonl").write_bytes((ROOT / "word_lists/benchmarks/Age.jsonl").read_bytes())
    model = {"task": "question-answering", "checkpoint": "some/model", "revision": "main"}
    cell = Pipeline(
        tmp_path,
        model,
        {"family": "multiple_choice", "layout": "bbq", "files": ["Age.jsonl"]},
        spans,
    )
    first = cell.instances.row(0, named=True)
    assert (first["text"], first["candidate1"], first["position1"]) == (
        "Who could not find the button?",
        "grandson",
        24,
    )
    assert first["text_pair"].startswith("The grandfather and the grandson waited")
    # Each pair is in both orders, so that who is named first agrees with the stereotype half of the
    # time.
    assert cell.row("bias_ambiguous", bias_type="Age", options="")["value"] == 0
    assert cell.row("preference_ambiguous", bias_type="Age")["value"] == 1
    missing = cell.row("accuracy_ambiguous", bias_type="Age", options="")
    assert (missing["value"], missing["reason"]) == (
        None, "the model has no answer `unknown`: it finds its answers in the context",
    )  # fmt: skip
    assert cell.row("accuracy_disambiguated", bias_type="Age", options="")["n"] == 48


def nothing_in_ambiguous_contexts(instances: pl.DataFrame) -> dict[str, Any]:
    """The same, but for half of the ambiguous contexts, in which no answer is found."""
    said = spans(instances)
    is_none = (
        (instances["condition"].cast(pl.String) == "ambig")
        & (instances["template"] < TEMPLATES // 2)
    ).to_list()
    return said | {
        "answer": [
            "" if none else answer for none, answer in zip(is_none, said["answer"], strict=True)
        ]
    }


@pytest.mark.slow
def test_extractive_models_that_may_find_no_answer_have_an_accuracy(tmp_path: Path) -> None:
    (tmp_path / "Age.jsonl").write_bytes((ROOT / "word_lists/benchmarks/Age.jsonl").read_bytes())
    model = {
        "task": "question-answering",
        "checkpoint": "some/model",
        "revision": "main",
        "no_answer": True,
    }
    dataset = {"family": "multiple_choice", "layout": "bbq", "files": ["Age.jsonl"]}
    cell = Pipeline(tmp_path, model, dataset, nothing_in_ambiguous_contexts)
    found = {name: cell.row(name, bias_type="Age", options="")["value"] for name in ABSTENTION}
    assert found == pytest.approx(ABSTENTION)
    # To whom it leans is read of the mentions, whether it finds an answer or not.
    assert cell.row("preference_ambiguous", bias_type="Age")["value"] == 1


ABSTENTION = {
    "accuracy_ambiguous": 0.5,
    "unknown_ambiguous": 0.5,
    "unknown_disambiguated": 0,
    "coverage": 1,
}


def silent_about_some(instances: pl.DataFrame) -> dict[str, Any]:
    """Right answers, but for disambiguated contexts about one group, to which the answer is
    `unknown`.
    """
    rows = instances.with_columns(pl.col("about", "condition").cast(pl.String)).iter_rows(
        named=True
    )
    chosen = [row["unknown_option"] if row["about"] == "elderly" else row["label"] for row in rows]
    places = [
        each.index(option)
        for each, option in zip(instances["places"].to_list(), chosen, strict=True)
    ]
    return {
        "probabilities": [[0.8 if place == one else 0.1 for one in range(3)] for place in places]
    }


def test_groups_that_are_abstained_on_more_than_others_are_shown(tmp_path: Path) -> None:
    items = [
        json.loads(line)
        for line in (ROOT / "word_lists/benchmarks/Age.jsonl").read_text().splitlines()
    ]
    for item in items:
        if int(item["question_index"]) % 2:
            item["additional_metadata"]["stereotyped_groups"] = ["elderly"]
            item["answer_info"] = {
                place: [text, "elderly" if group == "old" else group]
                for place, (text, group) in item["answer_info"].items()
            }
    (tmp_path / "Age.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items))
    model = {"task": "text-generation", "checkpoint": "some/model", "revision": "main"}
    dataset = {
        "family": "multiple_choice",
        "layout": "bbq",
        "files": ["Age.jsonl"],
        "orders": "file",
    }
    cell = Pipeline(tmp_path, model, dataset, silent_about_some)
    assert (
        cell.row("unknown_difference", bias_type="Age", group="elderly", options="")["value"] == 1
    )
    assert cell.row("unknown_difference", bias_type="Age", group="old", options="")["value"] == -1
    (table,) = [
        each
        for each in cell.page.blocks["cell/model/dataset"]["tables"]
        if "Abstention" in each["title"]
    ]
    assert {row[1] for row in table["rows"]} == {"elderly", "old"}


def always_right(instances: pl.DataFrame) -> dict[str, Any]:
    places = [row["places"].index(row["label"]) for row in instances.iter_rows(named=True)]
    return {
        "probabilities": [
            [0.8 if place == right else 0.1 for place in range(3)] for right in places
        ]
    }


def is_kept(place: int, item: dict[str, Any]) -> bool:
    """Whether an item stays: of every second template half of those whose context has the answer do
    not.
    """
    return item["context_condition"] == "ambig" or item["question_index"] in "246" or place % 4 == 1


def test_unequal_templates_do_not_widen_the_cost_of_a_model_that_is_always_right(
    tmp_path: Path,
) -> None:
    items = [
        json.loads(line)
        for line in (ROOT / "word_lists/benchmarks/Age.jsonl").read_text().splitlines()
    ]
    kept = [item for place, item in enumerate(items) if is_kept(place, item)]
    (tmp_path / "Age.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in kept))
    model = {"task": "text-generation", "checkpoint": "some/model", "revision": "main"}
    files = {"family": "multiple_choice", "layout": "bbq", "files": ["Age.jsonl"]}
    row = Pipeline(tmp_path, model, files, always_right).row(
        "nonalignment_cost", bias_type="Age", options=""
    )
    # Six templates with 4 or 2 items of each direction: as many as 18² / 60 equal ones, and two
    # that are added.
    df = 18**2 / 60 - 1
    half = -stdtrit(df, 0.025) / 8
    assert row["df"] == pytest.approx(df)
    assert (row["value"], row["low"], row["high"]) == pytest.approx((0, -half, half))
