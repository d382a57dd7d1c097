"""How like two texts are: each distinct text is split once, each distinct pair compared once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from biasgrid.arrays import FloatArray, IntArray
from biasgrid.families.rewriting.similarity.bleu import bleu
from biasgrid.families.rewriting.similarity.lists import jaccards, prags, serps
from biasgrid.families.rewriting.similarity.rouge import rouge_l, rouge_lsum

Compare = Callable[[Sequence[str], IntArray], FloatArray]
"""Given distinct texts and pairs of their places, shape (pairs, 2), returns how like they are, shape (pairs,)."""

SIMILARITIES: Mapping[str, Compare] = {"rouge-l": rouge_l, "rouge-lsum": rouge_lsum, "bleu": bleu}
"""By name; 1 where the texts are the same, 0 where they have nothing in common."""
OF_LISTS: Mapping[str, Compare] = {"jaccard": jaccards, "serp": serps, "prag": prags}
"""Those of the lists in texts, NaN where there are none."""
