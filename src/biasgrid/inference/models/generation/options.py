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
from biasgrid.inference.engine.back_end import columns_with_prefix
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
        """The largest number of tokens that are read; the last token of an option is not."""
        sequences = chain(*self.options)
        return len(self.context) + max((len(tokens) - 1 for tokens in sequences), default=0)

    @property
    def largest(self) -> int:
        """The largest token of all."""
        sequences = (self.context, *chain(*self.options))
        return max(chain(*sequences), default=0)


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
        """Returns the request of a prompt, whose tokens are given, and its options."""
        key = prompt[-TAIL:], options
        border = self.borders.get(key)
        # The same end of a prompt may be tokenized otherwise behind another text.
        if border is None or tokens[len(tokens) - len(border.merged) :] != border.merged:
            border = self._border(prompt, tokens, options)
            self.borders[key] = border
        context = tokens[: len(tokens) - len(border.merged)]
        return OptionRequest(context, border.options, border.forms)

    def _border(self, prompt: str, tokens: list[int], options: tuple[str | None, ...]) -> Border:
        """Finds the border between a prompt, whose tokens are given, and its options.

        Raises:
            ModelError: see `check_written`.
        """
        written = self._written(prompt, options)
        unknown = self.prompter.tokenizer.unk_token_id
        common = len(tokens)
        for ids_of, forms in zip(written, plain_forms(options), strict=True):
            for form in forms:
                place = shared_beginning(tokens, ids_of[form])
                # A tokenizer of whole words does not know `womana`, and an option that is no text
                # of its own is not scored.
                if unknown not in ids_of[form][place:]:
                    common = min(common, place)
        if common < len(tokens):
            tail = self.prompter.tokenizer.decode(tokens[common:])
            logger.info(
                "the tokenizer merges the end of the prompts, %r, with options, so both are "
                "scored together",
                tail,
            )
        forms_by_tokens = [self._forms_behind(tokens[:common], ids_of) for ids_of in written]
        sequences = tuple(map(without_continuations, forms_by_tokens))
        check_written(options, sequences)
        forms_of_options = []
        for form_of, distinct in zip(forms_by_tokens, sequences, strict=True):
            forms_of_options.append(tuple(form_of[ids] for ids in distinct))
        return Border(tokens[common:], sequences, tuple(forms_of_options))

    def _written(self, prompt: str, options: tuple[str | None, ...]) -> list[dict[str, list[int]]]:
        """Tokenizes a prompt with each form of each option behind it.

        Returns:
            For each option the tokens of the whole text by form.
        """
        # A chat template may leave the line break before the answer to the model.
        is_line_open = self.prompter.has_template and not prompt[-1:].isspace()
        forms = surface_forms(options, (*LEADS, NEW_LINE) if is_line_open else LEADS)
        texts = [f"{prompt}{form}" for form in chain(*forms)]
        tokens = iter(self.prompter.tokens(texts))
        written = []
        for option_forms in forms:
            written.append({form: next(tokens) for form in option_forms})
        return written

    def _forms_behind(
        self, context: list[int], ids_of: Mapping[str, list[int]]
    ) -> dict[Tokens, str]:
        """Returns the forms of an option behind a context, by their tokens.

        Forms are left out if the tokenizer lacks their words, or merges a mark before an option
        with the prompt's end: all options would be scored from before it.

        Args:
            context: the tokens of the prompt.
            ids_of: the tokens of the prompt with a form behind it, by form.
        """
        unknown = self.prompter.tokenizer.unk_token_id
        start = len(context)
        forms: dict[Tokens, str] = {}
        for form, ids in ids_of.items():
            own = ids[start:]
            if ids[:start] == context and own and unknown not in own:
                forms.setdefault(tuple(own), form)
        return forms


class AnswerBeginnings(NamedTuple):
    """How the answer to an instance begins.

    Attributes:
        forms: for each option the ways to write it with their probabilities; None where they are
            not known.
        first_tokens: the likeliest first tokens with their probabilities; None where they are not
            known.
    """

    forms: Sequence[Sequence[tuple[str, float]]] | None = None
    first_tokens: Sequence[tuple[str, float]] | None = None


def beginning_columns(rows: Sequence[AnswerBeginnings]) -> list[pl.Series]:
    """Returns the columns of `choice` answers for their beginnings; null for unknown ones."""
    form_texts: list[list[list[str]] | None] = []
    form_values: list[list[list[float]] | None] = []
    token_texts: list[list[str] | None] = []
    token_values: list[list[float] | None] = []
    for forms, first_tokens in rows:
        if forms is None:
            form_texts.append(None)
            form_values.append(None)
        else:
            options = [unzipped(option) for option in forms]
            form_texts.append([texts for texts, _ in options])
            form_values.append([values for _, values in options])
        if first_tokens is None:
            token_texts.append(None)
            token_values.append(None)
        else:
            texts, values = unzipped(first_tokens)
            token_texts.append(texts)
            token_values.append(values)
    text_list, value_list = pl.List(pl.String), pl.List(pl.Float32)
    return [
        pl.Series("surface_forms", form_texts, pl.List(text_list)),
        pl.Series("form_probabilities", form_values, pl.List(value_list)),
        pl.Series("first_tokens", token_texts, text_list),
        pl.Series("first_probabilities", token_values, value_list),
    ]


def unzipped(pairs: Sequence[tuple[str, float]]) -> tuple[list[str], list[float]]:
    """Splits pairs of a text and its probability into texts and probabilities."""
    return [text for text, _ in pairs], [probability for _, probability in pairs]


def instance_candidates(instances: pl.DataFrame) -> list[tuple[str | None, ...]]:
    """Returns the candidates of each instance; None for one that is not there."""
    columns = columns_with_prefix(instances, "candidate")
    return instances.select(pl.col(columns).cast(pl.String)).rows()


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
            other = owner.setdefault(tokens, option)
            if other != option:
                problem = (
                    f"the model's tokenizer gives the options {other!r} and {option!r} "
                    "the same tokens"
                )
                raise ModelError(f"{problem}; expected options with different tokens")


def shared_beginning(first: Sequence[Any], second: Sequence[Any]) -> int:
    """Counts the tokens with which both sequences begin."""
    count = 0
    for token, other in zip(first, second, strict=False):
        if token != other:
            break
        count += 1
    return count
