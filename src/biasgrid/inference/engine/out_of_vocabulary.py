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


def is_out_of_vocabulary(rows: TokenRows, tokenizer: PreTrainedTokenizerFast) -> BoolArray:
    """Returns whether a tokenizer lacks words of each encoded instance.

    Either it wrote the unknown token, or most tokens are parts of words with one or two letters:
    then its vocabulary lacks most of the words.

    Returns:
        Shape (instances,).
    """
    lacks_words = np.zeros(len(rows.first_of), dtype=np.bool_)
    unknown = unknown_token_id(tokenizer)
    if unknown is not None:
        lacks_words = rows_with_token(rows, unknown)
    types = vocabulary_token_types(tokenizer)
    if types.any():
        first = count_short_tokens(rows.first, types)[rows.first_of]
        second = count_short_tokens(rows.second, types)[rows.second_of]
        lettered, short = (first + second).T
        lacks_words |= (lettered >= FEWEST_TOKENS) & (2 * short > lettered)
    if rows.owner is None:
        return lacks_words
    return np.bincount(rows.owner, lacks_words) > 0


def rows_with_token(rows: TokenRows, token: int) -> BoolArray:
    """Returns whether each row contains a token; shape (rows,)."""
    return rows.first.have(token)[rows.first_of] | rows.second.have(token)[rows.second_of]


def unknown_token_id(tokenizer: PreTrainedTokenizerFast) -> int | None:
    """Returns the unknown token of a tokenizer; None if its vocabulary covers every text.

    If the unknown token has another purpose, too, such as the end of a text in GPT-2, the tokenizer
    can write every byte.
    """
    names = ("bos", "eos", "cls", "sep", "pad", "mask")
    special = [getattr(tokenizer, f"{name}_token_id") for name in names]
    unknown: int | None = tokenizer.unk_token_id
    return None if unknown in special else unknown


def embedding_count(model: PreTrainedModel) -> int:
    """How many tokens a model has an embedding of."""
    return int(model.get_input_embeddings().weight.shape[0])


def check_tokens(rows: TokenRows, known: int, instances: pl.Series, model: str) -> None:
    """Refuses rows with tokens for which a model has no embedding.

    Args:
        rows: the rows.
        known: the number of the model's embeddings, see `embedding_count`.
        instances: the numbers of the encoded instances, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: names the largest such token.
    """
    largest = max(int(segments.ids.max(initial=0)) for segments in (rows.first, rows.second))
    if largest >= known:
        row = int(rows_with_token(rows, largest).argmax())
        place = row if rows.owner is None else int(rows.owner[row])
        raise unknown_token_error(model, instances[place], largest, known)


def unknown_token_error(model: str, instance: int, token: int, known: int) -> ModelError:
    """Returns the error of a token for which a model has no embedding."""
    return ModelError(
        f"model {model}: instance {instance} has the token {token}, but the model knows only "
        f"{known} tokens; expected a tokenizer and weights from the same checkpoint"
    )


@lru_cache(maxsize=2)
def vocabulary_token_types(tokenizer: PreTrainedTokenizerFast) -> IntArray:
    """Returns `token_types` of a tokenizer's vocabulary; kept, as a large one takes a while."""
    return token_types(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))


def token_types(tokens: Sequence[str | None]) -> IntArray:
    """Returns which tokens of a vocabulary have letters only, and which are short parts of words.

    Args:
        tokens: the vocabulary; None for a number without a token.

    Returns:
        Shape (tokens, 2), 0 or 1: whether a token has letters only, and whether it is also short
        and continues a word. All are 0 if tokens do not show whether they begin a word.
    """
    vocabulary = [token or "" for token in tokens]
    types = np.zeros((len(vocabulary), 2), dtype=np.int64)
    continues = continues_word(vocabulary)
    if not any(continues):
        return types
    # Tokens of bytes spell all other letters than ASCII with two or more signs for bytes.
    has_bytes = any(token.startswith(OF_BYTES) for token in vocabulary)
    first_other = "\x80" if has_bytes else ALPHABETS
    for number, token in enumerate(vocabulary):
        text = token.removeprefix(CONTINUED).lstrip(OF_BYTES + OF_SENTENCES)
        if text.isalpha() and max(text) < first_other:
            is_short_part = continues[number] and len(text) <= SHORT_TOKEN
            types[number] = 1, is_short_part
    return types


def continues_word(vocabulary: Sequence[str]) -> list[bool]:
    """Returns whether each token continues a word; all are False if tokens do not show it.

    WordPiece marks tokens that continue a word, the other algorithms tokens that begin one.
    """
    is_continued = [token.startswith(CONTINUED) for token in vocabulary]
    if any(is_continued):
        return is_continued
    is_begin = [token.startswith((OF_BYTES, OF_SENTENCES)) for token in vocabulary]
    if not any(is_begin):
        return is_begin
    return [not begin for begin in is_begin]


def count_short_tokens(segments: TokenizedTexts, types: IntArray) -> IntArray:
    """Counts tokens with letters only, and short parts of words, in each segment.

    Args:
        segments: the segments.
        types: see `token_types`.

    Returns:
        Shape (segments, 2).
    """
    before_first = np.zeros((1, 2), dtype=np.int64)
    sums = np.concatenate([before_first, np.cumsum(types[segments.ids], axis=0)])
    counts: IntArray = sums[segments.begins + segments.lengths] - sums[segments.begins]
    return counts
