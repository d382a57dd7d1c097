"""The tokens of options behind prompts: all ways to write an option, from where they part with the
prompt.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple

import polars as pl

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.engine.back_end import numbered_values
from biasgrid.inference.models.generation.prompts import Prompter
from biasgrid.inference.surface_forms import (
    LEADS,
    NEW_LINE,
    plain_forms,
    surface_forms,
    without_continuations,
)

logger = logging.getLogger(__name__)

Tokens = tuple[int, ...]
FIRST_TOKENS = 3
"""How many of the likeliest first tokens of an answer are recorded."""
TAIL = 32
"""Characters at a prompt's end; what a tokenizer makes of an option behind them does not depend on
what is before.
"""


@dataclass(frozen=True)
class OptionRequest:
    """An instance as a model reads it.

    Attributes:
        context: the prompt's tokens, up to where the options part with it.
        options: for each option the token sequences that write it; none for a candidate that is not
            there.
        forms: the texts of these sequences.
    """

    context: list[int]
    options: tuple[tuple[Tokens, ...], ...]
    forms: tuple[tuple[str, ...], ...] = ()

    @property
    def length(self) -> int:
        """How many tokens are read at most; nothing is read behind the last one of an option."""
        return len(self.context) + max(
            (len(tokens) - 1 for spelled in self.options for tokens in spelled), default=0
        )

    @property
    def largest(self) -> int:
        """The largest token of all."""
        return max(
            (token for tokens in (self.context, *chain(*self.options)) for token in tokens),
            default=0,
        )


@dataclass(frozen=True)
class Border:
    """What a tokenizer makes of options behind a prompt.

    Attributes:
        merged: the tokens at the prompt's end that it writes otherwise where an option follows.
        options: see `OptionRequest`.
        forms: likewise.
    """

    merged: list[int]
    options: tuple[tuple[Tokens, ...], ...]
    forms: tuple[tuple[str, ...], ...]


class OptionTokens:
    """Finds the tokens of options; those behind the same end of a prompt are found once."""

    def __init__(self, prompter: Prompter):
        self.prompter = prompter
        self.borders: dict[tuple[str, tuple[str | None, ...]], Border] = {}

    def asked(
        self, prompts: Sequence[str], options: Sequence[tuple[str | None, ...]]
    ) -> list[OptionRequest]:
        """Tokenizes prompts and their options.

        Raises:
            ModelError: an option cannot be written, or looks like another one.
        """
        tokens = self.prompter.tokens(prompts)
        return [self._one(*row) for row in zip(prompts, tokens, options, strict=True)]

    def _one(
        self, prompt: str, tokens: list[int], options: tuple[str | None, ...]
    ) -> OptionRequest:
        key = prompt[-TAIL:], options
        border = self.borders.get(key)
        if border is None or tokens[len(tokens) - len(border.merged) :] != border.merged:
            border = self.borders[key] = self._border(prompt, tokens, options)
        return OptionRequest(
            tokens[: len(tokens) - len(border.merged)], border.options, border.forms
        )

    def _border(self, prompt: str, tokens: list[int], options: tuple[str | None, ...]) -> Border:
        written = self._written(prompt, options)
        plain = [
            tokens_of[form]
            for tokens_of, forms in zip(written, plain_forms(options), strict=True)
            for form in forms
        ]
        shared = [(shared_beginning(tokens, ids), ids) for ids in plain]
        # A tokenizer of whole words does not know `womana`, and an option that is no text of its
        # own is not scored.
        unknown = self.prompter.tokenizer.unk_token_id
        common = min(
            (place for place, ids in shared if unknown not in ids[place:]), default=len(tokens)
        )
        if common < len(tokens):
            tail = self.prompter.tokenizer.decode(tokens[common:])
            logger.info(
                "the tokenizer merges the end of the prompts, %r, with options, so both are "
                "scored together",
                tail,
            )
        forms = [self._forms_behind(tokens[:common], tokens_of) for tokens_of in written]
        sequences = tuple(without_continuations(texts) for texts in forms)
        check_written(options, sequences)
        kept = tuple(
            tuple(texts[ids] for ids in own) for texts, own in zip(forms, sequences, strict=True)
        )
        return Border(tokens[common:], sequences, kept)

    def _written(self, prompt: str, options: tuple[str | None, ...]) -> list[dict[str, list[int]]]:
        """Returns for each option the tokens of the prompt with the option behind it, by the way to
        write it.
        """
        is_line_open = self.prompter.has_template and not prompt[-1:].isspace()
        forms = surface_forms(options, (*LEADS, NEW_LINE) if is_line_open else LEADS)
        tokens = iter(
            self.prompter.tokens([f"{prompt}{form}" for texts in forms for form in texts])
        )
        return [{form: next(tokens) for form in texts} for texts in forms]

    def _forms_behind(
        self, context: list[int], tokens_of: Mapping[str, list[int]]
    ) -> dict[Tokens, str]:
        """Returns the ways to write an option behind a context, by their tokens; without those it
        cannot write.

        A mark that the tokenizer merges with the prompt's end is left out: all options would be
        scored from before it.
        """
        unknown, start = self.prompter.tokenizer.unk_token_id, len(context)
        forms: dict[Tokens, str] = {}
        for form, ids in tokens_of.items():
            if ids[:start] == context and len(ids) > start and unknown not in ids[start:]:
                forms.setdefault(tuple(ids[start:]), form)
        return forms


class AnswerBeginnings(NamedTuple):
    """How the answer to an instance begins.

    Attributes:
        forms: for each option the ways to write it with their probabilities; None where they are
            not known.
        first_tokens: the likeliest first tokens with their probabilities; None where they are not
            known.
    """

    forms: list[list[tuple[str, float]]] | None = None
    first_tokens: list[tuple[str, float]] | None = None


def beginning_columns(rows: Sequence[AnswerBeginnings]) -> list[pl.Series]:
    """Returns the columns of answers of the kind `choice` that say how answers begin."""
    forms = [
        None if row.forms is None else [unzipped(option) for option in row.forms] for row in rows
    ]
    tokens = [None if row.first_tokens is None else unzipped(row.first_tokens) for row in rows]
    texts, values = pl.List(pl.String), pl.List(pl.Float32)
    return [
        pl.Series(
            "surface_forms",
            [None if row is None else [each for each, _ in row] for row in forms],
            pl.List(texts),
        ),
        pl.Series(
            "form_probabilities",
            [None if row is None else [each for _, each in row] for row in forms],
            pl.List(values),
        ),
        pl.Series("first_tokens", [None if row is None else row[0] for row in tokens], texts),
        pl.Series(
            "first_probabilities", [None if row is None else row[1] for row in tokens], values
        ),
    ]


def unzipped(pairs: Sequence[tuple[str, float]]) -> tuple[list[str], list[float]]:
    """Returns the texts and the probabilities of pairs of both."""
    return [text for text, _ in pairs], [probability for _, probability in pairs]


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
                problem = (
                    f"the model's tokenizer gives the options {other!r} and {option!r} "
                    "the same tokens"
                )
                raise ModelError(f"{problem}; expected options with different tokens")


def shared_beginning(one: Sequence[Any], other: Sequence[Any]) -> int:
    """Counts the tokens with which both begin."""
    pairs = enumerate(zip(one, other, strict=False))
    return next(
        (place for place, (left, right) in pairs if left != right), min(len(one), len(other))
    )
