"""Estimates for masked language models, which read candidates at a mask."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from biasgrid.base.sections import TargetScoring
from biasgrid.inference.checkpoints.fast_tokenizer import FastTokenizer
from biasgrid.inference.input_counts import InputCounts
from biasgrid.inference.models.estimates.texts import (
    InputEstimate,
    ReadingModel,
    TextSample,
    input_lengths,
    with_system,
)
from biasgrid.inference.models.masked.candidate_tokens import (
    Insert,
    VocabularyTokens,
    candidate_inserts,
    candidate_spellings,
    scored_spellings,
)

MASK_ID = -1
"""Stands for the mask's token id."""
ONE_INPUT = {Insert((MASK_ID,), 0)}


def count_mask_inputs(reader: ReadingModel, sample: TextSample) -> InputEstimate:
    """Estimates the inputs that score candidates at the mask of a text.

    A candidate of several tokens has an input for each of them. Without a tokenizer, all candidates
    count as one token. Words are tokenized behind a space, wherever the mask stands.
    """
    tokenizer, choices = reader.tokenizer, reader.choices
    joined = [f"{with_system(text)} {text.question}".strip() for text in sample.texts]
    lengths = input_lengths(tokenizer, joined)
    total = InputCounts()
    for text, length in zip(sample.texts, lengths, strict=True):
        inserts = ONE_INPUT
        if tokenizer is not None and choices.get("scoring") != "unqover":
            inserts = inserts_of_words(tokenizer, text.words, choices) or ONE_INPUT
        tokens = sum(length - 1 + len(insert.ids) for insert in inserts)
        total = total.plus(InputCounts(len(inserts), tokens))
    return InputEstimate(total.times(1 / len(sample.texts)))


def inserts_of_words(
    tokenizer: FastTokenizer, words: Sequence[str], choices: Mapping[str, Any]
) -> set[Insert]:
    """Returns the distinct tokens in place of the mask that score some words.

    Args:
        tokenizer: the tokenizer.
        words: the candidates of an instance, in their order.
        choices: the fields of `masked.back_end.MaskChoices`.
    """
    # Without a scoring, words of several tokens are refused or dropped before they are asked.
    scoring: TargetScoring = choices.get("target_scoring") or "joint"
    either_case: Sequence[int] = choices.get("either_case", ())
    inserts: set[Insert] = set()
    for position, word in enumerate(words, start=1):
        spellings = candidate_spellings(word, position, either_case)
        tokens = scored_spellings(word_tokens(tokenizer, spelling) for spelling in spellings)
        inserts.update(insert for insert, _ in candidate_inserts(tokens, scoring, MASK_ID))
    return inserts


def word_tokens(tokenizer: FastTokenizer, word: str) -> VocabularyTokens:
    """Returns the tokens of a word behind a space."""
    encoding = tokenizer.backend_tokenizer.encode(f" {word}", add_special_tokens=False)
    return VocabularyTokens(word, encoding.ids, encoding.word_ids)
