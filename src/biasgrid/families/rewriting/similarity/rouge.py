"""ROUGE-L and ROUGE-Lsum (Lin, Text Summarization Branches Out 2004), with the numbers of the package rouge-score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.rewriting.formulas.tokens import stems
from biasgrid.families.rewriting.similarity.pairs import each_once

Stems = Sequence[str]


def rouge_l(texts: Sequence[str], pairs: IntArray) -> FloatArray:
    """Returns the F-measure of the longest common subsequence of stems; 0 where a text has none.

    Args:
        texts: distinct texts.
        pairs: shape (pairs, 2), places in them.

    Returns:
        Shape (pairs,).
    """
    split = [stems(text) for text in texts]

    def compare(one: int, other: int) -> float:
        return f_measure(LCSseq.similarity(split[one], split[other]), len(split[one]), len(split[other]))

    return each_once(pairs, compare)


def rouge_lsum(texts: Sequence[str], pairs: IntArray) -> FloatArray:
    """Returns the same of texts whose lines are compared each with each, so that their order does not matter.

    Args:
        texts: distinct texts.
        pairs: shape (pairs, 2), places in them; the first one is the reference.

    Returns:
        Shape (pairs,).
    """
    lines = [[stems(line) for line in text.split("\n") if line] for text in texts]
    return each_once(pairs, lambda one, other: of_lines(lines[one], lines[other]))


def of_lines(reference: Sequence[Stems], candidate: Sequence[Stems]) -> float:
    """Returns the F-measure of lines: what a line of the reference shares with any line of the candidate counts.

    A stem counts no more often than it stands in either text.
    """
    left_one, left_other = (Counter(stem for line in text for stem in line) for text in (reference, candidate))
    sizes, hits = (left_one.total(), left_other.total()), 0
    for line in reference:
        shared = sorted({place for other in candidate for place in common(line, other)})
        for stem in (line[place] for place in shared):
            if left_one[stem] > 0 and left_other[stem] > 0:
                hits += 1
                left_one[stem] -= 1
                left_other[stem] -= 1
    return f_measure(hits, *sizes)


def common(one: Stems, other: Stems) -> list[int]:
    """Returns the places in the first text of its longest common subsequence with another, the last ones first.

    Of several as long that one is taken which rouge-score finds: read from the end, where both go on equally well the
    first text goes back. Rows of the table of lengths are numbers whose bits are 0 where a length grows (Hyyrö, AWOCA
    2004), so that a row takes a few operations.
    """
    size = len(other)
    places: dict[str, int] = {}
    for place, stem in enumerate(other):
        places[stem] = places.get(stem, 0) | 1 << place
    whole = (1 << size) - 1
    rows = [whole]
    for stem in one:
        row = rows[-1]
        matched = row & places.get(stem, 0)
        rows.append(((row + matched) | (row - matched)) & whole)
    found, i, j = [], len(one), size
    while i > 0 and j > 0:
        if one[i - 1] == other[j - 1]:
            i, j = i - 1, j - 1
            found.append(i)
        elif length(rows[i], j - 1) > length(rows[i - 1], j):
            j -= 1
        else:
            i -= 1
    return found


def length(row: int, size: int) -> int:
    """Returns the length that a row of the table has behind so many stems."""
    return size - (row & ((1 << size) - 1)).bit_count()


def f_measure(hits: int, one: int, other: int) -> float:
    """Returns the harmonic mean of the shares of two texts that hits are, 0 where there are none."""
    if not hits:
        return 0.0
    precision, recall = hits / other, hits / one
    return 2 * precision * recall / (precision + recall)
