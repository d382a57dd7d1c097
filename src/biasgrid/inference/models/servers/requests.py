"""Requests to a server and its answers, independent of the protocol."""

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

BYTES_PER_TOKEN = 4
"""An estimate. No token has fewer than one byte, so that the bytes of a text limit its tokens."""
TEMPLATE_TOKENS = 16
"""The most tokens that a chat template adds to a message."""
TOKEN_COUNT_END = 2**32
"""Counts of tokens are below this; a server that reports more is mistaken."""
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
"""Why an answer ended, by the words of servers in lower case. With other words it is no answer."""


TEXT_PARTS_READ = ("text", "output_text", "refusal")
"""Types of the parts of a message that are the answer. The last word of a type is the key of the
text.
"""
THOUGHTS = ("thinking", "redacted_thinking", "reasoning", "reference")
"""Types of the parts of a message that are not the answer."""


def without_surrogates(text: str) -> str:
    """Returns a text unchanged.

    Raises:
        ValueError: it has half of a surrogate pair, which UTF-8 cannot encode.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("half a character (a lone surrogate)") from None
    return text


ResponseText = Annotated[str, AfterValidator(without_surrogates)]
Count = Annotated[int, Field(strict=True, ge=0, lt=TOKEN_COUNT_END)]
LogProbability = Annotated[float, Field(strict=True, le=1e-3, allow_inf_nan=False)]


class Answer(NamedTuple):
    """An answer. The store has a column for each field, by its name.

    Attributes:
        text: the text that was written; "" if the answer was filtered.
        finish: why the text ended.
        tokens_in: the number of tokens that were read; None if the server does not report it.
        tokens_out: the number of tokens that were written, likewise.
        model: the server's name of the model.
        scores: pairs of a token and its log-probability: for `echo` all tokens of the prompt and
            the answer, in their order; else the most probable first tokens of the answer, the
            most probable one first. None if the server reports none.
    """

    text: ResponseText
    finish: Literal["stop", "length", "content_filter", "refusal"]
    tokens_in: Count | None
    tokens_out: Count | None
    model: ResponseText
    scores: list[tuple[ResponseText, LogProbability]] | None = None


ANSWER_SCHEMA = TypeAdapter(Answer)


def checked_answer(fields: Mapping[str, Any]) -> Answer:
    """Checks the fields of an answer from a server or a file.

    Args:
        fields: the fields of `Answer`; `finish` is any key of `FINISH_REASONS`, in any case.

    Raises:
        ValueError: a field has a wrong value, or the answer is not complete.
        KeyError: there is no `finish`.
    """
    finish = fields["finish"]
    reason = FINISH_REASONS.get(finish.lower()) if isinstance(finish, str) else None
    if reason is None:
        raise ValueError(f"it ended with {finish!r}, so the answer is not complete")
    return ANSWER_SCHEMA.validate_python({**fields, "finish": reason})


def message_text(message: Any) -> str:
    """Returns the text of a message, without thoughts.

    Args:
        message: the content of a message as a server sends it: a text, None, or a list of parts.

    Raises:
        ValueError: it is none of these.
    """
    if message is None or isinstance(message, str):
        return message or ""
    check_parts(message)
    texts = []
    for part in message:
        part_type = part["type"]
        if part_type in TEXT_PARTS_READ:
            key = part_type.rpartition("_")[2]
            texts.append(part[key])
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("content with a part that is not text")
    return "".join(texts)


def check_parts(parts: Any) -> None:
    """Refuses a message that is not a list of texts and thoughts; raises ValueError."""
    if not isinstance(parts, list) or not all(isinstance(part, dict) for part in parts):
        raise ValueError(f"content that is not text ({type(parts).__name__})")
    for part in parts:
        part_type = part.get("type")
        if part_type not in (*TEXT_PARTS_READ, *THOUGHTS):
            raise ValueError(f"content with a part of the type {part_type!r}")


class Usage(NamedTuple):
    """The tokens read and written as a server reports them; None without a plausible report."""

    tokens_in: int | None = None
    tokens_out: int | None = None


class ChargedTokens(NamedTuple):
    """The tokens that are charged: as the server reports them, else the most that were possible."""

    tokens_in: int
    tokens_out: int


def token_count(value: Any) -> int | None:
    """Returns a number of tokens; None for anything else."""
    # Not isinstance: True is an int, too.
    return value if type(value) is int and 0 <= value < TOKEN_COUNT_END else None


@dataclass(frozen=True)
class Request:
    """A request.

    Attributes:
        answered_by: the digest of server and weights, see `identity.answering_server`; "" if the
            answer is not stored.
        asked_with: the digest of the settings that all requests of a cell share, see
            `settings_in_key`; "" if the answer is not stored.
        key: the key of the instance; 0 if there is none.
        messages: role and text of each message, or the text of a completion.
        parameters: the parameters, but the model's name; they have `max_tokens`.
    """

    answered_by: str
    asked_with: str
    key: int
    messages: Sequence[Mapping[str, str]] | str
    parameters: Mapping[str, Any]

    @cached_property
    def digest(self) -> str:
        """The key of its answer in a store: a digest of server, key, messages and parameters."""
        return json_digest(self.answered_by, self.key, self.messages, self.parameters)

    @property
    def texts(self) -> list[str]:
        """The texts of its messages."""
        if isinstance(self.messages, str):
            return [self.messages]
        return [message["content"] for message in self.messages]

    @property
    def most(self) -> ChargedTokens:
        """The most tokens that can be read and written."""
        tokens_in = sum(len(text.encode()) + TEMPLATE_TOKENS for text in self.texts)
        return ChargedTokens(tokens_in, int(self.parameters["max_tokens"]))

    @property
    def tokens_in(self) -> int:
        """An estimate of the tokens that are read."""
        return estimate_tokens(self.texts)

    def charge(self, usage: Usage) -> ChargedTokens:
        """Returns the tokens that are charged for it, see `ChargedTokens`."""
        most = self.most
        tokens_in = most.tokens_in if usage.tokens_in is None else usage.tokens_in
        tokens_out = most.tokens_out if usage.tokens_out is None else usage.tokens_out
        return ChargedTokens(tokens_in, tokens_out)


def estimate_tokens(texts: Iterable[str]) -> int:
    """Returns an estimate of the number of tokens in some texts together."""
    return sum(len(text.encode()) // BYTES_PER_TOKEN + 1 for text in texts)


def json_digest(*parts: Any) -> str:
    """Returns a digest of values that JSON can hold: 32 hexadecimal digits."""
    return sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def settings_in_key(model: Any, api: str, parameters: Mapping[str, Any]) -> str:
    """Digests the settings that all requests of a cell share.

    It tells the answers in a store that a cell uses from those of earlier settings.

    Args:
        model: the model's name and settings in the config.
        api: the protocol.
        parameters: the parameters of any request of the cell.
    """
    common = dict(parameters)
    # Seeds and lists of options (`extra_body`) differ from request to request.
    for name in ("seed", "extra_body"):
        common.pop(name, None)
    return json_digest(model, api, common)


FINAL = {401, 403, 404}
"""Statuses of a wrong key, and of an unknown model or path: no other request will do better."""
TEMPORARY = {408, 409, 429}
"""Statuses below 500 of problems that may be over soon."""
LONGEST_MESSAGE = 500
"""Characters of a server's message that are shown."""
ANSWER_KEYS = {"choices", "content", "usage"}
"""Keys of the answers of both protocols. A server charges for a response that has one."""


class RefusedRequest(Exception):  # noqa: N818
    """A request without an answer.

    Attributes:
        problem: the reason, for messages.
        may_retry: whether the same request may succeed later.
        is_final: whether no other request would be answered either.
        seconds: how long the server asks to wait before the next attempt; None if it does not.
        usage: the tokens of an unusable answer, which are charged; None if nothing is charged.
        status: the HTTP status of the response; None without a response.
    """

    def __init__(
        self,
        problem: str,
        *,
        may_retry: bool = False,
        is_final: bool = False,
        seconds: float | None = None,
        usage: Usage | None = None,
        status: int | None = None,
    ):
        super().__init__(problem)
        self.problem = problem
        self.may_retry = may_retry
        self.is_final = is_final
        self.seconds = seconds
        self.usage = usage
        self.status = status


def refusal_error(status: int, body: bytes, headers: Mapping[str, str]) -> RefusedRequest:
    """Returns the error of a response that refuses a request."""
    is_temporary = status in TEMPORARY or status >= 500
    may_retry = {"true": True, "false": False}.get(headers.get("x-should-retry", ""), is_temporary)
    return RefusedRequest(
        f"{status} {server_message(body)}",
        may_retry=may_retry,
        is_final=status in FINAL,
        seconds=retry_after(headers),
        status=status,
    )


def unreadable_response(protocol: str, body: bytes, error: Exception) -> RefusedRequest:
    """Returns the error of a response with status 200 that is not an answer of the protocol.

    Args:
        protocol: the protocol's name.
        body: the response.
        error: raised when the response was read.
    """
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return RefusedRequest("an answer that is not JSON", may_retry=True, status=HTTPStatus.OK)
    problem = f"an answer that does not follow {protocol}'s protocol ({parse_problem(error)})"
    usage = None
    if isinstance(content, dict):
        if content.get("error"):
            problem = f"{problem}; {server_message(body)}"
        # A gateway's page costs nothing; an answer is charged even if we cannot use it.
        if content.keys() & ANSWER_KEYS:
            usage = reported_usage(content)
    return RefusedRequest(problem, may_retry=True, usage=usage, status=HTTPStatus.OK)


def parse_problem(error: Exception) -> str:
    """Returns the message of an error in one line: the field that is missing or wrong."""
    if isinstance(error, KeyError):
        return f"there is no {error}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # pydantic's lines: the number of errors, the field, what is wrong with it.
    is_from_pydantic = type(error).__name__ == "ValidationError"
    words = lines[1:3] if is_from_pydantic else lines[:1]
    message = ": ".join(line.partition(" [type=")[0] for line in words)
    return message[:LONGEST_MESSAGE] or type(error).__name__


def reported_usage(content: Any) -> Usage:
    """Returns the numbers of tokens in a response of either protocol."""
    usage = content.get("usage") if isinstance(content, dict) else None
    if not isinstance(usage, dict):
        return Usage()
    tokens_in = usage.get("prompt_tokens", usage.get("input_tokens"))
    tokens_out = usage.get("completion_tokens", usage.get("output_tokens"))
    return Usage(token_count(tokens_in), token_count(tokens_out))


def server_message(body: bytes) -> str:
    """Returns the error message in a response, else the whole response, in one line."""
    text = body.decode(errors="replace")
    try:
        content = json.loads(text)
    except (ValueError, RecursionError):
        content = text
    inner = content.get("error", content) if isinstance(content, dict) else content
    if isinstance(inner, dict):
        messages = (inner[name] for name in ("message", "detail", "msg") if inner.get(name))
        inner = next(messages, inner)
    words = inner if isinstance(inner, str) else json.dumps(inner)
    # JSON can contain half a surrogate pair, which no log can hold.
    line = " ".join(words.encode(errors="replace").decode().split())
    return line[:LONGEST_MESSAGE] or "without a message"


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Returns the seconds that a server asks to wait, from 0 on; None if it does not ask."""
    for name, units_per_second in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / units_per_second
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        date = parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, date.timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def error_text(error: BaseException) -> str:
    """Returns the message of an error's cause, if it has one, else its own or its type."""
    return str(error.__cause__ or error) or type(error).__name__
