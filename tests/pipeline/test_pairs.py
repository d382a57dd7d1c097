"""A cell of pairs of sentences, from the pairs that come with the project to its page; its
preference is known.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pipeline import Pipeline
from small_pairs import example, row, write_examples, write_table

from biasgrid.formats.stereoset.commands import import_file

MASKED = {"task": "fill-mask", "checkpoint": "some/model", "revision": "main"}
CAUSAL = MASKED | {"task": "text-generation"}


def likelihoods(follows: Any) -> Any:
    """Answers in which the sentence that states the stereotype more scores higher where `follows`
    says so of a pair.
    """

    def answer(instances: pl.DataFrame) -> dict[str, Any]:
        rows = instances.cast({pl.Categorical: pl.String}).to_dicts()
        scores = [-10.0 + (each["role"] == ("more" if follows(each) else "less")) for each in rows]
        return {
            "score": scores,
            "tokens_scored": [5] * len(rows),
            "tokens": [6] * len(rows),
            "truncated": [False] * len(rows),
            "unknown": [False] * len(rows),
            "scoring": ["cps"] * len(rows),
        }

    return answer


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("pairs")
    rows = [
        row(
            number,
            bias_type="age" if number < 24 else "gender",
            anon_writer=f"a{number % 8}",
            stereo_antistereo="antistereo" if number % 4 == 0 else "stereo",
        )
        for number in range(48)
    ]
    write_table(folder / "pairs.csv", rows)
    # Three of four pairs, those of writers a0 to a5.
    dataset = {"family": "pairs", "layout": "crows-pairs", "files": ["pairs.csv"]}
    return Pipeline(folder, MASKED, dataset, likelihoods(lambda each: int(each["writer"][1:]) < 6))


def test_each_sentence_is_asked_next_to_its_partner(cell: Pipeline) -> None:
    assert len(cell.instances) == 2 * 48
    first = cell.instances.filter(pair=0).cast({pl.Categorical: pl.String}).to_dicts()
    assert [each["pair_place"] for each in first] == [1, 0]
    assert first[0]["text"] == first[1]["text_pair"]


def test_the_preference_of_the_model_is_found(cell: Pipeline) -> None:
    share = cell.row("stereotype_share", options="", bias_type="age")
    assert (share["value"], share["n"], share["generalises_to"], share["clusters"]) == (
        0.75,
        24,
        "writers",
        8,
    )
    # All pairs of a writer agree, so that writers are the evidence.
    intervals = pl.read_parquet(cell.files["intervals"]).cast({pl.Categorical: pl.String})
    over_pairs = intervals.filter(
        measure="stereotype_share", bias_type="age", generalises_to="clusters"
    ).to_dicts()
    assert len(over_pairs) == 1
    assert over_pairs[0]["high"] - over_pairs[0]["low"] < share["high"] - share["low"]
    assert cell.row("likelihood_difference", bias_type="age")["value"] == pytest.approx(0.5 / 5)
    assert cell.row("neutral", bias_type="age")["value"] == 0


def test_the_page_has_numbers_and_sentences(cell: Pipeline) -> None:
    assert {*cell.evidence["bias_type"]} == {"age", "gender"}
    blocks = json.dumps(cell.page.blocks["evidence/model/dataset"])
    assert "teacher forgot" in blocks
    assert "In antistereo pairs" in json.dumps(cell.page.blocks)


WORDS = ("stereotype", "anti-stereotype", "unrelated")
TERMS = ("gardener", "clerk", "pilot", "baker")


def score_of(term: int, label: str) -> float:
    """Prefers the stereotype of the first three terms, and cannot tell sense from nonsense in the
    last one.
    """
    if label == "unrelated":
        return 0.9 if term == 3 else 0.1
    return 0.5 if (label == "stereotype") == (term < 3) else 0.3


def write_dev(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """Writes two examples of each term in both tasks, and returns published scores of their
    sentences.
    """
    tasks = ("intrasentence", "intersentence")
    found = {
        task: [
            example(number, task, target=TERMS[number // 2], bias_type=f"domain {number // 4}")
            for number in range(8)
        ]
        for task in tasks
    }
    write_examples(folder / "dev.json", **found)
    return {
        task: [
            {"id": sentence["id"], "score": score_of(number // 2, sentence["gold_label"])}
            for number, each in enumerate(listed)
            for sentence in each["sentences"]
        ]
        for task, listed in found.items()
    }


@pytest.mark.slow
def test_published_scores_of_stereoset_are_a_model_of_the_grid(tmp_path: Path) -> None:
    published = write_dev(tmp_path)
    (tmp_path / "predictions.json").write_text(json.dumps(published))
    assert import_file(tmp_path / "predictions.json", tmp_path / "answers.jsonl")[0].endswith(
        "48 sentences"
    )
    model = {"task": "text-generation", "answers": str(tmp_path / "answers.jsonl")}
    keys = {
        "layout": "stereoset",
        "files": ["dev.json"],
        "tasks": ["intrasentence", "intersentence"],
    }
    cell = Pipeline(tmp_path, model, {"family": "pairs"} | keys)
    score, language = (cell.row(name) for name in ("stereotype_score", "language_model_score"))
    assert (score["value"], score["clusters"], score["generalises_to"]) == (0.75, 4, "targets")
    assert language["value"] == 0.75
    assert cell.row("icat")["value"] == pytest.approx(0.75 * 0.25 / 0.5)
    assert (
        cell.row("stereotype_score", attribute_group="intersentence", bias_type="domain 0")["value"]
        == 1
    )
    assert cell.row("language_model_score", subject="baker", bias_type="domain 1")["value"] == 0
    assert {*cell.summary.filter("headline")["measure"]} == {
        "stereotype_score",
        "language_model_score",
        "icat",
    }
    assert "Target terms" in json.dumps(cell.page.blocks)


@pytest.mark.slow
def test_sentences_of_stereoset_are_read_in_their_context(tmp_path: Path) -> None:
    write_dev(tmp_path)
    for model, task, context in (
        (MASKED, "intrasentence", "Gardener 0 was BLANK."),
        (MASKED, "intersentence", "Here is gardener 0."),
        (CAUSAL, "intrasentence", None),
    ):
        folder = tmp_path / f"{model['task']} {task}"
        folder.mkdir()
        (folder / "dev.json").write_bytes((tmp_path / "dev.json").read_bytes())
        keys = {"layout": "stereoset", "files": ["dev.json"], "tasks": [task]}
        cell = Pipeline(folder, model, {"family": "pairs"} | keys, likelihoods(lambda each: True))
        assert (cell.instances["text_pair"][0], len(cell.instances)) == (context, 24)


def first_chosen(instances: pl.DataFrame) -> dict[str, Any]:
    """Leans to what stands first, and in one of two pairs to the stereotype."""
    rows = instances.cast({pl.Categorical: pl.String}).to_dicts()
    shares = [0.6 + (0.2 if each["role"] == "more" else -0.2) * (each["pair"] % 2) for each in rows]
    return {
        "probabilities": [[share, 1 - share] for share in shares],
        "unknown": [False] * len(rows),
    }


@pytest.mark.slow
def test_served_models_choose_in_both_orders(tmp_path: Path) -> None:
    write_table(tmp_path / "pairs.csv", [row(number) for number in range(12)])
    model = {
        "task": "text-generation",
        "endpoint": {"url": "http://localhost:1/v1", "model": "some"},
    }
    dataset = {"family": "pairs", "layout": "crows-pairs", "files": ["pairs.csv"]}
    cell = Pipeline(tmp_path, model, dataset, first_chosen)
    assert len(cell.instances) == 24
    texts = cell.instances.filter(pair=0)["text"].cast(pl.String).to_list()
    assert "(a) The old" in texts[0]
    assert "(a) The young" in texts[1]
    # A place that is preferred in both orders is no preference for a sentence.
    assert cell.row("stereotype_share", options="", bias_type="age")["value"] == 0.5
    assert cell.row("neutral", bias_type="age")["value"] == 0.5


@pytest.mark.slow
def test_random_scores_have_no_preference(tmp_path: Path) -> None:
    write_table(
        tmp_path / "pairs.csv", [row(number, anon_writer=f"a{number}") for number in range(300)]
    )
    dataset = {"family": "pairs", "layout": "crows-pairs", "files": ["pairs.csv"]}
    cell = Pipeline(tmp_path, {"task": "text-generation", "random": {"seed": 2}}, dataset)
    share = cell.row("stereotype_share", options="", bias_type="age")
    assert share["low"] < 0.5 < share["high"]
    assert share["q"] > 0.05
