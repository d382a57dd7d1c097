"""Estimates for models that read texts, pairs of texts, options and sentences.

Without a model's tokenizer, words and marks count as tokens.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from statistics import fmean
from typing import Any, NamedTuple, Protocol

from biasgrid.inference.checkpoints.fast_tokenizer import FastTokenizer
from biasgrid.inference.input_counts import InputCounts
from biasgrid.inference.scorings import BLANK, SCORINGS

WORD_OR_MARK = re.compile(r"\w+|[^\w\s]")
BLOCKS = 24
BLOCK_SIZE = 32
"""The number of blocks of neighbours, and of the instances in each.

On the LLM grid, estimates from so many are within 3 % of all tokens and 11 % of all sequences.
"""
SPECIAL = 2
"""Special tokens of BERT and similar models around a text."""


class RequestText(NamedTuple):
    """The texts of an instance.

    Attributes:
        context: the text that comes with the question; may be empty.
        question: the question; for masked language models with the mask.
        words: the candidates, such as the words that a masked language model scores at the mask, or
            the options of a prompt.
        system: the system text; "" without one.
    """

    context: str
    question: str
    words: Sequence[str]
    system: str = ""


class InputEstimate(NamedTuple):
    """What a model will read.

    Attributes:
        mean: the mean over instances.
        shared_tokens: tokens with which all instances begin and which are read once for all
            instances of a part (see `ROWS_A_PART`); they are not in the mean.
    """

    mean: InputCounts
    shared_tokens: int = 0


@dataclass
class TextSample:
    """A sample of the instances that a model is asked.

    Attributes:
        texts: instances spread over all of them; at least one.
        find_parts: returns parts of the instances that are answered together, at least one, each
            instance as a `RequestText` or a tuple of its fields. None takes the texts as a part.
    """

    texts: Sequence[RequestText]
    find_parts: Callable[[], Sequence[Sequence[tuple[str, str, Sequence[str], str]]]] | None = None

    @cached_property
    def blocks(self) -> list[list[RequestText]]:
        """Blocks of instances that are neighbours when a part is sorted by its texts.

        They are spread over the parts; a part of fewer instances than theirs is one block.
        """
        blocks: list[list[RequestText]] = []
        parts = self.find_parts() if self.find_parts else [self.texts]
        block_count = BLOCKS // len(parts)
        for part in parts:
            texts = sorted(map(RequestText._make, part), key=itemgetter(3, 0, 1))
            if len(texts) <= block_count * BLOCK_SIZE:
                blocks.append(texts)
                continue
            for step in range(block_count):
                first = (2 * step + 1) * (len(texts) - BLOCK_SIZE) // (2 * block_count)
                blocks.append(texts[first : first + BLOCK_SIZE])
        return blocks


class ReadingModel(NamedTuple):
    """A model, as far as it decides what is read.

    Attributes:
        tokenizer: its tokenizer; None if it is not at hand.
        answer: the kind of answers, a module of `tables.answers`.
        choices: the settings that decide the answers, as for `Choices` of the back end.
        capabilities: its capabilities, as for `InferenceSettings`; empty if nobody has found them
            out yet.
    """

    tokenizer: FastTokenizer | None
    answer: str
    choices: Mapping[str, Any] = {}
    capabilities: Mapping[str, Any] = {}

    @property
    def reuses_keys(self) -> bool:
        """Whether a beginning that all prompts share is read once."""
        return bool(self.capabilities.get("reuses_keys", True))

    @property
    def reads_trees(self) -> bool:
        """Whether a row may have branches."""
        return bool(self.capabilities.get("reads_trees", True))


class Estimator(Protocol):
    """Estimates what a back end reads; see `registry.RegistryEntry.inputs`."""

    def __call__(self, reader: ReadingModel, sample: TextSample) -> InputEstimate:
        """Estimates the inputs of the instances of a sample."""


def count_text_inputs(reader: ReadingModel, sample: TextSample) -> InputEstimate:
    """Estimates the inputs of models that read a text, or a pair of question and context."""
    inputs: list[str | tuple[str, str]] = []
    for text in sample.texts:
        context = with_system(text)
        inputs.append((text.question, context) if context else text.question)
    return InputEstimate(InputCounts(1, fmean(input_lengths(reader.tokenizer, inputs))))


def count_option_inputs(reader: ReadingModel, sample: TextSample) -> InputEstimate:
    """Estimates the inputs of models that read each option behind the question."""
    inputs = [
        (text.context, f"{text.question} {option}")
        for text in sample.texts
        for option in text.words
    ]
    total = InputCounts(len(inputs), sum(input_lengths(reader.tokenizer, inputs)))
    return InputEstimate(total.times(1 / len(sample.texts)))


def count_sentence_inputs(reader: ReadingModel, sample: TextSample) -> InputEstimate:
    """Estimates the inputs that score sentences by the formula `scoring` of the choices.

    The question of a text is the sentence, and its context the partner, or the sentence with BLANK.
    """
    tokenizer, scoring = reader.tokenizer, SCORINGS[reader.choices["scoring"]]
    special_count = len(text_tokens(tokenizer, ""))
    total = InputCounts()
    for text in sample.texts:
        pair: Sequence[Hashable] = ()
        if scoring.needs:
            pair = text_tokens(tokenizer, text.context.replace(BLANK, ""))
        sentence = text_tokens(tokenizer, text.question)
        total = total.plus(scoring.inputs_read(sentence, pair, special_count))
    return InputEstimate(total.times(1 / len(sample.texts)))


def with_system(text: RequestText) -> str:
    """Returns the context of a text, behind the system text if there is one."""
    return "\n\n".join(part for part in (text.system, text.context) if part)


def input_lengths(
    tokenizer: FastTokenizer | None, inputs: Sequence[str | tuple[str, str]]
) -> list[int]:
    """Returns the number of tokens of texts, or of pairs of texts, special ones included.

    Without a tokenizer special tokens are counted as in BERT: two around a text, three around a
    pair.
    """
    if tokenizer is not None:
        return list(map(len, tokenizer.backend_tokenizer.encode_batch(list(inputs))))
    lengths = []
    for texts in inputs:
        parts = (texts,) if isinstance(texts, str) else texts
        words = sum(len(WORD_OR_MARK.findall(part)) for part in parts)
        lengths.append(words + SPECIAL - 1 + len(parts))
    return lengths


def text_tokens(tokenizer: FastTokenizer | None, text: str) -> Sequence[Hashable]:
    """Returns the tokens of a text with special ones, or without a tokenizer its words and marks
    between empty strings.
    """
    if tokenizer is None:
        return ["", *WORD_OR_MARK.findall(text), ""]
    ids: list[int] = tokenizer.backend_tokenizer.encode(text).ids
    return ids
