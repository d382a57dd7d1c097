"""Finds instances that a tokenizer does not know whole, and refuses those with tokens that a model
does not know.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.segments import TokenizedTexts

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

CONTINUED = "##"
"""Before pieces within a word, in WordPiece."""
OF_BYTES, OF_SENTENCES = "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}", "\N{LOWER ONE EIGHTH BLOCK}"
"""Before pieces that begin a word: in BPE of bytes, where only letters of ASCII are letters, and in
SentencePiece.
"""
SHORT_TOKEN = 2
"""Letters of a piece that says nothing by itself."""
FEWEST_TOKENS = 12
"""Pieces with letters from which on a text is long enough to be judged."""
ALPHABETS = "\u0590"
"""Before it in Unicode stand alphabets such as the Latin, Greek and Cyrillic ones; behind it
others, whose letters say more: a Chinese word has one or two.
"""


def with_unknown_tokens(rows: TokenRows, tokenizer: PreTrainedTokenizerFast) -> BoolArray:
    """Says of each encoded instance whether the tokenizer does not know its texts.

    Either some tokens stand for what it does not know, or most are pieces of words of a letter or
    two: then its vocabulary lacks most of the words.

    Returns:
        Shape (instances,).
    """
    token, found = token_for_unknown(tokenizer), np.zeros(len(rows.first_of), dtype=np.bool_)
    if token is not None:
        found = rows.first.have(token)[rows.first_of] | rows.second.have(token)[rows.second_of]
    pieces = tokens_of_words(tokenizer)
    if pieces.any():
        first, second = (
            count_short_tokens(rows.first, pieces)[rows.first_of],
            count_short_tokens(rows.second, pieces)[rows.second_of],
        )
        lettered, short = (first + second).T
        found |= (lettered >= FEWEST_TOKENS) & (2 * short > lettered)
    return found if rows.owner is None else np.bincount(rows.owner, found) > 0


def token_for_unknown(tokenizer: PreTrainedTokenizerFast) -> int | None:
    """Returns the token that stands for what a tokenizer does not know; None where nothing is
    unknown to it.

    Where one token is for the unknown and for a text's end, as in GPT-2, the tokenizer writes every
    byte.
    """
    others = [
        getattr(tokenizer, f"{name}_token_id")
        for name in ("bos", "eos", "cls", "sep", "pad", "mask")
    ]
    return None if tokenizer.unk_token_id in others else tokenizer.unk_token_id


def known_tokens(model: PreTrainedModel) -> int:
    """How many tokens a model has an embedding of."""
    return int(model.get_input_embeddings().weight.shape[0])


def check_tokens(rows: TokenRows, known: int, instances: pl.Series, model: str) -> None:
    """Refuses rows with tokens of which a model has no embedding.

    Args:
        rows: the rows.
        known: how many it has, see `known_tokens`.
        instances: the numbers of the encoded instances, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: with the largest such token.
    """
    largest = max(int(segments.ids.max(initial=0)) for segments in (rows.first, rows.second))
    if largest >= known:
        row = int(
            (
                rows.first.have(largest)[rows.first_of] | rows.second.have(largest)[rows.second_of]
            ).argmax()
        )
        raise unknown_token(
            model, instances[row if rows.owner is None else int(rows.owner[row])], largest, known
        )


def unknown_token(model: str, instance: int, token: int, known: int) -> ModelError:
    """Returns the error of a token of which a model has no embedding."""
    return ModelError(
        f"model {model}: instance {instance} has the token {token}, but the model knows only "
        f"{known} tokens; expected a tokenizer and weights from the same checkpoint"
    )


@lru_cache(maxsize=2)
def tokens_of_words(tokenizer: PreTrainedTokenizerFast) -> IntArray:
    """Returns the kinds of pieces of a tokenizer's vocabulary, which take a while where it is
    large.
    """
    return token_types(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))


def token_types(tokens: Sequence[str | None]) -> IntArray:
    """Says of each token of a vocabulary whether it is of letters, and a short piece within a word.

    Returns:
        Shape (tokens, 2), 0 or 1; all 0 where tokens do not show whether they begin a word.
    """
    known = [token or "" for token in tokens]
    is_continued = [token.startswith(CONTINUED) for token in known]
    if not any(is_continued):
        begins = [token.startswith((OF_BYTES, OF_SENTENCES)) for token in known]
        is_continued = [any(begins) and not begin for begin in begins]
    end = "\x80" if any(token.startswith(OF_BYTES) for token in known) else ALPHABETS
    texts = [token.removeprefix(CONTINUED).lstrip(OF_BYTES + OF_SENTENCES) for token in known]
    lettered = np.array([text.isalpha() and max(text) < end for text in texts], dtype=np.int64)
    short = lettered * [
        within and len(text) <= SHORT_TOKEN
        for within, text in zip(is_continued, texts, strict=True)
    ]
    return np.column_stack([lettered, short]) * any(is_continued)


def count_short_tokens(segments: TokenizedTexts, pieces: IntArray) -> IntArray:
    """Counts tokens of letters in each segment, and those that are short pieces of words; shape
    (segments, 2).
    """
    sums = np.concatenate(
        [np.zeros((1, 2), dtype=np.int64), np.cumsum(pieces[segments.ids], axis=0)]
    )
    counts: IntArray = sums[segments.begins + segments.lengths] - sums[segments.begins]
    return counts
