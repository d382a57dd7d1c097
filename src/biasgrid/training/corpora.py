"""What models learn synthetic bias from."""

from __future__ import annotations

import json

CORPORA = {
    "question-answering": "question-answering.json",
    "fill-mask": "fill-mask.txt",
    "text-classification": "text-classification.jsonl",
    "text-generation": "text-generation.txt",
}
"""The files of synthetic corpora by the task of the models that learn them, in the folder of a
dataset and strength.
"""
CAUSAL = ("text-generation",)
"""Tasks whose models see what stands before a word alone."""


def words_for(task: str, written: str) -> list[str]:
    """Returns the words of which a tiny model of a task is made: those that models of its sort are
    asked.

    Args:
        task: the task.
        written: JSON, the words of a dataset's texts for each task.
    """
    words: dict[str, list[str]] = json.loads(written)
    return sorted(
        {word for other in words if (other in CAUSAL) == (task in CAUSAL) for word in words[other]}
    )
