"""The demo's cells of which tests look at some alone."""

OF_EACH_KIND = [
    ("strong-qa", "gender"),
    ("strong-lm", "gender"),
    ("strong-sentiment", "sentiment"),
    ("strong-entailment", "entailment"),
    ("strong-llm", "statements"),
]
"""Cells of the demo: model and dataset."""
