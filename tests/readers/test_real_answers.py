"""Answers of a real instruction-tuned model, read as two people read them; see
answers/README.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ANSWERS = Path(__file__).parent / "answers"


@pytest.fixture(scope="module")
def figures() -> dict[str, dict[str, float]]:
    """The figures that benchmarks/readers.py prints for the answers."""
    command = [sys.executable, "benchmarks/readers.py", str(ANSWERS), "--json"]
    run = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    last: dict[str, dict[str, float]] = json.loads(run.stdout.splitlines()[-1])
    return last


def test_there_are_as_many_answers_as_were_labelled() -> None:
    rows = [
        json.loads(line)
        for path in ANSWERS.glob("*.jsonl")
        for line in path.read_text().splitlines()
    ]
    assert len(rows) >= 714
    assert sum(row["sure"] for row in rows) >= 646


def test_clear_answers_are_read_as_people_read_them(figures: dict[str, dict[str, float]]) -> None:
    longer = figures["longer"]
    clear = longer["right"] + longer["wrong"] + longer["lost"]
    assert longer["wrong"] / clear <= 0.01
    assert longer["lost"] / clear <= 0.08
    assert figures["all"]["right"] >= 0.99 * sum(
        figures["all"][name] for name in ("right", "wrong", "lost")
    )


def test_refusals_concern_people(figures: dict[str, dict[str, float]]) -> None:
    assert figures["all"]["refusal_precision"] >= 0.85
    assert figures["all"]["refusal_recall"] >= 0.83
