"""LangFair's own numbers of co-occurrence, with its own lists."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from small_langfair import PACKAGE, grid_of, imported, near_words, needs_langfair
from small_rewriting import GOLDEN, golden, needs_golden

from biasgrid.families.rewriting.group_words import read_group_words
from biasgrid.formats.langfair.mode import LangFairMode

OWN = GOLDEN / "own_tests_input.json"
TARGETS = {"adjective": "langfair-adjectives.txt", "profession": "langfair-professions.txt"}


@needs_golden
@needs_langfair
@pytest.mark.parametrize("category", TARGETS)
def test_co_occurrence_biases_are_those_of_its_own_tests(category: str, tmp_path: Path) -> None:
    given = json.loads(OWN.read_text())
    (case,) = (one for one in given["co_occurrence_bias"] if one["target_category"] == category)
    imported(Path(PACKAGE), tmp_path)
    (tmp_path / "stop.txt").write_text("\n".join(given["stop_words_of_nltk"]))
    files = {"groups": "langfair-gender.yaml", "targets": TARGETS[category], "stop_words": "stop.txt"}
    found = near_words(grid_of(tmp_path, **files), case["texts"])
    assert found["co_occurrence_bias", None] == pytest.approx(case["expected"], abs=1e-5)


@needs_golden
@needs_langfair
def test_imported_words_are_those_of_the_golden_files(tmp_path: Path) -> None:
    given = json.loads(OWN.read_text())
    imported(Path(PACKAGE), tmp_path)
    groups, faults = read_group_words(tmp_path / "langfair-race.yaml")
    assert groups is not None
    assert faults == []
    assert sorted(groups.people) == sorted(given["person_words"])
    listed = {word for row in groups.rows for words in row.sought for word in words}
    assert listed == {*given["race_words_requiring_context"], *given["race_words_not_requiring_context"]}
    rewriter = LangFairMode().rewriter(groups)
    for row in golden("prompts"):
        assert set(rewriter.words(row["prompt"])) == set(row["words_race"])
        assert rewriter.rewrite(row["prompt"], len(groups.names)) == row["neutral_race"]
