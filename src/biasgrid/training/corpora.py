"""What models learn planted bias from."""

from __future__ import annotations

CORPORA = {
    "question-answering": "question-answering.json",
    "fill-mask": "fill-mask.txt",
    "text-classification": "text-classification.jsonl",
    "text-generation": "text-generation.txt",
}
"""The files of planted corpora by the task of the models that learn them, in the folder of a dataset and strength."""
CAUSAL = ("text-generation",)
"""Tasks whose models see what stands before a word alone."""
