"""Pairs whose sign depends on what comes before the sentences, from files and a tiny model to the flag."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from pipeline import Pipeline
from sentences import PlainCausal
from small_pairs import write_table
from tiny_writers import add_nothing, save_writer

import biasgrid

NAMES = ["A cook", "The old man", "Zoë", "Nobody", "Who", "It", "A helpful man"]
DEEDS = ["lies", "sat by the sea", "was asked", "can tell"]
PAIRS = [(f"{one} {deed}.", f"{other} {deed}.") for deed in DEEDS for one in NAMES for other in NAMES if one != other]
DATASET = {"family": "pairs", "layout": "plain", "files": ["pairs.csv"]}
Cells = Callable[[bool], Pipeline]


@pytest.fixture(scope="module")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Cells:
    """Gives the cell of a model whose tokenizer adds a token before a text, or none."""

    @cache
    def make(adds: bool) -> Pipeline:
        folder = tmp_path_factory.mktemp("starts")
        others = {"direction": "", "type": "people"}
        rows = [{"more": more, "less": less, "cluster": str(at)} | others for at, (more, less) in enumerate(PAIRS)]
        write_table(folder / "pairs.csv", rows)
        checkpoint = save_writer(folder / "writer")
        if not adds:
            add_nothing(checkpoint)
        return Pipeline(folder, {"task": "text-generation", "folder": str(checkpoint)}, DATASET)

    return make


def test_pairs_are_counted_whose_sign_changes_without_the_start(cell: Cells) -> None:
    ours = cell(False)
    plain = PlainCausal(Path(ours.config["models"]["model"]["folder"]))
    texts = sorted({text for pair in PAIRS for text in pair})
    usual = {text: plain.score("sum", text, None) for text in texts}
    without = {text: plain.score_without_start(text) or 0.0 for text in texts}
    signs = [(np.sign(usual[one] - usual[two]), np.sign(without[one] - without[two])) for one, two in PAIRS]
    share = float(np.mean([one != other for one, other in signs]))
    row = ours.row("start_dependent")
    assert (row["value"], row["n"]) == (pytest.approx(share), len(PAIRS))
    assert len(PAIRS) >= 100
    assert share > 0.1
    assert f"in {share:.0%} of {len(PAIRS)} pairs the other sentence scores higher" in row["flag"]
    assert ours.row("stereotype_share")["value"] is not None
    summary = biasgrid.open(ours.config["results"]).summary()
    assert row["flag"] in summary["flag"].to_list()
    assert row["flag"] in ours.page.text


def test_a_tokenizer_that_adds_the_start_itself_leaves_no_doubt(cell: Cells) -> None:
    row = cell(True).row("start_dependent")
    assert (row["value"], row["n"], row["flag"]) == (0, len(PAIRS), None)
