"""Rows of tokens that are made of two segments each, and the special tokens that the tokenizer puts
around them.

Each distinct segment is tokenized once. What is put together is checked against the tokenizer on
rows that have all ways in which a first segment ends and a second one begins.
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
    TEXTS_AT_ONCE,
    TokenizedTexts,
    join_segments,
    numbered_rows,
    runs,
    segments_from_ids,
)

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerFast

CHECKED_ROWS = 64
CHECKED_SECONDS = 256
CHECKED_BORDERS = 4096


class NotAssembledError(Exception):
    """Segments that are put together are not what the tokenizer makes of the whole text; with such
    a text.
    """


@dataclass(frozen=True)
class TokenLayout:
    """What a tokenizer puts before, between and behind two segments.

    Attributes:
        prefix, middle, suffix: token ids.
        types: the token types of each of the five regions, of which the last one holds for all
            further tokens; None where there are none.
    """

    prefix: list[int]
    middle: list[int]
    suffix: list[int]
    types: list[list[int]] | None

    def rows(
        self,
        first: TokenizedTexts,
        second: TokenizedTexts,
        first_of: Int32Array,
        second_of: Int32Array,
    ) -> TokenRows:
        """Returns rows of two segments each, with the special tokens.

        Args:
            first: the distinct first segments.
            second: the distinct second ones.
            first_of: shape (rows,), which of the first ones each row has.
            second_of: shape (rows,), which of the second ones.
        """
        types = self.types or [[0]] * 5
        before, behind = add_types(first, types[1]), add_types(second, types[3])
        before = surround(before, self.prefix, self.middle, types[0], types[2])
        behind = surround(behind, [], self.suffix, [], types[4])
        if self.types is None:
            before, behind = replace(before, types=None), replace(behind, types=None)
        return TokenRows(before, behind, first_of, second_of)


def add_types(segments: TokenizedTexts, types: Sequence[int]) -> TokenizedTexts:
    """Returns segments with token types, of which the last one holds for all further tokens."""
    longest = int(segments.lengths.max(initial=1))
    type_at = np.array(each_type(types, longest), dtype=np.int32)
    if (type_at == type_at[0]).all():
        return replace(segments, types=np.full_like(segments.ids, type_at[0]))
    place = runs(np.zeros_like(segments.lengths), segments.lengths)
    return replace(segments, types=type_at[place])


def each_type(types: Sequence[int], count: int) -> list[int]:
    """Returns the types of `count` tokens: the last given one is repeated; 0 if none is given."""
    given = list(types) or [0]
    return [given[min(place, len(given) - 1)] for place in range(count)]


def surround(
    segments: TokenizedTexts,
    before: Sequence[int],
    behind: Sequence[int],
    before_types: Sequence[int],
    types: Sequence[int],
) -> TokenizedTexts:
    """Puts the same special tokens before and behind each segment.

    Args:
        segments: the segments, with types.
        before: token ids of those before.
        behind: token ids of those behind.
        before_types: the types of those before; the last one holds for all further tokens.
        types: the types of those behind.
    """
    special = special_tokens([before, behind], segments.offsets.shape[1])
    special_types = [*each_type(before_types, len(before)), *each_type(types, len(behind))]
    special = replace(special, types=np.array(special_types, dtype=np.int32))
    # The special tokens are two more segments, behind all others.
    source = join_segments([segments, special])
    count = len(segments.lengths)
    column = np.ones((count, 1), dtype=np.int64)
    begin_before = source.begins[count] * column
    begin_behind = source.begins[count + 1] * column
    begins = np.column_stack([begin_before, segments.begins, begin_behind])
    lengths = np.column_stack([len(before) * column, segments.lengths, len(behind) * column])
    runs_of_segments = np.full(count, 3)
    surrounded = source.gathered(begins.ravel(), lengths.ravel(), runs_of_segments)
    return replace(surrounded, text_lengths=segments.text_lengths)


def special_tokens(ids: Sequence[Sequence[int]], width: int = 0) -> TokenizedTexts:
    """Returns segments of tokens that are of no text, with offsets of a width."""
    segments = segments_from_ids(ids)
    return replace(segments, offsets=np.zeros((len(segments.ids), width), dtype=np.int32))


def pair_layout(tokenizer: PreTrainedTokenizerFast) -> TokenLayout:
    """Reads off a sample what the tokenizer puts around a pair of texts."""
    encoding = tokenizer("one", "two")
    return layout_around(encoding, [*token_span(encoding, 0), *token_span(encoding, 1)])


def single_layout(tokenizer: PreTrainedTokenizerFast) -> TokenLayout:
    """Reads off a sample what the tokenizer puts around one text, whose two halves are the
    segments.
    """
    encoding = tokenizer("one two")
    first, end = token_span(encoding, 0)
    return layout_around(encoding, [first, first + 1, first + 1, end])


def token_span(encoding: BatchEncoding, text: int) -> tuple[int, int]:
    """Returns where the tokens of a text begin and end."""
    sequence = encoding.sequence_ids(0)
    first = sequence.index(text)
    return first, first + sequence.count(text)


def layout_around(encoding: BatchEncoding, cuts: Sequence[int]) -> TokenLayout:
    """Returns what stands around two segments that begin and end at four cuts."""

    def regions(values: list[int]) -> list[list[int]]:
        return [values[begin:end] for begin, end in pairwise([0, *cuts, len(values)])]

    prefix, _, middle, _, suffix = regions(encoding["input_ids"])
    types = regions(encoding["token_type_ids"]) if "token_type_ids" in encoding else None
    return TokenLayout(prefix, middle, suffix, types)


@dataclass(frozen=True)
class TokenRows:
    """Rows to be predicted, as numbers of two segments each, which hold the special tokens too.

    Attributes:
        first, second: the distinct segments.
        first_of, second_of: shape (rows,), int32, each row's segments.
        owner: shape (rows,), int32, which of the encoded instances a row is of, in their order;
            None where each has one row.
    """

    first: TokenizedTexts
    second: TokenizedTexts
    first_of: Int32Array
    second_of: Int32Array
    owner: Int32Array | None = None

    @cached_property
    def lengths(self) -> Int32Array:
        """How many tokens each row has, special tokens included; shape (rows,)."""
        first, second = self.first.lengths.astype(np.int32), self.second.lengths.astype(np.int32)
        lengths: Int32Array = first[self.first_of] + second[self.second_of]
        return lengths

    @cached_property
    def _first_rows(self) -> IntArray:
        """The first row of each instance, and behind them how many rows there are; shape (instances
        + 1,).
        """
        owner = np.arange(len(self.first_of), dtype=np.int32) if self.owner is None else self.owner
        return np.append(np.flatnonzero(np.diff(owner, prepend=-1)), len(owner))

    def of(self, instances: IntArray) -> tuple[IntArray, IntArray]:
        """Returns the rows of some instances, one instance after the other, and the place of each
        row's among them.
        """
        every = np.arange(len(instances))
        if self.owner is None:
            return instances, every
        begins = self._first_rows[instances]
        counts = self._first_rows[instances + 1] - begins
        return runs(begins, counts), np.repeat(every, counts)

    def second_start(self, rows: IntArray) -> IntArray:
        """Where the second segment begins in each of the given rows."""
        return self.first.lengths[self.first_of[rows]]

    def assemble(self, row: int) -> tuple[Int32Array, Int32Array | None]:
        """Returns the ids and token types of a row; both of shape (length,)."""
        first = self.first.token_slice(self.first_of[row])
        second = self.second.token_slice(self.second_of[row])
        ids = np.concatenate([self.first.ids[first], self.second.ids[second]])
        if self.first.types is None or self.second.types is None:
            return ids, None
        return ids, np.concatenate([self.first.types[first], self.second.types[second]])


def whole_rows(tokenizer: PreTrainedTokenizerFast, texts: Sequence[tuple[str, ...]]) -> TokenRows:
    """Tokenizes whole texts or pairs of texts, the plain way.

    The last text of each tuple becomes the second segment, so that its tokens keep their offsets.
    """
    firsts, seconds = [], []
    for start in range(0, max(1, len(texts)), TEXTS_AT_ONCE):
        first, second = halves(tokenizer, texts[start : start + TEXTS_AT_ONCE])
        firsts.append(first)
        seconds.append(second)
    every = np.arange(len(texts), dtype=np.int32)
    return TokenRows(join_segments(firsts), join_segments(seconds), every, every)


def halves(
    tokenizer: PreTrainedTokenizerFast, texts: Sequence[tuple[str, ...]]
) -> tuple[TokenizedTexts, TokenizedTexts]:
    """Splits tokenized texts, or pairs of texts, before the tokens of each last text.

    Returns:
        The tokens before it, and the rest: its tokens and the special tokens behind them.
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
        # The number of the text that each token is of. A text without any token is not among them.
        text_numbers = encoding.sequence_ids
        starts.append([*text_numbers, last].index(last))
        counts.append(text_numbers.count(last))
    sizes = np.array(lengths, dtype=np.int64)
    begins_of_last = np.array(starts, dtype=np.int64)
    has_types = "token_type_ids" in tokenizer.model_input_names
    whole = TokenizedTexts(
        np.array(ids, dtype=np.int32),
        sizes,
        sizes,
        np.array(offsets, dtype=np.int32).reshape(-1, 2),
        np.array(types, dtype=np.int32) if has_types else None,
    )
    one_run = np.ones_like(sizes)
    first = whole.gathered(whole.begins, begins_of_last, one_run)
    second = whole.gathered(whole.begins + begins_of_last, sizes - begins_of_last, one_run)
    return first, replace(second, text_lengths=np.array(counts, dtype=np.int64))


def check(
    rows: TokenRows,
    tokenizer: PreTrainedTokenizerFast,
    texts: Callable[[IntArray], list[tuple[str, ...]]],
) -> None:
    """Compares rows with what the tokenizer makes of the whole texts.

    Args:
        rows: the rows, one for each instance.
        tokenizer: the tokenizer that they must agree with.
        texts: gives the whole texts of some rows, as what the tokenizer is called with.

    Raises:
        NotAssembledError: some are something else.
    """
    sample = rows_to_check(rows)
    whole = whole_rows(tokenizer, texts(sample))
    for place, row in enumerate(sample):
        if not same_row(rows, int(row), whole, place):
            raise NotAssembledError(texts(sample[[place]])[0])


def rows_to_check(rows: TokenRows) -> IntArray:
    """Returns rows at even distances, and some with each way to end a first segment and to begin a
    second one.
    """
    count = len(rows.first_of)
    spread = np.linspace(0, count - 1, num=min(count, CHECKED_ROWS), dtype=np.int64)
    last = edge(rows.first, rows.first.begins + rows.first.lengths - 1)[rows.first_of]
    next_one = edge(rows.second, rows.second.begins)[rows.second_of]
    borders, _ = numbered_rows([last, next_one])
    seconds, _ = numbered_rows([rows.second_of])
    return np.unique(np.concatenate([spread, borders[:CHECKED_BORDERS], seconds[:CHECKED_SECONDS]]))


def edge(segments: TokenizedTexts, places: IntArray) -> Int32Array:
    """Returns the token at a place of each segment, -1 where it has none."""
    edges = np.full(len(places), -1, dtype=np.int32)
    some = segments.lengths > 0
    edges[some] = segments.ids[places[some]]
    return edges


def same_row(rows: TokenRows, row: int, others: TokenRows, other: int) -> bool:
    """Whether a row of one set has the ids and token types of a row of another."""
    ids, types = rows.assemble(row)
    other_ids, other_types = others.assemble(other)
    same_types = types is None or other_types is None or np.array_equal(types, other_types)
    return same_types and np.array_equal(ids, other_ids)


def check_row_lengths(rows: TokenRows, limit: int, instances: pl.Series, model: str) -> None:
    """Refuses rows that are longer than the model's positions.

    Args:
        rows: the rows.
        limit: how many tokens the model takes.
        instances: the numbers of the encoded instances, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: with the longest instance and both numbers.
    """
    longest = int(rows.lengths.argmax())
    if rows.lengths[longest] > limit:
        instance = instances[longest if rows.owner is None else int(rows.owner[longest])]
        raise ModelError(
            f"model {model}: instance {instance} has {rows.lengths[longest]} tokens; expected at "
            f"most {limit}, the model's number of positions"
        )
