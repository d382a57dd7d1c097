"""What a shard says that its model has read, against what the model was given.

Causal language models: `generation/test_input_counts.py`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from shards import Cell, asked, audited, hook_model, interrupt
from tiny_checkpoints import instances_for

Cells = Callable[..., Cell]
NAMES = ["Carl", "Zoë", "African-American", "Ann"]
QUESTIONS = [{"text": f"Is {number} a number?"} for number in range(10)]
LONG_WORDS = [
    {"text": f"The [MASK] man was {act}.", "candidates": ["cook", "African-American"]}
    for act in ("good", "a cook", "who lied")
]


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("biasgrid.inference.models.predict.ROWS_A_PART", 7)


def given_to_model(cell: Cell, monkeypatch: pytest.MonkeyPatch, **choices: Any) -> list[int]:
    """Predicts a shard; returns the number of tokens of each row that its model was given."""
    lengths: list[int] = []
    with monkeypatch.context() as patch:
        hook_model(patch, lambda ids: lengths.extend([ids.shape[1]] * ids.shape[0]))
        cell.predict(**choices)
    return lengths


def input_counts(cell: Cell) -> tuple[int | None, int | None]:
    return cell.timing["sequences"], cell.timing["tokens"]


@pytest.mark.parametrize("task", ["question-answering", "fill-mask"])
def test_rows_of_the_audit_do_not_count(
    cell: Cells, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = cell("bert", task)
    lengths = given_to_model(ours, monkeypatch)[audited(len(ours.instances)) :]
    assert input_counts(ours) == (len(lengths), sum(lengths))
    assert len(lengths) == len(ours.instances)


def test_each_input_of_a_word_of_several_tokens_counts(
    case_cell: Cells, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours = case_cell("bert", "fill-mask", LONG_WORDS)
    lengths = given_to_model(ours, monkeypatch, target_scoring="pll")
    # The audit has read all of them before, one by one.
    assert input_counts(ours) == (len(lengths) / 2, sum(lengths) / 2)
    assert len(lengths) / 2 > len(LONG_WORDS)


def test_killed_runs_count_once(cell: Cells, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = cell("bert", "question-answering")
    ours.predict()
    whole = input_counts(ours)
    interrupt(ours, 3, monkeypatch)
    ours.predict()
    assert input_counts(ours) == whole


def test_answers_of_finished_shards_do_not_count(cell: Cells) -> None:
    ours = cell("bert", "question-answering")
    ours.predict()
    more = ours.with_instances(instances_for("question-answering", names=NAMES))
    more.predict()
    assert input_counts(more)[0] == more.timing["rows"] - more.timing["found"] > 0
    ours.predict()
    assert input_counts(ours) == (None, None)


def test_a_model_that_reads_nothing_has_no_counts(tmp_path: Path) -> None:
    keys = {"random": {"seed": 1}}
    ours = Cell(tmp_path, "text-generation", asked(QUESTIONS), tmp_path, "random", keys)
    ours.predict(answer="text")
    assert input_counts(ours) == (None, None)
