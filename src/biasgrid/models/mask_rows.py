"""The rows that ask for words at the mask of instances: one for each instance and what stands at its mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from biasgrid.arrays import IntArray
from biasgrid.models.encoding import Rows, Segments
from biasgrid.models.masked_pieces import Insert, Inserts, Reading, expand, make_room, put_in


class Words(NamedTuple):
    """The words that a column of the predictions is about, one for each instance.

    Attributes:
        asked: of each distinct word the inputs that score it; their readings' targets are the ways to write the word.
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
        tokens: per column of the predictions the token that is read of each way to write the word, shape (rows, ways),
            -1 for none.
    """

    rows: Rows
    place: IntArray
    tokens: dict[str, IntArray]


def mask_rows(rows: Rows, masks: IntArray, words: Mapping[str, Words]) -> MaskRows:
    """Returns the rows that score all words of all instances; words share those which they have in common.

    Args:
        rows: the instances' rows, with one mask in the second segment of each.
        masks: shape (second segments,), the place of the mask there.
        words: the words of each column, at least one column.
    """
    numbers: dict[Insert, int] = {}
    columns = {name: wanted(each, numbers) for name, each in words.items()}
    keys = {name: column.instances * len(numbers) + column.inserts for name, column in columns.items()}
    every = np.unique(np.concatenate(list(keys.values())))
    owner, insert_of = np.divmod(every, len(numbers))
    tokens = {name: np.full((len(every), column.tokens.shape[1]), -1) for name, column in columns.items()}
    for name, column in columns.items():
        tokens[name][np.searchsorted(every, keys[name])] = column.tokens
    inserts = Inserts.of([(insert, []) for insert in numbers])
    filled = with_inserts(rows, masks, inserts, owner, insert_of)
    place = filled.second_start(np.arange(len(every))) + masks[rows.second_of[owner]] + inserts.places[insert_of]
    return MaskRows(filled, place, tokens)


def wanted(words: Words, numbers: dict[Insert, int]) -> Wanted:
    """Returns what must be read for a column.

    Args:
        words: the column's words.
        numbers: the number of each insert, to which new ones are added.
    """
    inputs = [each for word in words.asked for each in word]
    inserts = np.array([numbers.setdefault(insert, len(numbers)) for insert, _ in inputs])
    ways = max((reading.target + 1 for _, readings in inputs for reading in readings), default=1)
    tokens = np.full((len(inputs), ways), -1)
    for row, (_, readings) in enumerate(inputs):
        for reading in readings:
            tokens[row, reading.target] = reading.token
    instances, input_of = expand([len(word) for word in words.asked], words.word_of)
    return Wanted(instances, inserts[input_of], tokens[input_of])


def with_inserts(rows: Rows, masks: IntArray, inserts: Inserts, owner: IntArray, insert_of: IntArray) -> Rows:
    """Returns rows with other tokens in place of their masks.

    Args:
        rows: the instances' rows.
        masks: shape (second segments,), the place of the mask in each.
        inserts: what may stand there.
        owner: shape (rows,), the instance of each new row.
        insert_of: shape (rows,), what stands at its mask.
    """
    kinds, second_of = np.unique(rows.second_of[owner] * len(inserts.sizes) + insert_of, return_inverse=True)
    segments, filling = np.divmod(kinds, len(inserts.sizes))
    lengths = rows.second.lengths[segments] + inserts.sizes[filling] - 1
    ids = put_in(rows.second.ids[segments], lengths, masks[segments], inserts.ids[filling], inserts.sizes[filling])
    nowhere = np.broadcast_to(np.int64(0), (*ids.shape, 2))
    second = Segments(ids, lengths, lengths, nowhere)
    filled = Rows(rows.layout, rows.first, second, rows.first_of[owner], second_of, owner=owner)
    if rows.types is None:
        return filled
    places = rows.second_start(owner) + masks[rows.second_of[owner]]
    return replace(filled, types=make_room(rows.types[owner], filled.lengths, places, inserts.sizes[insert_of]))


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
