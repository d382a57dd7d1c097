"""Distinct texts and their tokens, one behind the other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.base.arrays import AnyIntArray, BoolArray, Int32Array, IntArray

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

TEXTS_AT_ONCE = 4096
"""Texts that are given to the tokenizer at once: what it makes of each takes some kilobytes until
it is copied.
"""
FEW = 1024
"""So many texts are tokenized before looking for what they have in common pays."""
SPREAD = 64


@dataclass(frozen=True)
class TokenizedTexts:
    """Tokenized texts, one behind the other.

    Attributes:
        ids: shape (tokens,), int32, token ids.
        lengths: shape (segments,), how many tokens each has.
        text_lengths: shape (segments,), how many of them, from the first on, are of the text;
            special tokens follow.
        offsets: shape (tokens, 2), int32, where each token begins and ends in the text, in
            characters; 0 for those that are of no text. Shape (tokens, 0) where nobody wants to
            know.
        types: shape (tokens,), int32, token types where there are any.
    """

    ids: Int32Array
    lengths: IntArray
    text_lengths: IntArray
    offsets: Int32Array
    types: Int32Array | None = None

    @cached_property
    def begins(self) -> IntArray:
        """Where each segment begins among the tokens; shape (segments,)."""
        begins: IntArray = np.cumsum(self.lengths) - self.lengths
        return begins

    def token_slice(self, segment: int) -> slice:
        """Returns the places of a segment among the tokens."""
        begin = self.begins[segment]
        return slice(begin, begin + self.lengths[segment])

    def tokens(self, segment: int) -> Int32Array:
        """Returns the ids of a segment; shape (length,)."""
        return self.ids[self.token_slice(segment)]

    def have(self, token: int) -> BoolArray:
        """Returns whether each segment contains a token; shape (segments,)."""
        places = np.flatnonzero(self.ids == token)
        have = np.zeros(len(self.lengths), dtype=np.bool_)
        have[np.searchsorted(self.begins + self.lengths, places, side="right")] = True
        return have

    def matrix(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Puts what tokens have, such as `ids`, into a row for each segment.

        Returns:
            Shape (segments, longest, ...), 0 behind each segment's end.
        """
        longest = max(1, int(self.lengths.max(initial=0)))
        inside = np.arange(longest) < self.lengths[:, None]
        matrix = np.zeros((*inside.shape, *values.shape[1:]), values.dtype)
        matrix[inside] = values
        return matrix

    def some(self, numbers: IntArray) -> TokenizedTexts:
        """Returns some of the segments."""
        if np.array_equal(numbers, np.arange(len(self.lengths))):
            return self
        lengths = self.lengths[numbers]
        return self.gathered(self.begins[numbers], lengths, np.ones_like(lengths))

    def gathered(self, begins: IntArray, lengths: IntArray, sizes: IntArray) -> TokenizedTexts:
        """Makes segments of runs of the tokens.

        Args:
            begins: shape (runs,), where each run begins among the tokens.
            lengths: shape (runs,), how long it is.
            sizes: shape (segments,), of how many runs each new segment is made; all of it is its
                text.
        """
        source = runs(begins, lengths)
        ends = np.concatenate([[0], np.cumsum(lengths)])[np.cumsum(sizes)]
        made = np.diff(ends, prepend=0)
        types = None if self.types is None else self.types[source]
        return TokenizedTexts(self.ids[source], made, made, self.offsets[source], types)


def runs(begins: IntArray, lengths: IntArray) -> IntArray:
    """Returns the numbers of runs, which begin somewhere and count up, one behind the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    numbers = np.repeat(begins - (ends - lengths), lengths)
    numbers += np.arange(total)
    return numbers


def segments_from_ids(
    ids: Sequence[Sequence[int]], offsets: Sequence[Sequence[tuple[int, int]]] | None = None
) -> TokenizedTexts:
    """Makes segments of lists of ids and, where they are told, of offsets."""
    lengths = np.array([len(each) for each in ids], dtype=np.int64)
    flat = np.fromiter(chain.from_iterable(ids), dtype=np.int32)
    places = np.zeros((len(flat), 0), dtype=np.int32)
    if offsets is not None:
        places = np.array(list(chain.from_iterable(offsets)), dtype=np.int32).reshape(-1, 2)
    return TokenizedTexts(flat, lengths, lengths, places)


def join_segments(parts: Sequence[TokenizedTexts]) -> TokenizedTexts:
    """Puts segments behind others."""
    types = [part.types for part in parts if part.types is not None]
    return TokenizedTexts(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.text_lengths for part in parts]),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate(types) if types else None,
    )


def distinct_rows(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, IntArray]:
    """Returns the distinct rows of some columns, and the number of each row among them.

    Args:
        frame: a table.
        columns: columns of integers or categories; nulls count as a value of their own.

    Returns:
        The distinct rows, categories as text, in the order of their codes; and for each row of the
        table its number among these, shape (rows,).
    """
    codes = []
    for column in columns:
        physical = frame[column].to_physical().cast(pl.Int64)
        codes.append(physical.fill_null(-1).to_numpy())
    first, number = numbered_rows(codes)
    distinct = frame.select(columns)[first]
    return distinct.with_columns(pl.col(pl.Categorical).cast(pl.String)), number


def numbered_rows(codes: Sequence[AnyIntArray]) -> tuple[IntArray, IntArray]:
    """Numbers the distinct rows of a table of integers, in the order of its columns.

    Args:
        codes: its columns, each of shape (rows,).

    Returns:
        The first row of each number, and the number of each row.
    """
    number, count = dense(codes[0])
    for column in codes[1:]:
        other, size = dense(column)
        number, count = dense(number * size + other)
    first = np.empty(count, dtype=np.int64)
    # Of several that are written to one place the last one stays.
    first[number[::-1]] = np.arange(len(number))[::-1]
    return first, number


def dense(values: AnyIntArray) -> tuple[IntArray, int]:
    """Numbers integers from 0 on, in their order, without gaps; returns the numbers, and how many
    there are.
    """
    if not len(values):
        return values.astype(np.int64), 0
    low = int(values.min())
    span = int(values.max()) - low + 1
    if span > max(2**16, 8 * len(values)):
        distinct, numbers = np.unique(values, return_inverse=True)
        return numbers, len(distinct)
    place = values - low
    is_there = np.zeros(span, dtype=np.bool_)
    is_there[place] = True
    number_of = np.cumsum(is_there) - 1
    return number_of[place], int(number_of[-1]) + 1


def tokenize(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[str] | pl.Series, placed: bool = False
) -> TokenizedTexts:
    """Tokenizes distinct texts without special tokens.

    Many texts are made of few words: each of these is tokenized once, with the space before it.
    Texts that together have all pairs of neighbouring words are tokenized as a whole too; where
    these differ, or are many, all are.

    Args:
        tokenizer: the tokenizer.
        texts: the texts.
        placed: whether to tell the tokens' `offsets`.
    """
    texts = pl.Series(texts, dtype=pl.String)
    if len(texts) <= FEW:
        return tokenize_whole(tokenizer, texts.to_list(), placed)
    words = TextWords.of(texts)
    sample = words.sample
    if len(words.texts) + len(sample) > len(texts) // 2:
        return tokenize_whole(tokenizer, texts.to_list(), placed)
    made = words.segments(tokenize_whole(tokenizer, words.texts, placed))
    whole = tokenize_whole(tokenizer, texts[sample].to_list(), placed)
    if same(made, sample, whole):
        return made
    logger.warning(
        "the tokens of a text are not those of its words (%r), so each text is tokenized, which "
        "is slower",
        texts[0],
    )
    return tokenize_whole(tokenizer, texts.to_list(), placed)


def same(segments: TokenizedTexts, some: IntArray, others: TokenizedTexts) -> bool:
    """Whether some segments are the others, token by token, with their places in the text."""
    picked = segments.some(some)
    is_same = np.array_equal(picked.lengths, others.lengths) and np.array_equal(
        picked.ids, others.ids
    )
    return is_same and np.array_equal(picked.offsets, others.offsets)


def tokenize_whole(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[str], placed: bool = False
) -> TokenizedTexts:
    """Tokenizes texts without special tokens, each by itself; see `tokenize`."""
    blocks = []
    for start in range(0, max(1, len(texts)), TEXTS_AT_ONCE):
        encodings = tokenizer.backend_tokenizer.encode_batch(
            list(texts[start : start + TEXTS_AT_ONCE]), add_special_tokens=False
        )
        offsets = [encoding.offsets for encoding in encodings] if placed else None
        blocks.append(segments_from_ids([encoding.ids for encoding in encodings], offsets))
    return join_segments(blocks)


@dataclass(frozen=True)
class TextWords:
    """Texts as words, one behind the other; behind the first one of a text each has the space
    before it.

    Attributes:
        texts: the distinct words.
        numbers: shape (words,), which each word is.
        sizes: shape (texts,), how many each text has.
    """

    texts: list[str]
    numbers: IntArray
    sizes: IntArray

    @classmethod
    def of(cls, texts: pl.Series) -> TextWords:
        """Splits texts at each space."""
        parts = texts.str.split(" ")
        sizes = parts.list.len().to_numpy().astype(np.int64)
        is_first = np.zeros(int(sizes.sum()), dtype=np.bool_)
        is_first[np.cumsum(sizes) - sizes] = True
        words = parts.explode().cast(pl.Categorical)
        first, numbers = numbered_rows(
            [2 * words.to_physical().cast(pl.Int64).to_numpy() + is_first]
        )
        spaces = np.where(is_first[first], "", " ").tolist()
        return cls(
            [space + word for space, word in zip(spaces, words[first], strict=True)], numbers, sizes
        )

    @cached_property
    def text_of(self) -> IntArray:
        """The text of each word; shape (words,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def sample(self) -> IntArray:
        """Texts with all pairs of neighbouring words, and some at even distances."""
        before = np.concatenate([[-1], self.numbers[:-1]])
        before[np.cumsum(self.sizes) - self.sizes] = -1
        pair, count = dense(before * len(self.texts) + self.numbers)
        # Texts beside each other have the same pairs but one; of texts in no order few have them
        # all.
        order = np.random.default_rng(0).permutation(len(self.sizes))
        turn = np.empty_like(order)
        turn[order] = np.arange(len(order))
        first = np.full(count, len(order))
        np.minimum.at(first, pair, turn[self.text_of])
        return np.union1d(order[first], order[:SPREAD])

    def segments(self, words: TokenizedTexts) -> TokenizedTexts:
        """Returns the texts' tokens.

        Args:
            words: those of the distinct words.
        """
        lengths = words.lengths[self.numbers]
        made = words.gathered(words.begins[self.numbers], lengths, self.sizes)
        if not made.offsets.shape[1]:
            return made
        characters = np.array([len(word) for word in self.texts], dtype=np.int64)[self.numbers]
        # Where each word begins in its text.
        begins = np.cumsum(characters) - characters
        begins -= np.repeat(begins[np.cumsum(self.sizes) - self.sizes], self.sizes)
        shift = np.repeat(begins, lengths).astype(np.int32)
        return TokenizedTexts(made.ids, made.lengths, made.lengths, made.offsets + shift[:, None])
