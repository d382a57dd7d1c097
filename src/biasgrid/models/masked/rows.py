"""The rows that ask for candidates at the mask of instances: one for each instance and what stands at its mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from biasgrid.arrays import IntArray
from biasgrid.engine.encoding import Rows, Segments, matrix_of
from biasgrid.models.masked.pieces import Insert, Reading


class Words(NamedTuple):
    """What a column of candidates asks for.

    Attributes:
        asked: of each distinct word the inputs that score it, none where there is no candidate.
        word_of: shape (instances,), which of them each instance has.
    """

    asked: Sequence[Sequence[tuple[Insert, Sequence[Reading]]]]
    word_of: IntArray


class Wanted(NamedTuple):
    """What must be read for a column.

    Attributes:
        instances, inserts: shape (inputs,), the instances and what stands at their masks.
        tokens: shape (inputs, ways), the token that is read of each way to write the word, -1 for none.
    """

    instances: IntArray
    inserts: IntArray
    tokens: IntArray


@dataclass(frozen=True)
class MaskRows:
    """Encoded instances: a row for each instance and what stands at its mask.

    Attributes:
        rows: the rows' tokens, in the order of the instances.
        place: shape (rows,), the place that is read.
        is_first: shape (rows,), whether what is read there is the first token of a word.
        tokens: of each column of candidates the token that is read of each way to write the word, shape (rows, ways),
            -1 for none.
    """

    rows: Rows
    place: IntArray
    is_first: npt.NDArray[np.bool_]
    tokens: list[IntArray]


def mask_rows(rows: Rows, masks: IntArray, words: Sequence[Words]) -> MaskRows:
    """Returns the rows that score all words of all instances; words share those which they have in common.

    Args:
        rows: the instances' rows, with one mask in the second segment of each.
        masks: shape (second segments,), the place of the mask there.
        words: the words of each column, of which each instance has at least one.
    """
    numbers: dict[Insert, int] = {}
    columns = [wanted(each, numbers) for each in words]
    keys = [column.instances * len(numbers) + column.inserts for column in columns]
    every = np.unique(np.concatenate(keys))
    owner, insert_of = np.divmod(every, len(numbers))
    tokens = [np.full((len(every), column.tokens.shape[1]), -1) for column in columns]
    for read, column, key in zip(tokens, columns, keys, strict=True):
        read[np.searchsorted(every, key)] = column.tokens
    filled = with_inserts(rows, masks, list(numbers), owner, insert_of)
    read_of_insert = np.array([insert.place for insert in numbers])[insert_of]
    begins = filled.second_start(np.arange(len(every))) + masks[rows.second_of[owner]]
    return MaskRows(filled, begins + read_of_insert, read_of_insert == 0, tokens)


def wanted(words: Words, numbers: dict[Insert, int]) -> Wanted:
    """Returns what must be read for a column.

    Args:
        words: the column's words.
        numbers: the number of each insert, to which new ones are added.
    """
    inputs = [each for word in words.asked for each in word]
    inserts = np.array([numbers.setdefault(insert, len(numbers)) for insert, _ in inputs], dtype=np.int64)
    ways = max((reading.way + 1 for _, readings in inputs for reading in readings), default=1)
    tokens = np.full((len(inputs), ways), -1)
    for row, (_, readings) in enumerate(inputs):
        for reading in readings:
            tokens[row, reading.way] = reading.token
    instances, input_of = each_input([len(word) for word in words.asked], words.word_of)
    return Wanted(instances, inserts[input_of], tokens[input_of])


def each_input(counts: Sequence[int], word_of: IntArray) -> tuple[IntArray, IntArray]:
    """Returns the instance and the input of each row, by instance; both of shape (rows,).

    Args:
        counts: how many inputs each word has, which are numbered through.
        word_of: shape (instances,), the word of each.
    """
    sizes = np.array(counts, dtype=np.int64)
    begins = np.cumsum(sizes) - sizes
    of_instance = sizes[word_of]
    owner = np.repeat(np.arange(len(word_of)), of_instance)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(of_instance) - of_instance, of_instance)
    return owner, begins[word_of][owner] + within


def with_inserts(rows: Rows, masks: IntArray, inserts: Sequence[Insert], owner: IntArray, insert_of: IntArray) -> Rows:
    """Returns rows with other tokens in place of their masks.

    Args:
        rows: the instances' rows.
        masks: shape (second segments,), the place of the mask in each.
        inserts: what may stand there.
        owner: shape (rows,), the instance of each new row.
        insert_of: shape (rows,), what stands at its mask.
    """
    kinds, second_of = np.unique(rows.second_of[owner] * len(inserts) + insert_of, return_inverse=True)
    segments, filling = np.divmod(kinds, len(inserts))
    ids, sizes = matrix_of([insert.ids for insert in inserts]), np.array([len(insert.ids) for insert in inserts])
    lengths = rows.second.lengths[segments] + sizes[filling] - 1
    filled_ids = put_in(rows.second.ids[segments], lengths, masks[segments], ids[filling], sizes[filling])
    nowhere = np.broadcast_to(np.int64(0), (*filled_ids.shape, 2))
    second = Segments(filled_ids, lengths, lengths, nowhere)
    filled = Rows(rows.layout, rows.first, second, rows.first_of[owner], second_of, owner=owner)
    if rows.types is None:
        return filled
    places = rows.second_start(owner) + masks[rows.second_of[owner]]
    types = rows.types[owner]
    of_mask = np.take_along_axis(types, places[:, None], axis=1)
    return replace(filled, types=put_in(types, filled.lengths, places, of_mask, sizes[insert_of]))


def put_in(values: IntArray, lengths: IntArray, masks: IntArray, inserts: IntArray, sizes: IntArray) -> IntArray:
    """Puts what tokens have, such as their ids, in place of that of the masks of rows.

    Args:
        values: shape (rows, longest), a number for each token.
        lengths: shape (rows,), how many tokens each row will have.
        masks: shape (rows,), the place of each row's mask.
        inserts: shape (rows, longest insert); the last column stands for all behind it.
        sizes: shape (rows,), how many tokens each insert has.

    Returns:
        Shape (rows, longest), 0 behind each row's end.
    """
    place = np.arange(lengths.max(initial=1))[None, :]
    within = place - masks[:, None]
    source = np.where(within < sizes[:, None], place, place - sizes[:, None] + 1)
    text = np.take_along_axis(values, np.clip(source, 0, values.shape[1] - 1), axis=1)
    insert = np.take_along_axis(inserts, np.clip(within, 0, inserts.shape[1] - 1), axis=1)
    filled = np.where((within >= 0) & (within < sizes[:, None]), insert, text)
    return np.where(place < lengths[:, None], filled, 0)


def products(
    factors: npt.NDArray[np.float32], tokens: IntArray, owner: IntArray
) -> tuple[npt.NDArray[np.float64], IntArray]:
    """Returns of each instance the probability of its word, that of the most probable way to write it.

    Args:
        factors: shape (rows, ways), the probabilities of the tokens that were read.
        tokens: shape (rows, ways), these tokens, -1 where none was.
        owner: shape (rows,), the instance of each row, which ascends from 0.

    Returns:
        The probability, 0 where nothing was read, and the largest number of tokens of a way; shape (instances,).
    """
    begins = np.unique(owner, return_index=True)[1]
    read = tokens >= 0
    pieces = np.add.reduceat(read.astype(np.int64), begins, axis=0)
    product = np.multiply.reduceat(np.where(read, factors.astype(np.float64), 1), begins, axis=0)
    return np.where(pieces > 0, product, 0).max(axis=1), pieces.max(axis=1)


def best_ranks(ranks: IntArray, counts: npt.NDArray[np.bool_], owner: IntArray) -> IntArray:
    """Returns of each instance the best rank of its word, that of the way to write it that is ranked first.

    Args:
        ranks: shape (rows, ways).
        counts: shape (rows, ways), which of them are of the first token of a way.
        owner: shape (rows,), the instance of each row, which ascends from 0.

    Returns:
        Shape (instances,), 0 where no first token was read.
    """
    begins = np.unique(owner, return_index=True)[1]
    worst = np.iinfo(np.int64).max
    best = np.minimum.reduceat(np.where(counts, ranks, worst).min(axis=1), begins)
    return np.where(best == worst, 0, best)
