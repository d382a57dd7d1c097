"""What is sent to a server, and what it answers: both in the words of this package, whatever the
protocol.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from functools import cached_property
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, Field, TypeAdapter

BYTES_OF_A_TOKEN = 4
"""About; a token has at least one."""
TOKENS_AROUND = 16
"""Tokens that a chat template puts around a message, at most."""
MOST_TOKENS = 2**32
"""A usage beyond it is none."""
FINISH_REASONS = {
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "end_turn": "stop",
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "model_context_window_exceeded": "length",
    "content_filter": "content_filter",
    "safety": "content_filter",
    "recitation": "content_filter",
    "refusal": "refusal",
}
"""Why an answer ended, by what servers call it in any case; whatever else they say, it is no
answer.
"""


TEXT_PARTS_READ = ("text", "output_text", "refusal")
"""The types of the parts of a content that are an answer; the last word of a type is the key that
has the text.
"""
THOUGHTS = ("thinking", "redacted_thinking", "reasoning", "reference")
"""The types of those that are no part of it."""


def without_surrogates(text: str) -> str:
    """Returns a text.

    Raises:
        ValueError: it has half of a surrogate pair, which no file can hold.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half a character (a lone surrogate)") from None
    return text


ResponseText = Annotated[str, AfterValidator(without_surrogates)]
Count = Annotated[int, Field(strict=True, ge=0, lt=MOST_TOKENS)]
LogProbability = Annotated[float, Field(strict=True, le=1e-3, allow_inf_nan=False)]


class Answer(NamedTuple):
    """An answer as it is stored.

    Attributes:
        text: what was written.
        finish: why it ended.
        tokens_in: how many tokens were read, None where the server does not say.
        tokens_out: how many were written.
        model: what the server calls the model that has answered.
        scores: log-probabilities by token: of an echoed text those of its end in their order, else
            those of the most probable first tokens; None where the server gives none.
    """

    text: ResponseText
    finish: Literal["stop", "length", "content_filter", "refusal"]
    tokens_in: Count | None
    tokens_out: Count | None
    model: ResponseText
    scores: list[tuple[ResponseText, LogProbability]] | None = None


SCHEMA = TypeAdapter(Answer)


def checked_answer(fields: Mapping[str, Any]) -> Answer:
    """Returns the answer that some fields describe, whether a server or a file gave them.

    Raises:
        ValueError: they describe none.
    """
    finish = fields["finish"]
    known = FINISH_REASONS.get(finish.lower()) if isinstance(finish, str) else None
    if known is None:
        raise ValueError(f"it ended with {finish!r}, so the answer is not complete")
    return SCHEMA.validate_python({**fields, "finish": known})


def text_of_content(content: Any) -> str:
    """Returns the text of a content that a server gives: a text, none, or a list of parts without
    thoughts.

    Raises:
        ValueError: it is none of these.
    """
    if content is None or isinstance(content, str):
        return content or ""
    check_parts(content)
    texts = []
    for part in content:
        part_type = part["type"]
        if part_type in TEXT_PARTS_READ:
            key = part_type.rpartition("_")[2]
            texts.append(part[key])
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("content with a part that is not text")
    return "".join(texts)


def check_parts(content: Any) -> None:
    """Refuses a content that is no list of texts and thoughts; raises ValueError."""
    if not isinstance(content, list) or not all(isinstance(part, dict) for part in content):
        raise ValueError(f"content that is not text ({type(content).__name__})")
    for part in content:
        part_type = part.get("type")
        if part_type not in (*TEXT_PARTS_READ, *THOUGHTS):
            raise ValueError(f"content with a part of the type {part_type!r}")


class Usage(NamedTuple):
    """How many tokens a server says it has read and written; None where it does not say, or says
    nonsense.
    """

    tokens_in: int | None = None
    tokens_out: int | None = None


class ChargedTokens(NamedTuple):
    """How many tokens are charged: what the server says, else the most that it can have been."""

    tokens_in: int
    tokens_out: int


def count_of(value: Any) -> int | None:
    """Returns a number of tokens, None where it is none."""
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        answered_by: a digest of who answers, see `identity`.
        asked_with: a digest of what is the same in all requests of a cell, see `asked_with`.
        key: the key of the instance that it is of.
        messages: what is asked: role and text of each message, or the text alone of completions.
        parameters: what else is sent, the model aside.
    """

    answered_by: str
    asked_with: str
    key: int
    messages: Sequence[Mapping[str, str]] | str
    parameters: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """By which it is found in a store: of who answers, messages, parameters and key."""
        return json_digest(self.answered_by, self.key, self.messages, self.parameters)

    @property
    def texts(self) -> list[str]:
        """The texts that are read."""
        return (
            [self.messages]
            if isinstance(self.messages, str)
            else [message["content"] for message in self.messages]
        )

    @property
    def most(self) -> ChargedTokens:
        """How many tokens are read and written at most."""
        return ChargedTokens(
            sum(len(text.encode()) + TOKENS_AROUND for text in self.texts),
            int(self.parameters["max_tokens"]),
        )

    @property
    def tokens_in(self) -> int:
        """About how many tokens are read."""
        return tokens_about(self.texts)

    def charge(self, usage: Usage) -> ChargedTokens:
        """Returns what is charged for it."""
        most = self.most
        told = (usage.tokens_in, usage.tokens_out)
        return ChargedTokens(
            *(limit if tokens is None else tokens for tokens, limit in zip(told, most, strict=True))
        )


def tokens_about(texts: Iterable[str]) -> int:
    """Returns about how many tokens texts have together."""
    return sum(len(text.encode()) // BYTES_OF_A_TOKEN + 1 for text in texts)


def json_digest(*parts: Any) -> str:
    """Digests what can be written as JSON; 32 hexadecimal digits."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def settings_in_key(model: Any, api: str, parameters: Mapping[str, Any]) -> str:
    """Digests what is the same in all requests of a cell, by which one knows whose answers it uses.

    Args:
        model: what the config says of the model.
        api: how it is asked.
        parameters: those of any of its requests; seeds and lists of options are each request's own.
    """
    return json_digest(
        model,
        api,
        {name: each for name, each in parameters.items() if name not in ("seed", "extra_body")},
    )


FINAL = {401, 403, 404}
"""Of a wrong key, and of a model or path that the server lacks: nobody else's request will do
better.
"""
PASSING = {408, 409, 429}
"""Of what may be over soon, as are faults of the server itself: those from 500 on."""
LONGEST_WORDS = 500
OF_ANSWERS = {"choices", "content", "usage"}
"""Keys of the answers of either protocol, for which a server charges."""


class RefusedRequest(Exception):  # noqa: N818
    """A request without an answer.

    Attributes:
        problem: why.
        again: whether it may be sent again.
        is_final: whether no other request would be answered either.
        seconds: how long to wait before, as the server says.
        usage: what the server says of tokens where a response has arrived that is of no use; None
            where none has.
        status: the status of the response, None where there was none.
    """

    def __init__(
        self,
        problem: str,
        again: bool = False,
        is_final: bool = False,
        seconds: float | None = None,
        usage: Usage | None = None,
        status: int | None = None,
    ):
        super().__init__(problem)
        self.problem, self.again, self.is_final, self.seconds = problem, again, is_final, seconds
        self.usage, self.status = usage, status


def refusal_of(status: int, content: bytes, headers: Mapping[str, str]) -> RefusedRequest:
    """Words the refusal of a server, in its own words."""
    again = {"true": True, "false": False}.get(
        headers.get("x-should-retry", ""), status in PASSING or status >= 500
    )
    return RefusedRequest(
        f"{status} {server_message(content)}",
        again,
        status in FINAL,
        seconds_in(headers),
        status=status,
    )


def unreadable_response(protocol: str, content: bytes, error: Exception) -> RefusedRequest:
    """Words a response that is no answer of a protocol; an answer that is of no use is charged all
    the same.
    """
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return RefusedRequest("an answer that is not JSON", again=True, status=HTTPStatus.OK)
    own = body.get("error") if isinstance(body, dict) else None
    problem = f"an answer that does not follow {protocol}'s protocol ({reason_of(error)})"
    # A page of a gateway costs nothing.
    usage = usage_in(body) if isinstance(body, dict) and body.keys() & OF_ANSWERS else None
    return RefusedRequest(
        f"{problem}; {server_message(content)}" if own else problem,
        again=True,
        usage=usage,
        status=HTTPStatus.OK,
    )


def reason_of(error: Exception) -> str:
    """Says in one line what an answer lacks, or has too much."""
    if isinstance(error, KeyError):
        return f"there is no {error}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # pydantic names the place before what is wrong there.
    named = lines[1:3] if type(error).__name__ == "ValidationError" else lines[:1]
    return (
        ": ".join(line.partition(" [type=")[0] for line in named)[:LONGEST_WORDS]
        or type(error).__name__
    )


def usage_in(body: Any) -> Usage:
    """Returns the numbers of tokens in a response, whichever protocol it has."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return Usage()
    pairs = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    return Usage(*(count_of(usage.get(one, usage.get(other))) for one, other in pairs))


def server_message(content: bytes) -> str:
    """Returns what a server says is wrong: the message in its response, else the response, in one
    line.
    """
    text = content.decode(errors="replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        inner = next(
            (inner[name] for name in ("message", "detail", "msg") if inner.get(name)), inner
        )
    words = inner if isinstance(inner, str) else json.dumps(inner)
    return (
        " ".join(words.encode(errors="replace").decode().split())[:LONGEST_WORDS]
        or "without a message"
    )


def seconds_in(headers: Mapping[str, str]) -> float | None:
    """Returns how long a server asks to wait, None where it does not say so."""
    for name, parts in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / parts
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        return max(
            0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time()
        )
    except (ValueError, TypeError, OverflowError):
        return None


def error_text(error: BaseException) -> str:
    """Returns what an error says, or what is behind it."""
    return str(error.__cause__ or error) or type(error).__name__
