"""The precision of causal language models and what else is found out about them, once for each."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import torch
from sentences import PAIRS, instances_of
from shards import Cell, asked
from tiny_writers import save_writer

from biasgrid.inference.engine.settings import ModelSettings
from biasgrid.inference.models.generation import shortcuts
from biasgrid.inference.models.generation.capabilities import PROBE
from biasgrid.inference.models.generation.section import Generation
from biasgrid.inference.models.prerequisites import find_or_keep, write_capabilities
from biasgrid.tables.files import read_provenance

pytestmark = pytest.mark.slow

Published = Callable[..., Cell]
TASK = "text-generation"
QUESTIONS = asked(
    [
        {"text": f"{who} sat by {whom}. Who lied?", "candidates": ["Ann", "nobody", "Yes"]}
        for who in ("Ann", "Carl", "The old man", "A cook")
        for whom in ("Bo", "the river", "the sea")
    ]
)
SENTENCES = instances_of((text, None, None) for pair in PAIRS for text in pair)
ANSWERS: dict[str, tuple[pl.DataFrame, dict[str, Any]]] = {
    "choice": (QUESTIONS, {}),
    "text": (QUESTIONS, {"generation": Generation(max_tokens=4).model_dump()}),
    "likelihood": (SENTENCES, {"scoring": "sum"}),
}
"""What is asked for each kind of answers, and how."""


@pytest.fixture
def published(tmp_path: Path) -> Published:
    """Gives a cell of a tiny model that is published in a type of numbers."""

    def make(dtype: torch.dtype, instances: pl.DataFrame = QUESTIONS) -> Cell:
        checkpoint = save_writer(tmp_path / str(dtype), dtype=dtype)
        return Cell(tmp_path / "cell", TASK, instances, checkpoint)

    return make


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A list to which the name of each model is added whose shortcuts are tried."""
    names: list[str] = []
    find = shortcuts.find_shortcuts

    def find_and_note(model: Any, name: str) -> shortcuts.Shortcuts:
        names.append(name)
        return find(model, name)

    monkeypatch.setattr(shortcuts, "find_shortcuts", find_and_note)
    return names


def set_processor(monkeypatch: pytest.MonkeyPatch, *, multiplies: bool) -> None:
    """Makes this machine one that multiplies bfloat16, or one that does not."""
    monkeypatch.setattr(
        "biasgrid.inference.engine.hardware.multiplies_bfloat16", lambda _: multiplies
    )


def precision(cell: Cell) -> str:
    return str(read_provenance(cell.out)["precision"])


def cached_files() -> list[Path]:
    return sorted(Path(os.environ["BIASGRID_CACHE"]).rglob("*.json"))


def forget_cache() -> None:
    shutil.rmtree(os.environ["BIASGRID_CACHE"], ignore_errors=True)


def record_capabilities(cell: Cell, file: Path) -> None:
    """Does what rule capabilities does."""
    settings = ModelSettings(model="tiny", task=TASK, precision="auto", device="cpu")
    capabilities = find_or_keep(PROBE, cell.record, settings, ["choice"], file)
    write_capabilities(file, cell.folder / "model.json", capabilities)


@pytest.mark.parametrize(
    ("dtype", "multiplies", "expected"),
    [
        (torch.bfloat16, True, "bfloat16"),
        (torch.float16, True, "bfloat16"),
        (torch.bfloat16, False, "float32"),
        (torch.float32, True, "float32"),
    ],
)
def test_auto_depends_on_checkpoint_and_processor(
    published: Published,
    dtype: torch.dtype,
    multiplies: bool,
    expected: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_processor(monkeypatch, multiplies=multiplies)
    ours = published(dtype)
    ours.predict(precision="auto")
    assert precision(ours) == expected
    is_exact = ours.audit["largest_drift"] < 1e-5
    assert is_exact is (expected == "float32")


@pytest.mark.parametrize("answer", ANSWERS)
def test_all_kinds_of_answers_have_the_same_precision(
    published: Published, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_processor(monkeypatch, multiplies=True)
    instances, choices = ANSWERS[answer]
    ours = published(torch.bfloat16, instances)
    ours.predict(precision="auto", answer=answer, **choices)
    assert precision(ours) == "bfloat16"


def test_float32_is_asked_anew(published: Published, monkeypatch: pytest.MonkeyPatch) -> None:
    set_processor(monkeypatch, multiplies=True)
    ours = published(torch.bfloat16)
    half = ours.predict(precision="auto")
    exact = ours.predict(precision="float32")
    assert precision(ours) == "float32"
    assert ours.timing["found"] == 0
    assert ours.audit["largest_drift"] < 1e-5
    assert not exact["probabilities"].equals(half["probabilities"])


def test_what_is_recorded_holds_on_another_processor(
    published: Published,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    ours = published(torch.bfloat16)
    recorded, elsewhere = tmp_path / "recorded.json", tmp_path / "elsewhere.json"
    set_processor(monkeypatch, multiplies=True)
    record_capabilities(ours, recorded)
    ours.predict(1, 2, precision="auto", capabilities=recorded)
    assert precision(ours) == "bfloat16"
    assert "emulates" not in caplog.text
    # Another machine, with a cache of its own, goes on with the folder of results.
    forget_cache()
    set_processor(monkeypatch, multiplies=False)
    record_capabilities(ours, recorded)
    ours.predict(2, 2, precision="auto", capabilities=recorded)
    assert precision(ours) == "bfloat16"
    assert (
        "tiny: answered in bfloat16, which this processor only emulates; `precision: float32` "
        "would be faster here"
    ) in caplog.text
    # There, a new folder of results would have another precision.
    forget_cache()
    record_capabilities(ours, elsewhere)
    ours.predict(precision="auto", capabilities=elsewhere)
    assert precision(ours) == "float32"


def test_a_model_is_tried_once_in_each_precision(published: Published, searches: list[str]) -> None:
    ours = published(torch.bfloat16)
    for name in ("bfloat16", "bfloat16", "float32", "float32"):
        ours.predict_anew(precision=name)
    assert searches == ["tiny"] * 2
    assert len(cached_files()) == 2


@pytest.mark.parametrize(
    "damage", [b"", b"{", b"[]", b'"text"', b"{}", b"\xff\x00", b'{"precision": "bfloat16"}']
)
def test_a_damaged_or_foreign_cache_is_made_anew(
    published: Published, searches: list[str], damage: bytes
) -> None:
    ours = published(torch.float32)
    ours.predict()
    (file,) = cached_files()
    content = json.loads(file.read_text())
    file.write_bytes(damage)
    ours.predict_anew()
    assert json.loads(file.read_text()) == content
    ours.predict_anew()
    assert searches == ["tiny"] * 2


def test_a_cache_that_cannot_be_written_does_no_harm(
    published: Published, tmp_path: Path, searches: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = published(torch.float32)
    said = ours.predict()
    in_the_way = tmp_path / "file"
    in_the_way.touch()
    monkeypatch.setenv("BIASGRID_CACHE", str(in_the_way))
    assert ours.predict_anew().equals(said)
    assert searches == ["tiny"] * 2
    assert in_the_way.read_bytes() == b""
