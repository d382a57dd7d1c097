"""Words of several pieces at a mask: which inputs ask for them, and what is read of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

from biasgrid.arrays import IntArray
from biasgrid.models.checkpoint import ModelError
from biasgrid.models.encoding import matrix_of
from biasgrid.models.settings import TargetScoring

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


class Pieces(NamedTuple):
    """A target in a tokenizer's vocabulary: its token ids, and of each the number of the word that it is part of."""

    target: str
    ids: list[int]
    words: list[int | None]


class Insert(NamedTuple):
    """What stands in place of the mask in one input (token ids), and which of them is read."""

    ids: tuple[int, ...]
    place: int


class Reading(NamedTuple):
    """A token whose probability is read: which piece of which target it is."""

    token: int
    target: int
    piece: int


@dataclass(frozen=True)
class Inserts:
    """Many inserts with what is read of them.

    Attributes:
        ids: shape (inserts, longest), 0 behind each one's end.
        sizes: shape (inserts,), how many ids each has.
        places: shape (inserts,), which of them is read.
        tokens, targets, pieces: shape (inserts, readings), the readings; `targets` is -1 where there are fewer.
    """

    ids: IntArray
    sizes: IntArray
    places: IntArray
    tokens: IntArray
    targets: IntArray
    pieces: IntArray

    @classmethod
    def of(cls, inserts: Sequence[tuple[Insert, list[Reading]]]) -> Inserts:
        """Puts inserts into matrices."""
        ids = [insert.ids for insert, _ in inserts]
        readings = [read for _, read in inserts]
        return cls(
            matrix_of(ids),
            np.array([len(each) for each in ids], dtype=np.int64),
            np.array([insert.place for insert, _ in inserts], dtype=np.int64),
            matrix_of([[reading.token for reading in read] for read in readings]),
            matrix_of([[reading.target for reading in read] for read in readings], -1),
            matrix_of([[reading.piece for reading in read] for read in readings]),
        )


def pieces_in_place(tokenizer: PreTrainedTokenizerFast, text: str, word: str) -> Pieces:
    """Tokenizes a word in the place of a text's mask, with a leading space where the place has one.

    Raises:
        ModelError: the tokenizer cannot write the word, or joins it with what stands around it.
    """
    backend, mask = tokenizer.backend_tokenizer, tokenizer.mask_token
    around = backend.encode(text, add_special_tokens=False).ids
    written = backend.encode(text.replace(mask, word), add_special_tokens=False)
    begin, end_of_word = around.index(tokenizer.mask_token_id), text.index(mask) + len(word)
    end = sum(first < end_of_word for first, _ in written.offsets)
    if begin >= end or written.ids[:begin] != around[:begin] or written.offsets[end - 1][1] > end_of_word:
        raise ModelError(
            f"{word!r} is no token or tokens of its own in place of the mask of {text!r}; expected a mask that stands "
            "by itself, and words"
        )
    ids = written.ids[begin:end]
    if tokenizer.unk_token_id in ids:
        raise ModelError(
            f"{word!r} has letters that this model's tokenizer does not know; expected words that it can write with "
            "its vocabulary"
        )
    return Pieces(word, ids, written.word_ids[begin:end])


def inserts_of(
    targets: Sequence[Pieces], scoring: TargetScoring | None, mask: int
) -> list[tuple[Insert, list[Reading]]]:
    """Returns the inputs that score all targets of a text; targets share those which they have in common.

    Args:
        targets: the targets' pieces.
        scoring: see `hidden_pieces`.
        mask: the mask's token id.

    Raises:
        ModelError: a target has several pieces, and there is no scoring.
    """
    inserts: dict[Insert, list[Reading]] = {}
    for number, target in enumerate(targets):
        if scoring is None and len(target.ids) > 1:
            raise ModelError(
                f"{target.target!r} is not one token of this model; expected one-token words, or `target_scoring` in "
                "the dataset to score others too (without it, leave `subjects` out of the variant to have them dropped)"
            )
        for piece, hidden in enumerate(hidden_pieces(scoring, target.words)):
            shown = Insert(tuple(np.where(hidden, mask, target.ids).tolist()), piece)
            inserts.setdefault(shown, []).append(Reading(target.ids[piece], number, piece))
    return list(inserts.items())


def hidden_pieces(scoring: TargetScoring | None, words: Sequence[int | None]) -> npt.NDArray[np.bool_]:
    """Says which pieces of a target are masked while one of them is read.

    The score of the target is the product of the probabilities of all pieces, each read with some of the others masked:

    - `joint`: it and all behind it, so that the product is that of the chain rule;
    - `pll`: it alone (pseudo-log-likelihood; Salazar et al., ACL 2020, https://aclanthology.org/2020.acl-main.240);
    - `pll-l2r`: it and those behind it in the same word (PLL-word-l2r; Kauf and Ivanova, ACL 2023,
      https://aclanthology.org/2023.acl-short.80), which differs from `joint` in targets of several words.

    Args:
        scoring: which of them; of a target of one piece it makes no difference.
        words: shape (pieces,), the word of each piece.

    Returns:
        Shape (pieces, pieces), a row for each piece that is read.
    """
    place, word = np.arange(len(words)), np.array(words)
    if scoring == "pll":
        return np.eye(len(words), dtype=np.bool_)
    behind: npt.NDArray[np.bool_] = place[None, :] >= place[:, None]
    return behind & (word[None, :] == word[:, None]) if scoring == "pll-l2r" else behind


def put_in(ids: IntArray, lengths: IntArray, masks: IntArray, inserts: IntArray, sizes: IntArray) -> IntArray:
    """Puts inserts in place of the masks of rows.

    Args:
        ids: shape (rows, longest), the rows' token ids.
        lengths: shape (rows,), how many ids each row will have.
        masks: shape (rows,), the place of each row's mask.
        inserts: shape (rows, longest insert).
        sizes: shape (rows,), how many ids each insert has.

    Returns:
        Shape (rows, longest), 0 behind each row's end.
    """
    text = make_room(ids, lengths, masks, sizes)
    place = np.arange(text.shape[1])[None, :]
    within = place - masks[:, None]
    insert = np.take_along_axis(inserts, np.clip(within, 0, inserts.shape[1] - 1), axis=1)
    filled = np.where((within >= 0) & (within < sizes[:, None]), insert, text)
    return np.where(place < lengths[:, None], filled, 0)


def make_room(values: IntArray, lengths: IntArray, masks: IntArray, sizes: IntArray) -> IntArray:
    """Repeats what the tokens of rows have at their masks, such as a token type, for each token of an insert.

    Args:
        values: shape (rows, longest), a number for each token.
        lengths: shape (rows,), how many tokens each row will have.
        masks: shape (rows,), the place of each row's mask.
        sizes: shape (rows,), how many tokens each insert has.

    Returns:
        Shape (rows, longest), of no meaning behind each row's end.
    """
    place = np.arange(lengths.max(initial=1))[None, :]
    source = np.minimum(place, np.maximum(masks[:, None], place - sizes[:, None] + 1))
    moved: IntArray = np.take_along_axis(values, np.minimum(source, values.shape[1] - 1), axis=1)
    return moved


def expand(counts: Sequence[int], kind_of: IntArray) -> tuple[IntArray, IntArray]:
    """Returns the rows of instances of several kinds, one for each insert of its kind.

    Args:
        counts: how many inserts each kind has, which are numbered through.
        kind_of: shape (instances,), the kind of each.

    Returns:
        The instance and the insert of each row, shape (rows,); rows by instance.
    """
    sizes = np.array(counts, dtype=np.int64)
    begins = np.cumsum(sizes) - sizes
    of_instance = sizes[kind_of]
    owner = np.repeat(np.arange(len(kind_of)), of_instance)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(of_instance) - of_instance, of_instance)
    return owner, begins[kind_of][owner] + within
