"""Items of our own beside the datasets of configs: every text that is asked keeps the rules of
English.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from grammar import grammar_faults
from project import ROOT
from small_tables import whole

from biasgrid.families.rewriting.ask import expand
from biasgrid.families.rewriting.read import RewritingFiles, read

LISTS = ROOT / "word_lists"
KEYS = {"benchmarks": ("context", "question"), "decisions": ("filled_template",)}
"""The texts of an item, by folder."""
ITEMS = sorted(file for folder in KEYS for file in (LISTS / folder).glob("*.jsonl"))
PAIRS = sorted((LISTS / "benchmarks").glob("*.csv"))
UNFINISHED = "Finish this sentence: "
pytestmark = pytest.mark.family("the items are of several of them")


def faults_of(texts: Iterator[str]) -> dict[str, list[str]]:
    """What is wrong, by text; there must be texts."""
    found = {text: grammar_faults(text + "." * text.startswith(UNFINISHED)) for text in texts}
    assert found
    return {text: faults for text, faults in found.items() if faults}


@pytest.mark.parametrize("file", ITEMS, ids=lambda file: file.stem)
def test_items_are_grammatical(file: Path) -> None:
    items = [json.loads(line) for line in file.read_text().splitlines()]
    assert faults_of(item[key] for item in items for key in KEYS[file.parent.name]) == {}


@pytest.mark.parametrize("file", PAIRS, ids=lambda file: file.stem)
def test_pairs_are_grammatical(file: Path) -> None:
    with file.open() as lines:
        assert (
            faults_of(row[side] for row in csv.DictReader(lines) for side in ("more", "less")) == {}
        )


@pytest.mark.parametrize(
    ("prompts", "groups"),
    [("assess.txt", "gender.yaml"), ("placebo/assess.txt", "placebo/peoples.yaml")],
)
def test_prompts_are_grammatical_for_every_group(prompts: str, groups: str) -> None:
    """Also where `her` might have been taken for a possessive: `Give her three days` became `Give
    his three days`.
    """
    folder = LISTS / "rewriting"
    asking, faults = read(
        RewritingFiles(folder / prompts, "prompt", folder / groups, 1, None, None, "prompt", None)
    )
    assert asking is not None, [str(fault) for fault in faults]
    texts = whole(expand(asking))["text"].cast(pl.String).unique().to_list()
    assert len(texts) >= 50
    assert faults_of(iter(texts)) == {}
