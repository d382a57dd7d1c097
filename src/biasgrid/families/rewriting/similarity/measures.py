"""How like two texts are: each distinct text is split once, each distinct pair compared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.rewriting.similarity.bleu import bleu
from biasgrid.families.rewriting.similarity.pairs import jaccards, prags, serps
from biasgrid.families.rewriting.similarity.rouge import rouge_l, rouge_lsum

PAIRS_AT_ONCE = 2**14
"""How many pairs of vectors are multiplied together."""
Compare = Callable[[Sequence[str], IntArray], FloatArray]
"""Given distinct texts and pairs of their places, shape (pairs, 2), returns how like they are, shape (pairs,)."""


def cosine_of(vectors: pl.DataFrame) -> Compare:
    """Returns what compares texts by the cosine of their vectors, from -1 to 1.

    Args:
        vectors: `text` and `vector`, of length 1.
    """
    place = {text: number for number, text in enumerate(vectors["text"])}
    matrix = vectors["vector"].list.to_array(len(vectors["vector"][0])).to_numpy() if len(vectors) else np.zeros((0, 1))

    def compare(texts: Sequence[str], pairs: IntArray) -> FloatArray:
        rows = np.array([place[text] for text in texts], dtype=np.int64)[pairs]
        parts = (rows[start : start + PAIRS_AT_ONCE] for start in range(0, len(rows), PAIRS_AT_ONCE))
        found = [np.einsum("ij,ij->i", matrix[part[:, 0]], matrix[part[:, 1]], dtype=np.float64) for part in parts]
        return np.concatenate([np.zeros(0), *found])

    return compare


SIMILARITIES: Mapping[str, Compare] = {"rouge-l": rouge_l, "rouge-lsum": rouge_lsum, "bleu": bleu}
"""By name; 1 where the texts are the same, 0 where they have nothing in common."""
OF_LISTS: Mapping[str, Compare] = {"jaccard": jaccards, "serp": serps, "prag": prags}
"""Those of the lists in texts, NaN where there are none."""
