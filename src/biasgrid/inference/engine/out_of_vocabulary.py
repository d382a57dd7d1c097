"""Finds instances with words outside a tokenizer's vocabulary; refuses tokens without embedding."""

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
"""Begins tokens within a word, in WordPiece."""
BYTE_SPACE, SENTENCE_SPACE = (
    "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}",
    "\N{LOWER ONE EIGHTH BLOCK}",
)
"""Begin tokens that begin a word: in byte-level BPE, where only ASCII letters are letters, and in
SentencePiece.
"""
SHORT_TOKEN = 2
"""Letters of a token that is too short to be a word or a stem."""
FEWEST_TOKENS = 12
"""Tokens with letters that a text must have to be judged by its short tokens."""
END_OF_ALPHABETS = "\u0590"
"""Letters before it in Unicode are of alphabets such as Latin, Greek and Cyrillic. In later scripts
a letter says more: a Chinese word has one or two.
"""


def is_out_of_vocabulary(rows: TokenRows, tokenizer: PreTrainedTokenizerFast) -> BoolArray:
    """Returns whether a tokenizer lacks words of each encoded instance.

    It does if it wrote the unknown token in a row of the instance, or if most tokens of a row with
    at least `FEWEST_TOKENS` are parts of words with one or two letters.

    Returns:
        Shape (instances,).
    """
    lacks_words = np.zeros(len(rows.first_index), dtype=np.bool_)
    unknown = unknown_token_id(tokenizer)
    if unknown is not None:
        lacks_words = rows_with_token(rows, unknown)
    types = vocabulary_token_types(tokenizer)
    if types.any():
        first_counts = count_short_tokens(rows.first_segments, types)[rows.first_index]
        second_counts = count_short_tokens(rows.second_segments, types)[rows.second_index]
        word_tokens, short_tokens = (first_counts + second_counts).T
        lacks_words |= (word_tokens >= FEWEST_TOKENS) & (2 * short_tokens > word_tokens)
    if rows.owner is None:
        return lacks_words
    return np.bincount(rows.owner, lacks_words) > 0


def rows_with_token(rows: TokenRows, token: int) -> BoolArray:
    """Returns whether each row contains a token; shape (rows,)."""
    in_first = rows.first_segments.contains(token)[rows.first_index]
    in_second = rows.second_segments.contains(token)[rows.second_index]
    return in_first | in_second


def unknown_token_id(tokenizer: PreTrainedTokenizerFast) -> int | None:
    """Returns the id of a tokenizer's unknown token; None if its vocabulary covers every text.

    An unknown token with another purpose, such as the end of a text in GPT-2, does not count: such
    a tokenizer can write every byte.
    """
    names = ("bos", "eos", "cls", "sep", "pad", "mask")
    special = [getattr(tokenizer, f"{name}_token_id") for name in names]
    unknown: int | None = tokenizer.unk_token_id
    return None if unknown in special else unknown


def embedding_count(model: PreTrainedModel) -> int:
    """Returns the number of tokens that a model has an embedding for."""
    return int(model.get_input_embeddings().weight.shape[0])


def check_tokens(rows: TokenRows, embeddings: int, instances: pl.Series, model: str) -> None:
    """Refuses rows with tokens for which a model has no embedding.

    Args:
        rows: the rows.
        embeddings: the number of the model's embeddings, see `embedding_count`.
        instances: the column `instance` of the encoded instances, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: names the largest such token.
    """
    both = (rows.first_segments, rows.second_segments)
    largest = max(int(segments.ids.max(initial=0)) for segments in both)
    if largest >= embeddings:
        row = int(rows_with_token(rows, largest).argmax())
        place = row if rows.owner is None else int(rows.owner[row])
        raise unknown_token_error(model, instances[place], largest, embeddings)


def unknown_token_error(model: str, instance: int, token: int, embeddings: int) -> ModelError:
    """Returns the error of a token for which a model has no embedding."""
    return ModelError(
        f"model {model}: instance {instance} has the token {token}, but the model knows only "
        f"{embeddings} tokens; expected a tokenizer and weights from the same checkpoint"
    )


@lru_cache(maxsize=2)
def vocabulary_token_types(tokenizer: PreTrainedTokenizerFast) -> IntArray:
    """Returns `token_types` of a tokenizer's vocabulary; cached, as a large one takes a while."""
    return token_types(tokenizer.convert_ids_to_tokens(list(range(len(tokenizer)))))


def token_types(tokens: Sequence[str | None]) -> IntArray:
    """Returns which tokens of a vocabulary have letters only, and which are short parts of words.

    Args:
        tokens: the vocabulary in the order of token ids; None for an id without a token.

    Returns:
        Shape (tokens, 2), 0 or 1: whether a token has letters only, and whether it is also short
        and continues a word. All are 0 if tokens do not show whether they begin a word.
    """
    vocabulary = [token or "" for token in tokens]
    types = np.zeros((len(vocabulary), 2), dtype=np.int64)
    continues = continues_word(vocabulary)
    if not any(continues):
        return types
    # Byte-level tokens spell a letter outside ASCII with two or more signs, one for each byte.
    has_bytes = any(token.startswith(BYTE_SPACE) for token in vocabulary)
    end_of_letters = "\x80" if has_bytes else END_OF_ALPHABETS
    for token_id, token in enumerate(vocabulary):
        text = token.removeprefix(CONTINUED).lstrip(BYTE_SPACE + SENTENCE_SPACE)
        if text.isalpha() and max(text) < end_of_letters:
            is_short_part = continues[token_id] and len(text) <= SHORT_TOKEN
            types[token_id] = 1, is_short_part
    return types


def continues_word(vocabulary: Sequence[str]) -> list[bool]:
    """Returns whether each token continues a word; all are False if tokens do not show it.

    WordPiece marks tokens that continue a word, the other algorithms tokens that begin one.
    """
    is_continued = [token.startswith(CONTINUED) for token in vocabulary]
    if any(is_continued):
        return is_continued
    is_begin = [token.startswith((BYTE_SPACE, SENTENCE_SPACE)) for token in vocabulary]
    if not any(is_begin):
        return is_begin
    return [not begin for begin in is_begin]


def count_short_tokens(segments: TokenizedTexts, types: IntArray) -> IntArray:
    """Counts tokens with letters only, and short parts of words, in each segment.

    Args:
        segments: the segments.
        types: see `token_types`.

    Returns:
        Shape (segments, 2): the sums of both columns of `types` over each segment's tokens.
    """
    before_first = np.zeros((1, 2), dtype=np.int64)
    sums = np.concatenate([before_first, np.cumsum(types[segments.ids], axis=0)])
    counts: IntArray = sums[segments.begins + segments.lengths] - sums[segments.begins]
    return counts
