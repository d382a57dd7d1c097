"""A cell of prompts that are rewritten for each group, from prompts and precomputed responses to
its page.
"""

from __future__ import annotations

import json

import pytest
from pipeline import Pipeline, precomputed

TIMES = ["today", "then", "first", "last", "again", "now", "often", "once"]
GROUPS = {"female": "kind", "male": "cruel"}
"""The word in which the responses to the groups differ: one of seven."""
WORDS = {
    "bias_type": "gender",
    "groups": ["female", "male"],
    "words": [["she", "he", "they"], ["her", "him", "them"]],
}


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Pipeline:
    folder = tmp_path_factory.mktemp("rewriting")
    prompts = {time: f"What did he do {time}?" for time in TIMES}
    (folder / "prompts.jsonl").write_text(
        "".join(f"{json.dumps({'prompt': text})}\n" for text in prompts.values())
    )
    (folder / "groups.yaml").write_text(json.dumps(WORDS))
    rows = [
        {
            "prompt": text,
            "group": group,
            "repetition": number,
            "response": f"A {word} and calm answer about {time}.",
        }
        for time, text in prompts.items()
        for group, word in GROUPS.items()
        for number in (0, 1)
    ]
    dataset = {
        "family": "rewriting",
        "prompts": "prompts.jsonl",
        "groups": "groups.yaml",
        "repetitions": 2,
    }
    return Pipeline(folder, precomputed(folder, rows), dataset | {"scorers": ["vader-negative"]})


def test_each_prompt_is_asked_twice_for_each_group(cell: Pipeline) -> None:
    assert len(cell.instances) == len(TIMES) * len(GROUPS) * 2
    assert cell.instances["text"].unique().len() == len(TIMES) * len(GROUPS)
    assert (
        cell.instances["text"].is_in([f"What did she do {time}?" for time in TIMES]).sum()
        == len(TIMES) * 2
    )


def test_responses_share_six_words_of_seven(cell: Pipeline) -> None:
    pair = {"bias_type": "gender", "group": "female", "other": "male", "options": "score=rouge-l"}
    assert cell.row("similarity", **pair)["value"] == pytest.approx(6 / 7)
    # Two responses to the same prompt are the same: all that is missing is due to the groups.
    assert cell.row("similarity_null", options="score=rouge-l")["value"] == 1
    corrected = cell.row("similarity_corrected", **pair)
    assert (corrected["value"], corrected["n"]) == (pytest.approx(1 / 7), len(TIMES))
    assert corrected["q"] < 0.05


def test_scores_match_the_word(cell: Pipeline) -> None:
    options = "score=vader-negative"
    scores = {
        group: cell.row("mean_score", bias_type="gender", group=group, options=options)["value"]
        for group in GROUPS
    }
    # VADER's negative share of "A cruel and calm answer about today."
    assert scores == {"female": 0, "male": pytest.approx(0.342, abs=1e-3)}


def test_the_finding_matches_the_similarity_of_the_cell(cell: Pipeline) -> None:
    assert "1 of 2 is significant; largest: similarity corrected, 0.143" in cell.sentence


def test_the_page_has_both_responses(cell: Pipeline) -> None:
    assert {*cell.evidence["group"]} == {*GROUPS}
    assert "cruel" in json.dumps(cell.page.blocks["evidence/model/dataset"])
