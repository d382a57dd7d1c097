"""Token ids of many texts that are made of few segments.

Each distinct segment is tokenized once; a row's ids are assembled from its two segments and the special tokens
that the tokenizer puts around them. Assembled ids are checked against the tokenizer on a sample of rows.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from biasgrid.arrays import BoolArray, IntArray
from biasgrid.checkpoints.checkpoint import ModelError

if TYPE_CHECKING:
    from transformers import BatchEncoding, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)

CHECKED_ROWS = 16
CHECKED_BORDERS = 256


@dataclass(frozen=True)
class TokenLayout:
    """What a tokenizer puts before, between and behind two segments.

    Attributes:
        prefix, middle, suffix: token ids.
        types: the token types of each of the five regions, of which the last one holds for all further tokens; None
            where there are none.
    """

    prefix: list[int]
    middle: list[int]
    suffix: list[int]
    types: list[list[int]] | None


@dataclass(frozen=True)
class Segments:
    """Tokenized distinct segments.

    Attributes:
        ids: shape (segments, longest), token ids, 0 behind each segment's end.
        lengths: shape (segments,), how many tokens each has.
        text_lengths: shape (segments,), how many of them, from the first on, are of the text; the others, of rows
            that are tokenized as a whole, follow it.
        offsets: shape (segments, longest, 2), where each token begins and ends in the text, in characters.
    """

    ids: IntArray
    lengths: IntArray
    text_lengths: IntArray
    offsets: IntArray

    def have(self, token: int) -> BoolArray:
        """Says of each segment whether a token stands in it; shape (segments,)."""
        inside = np.arange(self.ids.shape[1]) < self.lengths[:, None]
        found: BoolArray = ((self.ids == token) & inside).any(axis=1)
        return found


def distinct(frame: pl.DataFrame, columns: list[str]) -> tuple[pl.DataFrame, IntArray]:
    """Returns the distinct rows of some columns, categories as text, and for each row of the frame which it is."""
    codes = np.column_stack([frame[column].to_physical().cast(pl.Int64).fill_null(-1).to_numpy() for column in columns])
    _, first, inverse = np.unique(codes, axis=0, return_index=True, return_inverse=True)
    rows = frame.select(columns)[first].with_columns(pl.col(pl.Categorical).cast(pl.String))
    return rows, inverse.reshape(-1).astype(np.int64)


def tokenize(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str]) -> Segments:
    """Tokenizes distinct texts without special tokens."""
    encodings = tokenizer.backend_tokenizer.encode_batch(list(texts), add_special_tokens=False)
    return padded([(encoding.ids, encoding.offsets) for encoding in encodings])


def padded(segments: Sequence[tuple[list[int], list[tuple[int, int]]]]) -> Segments:
    """Puts ids and offsets of different lengths into matrices."""
    lengths = np.array([len(ids) for ids, _ in segments], dtype=np.int64)
    all_ids = matrix_of([ids for ids, _ in segments])
    all_offsets = np.zeros((*all_ids.shape, 2), dtype=np.int64)
    for row, (ids, offsets) in enumerate(segments):
        all_offsets[row, : len(ids)] = np.reshape(offsets, (-1, 2))
    return Segments(all_ids, lengths, lengths, all_offsets)


def matrix_of(rows: Sequence[Sequence[int]], filler: int = 0) -> IntArray:
    """Puts lists of numbers into a matrix with a filler behind each one's end; shape (rows, at least one)."""
    matrix = np.full((len(rows), max(1, max(map(len, rows), default=0))), filler, dtype=np.int64)
    for number, row in enumerate(rows):
        matrix[number, : len(row)] = row
    return matrix


def pair_layout(tokenizer: PreTrainedTokenizerFast) -> TokenLayout:
    """Reads off a sample what the tokenizer puts around a pair of texts."""
    encoding = tokenizer("one", "two")
    return layout_around(encoding, [*place_of(encoding, 0), *place_of(encoding, 1)])


def single_layout(tokenizer: PreTrainedTokenizerFast) -> TokenLayout:
    """Reads off a sample what the tokenizer puts around one text, whose two halves are the segments."""
    encoding = tokenizer("one two")
    first, end = place_of(encoding, 0)
    return layout_around(encoding, [first, first + 1, first + 1, end])


def place_of(encoding: BatchEncoding, text: int) -> tuple[int, int]:
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
class Rows:
    """Rows to be predicted, as indices into two lists of segments.

    Attributes:
        layout: what stands around the segments.
        first, second: the distinct segments.
        first_of, second_of: shape (rows,), each row's segments.
        types: shape (rows, longest), token types where the layout does not tell them.
        owner: shape (rows,), which of the encoded instances a row is of; None where each has one row, in their order.
    """

    layout: TokenLayout
    first: Segments
    second: Segments
    first_of: IntArray
    second_of: IntArray
    types: IntArray | None = None
    owner: IntArray | None = None

    @property
    def instance_of(self) -> IntArray:
        """Which of the encoded instances each row is of; shape (rows,)."""
        return np.arange(len(self.first_of)) if self.owner is None else self.owner

    @property
    def lengths(self) -> IntArray:
        """How many tokens each row has, special tokens included; shape (rows,)."""
        special = len(self.layout.prefix) + len(self.layout.middle) + len(self.layout.suffix)
        return self.first.lengths[self.first_of] + self.second.lengths[self.second_of] + special

    def have(self, token: int) -> BoolArray:
        """Says of each row whether a token stands in its segments; shape (rows,)."""
        return self.first.have(token)[self.first_of] | self.second.have(token)[self.second_of]

    def second_start(self, rows: IntArray) -> IntArray:
        """Where the second segment begins in each of the given rows."""
        return len(self.layout.prefix) + self.first.lengths[self.first_of[rows]] + len(self.layout.middle)

    def assemble(self, rows: IntArray) -> tuple[IntArray, IntArray | None]:
        """Gathers the ids and token types of rows of one length; both of shape (rows, length)."""
        length = int(self.lengths[rows[0]])
        regions = [
            np.full(len(rows), len(self.layout.prefix)),
            self.first.lengths[self.first_of[rows]],
            np.full(len(rows), len(self.layout.middle)),
            self.second.lengths[self.second_of[rows]],
        ]
        starts = np.cumsum([np.zeros(len(rows), dtype=np.int64), *regions], axis=0)
        place = np.arange(length)
        region = (place[None, :, None] >= starts.T[:, None, 1:]).sum(axis=2)
        within = place[None, :] - np.take_along_axis(starts.T, region, axis=1)
        special = [np.array(ids or [0]) for ids in (self.layout.prefix, self.layout.middle, self.layout.suffix)]

        def pick(table: IntArray, index: IntArray) -> IntArray:
            picked: IntArray = table[index[:, None], np.minimum(within, table.shape[1] - 1)]
            return picked

        def repeat(table: IntArray) -> IntArray:
            repeated: IntArray = table[np.minimum(within, len(table) - 1)]
            return repeated

        ids = np.choose(
            region,
            [
                repeat(special[0]),
                pick(self.first.ids, self.first_of[rows]),
                repeat(special[1]),
                pick(self.second.ids, self.second_of[rows]),
                repeat(special[2]),
            ],
        )
        if self.types is not None:
            return ids, self.types[rows, :length]
        if self.layout.types is None:
            return ids, None
        return ids, np.choose(region, [repeat(np.array(kinds or [0])) for kinds in self.layout.types])


def whole_rows(tokenizer: PreTrainedTokenizerFast, texts: Sequence[str | tuple[str, str]]) -> Rows:
    """Tokenizes whole texts or pairs of texts, for who need not know where in a text a token lies."""
    encodings = tokenizer.backend_tokenizer.encode_batch(list(texts))
    ids = matrix_of([encoding.ids for encoding in encodings])
    lengths = np.array([len(encoding.ids) for encoding in encodings], dtype=np.int64)
    whole = Segments(ids, lengths, lengths, np.broadcast_to(np.int64(0), (*ids.shape, 2)))
    types = None
    if "token_type_ids" in tokenizer.model_input_names:
        types = matrix_of([encoding.type_ids for encoding in encodings])
    every = np.arange(len(ids))
    return Rows(TokenLayout([], [], [], None), whole, padded([([], [])]), every, np.zeros_like(every), types)


def plain_rows(tokenizer: PreTrainedTokenizerFast, texts: Sequence[tuple[str, ...]], rows: IntArray) -> Rows:
    """Tokenizes whole texts (or pairs of texts) the plain way, for tokenizers whose segments cannot be assembled.

    The last text of each tuple becomes the second segment, so that its tokens keep their offsets.
    """
    encodings = tokenizer.backend_tokenizer.encode_batch([text if len(text) > 1 else text[0] for text in texts])
    last = len(texts[0]) - 1
    # A text without any token has no place.
    begins = [[*encoding.sequence_ids, last].index(last) for encoding in encodings]
    each = list(zip(encodings, begins, strict=True))
    first = padded([(encoding.ids[:begin], encoding.offsets[:begin]) for encoding, begin in each])
    second = padded([(encoding.ids[begin:], encoding.offsets[begin:]) for encoding, begin in each])
    own = np.array([encoding.sequence_ids.count(last) for encoding in encodings], dtype=np.int64)
    types = None
    if "token_type_ids" in tokenizer.model_input_names:
        types = padded([(encoding.type_ids, encoding.offsets) for encoding in encodings]).ids
    return Rows(TokenLayout([], [], [], None), first, replace(second, text_lengths=own), rows, rows, types)


def checked(rows: Rows, tokenizer: PreTrainedTokenizerFast, texts: Callable[[IntArray], list[tuple[str, ...]]]) -> Rows:
    """Returns the rows if a sample of them is what the tokenizer makes of the whole texts, else plain ones.

    Args:
        rows: the assembled rows.
        tokenizer: the tokenizer that they must agree with.
        texts: gives the whole texts of some rows, as what the tokenizer is called with.
    """
    count = len(rows.first_of)
    spread = np.linspace(0, count - 1, num=min(count, CHECKED_ROWS), dtype=np.int64)
    # What happens at the border of two segments depends on how the second begins.
    borders = np.unique(rows.second_of, return_index=True)[1][:CHECKED_BORDERS]
    sample = np.union1d(spread, borders)
    whole = plain_rows(tokenizer, texts(sample), np.arange(len(sample)))
    for place, row in enumerate(sample):
        if not same_row(rows, int(row), whole, place):
            text = texts(sample[[place]])[0]
            slower = "every text is tokenized as a whole, which is slower"
            logger.warning("assembled tokens differ from the tokenizer's (%r): %s", text, slower)
            return plain_rows(tokenizer, texts(np.arange(count)), np.arange(count))
    return rows


def same_row(rows: Rows, row: int, others: Rows, other: int) -> bool:
    """Whether a row of one set has the ids and token types of a row of another."""
    if rows.lengths[row] != others.lengths[other]:
        return False
    ids, types = rows.assemble(np.array([row]))
    other_ids, other_types = others.assemble(np.array([other]))
    same_types = types is None or other_types is None or bool((types == other_types).all())
    return same_types and bool((ids == other_ids).all())


def check_lengths(rows: Rows, limit: int, instances: pl.Series, model: str) -> None:
    """Refuses rows that are longer than the model's positions.

    Args:
        rows: the rows.
        limit: how many tokens the model takes.
        instances: the rows' instances, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: with the longest instance and both numbers.
    """
    longest = int(rows.lengths.argmax())
    if rows.lengths[longest] > limit:
        raise ModelError(
            f"model {model}: instance {instances[longest]} has {rows.lengths[longest]} tokens; expected at most "
            f"{limit}, for which the model has positions"
        )
