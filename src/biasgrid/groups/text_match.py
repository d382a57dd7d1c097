"""How well an answer fits the right text (SQuAD; Rajpurkar et al., EMNLP 2016)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.groups.records import AnswerOutputs

ARTICLES = re.compile(r"\b(?:a|an|the)\b")
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """Returns a text in lower case, without ASCII punctuation, articles and superfluous white space."""
    return " ".join(ARTICLES.sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def exact_match(answer: str, gold: str) -> float:
    """Returns 1 where both texts are the same once normalized, else 0."""
    return float(normalize_answer(answer) == normalize_answer(gold))


def token_f1(answer: str, gold: str) -> float:
    """Returns the harmonic mean of the shares of words that are in the other text too, counted with repetitions.

    Where a text has no words the result is that of `exact_match`.
    """
    words, gold_words = normalize_answer(answer).split(), normalize_answer(gold).split()
    if not words or not gold_words:
        return float(words == gold_words)
    shared = (Counter(words) & Counter(gold_words)).total()
    return 2 * shared / (len(words) + len(gold_words))


def each_answer(score: Callable[[str, str], float], outputs: AnswerOutputs) -> FloatArray:
    """Scores all answers, each distinct pair of texts once.

    Returns:
        Shape (records,).
    """
    pairs = list(zip(outputs.answers, outputs.gold, strict=True))
    found = {pair: score(*pair) for pair in set(pairs)}
    return np.array([found[pair] for pair in pairs], dtype=np.float64)
