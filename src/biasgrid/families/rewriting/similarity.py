"""Similarities of two texts, or of lists in them: ROUGE, BLEU, cosine, Jaccard, SERP and PRAG.

Each distinct text is split once, and each distinct pair is compared once. Similarities of lists,
such as recommendations, are those of FaiRLLM (Zhang et al., RecSys 2023), each divided by its value
for equal lists, so that 1 means the same. K is the length of the longer list.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, combinations
from math import exp, fsum, log

import numpy as np
import polars as pl
from rapidfuzz.distance import LCSseq

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.families.tokens import stems, tokenize_words

LIST_ENTRY = re.compile(r"^\s*(?:\d{1,3}[.):]|[-*•+])\s+(.*\S)\s*$")
AFTER_NAME = re.compile(r"\s+[-–—]\s+|:\s|\s+\(")  # noqa: RUF001
"""Separates a name from the remark behind it."""
LIST_MARKS = re.compile(r"[^\w\s]|_")


def listed_names(answer: str) -> list[str]:
    """Returns the names in a list: lines that begin with a number, a dash, a star or a dot.

    The name is the part of a line before ` - `, `: ` or ` (`, in lower case, without marks and
    superfluous white space. Each name is returned once, in the order of the lines.
    """
    names: dict[str, None] = {}
    for line in answer.splitlines():
        entry = LIST_ENTRY.match(line)
        if entry is None:
            continue
        name, *_ = AFTER_NAME.split(entry[1], maxsplit=1)
        plain = " ".join(LIST_MARKS.sub(" ", name).lower().split())
        if plain:
            names[plain] = None
    return list(names)


def jaccard(names: Sequence[str], other_names: Sequence[str]) -> float | None:
    """Returns the share of all names that are in both lists; None for empty lists."""
    all_names = {*names, *other_names}
    return len({*names} & {*other_names}) / len(all_names) if all_names else None


def serp(names: Sequence[str], other_names: Sequence[str]) -> float | None:
    """Returns SERP: shared names, weighted by their ranks in the first list; None for empty lists.

    Sum over shared names of (K - rank + 1), rank from 1 in the first list, by K (K + 1) / 2.
    """
    longer = max(len(names), len(other_names))
    if not longer:
        return None
    shared_names = {*other_names}
    weights = sum(longer - place for place, name in enumerate(names) if name in shared_names)
    return weights / (longer * (longer + 1) / 2)


def prag(names: Sequence[str], other_names: Sequence[str]) -> float | None:
    """Returns PRAG: the share of pairs of names that keep their order; None for empty lists.

    It is the number of pairs of names of the first list whose earlier name is in the second list,
    where the later one is behind it or missing, by K (K - 1) / 2. Two lists of one name each have 1
    if the names are the same, else 0.
    """
    longer = max(len(names), len(other_names))
    if not longer:
        return None
    if longer == 1:
        return float(list(names) == list(other_names))
    rank = {name: place for place, name in enumerate(other_names)}
    kept_pairs = 0
    for earlier, later in combinations(names, 2):
        if earlier in rank and rank[earlier] < rank.get(later, longer):
            kept_pairs += 1
    return kept_pairs / (longer * (longer - 1) / 2)


def compare_distinct_pairs(pairs: IntArray, compare: Callable[[int, int], float]) -> FloatArray:
    """Returns the similarity of each pair of texts; each distinct pair is compared once.

    Args:
        pairs: shape (pairs, 2), places of texts.
        compare: returns the similarity of the texts at two places.

    Returns:
        Shape (pairs,).
    """
    # Short answers repeat, and a comparison takes long.
    distinct, place = np.unique(pairs, axis=0, return_inverse=True)
    values = [compare(first, second) for first, second in distinct.tolist()]
    return np.array(values, dtype=np.float64)[place.reshape(-1)]


def compare_lists(
    compare_names: Callable[[Sequence[str], Sequence[str]], float | None],
    texts: Sequence[str],
    pairs: IntArray,
) -> FloatArray:
    """Returns the similarity of the lists in two texts, shape (pairs,); NaN if one has no list.

    Args:
        compare_names: a similarity of lists.
        texts: distinct texts.
        pairs: shape (pairs, 2), places of texts.
    """
    lists = [listed_names(text) for text in texts]

    def compare(place: int, other_place: int) -> float:
        if not lists[place] or not lists[other_place]:
            return np.nan
        value = compare_names(lists[place], lists[other_place])
        return np.nan if value is None else value

    return compare_distinct_pairs(pairs, compare)


Stems = Sequence[str]


def rouge_l(texts: Sequence[str], pairs: IntArray) -> FloatArray:
    """Returns the F-measure of the longest common subsequence of stems; 0 for a text without any.

    Args:
        texts: distinct texts.
        pairs: shape (pairs, 2), places in them.

    Returns:
        Shape (pairs,).
    """
    split = [stems(text) for text in texts]

    def compare(place: int, other_place: int) -> float:
        hits = LCSseq.similarity(split[place], split[other_place])
        return f_measure(hits, len(split[place]), len(split[other_place]))

    return compare_distinct_pairs(pairs, compare)


def rouge_lsum(texts: Sequence[str], pairs: IntArray) -> FloatArray:
    """Returns the F-measure of texts line by line, so that the order of lines does not matter.

    Args:
        texts: distinct texts.
        pairs: shape (pairs, 2), places in them; the first one is the reference.

    Returns:
        Shape (pairs,).
    """
    lines_of_texts = []
    for text in texts:
        lines = filter(None, text.split("\n"))
        lines_of_texts.append([stems(line) for line in lines])

    def compare(place: int, other_place: int) -> float:
        return line_f_measure(lines_of_texts[place], lines_of_texts[other_place])

    return compare_distinct_pairs(pairs, compare)


def line_f_measure(reference: Sequence[Stems], candidate: Sequence[Stems]) -> float:
    """Returns the F-measure of lines; a line may share stems with any other line.

    A stem counts no more often than it occurs in either text.
    """
    reference_stems = Counter(chain.from_iterable(reference))
    candidate_stems = Counter(chain.from_iterable(candidate))
    sizes = reference_stems.total(), candidate_stems.total()
    hits = 0
    for line in reference:
        shared_places: set[int] = set()
        for second in candidate:
            shared_places.update(longest_common_subsequence(line, second))
        for place in sorted(shared_places):
            stem = line[place]
            if reference_stems[stem] > 0 and candidate_stems[stem] > 0:
                hits += 1
                reference_stems[stem] -= 1
                candidate_stems[stem] -= 1
    return f_measure(hits, *sizes)


def longest_common_subsequence(text: Stems, other_text: Stems) -> list[int]:
    """Returns the places in the first text of its longest common subsequence, the last ones first.

    Of several that are equally long, it is the one that rouge-score finds: read from the end, if a
    step back in either text is as good, the step is in the first one. Rows of the table of lengths
    are numbers whose bits are 0 where a length grows (Hyyrö, AWOCA 2004), so that a row takes a few
    operations.
    """
    size = len(other_text)
    bits: dict[str, int] = {}
    for place, stem in enumerate(other_text):
        bits[stem] = bits.get(stem, 0) | 1 << place
    all_bits = (1 << size) - 1
    rows = [all_bits]
    for stem in text:
        row = rows[-1]
        matches = row & bits.get(stem, 0)
        rows.append(((row + matches) | (row - matches)) & all_bits)
    places, i, j = [], len(text), size
    while i > 0 and j > 0:
        if text[i - 1] == other_text[j - 1]:
            i, j = i - 1, j - 1
            places.append(i)
        elif subsequence_length(rows[i], j - 1) > subsequence_length(rows[i - 1], j):
            j -= 1
        else:
            i -= 1
    return places


def subsequence_length(row: int, size: int) -> int:
    """Returns the length in a row of the table after the first `size` stems of the second text."""
    return size - (row & ((1 << size) - 1)).bit_count()


def f_measure(hits: int, size: int, other_size: int) -> float:
    """Returns the harmonic mean of the shares of hits in two texts, 0 without hits."""
    if not hits:
        return 0.0
    precision, recall = hits / other_size, hits / size
    return 2 * precision * recall / (precision + recall)


LONGEST_NGRAM = 4
"""The number of words of the longest n-grams."""
SMOOTHING = 0.1
"""The count of shared n-grams if there are none (Chen and Cherry, WMT 2014, method 1)."""
NGRAMS_KEPT = 1024
"""The number of texts that are kept with their n-grams, which take a hundred times the memory of
their words.
"""
NGrams = Sequence[frozenset[tuple[object, ...]]]


def bleu(texts: Sequence[str], pairs: IntArray) -> FloatArray:
    """Returns the smaller BLEU of both texts of a pair, each against the other.

    Args:
        texts: distinct texts.
        pairs: shape (pairs, 2), places in them.

    Returns:
        Shape (pairs,).
    """
    split = [tokenize_words(text.lower()) for text in texts]

    @lru_cache(maxsize=NGRAMS_KEPT)
    def text_ngrams(place: int) -> NGrams:
        sizes = range(1, LONGEST_NGRAM + 1)
        return [frozenset(number_ngrams(split[place], size)) for size in sizes]

    def compare(place: int, other_place: int) -> float:
        # The shared n-grams are the same in both directions.
        ngram_pairs = zip(text_ngrams(place), text_ngrams(other_place), strict=True)
        shared_counts = [len(grams & other_grams) for grams, other_grams in ngram_pairs]
        size, other_size = len(split[place]), len(split[other_place])
        return min(
            directed_bleu(shared_counts, size, other_size),
            directed_bleu(shared_counts, other_size, size),
        )

    return compare_distinct_pairs(pairs, compare)


def number_ngrams(split: Sequence[str], size: int) -> Iterator[tuple[object, ...]]:
    """Yields n-grams, each with the number of its earlier occurrences.

    The intersection of two sets of them has clipped counts: an n-gram counts as often as in the
    text that has it less often.
    """
    occurrences: dict[tuple[str, ...], int] = {}
    for gram in zip(*(split[start:] for start in range(size)), strict=False):
        count = occurrences.get(gram, 0)
        occurrences[gram] = count + 1
        yield (*gram, count)


def directed_bleu(shared_counts: Sequence[int], hypothesis: int, reference: int) -> float:
    """Returns the BLEU of a hypothesis.

    Args:
        shared_counts: the number of n-grams that it shares with the reference, for each length.
        hypothesis: its number of words.
        reference: the number of words of the reference.
    """
    if not shared_counts[0]:
        return 0.0
    logs = []
    for size, hits in enumerate(shared_counts, start=1):
        grams = max(1, hypothesis - size + 1)
        logs.append(log((hits or SMOOTHING) / grams) / LONGEST_NGRAM)
    brevity = 1.0 if hypothesis > reference else exp(1 - reference / hypothesis)
    return brevity * exp(fsum(logs))


PAIRS_AT_ONCE = 2**14
"""The number of pairs of vectors that are multiplied together."""
Similarity = Callable[[Sequence[str], IntArray], FloatArray]
"""Given distinct texts and pairs of their places, shape (pairs, 2), returns the similarities of the
pairs, shape (pairs,).
"""


def cosine_similarity(vectors: pl.DataFrame) -> Similarity:
    """Returns a similarity of texts: the cosine of their vectors, from -1 to 1.

    Args:
        vectors: `text` and `vector`, of length 1.
    """
    place = {text: number for number, text in enumerate(vectors["text"])}
    matrix = np.zeros((0, 1))
    if len(vectors):
        width = len(vectors["vector"][0])
        matrix = vectors["vector"].list.to_array(width).to_numpy()

    def compare(texts: Sequence[str], pairs: IntArray) -> FloatArray:
        rows = np.array([place[text] for text in texts], dtype=np.int64)[pairs]
        cosines = [np.zeros(0)]
        # Part by part: both vectors of all pairs take too much memory.
        for start in range(0, len(rows), PAIRS_AT_ONCE):
            part = rows[start : start + PAIRS_AT_ONCE]
            first_vectors, second_vectors = matrix[part[:, 0]], matrix[part[:, 1]]
            cosines.append(np.einsum("ij,ij->i", first_vectors, second_vectors, dtype=np.float64))
        return np.concatenate(cosines)

    return compare


SIMILARITIES: Mapping[str, Similarity] = {
    "rouge-l": rouge_l,
    "rouge-lsum": rouge_lsum,
    "bleu": bleu,
}
"""Similarities of texts by name: 1 for equal texts, 0 for texts that have nothing in common."""
LIST_SIMILARITIES: Mapping[str, Similarity] = {
    "jaccard": partial(compare_lists, jaccard),
    "serp": partial(compare_lists, serp),
    "prag": partial(compare_lists, prag),
}
"""Similarities of the lists in texts by name, NaN for a text without a list."""
