"""The rows that score candidates at the masks of instances, and what is read of each row.

Instances with the same candidates and the same neighbours of the mask are of one kind. The kinds
say which inputs score their candidates: tokens in place of the mask (`Insert`), and the tokens to
read. Each instance then has a row for each input of its kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from biasgrid.base.arrays import AnyIntArray, Int32Array, IntArray
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.segments import (
    NO_TOKEN,
    TokenizedTexts,
    expand_runs,
    join_segments,
    numbered_rows,
    owner_begins,
)
from biasgrid.inference.models.masked.candidate_tokens import Insert, TokenReading


class CandidateWords(NamedTuple):
    """The words of one column of candidates.

    Attributes:
        inputs: for each distinct word the inputs that score it; empty if there is no candidate.
        word_index: shape (kinds,), the word of each kind.
    """

    inputs: Sequence[Sequence[tuple[Insert, Sequence[TokenReading]]]]
    word_index: IntArray


class ColumnInputs(NamedTuple):
    """The inputs that score one column of candidates.

    Attributes:
        kinds: shape (inputs,), the kind of instances that each input is for.
        inserts: shape (inputs,), the place of the input's insert among all inserts.
        tokens: shape (inputs, spellings), the token to read for each spelling, or `NO_TOKEN`.
    """

    kinds: IntArray
    inserts: IntArray
    tokens: IntArray


@dataclass(frozen=True)
class KindInputs:
    """The inputs of all kinds of instances, one kind after the other.

    Attributes:
        inserts: the distinct inserts, sorted.
        begins: shape (kinds + 1,), the first input of each kind, then the number of inputs.
        insert_index: shape (inputs,), the insert of each input.
        tokens: shape (inputs, columns, spellings), the token to read for each column of candidates
            and spelling of its word, or `NO_TOKEN`.
    """

    inserts: Sequence[Insert]
    begins: IntArray
    insert_index: IntArray
    tokens: IntArray

    @property
    def reads_first_token(self) -> npt.NDArray[np.bool_]:
        """Whether the first token of a word is read; shape (inputs,)."""
        is_first = np.array([insert.place == 0 for insert in self.inserts])
        reads_first: npt.NDArray[np.bool_] = is_first[self.insert_index]
        return reads_first


@dataclass(frozen=True)
class MaskRows:
    """The rows of encoded instances: one for each instance and input of its kind.

    Attributes:
        rows: the tokens of the rows, in the order of the instances.
        inputs: the inputs of all kinds.
        input_index: shape (rows,), int32, the input of each row.
        place: shape (second segments,), int32, the place in the second segment that is read.
    """

    rows: TokenRows
    inputs: KindInputs
    input_index: Int32Array
    place: Int32Array


def merge_inputs(columns: Sequence[CandidateWords]) -> KindInputs:
    """Returns the inputs that score all words of all kinds; equal inputs of a kind are one.

    Args:
        columns: the words of each column. Each kind has an input in at least one of them.
    """
    all_inserts: set[Insert] = set()
    for column in columns:
        for word in column.inputs:
            all_inserts.update(insert for insert, _ in word)
    inserts = sorted(all_inserts)
    insert_places = {insert: place for place, insert in enumerate(inserts)}
    parts = [column_inputs(column, insert_places) for column in columns]
    keys = [part.kinds * len(inserts) + part.inserts for part in parts]
    all_keys = np.unique(np.concatenate(keys))
    kinds, insert_index = np.divmod(all_keys, len(inserts))
    spellings = max(part.tokens.shape[1] for part in parts)
    tokens = np.full((len(all_keys), len(columns), spellings), NO_TOKEN)
    for place, (part, key) in enumerate(zip(parts, keys, strict=True)):
        tokens[np.searchsorted(all_keys, key), place, : part.tokens.shape[1]] = part.tokens
    begins = np.searchsorted(kinds, np.arange(len(columns[0].word_index) + 1))
    return KindInputs(inserts, begins, insert_index, tokens)


def column_inputs(words: CandidateWords, insert_places: Mapping[Insert, int]) -> ColumnInputs:
    """Returns the inputs that score a column of candidates, one kind after the other.

    Args:
        words: the column's words.
        insert_places: the place of each insert among all inserts.
    """
    inputs = list(chain(*words.inputs))
    inserts = np.array([insert_places[insert] for insert, _ in inputs], dtype=np.int64)
    readings = chain(*(word_readings for _, word_readings in inputs))
    spellings = max((reading.spelling + 1 for reading in readings), default=1)
    tokens = np.full((len(inputs), spellings), NO_TOKEN)
    for row, (_, word_readings) in enumerate(inputs):
        for reading in word_readings:
            tokens[row, reading.spelling] = reading.token
    sizes = np.array(list(map(len, words.inputs)), dtype=np.int64)
    word_begins = np.cumsum(sizes) - sizes
    kind_sizes = sizes[words.word_index]
    input_index = expand_runs(word_begins[words.word_index], kind_sizes)
    kinds = np.repeat(np.arange(len(kind_sizes)), kind_sizes)
    return ColumnInputs(kinds, inserts[input_index], tokens[input_index])


def mask_rows(
    rows: TokenRows, mask_places: IntArray, inputs: KindInputs, kind_index: IntArray
) -> MaskRows:
    """Returns a row for each instance and input of its kind, by instance, then by input.

    Args:
        rows: one row for each instance, with one mask in its second segment; `owner` is None.
        mask_places: shape (second segments,), the place of the mask in each second segment.
        inputs: the inputs of each kind, at least one of each (see `merge_inputs`).
        kind_index: shape (instances,), the kind of each instance.
    """
    input_counts = np.diff(inputs.begins)
    if (input_counts == 1).all() and all(insert.is_mask_alone for insert in inputs.inserts):
        # Usually all words are one token, and the rows are the instances as they are.
        input_index = inputs.begins[kind_index].astype(np.int32)
        return MaskRows(rows, inputs, input_index, mask_places.astype(np.int32))
    sizes = input_counts[kind_index]
    owner = np.repeat(np.arange(len(kind_index), dtype=np.int32), sizes)
    input_index = expand_runs(inputs.begins[kind_index], sizes).astype(np.int32)
    row_segments, row_inserts = rows.second_index[owner], inputs.insert_index[input_index]
    examples, second_index = numbered_rows([row_segments, row_inserts])
    segments, inserts = row_segments[examples], row_inserts[examples]
    second_segments = with_inserts(
        rows.second_segments, segments, mask_places, inputs.inserts, inserts
    )
    filled_rows = TokenRows(
        rows.first_segments,
        second_segments,
        rows.first_index[owner],
        second_index.astype(np.int32),
        owner,
    )
    read_places = np.array([insert.place for insert in inputs.inserts])
    places = mask_places[segments] + read_places[inserts]
    return MaskRows(filled_rows, inputs, input_index, places.astype(np.int32))


def with_inserts(
    segments: TokenizedTexts,
    segment_index: AnyIntArray,
    mask_places: IntArray,
    inserts: Sequence[Insert],
    insert_index: IntArray,
) -> TokenizedTexts:
    """Returns segments with an insert in place of the mask; it gets the mask's token type.

    Args:
        segments: segments with one mask each.
        segment_index: shape (new segments,), the segment that each new one is made of.
        mask_places: shape (segments,), the place of the mask in each segment.
        inserts: the inserts.
        insert_index: shape (new segments,), the insert of each new segment.
    """
    lengths = np.array([len(insert.ids) for insert in inserts])
    insert_ids = chain(*(insert.ids for insert in inserts))
    ids = np.fromiter(insert_ids, dtype=np.int32)
    no_offsets = np.zeros((len(ids), segments.offsets.shape[1]), dtype=np.int32)
    # `join_segments` needs a type for each token; the types of the masks are written below.
    no_types = None if segments.types is None else np.zeros_like(ids)
    insert_segments = TokenizedTexts(ids, lengths, lengths, no_offsets, no_types)
    source = join_segments([segments, insert_segments])
    begins, before = segments.begins[segment_index], mask_places[segment_index]
    insert_begins = source.begins[len(segments.lengths) + insert_index]
    insert_lengths = lengths[insert_index]
    behind = segments.lengths[segment_index] - before - 1
    run_begins = np.column_stack([begins, insert_begins, begins + before + 1])
    run_lengths = np.column_stack([before, insert_lengths, behind])
    runs_per_segment = np.full(len(segment_index), 3)
    filled = source.gather_runs(run_begins.ravel(), run_lengths.ravel(), runs_per_segment)
    if segments.types is None or filled.types is None:
        return filled
    types = filled.types.copy()
    mask_types = segments.types[begins + before]
    insert_places = expand_runs(filled.begins + before, insert_lengths)
    types[insert_places] = np.repeat(mask_types, insert_lengths)
    return replace(filled, types=types)


class WordScores(NamedTuple):
    """The scores of the words of instances.

    Attributes:
        probabilities: shape (instances, columns), 0 if no token was read: there is no candidate,
            or the vocabulary has no token for it (`scoring: unqover`).
        token_counts: shape (instances, columns), the number of tokens of the word's longest
            spelling; 0 likewise.
    """

    probabilities: npt.NDArray[np.float64]
    token_counts: IntArray


def multiply_tokens(
    factors: npt.NDArray[np.float32], tokens: IntArray, owner: IntArray
) -> WordScores:
    """Returns the probabilities of words: of each word that of its most probable spelling.

    Args:
        factors: shape (rows, columns, spellings), the probabilities of the tokens that were read.
        tokens: shape (rows, columns, spellings), these tokens, or `NO_TOKEN`.
        owner: shape (rows,), the instance of each row; see `owner_begins`.
    """
    is_read = tokens != NO_TOKEN
    counts = is_read.astype(np.int64)
    products = np.where(is_read, factors.astype(np.float64), 1)
    begins = owner_begins(owner)
    if len(begins) < len(owner):
        counts = np.add.reduceat(counts, begins, axis=0)
        products = np.multiply.reduceat(products, begins, axis=0)
    return WordScores(np.where(counts > 0, products, 0).max(axis=2), counts.max(axis=2))


NO_RANK = 0


def best_ranks(
    ranks: npt.NDArray[np.int32], is_first_token: npt.NDArray[np.bool_], owner: IntArray
) -> IntArray:
    """Returns the ranks of words: of each word the best rank of its spellings' first tokens.

    Args:
        ranks: shape (rows, columns, spellings), the ranks of the tokens that were read, from 1.
        is_first_token: shape (rows, columns, spellings), whether the first token of a spelling was
            read.
        owner: shape (rows,), the instance of each row; see `owner_begins`.

    Returns:
        Shape (instances, columns), `NO_RANK` if no first token was read.
    """
    worst = np.iinfo(np.int32).max
    first_ranks = np.where(is_first_token, ranks, worst).min(axis=2)
    best = np.minimum.reduceat(first_ranks, owner_begins(owner), axis=0)
    return np.where(best == worst, NO_RANK, best)
