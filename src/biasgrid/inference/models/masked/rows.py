"""The rows that ask for candidates at the mask of instances: one for each instance and what stands
at its mask.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from biasgrid.base.arrays import AnyIntArray, Int32Array, IntArray
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.segments import TokenizedTexts, join_segments, numbered_rows, runs
from biasgrid.inference.models.masked.candidate_tokens import Insert, TokenReading


class CandidateWords(NamedTuple):
    """What a column of candidates asks for.

    Attributes:
        asked: of each distinct word the inputs that score it, none where there is no candidate.
        word_of: shape (kinds,), which of them each kind of instances has.
    """

    asked: Sequence[Sequence[tuple[Insert, Sequence[TokenReading]]]]
    word_of: IntArray


class ColumnInputs(NamedTuple):
    """What must be read for a column.

    Attributes:
        kinds, inserts: shape (inputs,), the kinds and what stands at their masks.
        tokens: shape (inputs, ways), the token that is read of each way to write the word, -1 for
            none.
    """

    kinds: IntArray
    inserts: IntArray
    tokens: IntArray


@dataclass(frozen=True)
class Inputs:
    """What is read of each kind of instances, which have the same candidates and the same beside
    the mask.

    Attributes:
        inserts: what may stand at a mask.
        begins: shape (kinds + 1,), the first input of each kind, and behind them how many there
            are.
        insert_of: shape (inputs,), what stands at the mask.
        tokens: shape (inputs, columns, ways), the token that is read of each way to write the word
            of each column of candidates, -1 for none.
    """

    inserts: Sequence[Insert]
    begins: IntArray
    insert_of: IntArray
    tokens: IntArray

    @property
    def is_first(self) -> npt.NDArray[np.bool_]:
        """Whether what is read is the first token of a word; shape (inputs,)."""
        first: npt.NDArray[np.bool_] = np.array([insert.place == 0 for insert in self.inserts])[
            self.insert_of
        ]
        return first


@dataclass(frozen=True)
class MaskRows:
    """Encoded instances: a row for each instance and what stands at its mask.

    Attributes:
        rows: the rows' tokens, in the order of the instances.
        inputs: what is read of each kind of instances.
        input_of: shape (rows,), int32, which of the inputs each row is.
        place: shape (second segments,), int32, the place that is read in a row's second segment.
    """

    rows: TokenRows
    inputs: Inputs
    input_of: Int32Array
    place: Int32Array


def merge_inputs(words: Sequence[CandidateWords]) -> Inputs:
    """Returns the inputs that score all words of all kinds; words share those which they have in
    common.

    Args:
        words: the words of each column, of which each kind has at least one.
    """
    inserts = sorted({insert for column in words for word in column.asked for insert, _ in word})
    numbers = {insert: number for number, insert in enumerate(inserts)}
    columns = [wanted_tokens(each, numbers) for each in words]
    keys = [column.kinds * len(inserts) + column.inserts for column in columns]
    every = np.unique(np.concatenate(keys))
    kinds, insert_of = np.divmod(every, len(inserts))
    ways = max(column.tokens.shape[1] for column in columns)
    tokens = np.full((len(every), len(columns), ways), -1)
    for place, (column, key) in enumerate(zip(columns, keys, strict=True)):
        tokens[np.searchsorted(every, key), place, : column.tokens.shape[1]] = column.tokens
    begins = np.searchsorted(kinds, np.arange(len(words[0].word_of) + 1))
    return Inputs(inserts, begins, insert_of, tokens)


def wanted_tokens(words: CandidateWords, numbers: Mapping[Insert, int]) -> ColumnInputs:
    """Returns what must be read for a column.

    Args:
        words: the column's words.
        numbers: the number of each insert.
    """
    inputs = [each for word in words.asked for each in word]
    inserts = np.array([numbers[insert] for insert, _ in inputs], dtype=np.int64)
    ways = max((reading.way + 1 for _, readings in inputs for reading in readings), default=1)
    tokens = np.full((len(inputs), ways), -1)
    for row, (_, readings) in enumerate(inputs):
        for reading in readings:
            tokens[row, reading.way] = reading.token
    sizes = np.array([len(word) for word in words.asked], dtype=np.int64)
    of_kind = sizes[words.word_of]
    input_of = runs((np.cumsum(sizes) - sizes)[words.word_of], of_kind)
    return ColumnInputs(
        np.repeat(np.arange(len(of_kind)), of_kind), inserts[input_of], tokens[input_of]
    )


def mask_rows(rows: TokenRows, masks: IntArray, inputs: Inputs, kind_of: IntArray) -> MaskRows:
    """Returns the rows that score all words of all instances.

    Args:
        rows: the instances' rows, with one mask in the second segment of each.
        masks: shape (second segments,), the place of the mask there.
        inputs: what is read of each kind.
        kind_of: shape (instances,), the kind of each.
    """
    counts = np.diff(inputs.begins)
    if (counts == 1).all() and all(len(insert.ids) == 1 for insert in inputs.inserts):
        # Most often words are one token, and the rows are the instances as they are.
        return MaskRows(
            rows, inputs, inputs.begins[kind_of].astype(np.int32), masks.astype(np.int32)
        )
    sizes = counts[kind_of]
    owner = np.repeat(np.arange(len(kind_of), dtype=np.int32), sizes)
    input_of = runs(inputs.begins[kind_of], sizes).astype(np.int32)
    kinds, second_of = numbered_rows([rows.second_of[owner], inputs.insert_of[input_of]])
    segments, filling = rows.second_of[owner][kinds], inputs.insert_of[input_of][kinds]
    second = with_inserts(rows.second, segments, masks, inputs.inserts, filling)
    filled = TokenRows(rows.first, second, rows.first_of[owner], second_of.astype(np.int32), owner)
    places = masks[segments] + np.array([insert.place for insert in inputs.inserts])[filling]
    return MaskRows(filled, inputs, input_of, places.astype(np.int32))


def with_inserts(
    segments: TokenizedTexts,
    which: AnyIntArray,
    masks: IntArray,
    inserts: Sequence[Insert],
    filling: IntArray,
) -> TokenizedTexts:
    """Returns segments with other tokens in place of their masks, of whose type they are.

    Args:
        segments: segments with a mask each.
        which: shape (new segments,), the segment that each is made of.
        masks: shape (segments,), the place of the mask in each.
        inserts: what may stand there.
        filling: shape (new segments,), what does.
    """
    lengths = np.array([len(insert.ids) for insert in inserts])
    ids = np.array([one for insert in inserts for one in insert.ids], dtype=np.int32)
    nowhere = np.zeros((len(ids), segments.offsets.shape[1]), dtype=np.int32)
    # A token type for each token, though an insert has that of the mask.
    nothing = None if segments.types is None else np.zeros_like(ids)
    both = join_segments([segments, TokenizedTexts(ids, lengths, lengths, nowhere, nothing)])
    begins, before, sizes = segments.begins[which], masks[which], lengths[filling]
    starts = np.column_stack(
        [begins, both.begins[len(segments.lengths) + filling], begins + before + 1]
    )
    sides = np.column_stack([before, sizes, segments.lengths[which] - before - 1])
    made = both.gathered(starts.ravel(), sides.ravel(), np.full(len(which), 3))
    if segments.types is None or made.types is None:
        return made
    types = made.types.copy()
    types[runs(made.begins + before, sizes)] = np.repeat(segments.types[begins + before], sizes)
    return replace(made, types=types)


def token_products(
    factors: npt.NDArray[np.float32], tokens: IntArray, owner: IntArray
) -> tuple[npt.NDArray[np.float64], IntArray]:
    """Returns of each instance the probabilities of its words, those of the most probable way to
    write each.

    Args:
        factors: shape (rows, columns, ways), the probabilities of the tokens that were read.
        tokens: shape (rows, columns, ways), these tokens, -1 where none was.
        owner: shape (rows,), the instance of each row, which ascends from 0.

    Returns:
        The probabilities, 0 where nothing was read, and the largest number of tokens of a way;
        shape (instances, columns).
    """
    read = tokens >= 0
    pieces, product = read.astype(np.int64), np.where(read, factors.astype(np.float64), 1)
    if owner[-1] + 1 < len(owner):
        begins = np.flatnonzero(np.diff(owner, prepend=-1))
        pieces, product = (
            np.add.reduceat(pieces, begins, axis=0),
            np.multiply.reduceat(product, begins, axis=0),
        )
    return np.where(pieces > 0, product, 0).max(axis=2), pieces.max(axis=2)


def best_ranks(
    ranks: npt.NDArray[np.int32], counts: npt.NDArray[np.bool_], owner: IntArray
) -> IntArray:
    """Returns of each instance the best ranks of its words, those of the way to write each that is
    ranked first.

    Args:
        ranks: shape (rows, columns, ways).
        counts: shape (rows, columns, ways), which of them are of the first token of a way.
        owner: shape (rows,), the instance of each row, which ascends from 0.

    Returns:
        Shape (instances, columns), 0 where no first token was read.
    """
    begins = np.flatnonzero(np.diff(owner, prepend=-1))
    worst = np.iinfo(np.int32).max
    best = np.minimum.reduceat(np.where(counts, ranks, worst).min(axis=2), begins, axis=0)
    return np.where(best == worst, 0, best)
