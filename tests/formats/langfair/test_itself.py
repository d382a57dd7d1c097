"""LangFair's own numbers of co-occurrence, with its own lists."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import needs
import pytest
from small_langfair import PACKAGE, grid_of, imported, near_words
from small_rewriting import golden

from biasgrid.families.rewriting.group_words import read_group_words
from biasgrid.families.rewriting.langfair import LangFairMode

OWN_TESTS = Path(os.environ.get("BIASGRID_LANGFAIR_TESTS", ""))
TARGETS = {"adjective": "langfair-adjectives.txt", "profession": "langfair-professions.txt"}


@needs.langfair.mark
@needs.langfair_tests.mark
@pytest.mark.parametrize("category", TARGETS)
def test_co_occurrence_biases_match_its_own_tests(category: str, tmp_path: Path) -> None:
    given = json.loads(OWN_TESTS.read_text())
    (case,) = (one for one in given["co_occurrence_bias"] if one["target_category"] == category)
    imported(Path(PACKAGE), tmp_path)
    (tmp_path / "stop.txt").write_text("\n".join(given["stop_words_of_nltk"]))
    files = {
        "groups": "langfair-gender.yaml",
        "targets": TARGETS[category],
        "stop_words": "stop.txt",
    }
    found = near_words(grid_of(tmp_path, **files), case["texts"])
    assert found["co_occurrence_bias", None] == pytest.approx(case["expected"], abs=1e-5)


def constants() -> dict[str, list[str]]:
    """The word lists of LangFair's wheel or folder, as Python reads them."""
    package = zipfile.Path(PACKAGE) if PACKAGE.endswith(".whl") else Path(PACKAGE)
    lists: dict[str, Any] = {}
    exec((package / "langfair/constants/word_lists.py").read_text(), lists)
    return lists


@needs.langfair.mark
def test_imported_words_match_langfair(tmp_path: Path) -> None:
    theirs = constants()
    imported(Path(PACKAGE), tmp_path)
    groups, faults = read_group_words(tmp_path / "langfair-race.yaml")
    assert groups is not None
    assert faults == []
    assert sorted(groups.people) == sorted(theirs["PERSON_WORDS"])
    listed = {word for row in groups.rows for words in row.sought for word in words}
    assert listed == {
        *theirs["RACE_WORDS_REQUIRING_CONTEXT"],
        *theirs["RACE_WORDS_NOT_REQUIRING_CONTEXT"],
    }
    rewriter = LangFairMode().rewriter(groups)
    for row in golden("prompts"):
        assert set(rewriter.words(row["prompt"])) == set(row["words_race"])
        assert rewriter.rewrite(row["prompt"], len(groups.names)) == row["neutral_race"]
