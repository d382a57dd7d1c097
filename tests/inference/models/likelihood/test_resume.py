"""Shards of sentences that are killed, do not fit into memory, or are asked again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from sentences import PAIRS, pairs_of, scored, scores_of
from shards import Cell, audited, count_rows, hook_model, interrupt, refuse_batches
from small_tables import check_alike
from tiny_writers import save_writer

from biasgrid.inference.scorings import CAUSAL, MASKED, SCORINGS

SENTENCES = [
    (f"{one} {name}", f"{two} {name}")
    for name in ("Ann", "Carl", "Zoë", "cook")
    for one, two in PAIRS
]
Cells = Callable[[str], Cell]


@pytest.fixture
def cell(tmp_path: Path, tiny_checkpoint: Callable[[str, str], Path]) -> Cells:
    """Gives a cell of 48 sentences and a tiny model that a formula is for."""

    def make(scoring: str) -> Cell:
        task, folder = SCORINGS[scoring].task, tmp_path / "writer"
        if task == CAUSAL and not folder.exists():
            save_writer(folder, "llama", None)
        checkpoint = folder if task == CAUSAL else tiny_checkpoint("bert", MASKED)
        return Cell(tmp_path / "cell", task, pairs_of(SENTENCES, scoring), checkpoint)

    return make


@pytest.fixture(autouse=True)
def three_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 16)


@pytest.mark.parametrize("scoring", ["cps", "aul", "sum", "mean"])
def test_an_interrupted_shard_goes_on_and_ends_the_same(
    cell: Cells, scoring: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ours, asked = cell(scoring), {"answer": "likelihood", "scoring": scoring}
    uninterrupted = ours.predict(**asked)
    interrupt(ours, 2, monkeypatch, **asked)
    with caplog.at_level("INFO"):
        resumed = ours.predict(**asked)
    assert "32 rows come from an earlier run" in caplog.text
    check_alike(resumed, uninterrupted)
    assert not ours.parts


def test_only_what_is_not_answered_is_asked(cell: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    ours, asked = cell("aul"), {"answer": "likelihood", "scoring": "aul"}
    interrupt(ours, 2, monkeypatch, **asked)
    counts = count_rows(monkeypatch)
    ours.predict(**asked)
    assert sum(counts) == audited(48) + 16
    ours.predict(answer="likelihood", scoring="aula")
    assert sum(counts) == audited(48) + 16 + audited(48) + 48


@pytest.mark.parametrize("scoring", ["cps", "sss", "mean"])
def test_batches_that_do_not_fit_are_halved(
    cell: Cells, scoring: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = scores_of(scored(cell(scoring), scoring))
    hook_model(monkeypatch, refuse_batches)
    halved = scores_of(scored(cell(scoring), scoring))
    assert halved == pytest.approx(
        whole, abs=1.1e-3 if SCORINGS[scoring].decimals else 1e-5, nan_ok=True
    )


def test_shards_are_parts_of_the_whole(cell: Cells) -> None:
    ours, asked = cell("pll"), {"answer": "likelihood", "scoring": "pll"}
    whole, parts = ours.predict_anew(**asked), ours.predict_all(3, **asked)
    assert parts["instance"].to_list() == whole["instance"].to_list()
    assert parts["score"].to_list() == pytest.approx(whole["score"].to_list(), rel=1e-5)


def test_the_audit_compares_scores(cell: Cells) -> None:
    ours = cell("pll")
    scored(ours, "pll")
    assert ours.audit["rows"] == audited(48)
    assert 0 <= ours.audit["largest_drift"] < 1e-5
