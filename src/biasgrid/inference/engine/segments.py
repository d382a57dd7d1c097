"""Distinct texts and their tokens, in flat arrays: one text behind the other."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
"""Texts in one call of the tokenizer: its encoding of a text takes some kilobytes until copied."""
FEWEST_TEXTS = 1024
"""Up to so many texts, tokenizing them is faster than looking for the words that they share."""
SPREAD_TEXTS = 64
NO_TOKEN = -1
"""In arrays of token ids: there is no token."""


@dataclass(frozen=True)
class TokenizedTexts:
    """Segments of tokens, one behind the other; a segment is a text, perhaps with special tokens.

    Attributes:
        ids: shape (tokens,), int32, token ids.
        lengths: shape (segments,), the number of tokens in each segment.
        text_lengths: shape (segments,), the number of tokens of the text itself. Special tokens
            that follow it do not count. Where special tokens stand before a text, no caller reads
            this.
        offsets: shape (tokens, 2), int32, where each token begins and ends in its text, in
            characters; 0 for special tokens. Shape (tokens, 0) if offsets are not needed.
        types: shape (tokens,), int32, token types; None for a model without them.
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
        """Returns where the tokens of a segment are in `ids`, `offsets` and `types`."""
        begin = self.begins[segment]
        return slice(begin, begin + self.lengths[segment])

    def tokens(self, segment: int) -> Int32Array:
        """Returns the token ids of a segment; shape (length,)."""
        return self.ids[self.token_slice(segment)]

    def contains(self, token: int) -> BoolArray:
        """Returns whether each segment contains a token; shape (segments,)."""
        places = np.flatnonzero(self.ids == token)
        contains_token = np.zeros(len(self.lengths), dtype=np.bool_)
        contains_token[np.searchsorted(self.begins + self.lengths, places, side="right")] = True
        return contains_token

    def matrix(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Returns values of tokens with one row for each segment, padded with 0.

        Args:
            values: shape (tokens, ...), such as `ids` or `offsets`.

        Returns:
            Shape (segments, longest, ...); the longest segment counts as at least one token.
        """
        longest = max(1, int(self.lengths.max(initial=0)))
        inside = np.arange(longest) < self.lengths[:, None]
        matrix = np.zeros((*inside.shape, *values.shape[1:]), values.dtype)
        matrix[inside] = values
        return matrix

    def select(self, segments: IntArray) -> TokenizedTexts:
        """Returns segments by their places, in the order of `segments`."""
        lengths = self.lengths[segments]
        selected = self.gather_runs(self.begins[segments], lengths, np.ones_like(lengths))
        return replace(selected, text_lengths=self.text_lengths[segments])

    def gather_runs(self, begins: IntArray, lengths: IntArray, sizes: IntArray) -> TokenizedTexts:
        """Returns new segments, each put together from runs of tokens.

        Args:
            begins: shape (runs,), where each run begins among the tokens.
            lengths: shape (runs,), the number of tokens in each run.
            sizes: shape (new segments,), the number of runs in each new segment.

        Returns:
            The new segments. All of their tokens count as text: the caller corrects `text_lengths`
            if some are special.
        """
        source = expand_runs(begins, lengths)
        ends = np.concatenate([[0], np.cumsum(lengths)])[np.cumsum(sizes)]
        new_lengths = np.diff(ends, prepend=0)
        types = None if self.types is None else self.types[source]
        return TokenizedTexts(
            self.ids[source], new_lengths, new_lengths, self.offsets[source], types
        )


def expand_runs(begins: IntArray, lengths: IntArray) -> IntArray:
    """Returns all places in runs; for runs from 5 and 2 of lengths 2 and 1 they are 5, 6, 2.

    Args:
        begins: shape (runs,), the first place of each run.
        lengths: shape (runs,), the number of places in each run; may be 0.
    """
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    places = np.repeat(begins - (ends - lengths), lengths)
    places += np.arange(total)
    return places


def owner_begins(owner: AnyIntArray) -> IntArray:
    """Returns the first row of each owner; shape (owners,).

    Args:
        owner: shape (rows,). It begins with 0 and ascends without gaps: the rows
            of an owner are neighbours, and each owner has a row.

    Raises:
        ValueError: the rows have another order, or an owner has none. All later owners would get
            the rows of others.
    """
    steps = np.diff(owner, prepend=-1)
    is_in_order = len(owner) == 0 or (steps[0] == 1 and steps.min() >= 0 and steps.max() == 1)
    if not is_in_order:
        raise ValueError("rows are not in the order of their owners; expected one or more of each")
    return np.flatnonzero(steps)


def segments_from_ids(
    ids: Sequence[Sequence[int]], offsets: Sequence[Sequence[tuple[int, int]]] | None = None
) -> TokenizedTexts:
    """Returns segments without token types, all of whose tokens count as text.

    Args:
        ids: the token ids of each segment.
        offsets: where each token begins and ends in its text; None leaves the offsets out.
    """
    lengths = np.array(list(map(len, ids)), dtype=np.int64)
    flat_ids = np.fromiter(chain.from_iterable(ids), dtype=np.int32)
    flat_offsets = np.zeros((len(flat_ids), 0), dtype=np.int32)
    if offsets is not None:
        flat_offsets = np.array(list(chain.from_iterable(offsets)), dtype=np.int32).reshape(-1, 2)
    return TokenizedTexts(flat_ids, lengths, lengths, flat_offsets)


def join_segments(parts: Sequence[TokenizedTexts]) -> TokenizedTexts:
    """Returns the segments of all parts, one part behind the other.

    Args:
        parts: at least one, alike in whether they have offsets and types.

    Raises:
        ValueError: only some parts have token types, or only some have offsets.
    """
    types = [part.types for part in parts if part.types is not None]
    if types and len(types) < len(parts):
        raise ValueError("only some segments have token types; expected all or none")
    return TokenizedTexts(
        np.concatenate([part.ids for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.text_lengths for part in parts]),
        np.concatenate([part.offsets for part in parts]),
        np.concatenate(types) if types else None,
    )


def distinct_rows(frame: pl.DataFrame, columns: Sequence[str]) -> tuple[pl.DataFrame, IntArray]:
    """Returns the distinct rows of a table, and for each row its place among them.

    Args:
        frame: a table.
        columns: the columns to compare. They must be integers or categories; a string column
            raises an error. A null counts as a value of its own.

    Returns:
        The distinct rows of these columns, with categories as text, in the order of their codes;
        and an array of shape (rows,), the place of each row of `frame` among the distinct ones.
    """
    codes = []
    for column in columns:
        physical = frame[column].to_physical().cast(pl.Int64)
        codes.append(physical.fill_null(-1).to_numpy())
    examples, row_codes = numbered_rows(codes)
    distinct = frame.select(columns)[examples]
    return distinct.with_columns(pl.col(pl.Categorical).cast(pl.String)), row_codes


def numbered_rows(codes: Sequence[AnyIntArray]) -> tuple[IntArray, IntArray]:
    """Numbers the distinct rows of a table of integers from 0, in ascending order of the columns.

    Args:
        codes: the columns, each of shape (rows,); at least one.

    Returns:
        For each distinct row its first place in the table, shape (distinct rows,); and for each
        row its number, shape (rows,).
    """
    row_codes, code_count = dense_codes(codes[0])
    for column in codes[1:]:
        column_codes, size = dense_codes(column)
        row_codes, code_count = dense_codes(row_codes * size + column_codes)
    examples = np.empty(code_count, dtype=np.int64)
    # Numpy keeps the last value that is written to a place: in reverse order, the first row.
    examples[row_codes[::-1]] = np.arange(len(row_codes))[::-1]
    return examples, row_codes


def dense_codes(values: AnyIntArray) -> tuple[IntArray, int]:
    """Numbers distinct integers from 0, in ascending order and without gaps.

    Returns:
        The code of each value, shape (values,), and how many codes there are.
    """
    if not len(values):
        return values.astype(np.int64), 0
    low = int(values.min())
    span = int(values.max()) - low + 1
    if span > max(2**16, 8 * len(values)):
        distinct, codes = np.unique(values, return_inverse=True)
        return codes, len(distinct)
    # A table of all integers in the range is faster than sorting, as long as it is small.
    place = values - low
    is_present = np.zeros(span, dtype=np.bool_)
    is_present[place] = True
    code_at = np.cumsum(is_present) - 1
    return code_at[place], int(code_at[-1]) + 1


def tokenize(
    tokenizer: PreTrainedTokenizerFast,
    texts: Sequence[str] | pl.Series,
    *,
    with_offsets: bool = False,
) -> TokenizedTexts:
    """Tokenizes distinct texts without special tokens.

    Thousands of texts are often made of few words. Then each word is tokenized once, with the space
    before it. This is checked on whole texts that together contain all pairs of neighbouring words.
    If their tokens differ, or if there are too many words to be faster, each text is tokenized as a
    whole.

    Args:
        tokenizer: the tokenizer.
        texts: the texts.
        with_offsets: whether the tokens' `offsets` are needed.
    """
    texts = pl.Series(texts, dtype=pl.String)
    if len(texts) <= FEWEST_TEXTS:
        return tokenize_whole(tokenizer, texts.to_list(), with_offsets=with_offsets)
    words = TextWords.split(texts)
    sample = words.sample
    if len(words.texts) + len(sample) > len(texts) // 2:
        return tokenize_whole(tokenizer, texts.to_list(), with_offsets=with_offsets)
    word_tokens = tokenize_whole(tokenizer, words.texts, with_offsets=with_offsets)
    assembled = words.segments(word_tokens)
    whole = tokenize_whole(tokenizer, texts[sample].to_list(), with_offsets=with_offsets)
    if equal_segments(assembled.select(sample), whole):
        return assembled
    logger.warning(
        "the tokens of a text are not those of its words (%r), so each text is tokenized, which "
        "is slower",
        texts[0],
    )
    return tokenize_whole(tokenizer, texts.to_list(), with_offsets=with_offsets)


def equal_segments(left: TokenizedTexts, right: TokenizedTexts) -> bool:
    """Whether two sets of segments have the same token ids and offsets."""
    return (
        np.array_equal(left.lengths, right.lengths)
        and np.array_equal(left.ids, right.ids)
        and np.array_equal(left.offsets, right.offsets)
    )


def tokenize_whole(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[str], *, with_offsets: bool = False
) -> TokenizedTexts:
    """Tokenizes each text as a whole, without special tokens; see `tokenize`."""
    blocks = []
    for start in range(0, max(1, len(texts)), TEXTS_AT_ONCE):
        encodings = tokenizer.backend_tokenizer.encode_batch(
            list(texts[start : start + TEXTS_AT_ONCE]), add_special_tokens=False
        )
        offsets = [encoding.offsets for encoding in encodings] if with_offsets else None
        blocks.append(segments_from_ids([encoding.ids for encoding in encodings], offsets))
    return join_segments(blocks)


@dataclass(frozen=True)
class TextWords:
    """The words of texts, one text behind the other.

    A word has the space before it, unless it is the first one of its text: tokens differ by that.

    Attributes:
        texts: the distinct words, with their spaces.
        word_index: shape (words,), the place of each word in `texts`.
        sizes: shape (texts,), the number of words in each text; at least 1.
    """

    texts: list[str]
    word_index: IntArray
    sizes: IntArray

    @classmethod
    def split(cls, texts: pl.Series) -> TextWords:
        """Splits texts at each space; of two spaces in a row, one is an empty word."""
        parts = texts.str.split(" ")
        sizes = parts.list.len().to_numpy().astype(np.int64)
        is_first = np.zeros(int(sizes.sum()), dtype=np.bool_)
        is_first[np.cumsum(sizes) - sizes] = True
        words = parts.explode().cast(pl.Categorical)
        word_codes = words.to_physical().cast(pl.Int64).to_numpy()
        examples, word_index = numbered_rows([2 * word_codes + is_first])
        spaces = np.where(is_first[examples], "", " ").tolist()
        distinct = [space + word for space, word in zip(spaces, words[examples], strict=True)]
        return cls(distinct, word_index, sizes)

    @cached_property
    def text_index(self) -> IntArray:
        """The text of each word; shape (words,)."""
        return np.repeat(np.arange(len(self.sizes)), self.sizes)

    @property
    def sample(self) -> IntArray:
        """Texts that contain all pairs of neighbouring words, and some more; sorted places."""
        no_word = -1
        previous = np.concatenate([[no_word], self.word_index[:-1]])
        previous[np.cumsum(self.sizes) - self.sizes] = no_word
        pair, pair_count = dense_codes(previous * len(self.texts) + self.word_index)
        # Neighbouring texts share all pairs but one, so nearly every text would be the first one
        # with some pair. In random order, few texts contain all pairs.
        order = np.random.default_rng(0).permutation(len(self.sizes))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        first_rank = np.full(pair_count, len(order))
        np.minimum.at(first_rank, pair, rank[self.text_index])
        return np.union1d(order[first_rank], order[:SPREAD_TEXTS])

    def segments(self, words: TokenizedTexts) -> TokenizedTexts:
        """Returns the tokens of the texts, with offsets in the text if the words have offsets.

        Args:
            words: the tokens of the distinct words, in the order of `texts`.
        """
        lengths = words.lengths[self.word_index]
        joined = words.gather_runs(words.begins[self.word_index], lengths, self.sizes)
        if not joined.offsets.shape[1]:
            return joined
        sizes = np.array([len(word) for word in self.texts], dtype=np.int64)
        characters = sizes[self.word_index]
        # Where each word begins in its text.
        begins = np.cumsum(characters) - characters
        begins -= np.repeat(begins[np.cumsum(self.sizes) - self.sizes], self.sizes)
        shift = np.repeat(begins, lengths).astype(np.int32)
        return replace(joined, offsets=joined.offsets + shift[:, None])
