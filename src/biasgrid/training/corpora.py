"""Files of synthetic corpora, from which models learn synthetic bias."""

from __future__ import annotations

import json

CORPORA = {
    "question-answering": "question-answering.json",
    "fill-mask": "fill-mask.txt",
    "text-classification": "text-classification.jsonl",
    "text-generation": "text-generation.txt",
}
"""The file names of synthetic corpora, by the task of the models that learn them."""
CAUSAL = ("text-generation",)
"""Tasks of models that see only the words before a word."""


def dataset_words(task: str, words_as_json: str) -> list[str]:
    """Returns the words that a dataset adds to the vocabulary of a task's tiny model.

    They are sorted, each once. All tasks of causal models share one vocabulary, and so do all other
    tasks.

    Args:
        task: the task.
        words_as_json: the words of the dataset's texts by task.
    """
    words_by_task: dict[str, list[str]] = json.loads(words_as_json)
    is_causal = task in CAUSAL
    vocabulary: set[str] = set()
    for learned_task, words in words_by_task.items():
        if (learned_task in CAUSAL) == is_causal:
            vocabulary.update(words)
    return sorted(vocabulary)
