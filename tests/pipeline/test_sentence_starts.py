"""Pairs whose sign depends on what comes before the sentences, from files and a tiny model to the
flag.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from pipeline import Pipeline
from sentences import PlainCausal
from small_pairs import write_table
from tiny_writers import add_nothing, save_writer

import biasgrid

NAMES = ["A cook", "The old man", "Zoë", "Nobody", "Wales", "The sea"]
DEEDS = ["lies", "sat by the sea", "was asked", "can tell"]
CANDIDATES = [
    (f"{one} {deed}.", f"{other} {deed}.")
    for deed in DEEDS
    for one in NAMES
    for other in NAMES
    if one != other
]
PAIRS, CHANGED = 100, 11
"""How many pairs are asked, and in how many of them the sign changes."""
DATASET = {"family": "pairs", "layout": "plain", "files": ["pairs.csv"]}
Cells = Callable[[bool], Pipeline]


def chosen_pairs(checkpoint: Path) -> list[tuple[str, str]]:
    """Pairs of which so many change as `CHANGED` says, if the tokenizer of a checkpoint adds
    nothing.
    """
    plain = PlainCausal(checkpoint)
    texts = sorted({text for pair in CANDIDATES for text in pair})
    usual = {text: plain.score("sum", text, None) for text in texts}
    without = {text: plain.score_without_start(text) or 0.0 for text in texts}
    changes = [
        (usual[one] > usual[other]) != (without[one] > without[other]) for one, other in CANDIDATES
    ]
    changed, same = (
        [pair for pair, change in zip(CANDIDATES, changes, strict=True) if change is wanted]
        for wanted in (True, False)
    )
    return [*changed[:CHANGED], *same[: PAIRS - CHANGED]]


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """Gives the cell of a model whose tokenizer adds a token before a text, or none."""

    @cache
    def make(adds: bool) -> Pipeline:
        folder = tmp_path_factory.mktemp("starts")
        checkpoint = save_writer(folder / "writer")
        if not adds:
            add_nothing(checkpoint)
        others = {"direction": "", "type": "people"}
        pairs = CANDIDATES if adds else chosen_pairs(checkpoint)
        rows = [
            {"more": more, "less": less, "cluster": str(at)} | others
            for at, (more, less) in enumerate(pairs)
        ]
        write_table(folder / "pairs.csv", rows)
        return Pipeline(folder, {"task": "text-generation", "folder": str(checkpoint)}, DATASET)

    return make


def test_pairs_are_counted_whose_sign_changes_without_the_start(cell: Cells) -> None:
    ours = cell(False)
    row = ours.row("start_dependent")
    assert (row["value"], row["n"]) == (CHANGED / PAIRS, PAIRS)
    assert "in 11% of 100 pairs the other sentence scores higher" in row["flag"]
    assert ours.row("stereotype_share", bias_type="people")["value"] is not None
    summary = biasgrid.open(ours.config["results"]).summary()
    assert row["flag"] in summary["flag"].to_list()
    assert row["flag"] in ours.page.text


def test_a_tokenizer_that_adds_the_start_itself_leaves_no_doubt(cell: Cells) -> None:
    row = cell(True).row("start_dependent")
    assert (row["value"], row["n"], row["flag"]) == (0, len(CANDIDATES), None)
