"""The ways in which a server can be asked to choose among options.

What a server can do is tried, not believed (`capabilities`): some take a parameter and ignore it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

from biasgrid.inference.models.generation.options import (
    FIRST_TOKENS,
    AnswerBeginnings,
    shared_beginning,
)
from biasgrid.inference.models.generation.parsing import chosen_option, status_of
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
        """Sends every option behind the prompt, in every way to write it."""
        return [
            SentRequests(f"{asked}{form}", dict(ECHOED))
            for forms in sent_forms(options)
            for form in forms
        ]

    def scores(
        self, asked: PromptContent, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Sums the ways to write each option, each the product over the tokens in which it differs
        from others.
        """
        left = iter(answers)
        scored = [
            {form: scores_of(f"{asked}{form}", next(left)) for form in forms}
            for forms in sent_forms(options)
        ]
        plain = [
            scores[form]
            for scores, forms in zip(scored, plain_forms(options), strict=True)
            for form in forms
        ]
        common = min(
            (shared_beginning(tokens_of(other), tokens_of(plain[0])) for other in plain[1:]),
            default=0,
        )
        beginning = tokens_of(plain[0])[:common]
        found: list[float | None] = []
        read: list[list[tuple[str, float]]] = []
        for option, scores in zip(options, scored, strict=True):
            # A mark that the tokenizer merges with the prompt's end is left out, as of local
            # models.
            behind = {
                tokens_of(each[common:]): (form, math.exp(sum(score for _, score in each[common:])))
                for form, each in reversed(scores.items())
                if each[common:] and tokens_of(each)[:common] == beginning
            }
            read.append([behind[tokens] for tokens in without_continuations(reversed(behind))])
            found.append(
                None
                if option is None
                else min(sum(probability for _, probability in read[-1]), 1.0)
            )
        return OptionScores(
            found, sum(value or 0 for value in found), "ok", beginnings=AnswerBeginnings(read)
        )


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
        scores = dict(reversed(listed))
        forms = [
            [(form, math.exp(scores[form])) for form in forms if form in scores]
            for forms in surface_forms(options)
        ]
        sums = [sum(probability for _, probability in each) for each in forms]
        bound = math.exp(min(scores.values()))
        found = [
            None if one is None else min(each or bound, 1.0)
            for one, each in zip(options, sums, strict=True)
        ]
        whole = all(each for one, each in zip(options, sums, strict=True) if one is not None)
        likeliest = sorted(scores.items(), key=lambda each: -each[1])[:FIRST_TOKENS]
        firsts = [(token, math.exp(score)) for token, score in likeliest]
        return OptionScores(
            found,
            sum(sums),
            "ok" if whole else "bounded",
            beginnings=AnswerBeginnings(forms, firsts),
        )


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
        place = (
            chosen_option(response, status != "length", options)
            if status in ("ok", "length")
            else None
        )
        if place is None:
            return OptionScores([None] * len(options), None, status_of(place, status), response)
        shares = [
            None if option is None else float(at == place) for at, option in enumerate(options)
        ]
        return OptionScores(shares, None, "ok", response)


class Choice(ParsedText):
    """Has the server allow nothing but the options, as vLLM does."""

    name = "choice"
    apis: ClassVar[tuple[str, ...]] = ("chat", "completions")

    def requests(self, asked: PromptContent, options: OptionTexts) -> list[SentRequests]:
        """Asks for a text that is one of the options."""
        allowed = {
            "structured_outputs": {"choice": [option for option in options if option is not None]}
        }
        return [SentRequests(asked, {**self.writing, "extra_body": allowed})]


WAYS: tuple[type[ScoringMethod], ...] = (Echo, Top, Choice, ParsedText)
"""From the one that says most to the one that says least."""


def method_named(name: str) -> type[ScoringMethod]:
    """Returns a way by its name."""
    return next(way for way in WAYS if way.name == name)


def scores_of(text: str, answer: Answer) -> list[tuple[str, float]]:
    """Returns the scores of a text's own tokens, none where it was not read back, without what is
    behind it.
    """
    scores = answer.scores or []
    begin, at = "".join(token for token, _ in scores).find(text), 0
    end, own = begin + len(text), []
    for token, score in scores:
        before, at = at, at + len(token)
        # A token that ends the answer may be shown as nothing, where the text is over already.
        if begin < at <= end and before < end:
            own.append((token, score))
    return own if begin >= 0 else []


def tokens_of(scores: Sequence[tuple[str, float]]) -> tuple[str, ...]:
    """Returns the tokens of what `scores_of` returns."""
    return tuple(token for token, _ in scores)


def hidden_probability(answer: Answer) -> str | None:
    """Returns the status of an answer that was filtered or refused, None of others."""
    return FINISH_STATUS.get(answer.finish)


def text_without_thoughts(answer: Answer, thoughts: Thoughts) -> tuple[str, str]:
    """Returns a text without what was thought, and its status."""
    response, status = answer_without_thoughts(thoughts.behind(answer.text), answer.finish in ENDED)
    return response, hidden_probability(answer) or status
