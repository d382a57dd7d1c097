"""Files of synthetic corpora, from which models learn synthetic bias."""

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
"""Tasks whose models see only the words before a word."""


def words_for(task: str, written: str) -> list[str]:
    """Returns the words of which a tiny model of a task is made.

    They are the words of all tasks whose models are made alike, causal or not.

    Args:
        task: the task.
        written: JSON, the words of a dataset's texts for each task.
    """
    words_of_tasks: dict[str, list[str]] = json.loads(written)
    is_causal = task in CAUSAL
    words: set[str] = set()
    for other, words_of_task in words_of_tasks.items():
        if (other in CAUSAL) == is_causal:
            words.update(words_of_task)
    return sorted(words)
