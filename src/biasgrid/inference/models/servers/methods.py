"""The ways in which a server can be asked to choose among options.

What a server can do is tried, not believed (`capabilities`): some take a parameter and ignore it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from biasgrid.inference.models.generation.options import (
    FIRST_TOKENS,
    AnswerBeginnings,
    shared_beginning,
)
from biasgrid.inference.models.generation.parsing import chosen_option, parsed_status
from biasgrid.inference.models.generation.prompts import Messages
from biasgrid.inference.models.generation.thoughts import Thoughts, answer_without_thoughts
from biasgrid.inference.models.servers.requests import Answer
from biasgrid.inference.surface_forms import (
    plain_forms,
    sent_forms,
    surface_forms,
    without_continuations,
)

OptionTexts = tuple[str | None, ...]
PromptContent = Messages | str
"""Messages, or of completions the text alone."""
LISTED = 20
"""How many of the most probable tokens are asked for: the most that servers give."""
ENDED = {"stop"}
FINISH_STATUS = {"content_filter": "filtered", "refusal": "refused"}
"""Statuses of answers that a server has kept back, or a model has declined."""


class OptionScores(NamedTuple):
    """What was said of the options of an instance; see the schema `choice`.

    Attributes:
        probabilities: of each option; None where it is not known.
        mass: what of 1 was found; None where nothing tells.
        status: see the documents.
        response: the text that was read, None where none was.
        beginnings: how the answer begins, as far as the server says it.
    """

    probabilities: list[float | None]
    mass: float | None
    status: str
    response: str | None = None
    beginnings: AnswerBeginnings = AnswerBeginnings()


class SentRequests(NamedTuple):
    """What one request sends: what is asked, and the parameters."""

    messages: PromptContent
    parameters: dict[str, Any]


@dataclass(frozen=True)
class ScoringMethod(ABC):
    """A way to choose.

    Attributes:
        writing: the parameters of texts.
        thoughts: what is put around thoughts.
    """

    writing: Mapping[str, Any]
    thoughts: Thoughts = field(default_factory=Thoughts)

    name: ClassVar[str]
    apis: ClassVar[tuple[str, ...]]

    @abstractmethod
    def requests(self, asked: PromptContent, options: OptionTexts) -> list[SentRequests]:
        """Returns what is sent for an instance."""

    @abstractmethod
    def scores(
        self, asked: PromptContent, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Reads the answers to what is sent."""


ECHOED = {"max_tokens": 1, "temperature": 1.0, "logprobs": 1, "echo": True}
"""Parameters that have a prompt read back with the log-probability of each token; some servers
refuse to write none.
"""


class Echo(ScoringMethod):
    """Has prompt and option read back, with the log-probability of each token: what local models
    give.
    """

    name = "echo"
    apis: ClassVar[tuple[str, ...]] = ("completions",)

    def requests(self, asked: PromptContent, options: OptionTexts) -> list[SentRequests]:
        """Sends every form of every option behind the prompt."""
        forms = chain(*sent_forms(options))
        return [SentRequests(f"{asked}{form}", dict(ECHOED)) for form in forms]

    def scores(
        self, asked: PromptContent, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Sums the probabilities of the forms of each option.

        The probability of a form is the product over its tokens behind those that the prompt has
        with all options.
        """
        next_answer = iter(answers)
        scored: list[dict[str, list[tuple[str, float]]]] = []
        for forms in sent_forms(options):
            own = {form: scores_of(f"{asked}{form}", next(next_answer)) for form in forms}
            scored.append(own)
        plain = []
        for scores, words in zip(scored, plain_forms(options), strict=True):
            if not all(scores[word] for word in words):
                # Where the options begin is unknown: all would get the prompt's probability, too.
                withheld = filter(None, map(hidden_probability, answers))
                return OptionScores([None] * len(options), None, next(withheld, "unclear"))
            plain += [tokens_of(scores[word]) for word in words]
        common = min((shared_beginning(tokens, plain[0]) for tokens in plain[1:]), default=0)
        beginning = plain[0][:common]
        probabilities: list[float | None] = []
        forms_behind = []
        for option, scores in zip(options, scored, strict=True):
            forms_of_option = probabilities_behind(beginning, scores)
            forms_behind.append(forms_of_option)
            total = min(sum(probability for _, probability in forms_of_option), 1.0)
            probabilities.append(None if option is None else total)
        mass = sum(value or 0 for value in probabilities)
        return OptionScores(probabilities, mass, "ok", beginnings=AnswerBeginnings(forms_behind))


class Top(ScoringMethod):
    """Reads the most probable first tokens of an answer."""

    name = "top"
    apis: ClassVar[tuple[str, ...]] = ("chat", "completions")

    def requests(self, asked: PromptContent, options: OptionTexts) -> list[SentRequests]:
        """Asks for one token, and the probabilities of the likeliest ones."""
        own: dict[str, Any] = {"logprobs": LISTED}
        if not isinstance(asked, str):
            own = {"logprobs": True, "top_logprobs": LISTED}
        return [SentRequests(asked, {"max_tokens": 1, "temperature": 1.0, **own})]

    def scores(
        self, asked: PromptContent, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Sums the ways to write each option; without a listed one, it has at most what the last
        listed token has.
        """
        listed = answers[0].scores
        if not listed:
            return OptionScores(
                [None] * len(options),
                None,
                hidden_probability(answers[0]) or "unclear",
                answers[0].text,
            )
        # Of tokens that are listed twice, the first one counts.
        scores = dict(reversed(listed))
        bound = math.exp(min(scores.values()))
        forms = []
        sums = []
        probabilities: list[float | None] = []
        status = "ok"
        for option, all_forms in zip(options, surface_forms(options), strict=True):
            own = [(form, math.exp(scores[form])) for form in all_forms if form in scores]
            total = sum(probability for _, probability in own)
            forms.append(own)
            sums.append(total)
            if option is None:
                probabilities.append(None)
                continue
            if not total:
                status = "bounded"
            probabilities.append(min(total or bound, 1.0))
        likeliest = sorted(scores.items(), key=lambda pair: -pair[1])[:FIRST_TOKENS]
        first_tokens = [(token, math.exp(score)) for token, score in likeliest]
        beginnings = AnswerBeginnings(forms, first_tokens)
        return OptionScores(probabilities, sum(sums), status, beginnings=beginnings)


class ParsedText(ScoringMethod):
    """Has the model write, and looks for the option that it chooses."""

    name = "parsed"
    apis: ClassVar[tuple[str, ...]] = ("chat", "completions", "anthropic")

    def requests(self, asked: PromptContent, options: OptionTexts) -> list[SentRequests]:
        """Asks for a text."""
        return [SentRequests(asked, dict(self.writing))]

    def scores(
        self, asked: PromptContent, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Gives the option that was chosen all of the probability; none any where none was."""
        response, status = text_without_thoughts(answers[0], self.thoughts)
        chosen = None
        if status in ("ok", "length"):
            chosen = chosen_option(response, status != "length", options)
        if chosen is None:
            return OptionScores(
                [None] * len(options), None, parsed_status(chosen, status), response
            )
        probabilities: list[float | None] = []
        for place, option in enumerate(options):
            probabilities.append(None if option is None else float(place == chosen))
        return OptionScores(probabilities, None, "ok", response)


class Choice(ParsedText):
    """Has the server allow nothing but the options, as vLLM does."""

    name = "choice"
    apis: ClassVar[tuple[str, ...]] = ("chat", "completions")

    def requests(self, asked: PromptContent, options: OptionTexts) -> list[SentRequests]:
        """Asks for a text that is one of the options."""
        choices = [option for option in options if option is not None]
        body = {"structured_outputs": {"choice": choices}}
        return [SentRequests(asked, {**self.writing, "extra_body": body})]


WAYS: tuple[type[ScoringMethod], ...] = (Echo, Top, Choice, ParsedText)
"""From the one that says most to the one that says least."""


def method_named(name: str) -> type[ScoringMethod]:
    """Returns a way by its name."""
    return next(way for way in WAYS if way.name == name)


def scores_of(text: str, answer: Answer) -> list[tuple[str, float]]:
    """Returns the tokens of a text with their scores; none if the text was not read back.

    Tokens before and behind the text are left out.
    """
    scores = answer.scores or []
    begin = "".join(token for token, _ in scores).find(text)
    if begin < 0:
        return []
    end = begin + len(text)
    own = []
    token_end = 0
    for token, score in scores:
        token_begin = token_end
        token_end += len(token)
        # A token that ends the answer may be shown as nothing, where the text is over already.
        if begin < token_end <= end and token_begin < end:
            own.append((token, score))
    return own


def tokens_of(scores: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """Returns the tokens of pairs of a token and its score."""
    return tuple(token for token, _ in scores)


def probabilities_behind(
    beginning: tuple[str, ...], scores: dict[str, list[tuple[str, float]]]
) -> list[tuple[str, float]]:
    """Returns the forms of an option with their probabilities behind the beginning of all options.

    A form that does not begin with these tokens is left out, as with local models: the tokenizer
    merges its mark with the prompt's end.

    Args:
        beginning: the tokens with which all options begin, those of the prompt included.
        scores: of each form the tokens of prompt and form with their scores.
    """
    count = len(beginning)
    form_of: dict[tuple[str, ...], tuple[str, float]] = {}
    # Of forms with the same tokens, the first one counts: it overwrites the others.
    for form, tokens in reversed(scores.items()):
        own = tokens[count:]
        if own and tokens_of(tokens)[:count] == beginning:
            form_of[tokens_of(own)] = form, math.exp(sum(score for _, score in own))
    return [form_of[tokens] for tokens in without_continuations(reversed(form_of))]


def hidden_probability(answer: Answer) -> str | None:
    """Returns the status of an answer that was filtered or refused, None of others."""
    return FINISH_STATUS.get(answer.finish)


def text_without_thoughts(answer: Answer, thoughts: Thoughts) -> tuple[str, str]:
    """Returns a text without what was thought, and its status."""
    response, status = answer_without_thoughts(thoughts.behind(answer.text), answer.finish in ENDED)
    return response, hidden_probability(answer) or status
