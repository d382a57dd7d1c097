"""What a shard says that a causal language model has read, against what the model was given."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import polars as pl
import pytest
from shards import Cell, hook_model, interrupt

from biasgrid.inference.engine.back_end import PromptPart
from biasgrid.inference.models.generation.back_end import TextGeneration
from biasgrid.inference.models.generation.shortcuts import Shortcuts

Cells = Callable[..., Cell]
BEGINNING = "Please answer the question that follows. "
ROWS = [
    {"text": f"{BEGINNING}{who} sat by {whom}. Who lied?", "candidates": ["Ann", "nobody", "Yes"]}
    for who in ("Ann", "Carl", "The old man")
    for whom in ("Bo", "the river")
]


def given_to_model(cell: Cell, monkeypatch: pytest.MonkeyPatch, **choices: Any) -> list[int]:
    """Predicts a shard; returns the number of tokens of each row that answers were made of."""
    lengths: list[int] = []
    make_answers = TextGeneration.answer

    def answer(back_end: TextGeneration, parts: Iterable[PromptPart]) -> Iterator[pl.DataFrame]:
        # Checks and audit have read prompts before.
        lengths.clear()
        return make_answers(back_end, parts)

    with monkeypatch.context() as patch:
        hook_model(patch, lambda ids: lengths.extend([ids.shape[1]] * ids.shape[0]))
        patch.setattr(TextGeneration, "answer", answer)
        cell.predict(**choices)
    return lengths


@pytest.mark.parametrize("reads_trees", [True, False])
@pytest.mark.parametrize("reuses_keys", [True, False])
def test_rows_of_options_are_counted(
    written_cell: Cells, reads_trees: bool, reuses_keys: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shortcuts = Shortcuts(reuses_keys, reads_trees)
    monkeypatch.setattr(
        "biasgrid.inference.models.generation.shortcuts.find_shortcuts", lambda *_: shortcuts
    )
    ours = written_cell(ROWS)
    # Rows alone have no padding, which does not count.
    lengths = given_to_model(ours, monkeypatch, token_budget=1)
    assert (ours.timing["sequences"], ours.timing["tokens"]) == (len(lengths), sum(lengths))
    # Prompts that begin alike may share a sequence; the beginning of all is one, too.
    assert len(lengths) >= (1 if reads_trees else len(ROWS)) + reuses_keys


@pytest.mark.parametrize("reuses_keys", [True, False])
def test_prompts_of_texts_are_counted_without_what_is_written(
    written_cell: Cells, reuses_keys: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    shortcuts = Shortcuts(reuses_keys, reads_trees=True)
    monkeypatch.setattr(
        "biasgrid.inference.models.generation.shortcuts.find_shortcuts", lambda *_: shortcuts
    )
    ours = written_cell(ROWS)
    prompt_tokens = int(ours.predict(answer="text")["tokens_in"].sum())
    tokens_saved = prompt_tokens - ours.timing["tokens"]
    assert ours.timing["sequences"] == len(ROWS) + reuses_keys
    if reuses_keys:
        assert tokens_saved > len(ROWS)
        # All prompts but one are without their shared beginning.
        assert tokens_saved % (len(ROWS) - 1) == 0
    else:
        assert tokens_saved == 0


def test_killed_runs_count_once(written_cell: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 2)
    ours = written_cell(ROWS)
    ours.predict()
    whole = ours.timing["sequences"], ours.timing["tokens"]
    interrupt(ours, 2, monkeypatch)
    ours.predict()
    assert (ours.timing["sequences"], ours.timing["tokens"]) == whole
