"""The ways in which a server can be asked to choose among options.

Servers are tried, not believed (`capabilities`): some take a parameter and ignore it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from biasgrid.inference.models.generation.options import (
    FIRST_TOKENS,
    AnswerBeginnings,
    shared_beginning,
)
from biasgrid.inference.models.generation.parsing import parse_option, parsed_status
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
"""The options of a prompt in the order of its candidate columns; None where it has fewer."""
SentPrompt = Messages | str
"""The messages of a chat, or the text of a completion."""
TOP_TOKENS = 20
"""How many of the most probable tokens are requested: servers list no more."""
COMPLETE = {"stop"}
"""Values of `Answer.finish` of answers that were not cut off."""
WITHHELD_STATUS = {"content_filter": "filtered", "refusal": "refused"}
"""The status of an answer that a server has withheld or a model has declined, by its `finish`."""
STAND_IN_OPTIONS: OptionTexts = ("A",)
"""Options of the request whose parameters are digested as those of all requests of a cell."""


class OptionScores(NamedTuple):
    """How probable the options of a prompt are; see the schema `choice`.

    Attributes:
        probabilities: one per option, in their order. All are None if the answer shows no choice;
            an option that is None always has None.
        mass: the sum over the options before each is limited to 1; None if the server gives no
            probabilities.
        status: `ok`, `bounded`, `unclear`, or the status of a text.
        response: the text that was read; None if only probabilities were.
        beginnings: the probabilities of the forms and of the first tokens, if the server gives
            them.
    """

    probabilities: list[float | None]
    mass: float | None
    status: str
    response: str | None = None
    beginnings: AnswerBeginnings = AnswerBeginnings()

    @classmethod
    def without_choice(
        cls, options: OptionTexts, status: str, response: str | None = None
    ) -> OptionScores:
        """Returns the scores of an answer that shows no choice."""
        return cls([None] * len(options), None, status, response)


class PreparedRequest(NamedTuple):
    """The content of a request: messages (or the text of a completion), and parameters without
    model and seed.
    """

    messages: SentPrompt
    parameters: dict[str, Any]


class TokenScore(NamedTuple):
    """A token and its log-probability after the tokens before it."""

    token: str
    log_probability: float


class FormProbability(NamedTuple):
    """A way to write an option, and its probability after the prompt."""

    form: str
    probability: float


@dataclass(frozen=True)
class ScoringMethod(ABC):
    """A way to have a server choose among options.

    Attributes:
        writing: the parameters of requests that have the model write a text.
        thoughts: the marks that the model puts around its thoughts.
    """

    writing: Mapping[str, Any]
    thoughts: Thoughts = field(default_factory=Thoughts)

    name: ClassVar[str]
    apis: ClassVar[tuple[str, ...]]

    @abstractmethod
    def build_requests(self, prompt: SentPrompt, options: OptionTexts) -> list[PreparedRequest]:
        """Returns the requests that score the options of a prompt.

        All requests of a method have the same parameters, apart from `extra_body`: the digest of
        the cell's settings is made of those for `STAND_IN_OPTIONS`.
        """

    @abstractmethod
    def read_answers(
        self, prompt: SentPrompt, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Returns the scores of options.

        Args:
            prompt: the prompt, as it was sent.
            options: its options.
            answers: one answer per request of `build_requests`, in the same order.
        """


ECHO_PARAMETERS = {"max_tokens": 1, "temperature": 1.0, "logprobs": 1, "echo": True}
"""Has a prompt read back with the log-probability of each token. One token is written, because
some servers refuse to write none.
"""


class Echo(ScoringMethod):
    """Has the prompt read back with each option after it, and the log-probability of each token.

    It gives the same probabilities as a model that runs here.
    """

    name = "echo"
    apis: ClassVar[tuple[str, ...]] = ("completions",)

    def build_requests(self, prompt: SentPrompt, options: OptionTexts) -> list[PreparedRequest]:
        """Returns a request for each form of each option, in the order of `sent_forms`."""
        forms = chain(*sent_forms(options))
        return [PreparedRequest(f"{prompt}{form}", dict(ECHO_PARAMETERS)) for form in forms]

    def read_answers(
        self, prompt: SentPrompt, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Sums the probabilities of the forms of each option; see `ScoringMethod.read_answers`.

        The probability of a form is the product over its tokens after `shared_tokens`. If a plain
        form was not read back, these are unknown, and with them where each option begins: there is
        no choice then. Another form that was not read back, or that does not begin with the shared
        tokens, adds nothing.
        """
        next_answer = iter(answers)
        echoes: list[dict[str, list[TokenScore]]] = []
        for forms in sent_forms(options):
            echoes_of_option = {}
            for form in forms:
                answer = next(next_answer)
                tokens = echoed_tokens(f"{prompt}{form}", answer)
                if tokens is not None:
                    echoes_of_option[form] = tokens
            echoes.append(echoes_of_option)
        plain = []
        for echoes_of_option, plain_of_option in zip(echoes, plain_forms(options), strict=True):
            if not echoes_of_option.keys() >= {*plain_of_option}:
                withheld = filter(None, map(withheld_status, answers))
                return OptionScores.without_choice(options, next(withheld, "unclear"))
            plain += [token_texts(echoes_of_option[form]) for form in plain_of_option]

        beginning = shared_tokens(plain)
        probabilities: list[float | None] = []
        scored_forms = []
        for option, echoes_of_option in zip(options, echoes, strict=True):
            forms_of_option = form_probabilities(beginning, echoes_of_option)
            scored_forms.append(forms_of_option)
            total = min(sum(probability for _, probability in forms_of_option), 1.0)
            probabilities.append(None if option is None else total)
        mass = sum(value or 0 for value in probabilities)
        return OptionScores(probabilities, mass, "ok", beginnings=AnswerBeginnings(scored_forms))


class Top(ScoringMethod):
    """Reads the most probable first tokens of an answer."""

    name = "top"
    apis: ClassVar[tuple[str, ...]] = ("chat", "completions")

    def build_requests(self, prompt: SentPrompt, options: OptionTexts) -> list[PreparedRequest]:
        """Returns a request for one token, with the probabilities of the most probable ones."""
        own: dict[str, Any] = {"logprobs": TOP_TOKENS}
        if not isinstance(prompt, str):
            own = {"logprobs": True, "top_logprobs": TOP_TOKENS}
        return [PreparedRequest(prompt, {"max_tokens": 1, "temperature": 1.0, **own})]

    def read_answers(
        self, prompt: SentPrompt, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Sums the listed forms of each option; see `ScoringMethod.read_answers`.

        An option without a listed form gets the probability of the last listed token, which is an
        upper bound, and the status is `bounded`.
        """
        top_tokens = answers[0].scores
        if not top_tokens:
            status = withheld_status(answers[0]) or "unclear"
            return OptionScores.without_choice(options, status, answers[0].text)
        # Of tokens that are listed twice, the first one counts.
        log_probabilities = dict(reversed(top_tokens))
        bound = math.exp(min(log_probabilities.values()))
        scored_forms = []
        sums = []
        probabilities: list[float | None] = []
        status = "ok"
        for option, forms in zip(options, surface_forms(options), strict=True):
            listed_forms = [form for form in forms if form in log_probabilities]
            forms_of_option = [
                FormProbability(form, math.exp(log_probabilities[form])) for form in listed_forms
            ]
            total = sum(probability for _, probability in forms_of_option)
            scored_forms.append(forms_of_option)
            sums.append(total)
            if option is None:
                probabilities.append(None)
                continue
            if not total:
                status = "bounded"
            probabilities.append(min(total or bound, 1.0))
        likeliest = sorted(log_probabilities.items(), key=lambda pair: -pair[1])[:FIRST_TOKENS]
        first_tokens = [(token, math.exp(score)) for token, score in likeliest]
        beginnings = AnswerBeginnings(scored_forms, first_tokens)
        return OptionScores(probabilities, sum(sums), status, beginnings=beginnings)


class ParsedText(ScoringMethod):
    """Has the model write a text, and reads in it which option it chooses."""

    name = "parsed"
    apis: ClassVar[tuple[str, ...]] = ("chat", "completions", "anthropic")

    def build_requests(self, prompt: SentPrompt, options: OptionTexts) -> list[PreparedRequest]:
        """Returns a request for a text."""
        return [PreparedRequest(prompt, dict(self.writing))]

    def read_answers(
        self, prompt: SentPrompt, options: OptionTexts, answers: Sequence[Answer]
    ) -> OptionScores:
        """Gives the chosen option 1 and the others 0; see `ScoringMethod.read_answers`."""
        response, status = text_without_thoughts(answers[0], self.thoughts)
        choice = None
        if status in ("ok", "length"):
            choice = parse_option(response, options, is_whole=status != "length")
        if choice is None:
            return OptionScores.without_choice(options, parsed_status(choice, status), response)
        probabilities: list[float | None] = []
        for place, option in enumerate(options):
            probabilities.append(None if option is None else float(place == choice))
        return OptionScores(probabilities, None, "ok", response)


class Choice(ParsedText):
    """Has the server allow no other text than one of the options, as vLLM can.

    The text is read as `ParsedText` reads it.
    """

    name = "choice"
    apis: ClassVar[tuple[str, ...]] = ("chat", "completions")

    def build_requests(self, prompt: SentPrompt, options: OptionTexts) -> list[PreparedRequest]:
        """Returns a request for a text that must be one of the options."""
        choices = [option for option in options if option is not None]
        body = {"structured_outputs": {"choice": choices}}
        return [PreparedRequest(prompt, {**self.writing, "extra_body": body})]


METHODS: tuple[type[ScoringMethod], ...] = (Echo, Top, Choice, ParsedText)
"""From the method that gives the most information to the one that gives the least."""


def method_class(name: str) -> type[ScoringMethod]:
    """Returns a scoring method by its name, one of those in `METHODS`."""
    return next(method for method in METHODS if method.name == name)


def echoed_tokens(text: str, answer: Answer) -> list[TokenScore] | None:
    """Returns the tokens of a text with their log-probabilities; None if it was not read back.

    Tokens before and after the text are left out: the start token of the server, and the token
    that it has written.
    """
    tokens = answer.scores or []
    begin = "".join(token for token, _ in tokens).find(text)
    if begin < 0:
        return None
    end = begin + len(text)
    own = []
    token_end = 0
    for token, log_probability in tokens:
        token_begin = token_end
        token_end += len(token)
        # The token that ends the answer may be shown as "", at the end of the text.
        if begin < token_end <= end and token_begin < end:
            own.append(TokenScore(token, log_probability))
    return own


def token_texts(tokens: Iterable[TokenScore]) -> tuple[str, ...]:
    """Returns the texts of tokens."""
    return tuple(token for token, _ in tokens)


def shared_tokens(texts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Returns the tokens with which all texts begin; () of a single text, or of none."""
    if len(texts) < 2:
        return ()
    count = min(shared_beginning(tokens, texts[0]) for tokens in texts[1:])
    return texts[0][:count]


def form_probabilities(
    beginning: tuple[str, ...], echoes: Mapping[str, Sequence[TokenScore]]
) -> list[FormProbability]:
    """Returns the forms of an option with their probabilities after the shared tokens.

    A form that does not begin with these tokens is left out, as with local models: the tokenizer
    merges its mark with the end of the prompt. Of forms with the same tokens, the first one counts;
    a form that continues another one is contained in the other's probability.

    Args:
        beginning: the tokens that the prompt has with all options, see `shared_tokens`.
        echoes: by form the tokens of the prompt with the form after it.
    """
    count = len(beginning)
    forms: dict[tuple[str, ...], FormProbability] = {}
    for form, tokens in echoes.items():
        own = token_texts(tokens[count:])
        if own and token_texts(tokens[:count]) == beginning:
            total = sum(log_probability for _, log_probability in tokens[count:])
            forms.setdefault(own, FormProbability(form, math.exp(total)))
    return [forms[tokens] for tokens in without_continuations(forms)]


def withheld_status(answer: Answer) -> str | None:
    """Returns the status of an answer that was filtered or refused; None for any other."""
    return WITHHELD_STATUS.get(answer.finish)


def text_without_thoughts(answer: Answer, thoughts: Thoughts) -> tuple[str, str]:
    """Returns the text of an answer after its thoughts, and its status."""
    is_complete = answer.finish in COMPLETE
    response, status = answer_without_thoughts(thoughts.behind(answer.text), is_whole=is_complete)
    return response, withheld_status(answer) or status
