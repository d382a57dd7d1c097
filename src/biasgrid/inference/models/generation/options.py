"""Where a prompt and its options become sequences of tokens.

`OptionTokens.requests` tokenizes each option of a prompt in all of its forms, each behind the
prompt. The tokens of the prompt are the context; the tokens of each form behind it are a sequence.
`scores.OptionReads` then turns the contexts and sequences of many prompts into the rows that a
model reads: trees of contexts and of the sequences behind them (`option_reads`).
"""

from __future__ import annotations

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

Tokens = tuple[int, ...]
FIRST_TOKENS = 3
"""The number of most probable first tokens of an answer that are recorded."""
LEAST_SHARED = 4
"""A shorter prefix of prompts saves less than its copies cost."""
TAIL = 32
"""Characters at a prompt's end that decide the tokens of an option behind them."""


@dataclass(frozen=True)
class OptionRequest:
    """A prompt and its options as sequences of tokens.

    Attributes:
        context: the tokens of the prompt, without white space at its end that the tokenizer merges
            with an option.
        options: for each option the sequences of its forms; empty for a missing option. No two
            sequences of the request are equal, and none of an option begins another one of it.
        forms: the texts of these sequences, in the same order.
    """

    context: list[int]
    options: tuple[tuple[Tokens, ...], ...]
    forms: tuple[tuple[str, ...], ...] = ()

    @property
    def length(self) -> int:
        """The positions that the longest sequence takes; its last token is only predicted."""
        sequences = chain(*self.options)
        return len(self.context) + max((len(tokens) - 1 for tokens in sequences), default=0)

    @property
    def largest(self) -> int:
        """The largest token id in the request."""
        sequences = (self.context, *chain(*self.options))
        return max(chain(*sequences), default=0)


@dataclass(frozen=True)
class Border:
    """The sequences of options behind the end of a prompt.

    Attributes:
        merged: the tokens of white space at the end of the prompt that change if an option follows;
            often none. The sequences begin with their replacement.
        options, forms: see `OptionRequest`.
    """

    merged: list[int]
    options: tuple[tuple[Tokens, ...], ...]
    forms: tuple[tuple[str, ...], ...]


class OptionTokens:
    """Finds the sequences of options behind prompts, once for each end of a prompt.

    Attributes:
        prompter: writes and tokenizes prompts.
        borders: the sequences by the last `TAIL` characters of the prompt, and its options.
    """

    def __init__(self, prompter: Prompter):
        self.prompter = prompter
        self.borders: dict[tuple[str, tuple[str | None, ...]], Border] = {}

    def requests(
        self, prompts: Sequence[str], options: Sequence[tuple[str | None, ...]]
    ) -> list[OptionRequest]:
        """Returns the request of each prompt.

        Args:
            prompts: the prompts, as `Prompter` writes them.
            options: the options of each prompt, None for a missing one.

        Raises:
            ModelError: see `check_sequences`.
        """
        tokens = self.prompter.tokens(prompts)
        return [self._request(*row) for row in zip(prompts, tokens, options, strict=True)]

    def _request(
        self, prompt: str, tokens: list[int], options: tuple[str | None, ...]
    ) -> OptionRequest:
        """Returns the request of a prompt, whose tokens are `tokens`, and its options."""
        key = prompt[-TAIL:], options
        border = self.borders.get(key)
        # After another text, the same last characters may have other tokens.
        if border is None or tokens[len(tokens) - len(border.merged) :] != border.merged:
            border = self._border(prompt, tokens, options)
            self.borders[key] = border
        context = tokens[: len(tokens) - len(border.merged)]
        return OptionRequest(context, border.options, border.forms)

    def _border(self, prompt: str, tokens: list[int], options: tuple[str | None, ...]) -> Border:
        """Returns the sequences of options behind a prompt, whose tokens are `tokens`.

        Raises:
            ModelError: see `check_sequences`.
        """
        form_tokens = self._tokens_with_forms(prompt, options)
        common = len(tokens)
        # Tokenizers write a space at the beginning of the next word.
        if prompt[-1:].isspace():
            common = self._unchanged_length(tokens, form_tokens, options)
        forms_by_tokens = [self._forms_behind(tokens, common, by_form) for by_form in form_tokens]
        sequences = tuple(map(without_continuations, forms_by_tokens))
        check_sequences(options, sequences)
        form_texts = []
        for by_tokens, option_sequences in zip(forms_by_tokens, sequences, strict=True):
            form_texts.append(tuple(by_tokens[ids] for ids in option_sequences))
        return Border(tokens[common:], sequences, tuple(form_texts))

    def _unchanged_length(
        self,
        tokens: list[int],
        form_tokens: Sequence[Mapping[str, list[int]]],
        options: tuple[str | None, ...],
    ) -> int:
        """Returns how many tokens of a prompt stay as they are in front of all plain forms.

        Args:
            tokens: the tokens of the prompt.
            form_tokens: see `_tokens_with_forms`.
            options: the options.
        """
        unknown = self.prompter.tokenizer.unk_token_id
        common = len(tokens)
        for tokens_by_form, forms in zip(form_tokens, plain_forms(options), strict=True):
            for form in forms:
                place = shared_beginning(tokens, tokens_by_form[form])
                # A form with the unknown token is not scored.
                if unknown not in tokens_by_form[form][place:]:
                    common = min(common, place)
        return common

    def _tokens_with_forms(
        self, prompt: str, options: tuple[str | None, ...]
    ) -> list[dict[str, list[int]]]:
        """Tokenizes a prompt with each form of each option behind it.

        Returns:
            For each option, the tokens of prompt and form by the form; empty for a missing option.
        """
        # A chat template may leave the line break before the answer to the model.
        is_line_open = self.prompter.has_template and not prompt[-1:].isspace()
        forms = surface_forms(options, (*LEADS, NEW_LINE) if is_line_open else LEADS)
        texts = [f"{prompt}{form}" for form in chain(*forms)]
        tokens = iter(self.prompter.tokens(texts))
        form_tokens = []
        for option_forms in forms:
            form_tokens.append({form: next(tokens) for form in option_forms})
        return form_tokens

    def _forms_behind(
        self, prompt: list[int], start: int, tokens_by_form: Mapping[str, list[int]]
    ) -> dict[Tokens, str]:
        """Returns the forms of an option by their tokens behind a context.

        A form whose beginning the tokenizer merges with the end of the context has the tokens of
        its own text: a model that has read `Answer:` can go on with `A`, but no longer with `:A`.
        A form is left out if its tokens contain the unknown token, or do not write it there. Of
        forms with equal tokens the first counts.

        Args:
            prompt: the tokens of the prompt.
            start: the length of the context, with which the prompt begins.
            tokens_by_form: the tokens of the prompt with a form behind it, by form.
        """
        unknown = self.prompter.tokenizer.unk_token_id
        forms: dict[Tokens, str] = {}
        for form, ids in tokens_by_form.items():
            own = ids[start:]
            if ids[:start] != prompt[:start]:
                # White space at the end of the prompt is no part of the form.
                own = self._own_tokens(prompt, form) if start == len(prompt) else []
            if own and unknown not in own:
                forms.setdefault(tuple(own), form)
        return forms

    def _own_tokens(self, prompt: list[int], form: str) -> list[int]:
        """Returns the tokens of a form alone; none if they do not write it behind a prompt.

        Behind another token, for example, many tokenizers of whole words write a space.
        """
        decode = self.prompter.tokenizer.decode
        tokens = self.prompter.tokens([form])[0][len(self.prompter.begin) :]
        return tokens if decode([*prompt, *tokens]) == f"{decode(prompt)}{form}" else []


class AnswerBeginnings(NamedTuple):
    """How the answer to an instance may begin.

    Attributes:
        forms: for each option its forms with their probabilities; None if these are unknown.
        first_tokens: the texts of the most probable first tokens with their probabilities; None if
            these are unknown.
    """

    forms: Sequence[Sequence[tuple[str, float]]] | None = None
    first_tokens: Sequence[tuple[str, float]] | None = None


def beginning_columns(rows: Sequence[AnswerBeginnings]) -> list[pl.Series]:
    """Returns four columns of `choice` answers, null where a beginning is unknown."""
    form_texts: list[list[list[str]] | None] = []
    form_values: list[list[list[float]] | None] = []
    token_texts: list[list[str] | None] = []
    token_values: list[list[float] | None] = []
    for forms, first_tokens in rows:
        if forms is None:
            form_texts.append(None)
            form_values.append(None)
        else:
            options = [unzip(option) for option in forms]
            form_texts.append([texts for texts, _ in options])
            form_values.append([values for _, values in options])
        if first_tokens is None:
            token_texts.append(None)
            token_values.append(None)
        else:
            texts, values = unzip(first_tokens)
            token_texts.append(texts)
            token_values.append(values)
    text_list, value_list = pl.List(pl.String), pl.List(pl.Float32)
    return [
        pl.Series("surface_forms", form_texts, pl.List(text_list)),
        pl.Series("form_probabilities", form_values, pl.List(value_list)),
        pl.Series("first_tokens", token_texts, text_list),
        pl.Series("first_probabilities", token_values, value_list),
    ]


def unzip(pairs: Sequence[tuple[str, float]]) -> tuple[list[str], list[float]]:
    """Splits pairs of a text and its probability into texts and probabilities."""
    return [text for text, _ in pairs], [probability for _, probability in pairs]


def instance_candidates(instances: pl.DataFrame) -> list[tuple[str | None, ...]]:
    """Returns the candidates of each instance, in their order; None for a missing one."""
    columns = columns_with_prefix(instances, "candidate")
    return instances.select(pl.col(columns).cast(pl.String)).rows()


def check_sequences(options: Sequence[str | None], sequences: Sequence[Sequence[Tokens]]) -> None:
    """Refuses options without a sequence, or with a sequence of another option.

    Args:
        options: the options, None for a missing one, which is not checked.
        sequences: the sequences of each option.

    Raises:
        ModelError: names the first such option.
    """
    owner: dict[Tokens, str] = {}
    for option, option_sequences in zip(options, sequences, strict=True):
        if option is None:
            continue
        if not option_sequences:
            problem = f"the model's tokenizer cannot write the option {option!r}"
            raise ModelError(f"{problem}; expected options of letters and words that it knows")
        for tokens in option_sequences:
            other = owner.setdefault(tokens, option)
            if other != option:
                problem = (
                    f"the model's tokenizer gives the options {other!r} and {option!r} "
                    "the same tokens"
                )
                raise ModelError(f"{problem}; expected options with different tokens")


def shared_prefix_length(prompts: Sequence[list[int]]) -> int:
    """Returns the number of tokens with which all prompts begin, and which are read once.

    It is 0 for a single prompt, and if prompts share too little. It is less than the length of the
    shortest prompt, as each prompt needs a token of its own.
    """
    if len(prompts) < 2:
        return 0
    # No two sequences share less than the first and the last one in sorted order.
    length = min(shared_beginning(min(prompts), max(prompts)), min(map(len, prompts)) - 1)
    return length if length >= LEAST_SHARED else 0


def shared_beginning(left: Sequence[Any], right: Sequence[Any]) -> int:
    """Returns the number of elements with which both sequences begin."""
    length = 0
    for element, other in zip(left, right, strict=False):
        if element != other:
            break
        length += 1
    return length
