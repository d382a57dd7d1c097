"""Rows of tokens: two segments each, with the special tokens that the tokenizer puts around them.

Each distinct segment is tokenized once. Assembled rows are checked against the tokenizer, on a
sample with all pairs of a last token of a first segment and a first token of a second one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from biasgrid.base.arrays import Int32Array, IntArray
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.segments import (
    NO_TOKEN,
    TEXTS_AT_ONCE,
    TokenizedTexts,
    expand_runs,
    join_segments,
    numbered_rows,
    owner_begins,
    segments_from_ids,
)

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerFast

CHECKED_ROWS = 64
CHECKED_SECONDS = 256
CHECKED_BORDERS = 4096


class NotAssembledError(Exception):
    """Assembled segments differ from the tokens of the whole text.

    Its only argument is such a text, or pair of texts, as a tuple of str.
    """


@dataclass(frozen=True)
class TokenLayout:
    """The special tokens before, between and behind two segments.

    Attributes:
        prefix, middle, suffix: their token ids; may be empty.
        types: the token types of each of the five regions (prefix, first segment, middle, second
            segment, suffix). The last type of a region is repeated for all further tokens. None
            for a tokenizer without token types.
    """

    prefix: list[int]
    middle: list[int]
    suffix: list[int]
    types: list[list[int]] | None

    def rows(
        self,
        first_segments: TokenizedTexts,
        second_segments: TokenizedTexts,
        *,
        first_index: IntArray,
        second_index: IntArray,
    ) -> TokenRows:
        """Returns rows of two segments each, with the special tokens.

        Args:
            first_segments: the distinct first segments, without special tokens.
            second_segments: the distinct second segments, without special tokens.
            first_index: shape (rows,), the first segment of each row.
            second_index: shape (rows,), the second segment of each row.
        """
        types = self.types or [[0]] * 5
        before = add_types(first_segments, types[1])
        behind = add_types(second_segments, types[3])
        before = surround(before, self.prefix, self.middle, types[0], types[2])
        behind = surround(behind, [], self.suffix, [], types[4])
        if self.types is None:
            before, behind = replace(before, types=None), replace(behind, types=None)
        return TokenRows(
            before, behind, first_index.astype(np.int32), second_index.astype(np.int32)
        )


def add_types(segments: TokenizedTexts, types: Sequence[int]) -> TokenizedTexts:
    """Returns segments with token types; see `repeat_last_type`."""
    longest = int(segments.lengths.max(initial=1))
    type_at = np.array(repeat_last_type(types, longest), dtype=np.int32)
    if (type_at == type_at[0]).all():
        return replace(segments, types=np.full_like(segments.ids, type_at[0]))
    place = expand_runs(np.zeros_like(segments.lengths), segments.lengths)
    return replace(segments, types=type_at[place])


def repeat_last_type(types: Sequence[int], length: int) -> list[int]:
    """Returns token types for `length` tokens: the last one is repeated; 0 if there is none."""
    types = list(types) or [0]
    return [types[min(place, len(types) - 1)] for place in range(length)]


def surround(
    segments: TokenizedTexts,
    before: Sequence[int],
    behind: Sequence[int],
    before_types: Sequence[int],
    behind_types: Sequence[int],
) -> TokenizedTexts:
    """Puts the same special tokens before and behind each segment.

    Args:
        segments: the segments, with token types.
        before: token ids to put before each segment.
        behind: token ids to put behind each segment.
        before_types: the token types of `before`; see `repeat_last_type`.
        behind_types: the token types of `behind`.

    Returns:
        The longer segments. Their `text_lengths` stay as they were.
    """
    special = special_tokens([before, behind], segments.offsets.shape[1])
    special_types = [
        *repeat_last_type(before_types, len(before)),
        *repeat_last_type(behind_types, len(behind)),
    ]
    special = replace(special, types=np.array(special_types, dtype=np.int32))
    # The special tokens are two more segments, behind all others.
    source = join_segments([segments, special])
    segment_count = len(segments.lengths)
    column = np.ones((segment_count, 1), dtype=np.int64)
    begin_before = source.begins[segment_count] * column
    begin_behind = source.begins[segment_count + 1] * column
    begins = np.column_stack([begin_before, segments.begins, begin_behind])
    lengths = np.column_stack([len(before) * column, segments.lengths, len(behind) * column])
    runs_per_segment = np.full(segment_count, 3)
    longer = source.gather_runs(begins.ravel(), lengths.ravel(), runs_per_segment)
    return replace(longer, text_lengths=segments.text_lengths)


def special_tokens(ids: Sequence[Sequence[int]], width: int) -> TokenizedTexts:
    """Returns segments of special tokens, with offsets of 0 in `width` columns (2 or 0)."""
    segments = segments_from_ids(ids)
    return replace(segments, offsets=np.zeros((len(segments.ids), width), dtype=np.int32))


def pair_layout(tokenizer: PreTrainedTokenizerFast) -> TokenLayout:
    """Returns the special tokens around a pair of texts, as a sample shows them."""
    sample = tokenizer("one", "two")
    return layout_around(sample, [*token_span(sample, 0), *token_span(sample, 1)])


def single_layout(tokenizer: PreTrainedTokenizerFast) -> TokenLayout:
    """Returns the special tokens around a single text, whose two halves are the segments.

    `middle` is therefore empty.
    """
    sample = tokenizer("one two")
    begin, end = token_span(sample, 0)
    return layout_around(sample, [begin, begin + 1, begin + 1, end])


def token_span(sample: BatchEncoding, text: int) -> tuple[int, int]:
    """Returns where the tokens of a text begin and end.

    Args:
        sample: the tokens of a text or of a pair of texts.
        text: 0 for the first text, 1 for the second one.
    """
    sequence = sample.sequence_ids(0)
    begin = sequence.index(text)
    return begin, begin + sequence.count(text)


def layout_around(sample: BatchEncoding, cuts: Sequence[int]) -> TokenLayout:
    """Returns the special tokens around two segments of a sample.

    Args:
        sample: the tokens of a text or of a pair of texts.
        cuts: four ascending places: where the first segment begins and ends, then the second one.
    """

    def regions(values: list[int]) -> list[list[int]]:
        return [values[begin:end] for begin, end in pairwise([0, *cuts, len(values)])]

    prefix, _, middle, _, suffix = regions(sample["input_ids"])
    types = regions(sample["token_type_ids"]) if "token_type_ids" in sample else None
    return TokenLayout(prefix, middle, suffix, types)


@dataclass(frozen=True)
class TokenRows:
    """Rows of tokens that a model reads; each is a first and a second segment.

    Attributes:
        first_segments, second_segments: the distinct segments, with the special tokens.
        first_index, second_index: shape (rows,), int32, the segments of each row.
        owner: shape (rows,), int32, the place of each row's instance among the encoded instances;
            see `segments.owner_begins` for its order. None if each instance has exactly one row.
    """

    first_segments: TokenizedTexts
    second_segments: TokenizedTexts
    first_index: Int32Array
    second_index: Int32Array
    owner: Int32Array | None = None

    @cached_property
    def lengths(self) -> Int32Array:
        """The number of tokens in each row, special tokens included; shape (rows,)."""
        first, second = (
            self.first_segments.lengths.astype(np.int32),
            self.second_segments.lengths.astype(np.int32),
        )
        lengths: Int32Array = first[self.first_index] + second[self.second_index]
        return lengths

    @cached_property
    def _first_rows(self) -> IntArray:
        """The first row of each instance, then the number of rows; shape (instances + 1,)."""
        row_count = len(self.first_index)
        if self.owner is None:
            return np.arange(row_count + 1)
        return np.append(owner_begins(self.owner), row_count)

    def instance_rows(self, instances: IntArray) -> tuple[IntArray, IntArray]:
        """Returns the rows of some instances.

        Args:
            instances: shape (instances,), places among the encoded instances, in any order.

        Returns:
            The rows, one instance after the other, and for each row the place of its instance in
            `instances`; both of shape (rows,).
        """
        places = np.arange(len(instances))
        if self.owner is None:
            return instances, places
        begins = self._first_rows[instances]
        row_counts = self._first_rows[instances + 1] - begins
        return expand_runs(begins, row_counts), np.repeat(places, row_counts)

    def second_start(self, rows: IntArray) -> IntArray:
        """Returns where the second segment begins in each of some rows; shape (rows,)."""
        return self.first_segments.lengths[self.first_index[rows]]

    def assemble(self, row: int) -> tuple[Int32Array, Int32Array | None]:
        """Returns the token ids and types of a row, each of shape (length,); None without types."""
        first = self.first_segments.token_slice(self.first_index[row])
        second = self.second_segments.token_slice(self.second_index[row])
        ids = np.concatenate([self.first_segments.ids[first], self.second_segments.ids[second]])
        if self.first_segments.types is None or self.second_segments.types is None:
            return ids, None
        return ids, np.concatenate(
            [self.first_segments.types[first], self.second_segments.types[second]]
        )


def whole_rows(tokenizer: PreTrainedTokenizerFast, texts: Sequence[tuple[str, ...]]) -> TokenRows:
    """Returns rows as the tokenizer itself writes them, with its special tokens; one for each text.

    Args:
        tokenizer: the tokenizer.
        texts: a tuple of one text, or of two for a pair. The last one becomes the second segment,
            so its offsets count from its own beginning.
    """
    first_parts, second_parts = [], []
    for start in range(0, max(1, len(texts)), TEXTS_AT_ONCE):
        before, behind = halves(tokenizer, texts[start : start + TEXTS_AT_ONCE])
        first_parts.append(before)
        second_parts.append(behind)
    index = np.arange(len(texts), dtype=np.int32)
    return TokenRows(join_segments(first_parts), join_segments(second_parts), index, index)


def halves(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[tuple[str, ...]]
) -> tuple[TokenizedTexts, TokenizedTexts]:
    """Tokenizes texts or pairs of texts, and splits each before its last text.

    Returns:
        The tokens before the last text; and its tokens with the special tokens that follow, whose
        `text_lengths` count the tokens of the text alone.
    """
    # A tuple of one text would be taken for a pair that lacks its second text.
    inputs = [text if len(text) > 1 else text[0] for text in texts]
    encodings = tokenizer.backend_tokenizer.encode_batch(inputs)
    ids: list[int] = []
    types: list[int] = []
    offsets: list[tuple[int, int]] = []
    lengths: list[int] = []
    starts: list[int] = []
    counts: list[int] = []
    for text, encoding in zip(texts, encodings, strict=True):
        ids += encoding.ids
        types += encoding.type_ids
        offsets += encoding.offsets
        lengths.append(len(encoding.ids))
        last = len(text) - 1
        # The text of each token, None for special tokens. A text may have no token at all.
        text_places = encoding.sequence_ids
        starts.append([*text_places, last].index(last))
        counts.append(text_places.count(last))
    sizes = np.array(lengths, dtype=np.int64)
    cuts = np.array(starts, dtype=np.int64)
    has_types = "token_type_ids" in tokenizer.model_input_names
    whole = TokenizedTexts(
        np.array(ids, dtype=np.int32),
        sizes,
        sizes,
        np.array(offsets, dtype=np.int32).reshape(-1, 2),
        np.array(types, dtype=np.int32) if has_types else None,
    )
    one_run = np.ones_like(sizes)
    before = whole.gather_runs(whole.begins, cuts, one_run)
    behind = whole.gather_runs(whole.begins + cuts, sizes - cuts, one_run)
    return before, replace(behind, text_lengths=np.array(counts, dtype=np.int64))


def check_assembled(
    rows: TokenRows,
    tokenizer: PreTrainedTokenizerFast,
    whole_texts: Callable[[IntArray], list[tuple[str, ...]]],
) -> None:
    """Compares a sample of assembled rows with the tokenizer's tokens of the whole texts.

    Args:
        rows: the rows, one for each instance.
        tokenizer: the tokenizer that they must agree with.
        whole_texts: returns the whole texts of some rows; see `whole_rows`.

    Raises:
        NotAssembledError: a row of the sample has other tokens or token types.
    """
    sample = rows_to_check(rows)
    expected = whole_rows(tokenizer, whole_texts(sample))
    for place, row in enumerate(sample):
        if not is_same_row(rows, int(row), expected, place):
            raise NotAssembledError(whole_texts(sample[[place]])[0])


def rows_to_check(rows: TokenRows) -> IntArray:
    """Returns the sample of rows to check, in ascending order.

    It has rows at even distances, a row for each pair of tokens at the border between the segments,
    and a row for each second segment, with an upper limit for each of the three.
    """
    row_count = len(rows.first_index)
    spread = np.linspace(0, row_count - 1, num=min(row_count, CHECKED_ROWS), dtype=np.int64)
    before, behind = rows.first_segments, rows.second_segments
    last_tokens = tokens_at(before, before.begins + before.lengths - 1)[rows.first_index]
    next_tokens = tokens_at(behind, behind.begins)[rows.second_index]
    borders, _ = numbered_rows([last_tokens, next_tokens])
    examples, _ = numbered_rows([rows.second_index])
    chosen = [spread, borders[:CHECKED_BORDERS], examples[:CHECKED_SECONDS]]
    return np.unique(np.concatenate(chosen))


def tokens_at(segments: TokenizedTexts, places: IntArray) -> Int32Array:
    """Returns one token of each segment, `NO_TOKEN` for an empty segment; shape (segments,).

    Args:
        segments: the segments.
        places: shape (segments,), places in `segments.ids`.
    """
    tokens = np.full(len(places), NO_TOKEN, dtype=np.int32)
    has_tokens = segments.lengths > 0
    tokens[has_tokens] = segments.ids[places[has_tokens]]
    return tokens


def is_same_row(rows: TokenRows, row: int, expected: TokenRows, expected_row: int) -> bool:
    """Whether two rows have the same token ids and, if both have types, the same token types."""
    ids, types = rows.assemble(row)
    expected_ids, expected_types = expected.assemble(expected_row)
    if (
        types is not None
        and expected_types is not None
        and not np.array_equal(types, expected_types)
    ):
        return False
    return np.array_equal(ids, expected_ids)


def check_row_lengths(rows: TokenRows, limit: int, instances: pl.Series, model: str) -> None:
    """Refuses rows that are longer than the model's positions.

    Args:
        rows: the rows of at least one instance.
        limit: the largest number of tokens that the model takes.
        instances: the column `instance` of the encoded instances, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: names the longest instance, its length and the limit.
    """
    longest = int(rows.lengths.argmax())
    if rows.lengths[longest] > limit:
        instance = instances[longest if rows.owner is None else int(rows.owner[longest])]
        raise ModelError(
            f"model {model}: instance {instance} has {rows.lengths[longest]} tokens; expected at "
            f"most {limit}, the model's number of positions"
        )
