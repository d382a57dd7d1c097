"""The tokens of options behind prompts: all spellings of an option, from where they part with the prompt."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import polars as pl

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.back_end import numbered_values
from biasgrid.inference.models.generation.prompts import Prompter
from biasgrid.inference.models.generation.section import option_spellings

logger = logging.getLogger(__name__)

Tokens = tuple[int, ...]
Sequenced = TypeVar("Sequenced", bound=tuple[Any, ...])
TAIL = 32
"""Characters at a prompt's end; what a tokenizer makes of an option behind them does not depend on what is before."""


@dataclass(frozen=True)
class OptionRequest:
    """An instance as a model reads it.

    Attributes:
        context: the prompt's tokens, up to where the options part with it.
        options: for each option the token sequences that spell it; none for a candidate that is not there.
    """

    context: list[int]
    options: tuple[tuple[Tokens, ...], ...]

    @property
    def length(self) -> int:
        """How many tokens are read at most; nothing is read behind the last one of an option."""
        return len(self.context) + max((len(tokens) - 1 for spelled in self.options for tokens in spelled), default=0)

    @property
    def largest(self) -> int:
        """The largest token of all."""
        return max((token for tokens in (self.context, *chain(*self.options)) for token in tokens), default=0)


@dataclass(frozen=True)
class Border:
    """What a tokenizer makes of options behind a prompt.

    Attributes:
        merged: the tokens at the prompt's end that it writes otherwise where an option follows.
        options: see `Asked`.
    """

    merged: list[int]
    options: tuple[tuple[Tokens, ...], ...]


class OptionTokens:
    """Finds the tokens of options; those behind the same end of a prompt are found once."""

    def __init__(self, prompter: Prompter):
        self.prompter = prompter
        self.borders: dict[tuple[str, tuple[str | None, ...]], Border] = {}

    def asked(self, prompts: Sequence[str], options: Sequence[tuple[str | None, ...]]) -> list[OptionRequest]:
        """Tokenizes prompts and their options.

        Raises:
            ModelError: an option cannot be written, or looks like another one.
        """
        tokens = self.prompter.tokens(prompts)
        return [self._one(*row) for row in zip(prompts, tokens, options, strict=True)]

    def _one(self, prompt: str, tokens: list[int], options: tuple[str | None, ...]) -> OptionRequest:
        key = prompt[-TAIL:], options
        border = self.borders.get(key)
        if border is None or tokens[len(tokens) - len(border.merged) :] != border.merged:
            border = self.borders[key] = self._border(prompt, tokens, options)
        return OptionRequest(tokens[: len(tokens) - len(border.merged)], border.options)

    def _border(self, prompt: str, tokens: list[int], options: tuple[str | None, ...]) -> Border:
        written = option_spellings(options)
        flat = [f"{prompt}{spelling}" for spelled in written for spelling in spelled]
        whole = iter(self.prompter.tokens(flat))
        spelled = [[next(whole) for _ in each] for each in written]
        common = min((shared_beginning(tokens, ids) for each in spelled for ids in each), default=len(tokens))
        if common < len(tokens):
            tail = self.prompter.tokenizer.decode(tokens[common:])
            logger.info(
                "the tokenizer merges the end of the prompts, %r, with options, so both are scored together", tail
            )
        unknown = self.prompter.tokenizer.unk_token_id
        known = [{tuple(ids[common:]) for ids in each if unknown not in ids[common:]} - {()} for each in spelled]
        sequences = tuple(shortest(each) for each in known)
        check_written(options, sequences)
        return Border(tokens[common:], sequences)


def candidates_of_instances(instances: pl.DataFrame) -> list[tuple[str | None, ...]]:
    """Returns the candidates of each instance; None for one that is not there."""
    return instances.select(pl.col(numbered_values(instances, "candidate")).cast(pl.String)).rows()


def check_written(options: Sequence[str | None], sequences: Sequence[Sequence[Tokens]]) -> None:
    """Refuses options that cannot be written, or that no token distinguishes.

    Raises:
        ModelError: with the first of them.
    """
    owner: dict[Tokens, str] = {}
    for option, spelled in zip(options, sequences, strict=True):
        if option is None:
            continue
        if not spelled:
            problem = f"the model's tokenizer cannot write the option {option!r}"
            raise ModelError(f"{problem}; expected options of letters and words that it knows")
        for tokens in spelled:
            if (other := owner.setdefault(tokens, option)) != option:
                problem = f"the model's tokenizer gives the options {other!r} and {option!r} the same tokens"
                raise ModelError(f"{problem}; expected options with different tokens")


def shared_beginning(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Counts the tokens with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (left, right) in pairs if left != right), min(len(one), len(other)))


def shortest(sequences: Iterable[Sequenced]) -> tuple[Sequenced, ...]:
    """Leaves out sequences that go on from another one, whose probability is part of that one's."""
    known = set(sequences)
    return tuple(tokens for tokens in sorted(known) if not any(tokens[:end] in known for end in range(1, len(tokens))))
