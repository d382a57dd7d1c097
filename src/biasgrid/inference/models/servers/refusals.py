"""Why a request has no answer, and whether it may be sent again."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any

from biasgrid.inference.models.servers.requests import Usage, count_of

FINAL = {401, 403, 404}
"""Of a wrong key, and of a model or path that the server lacks: nobody else's request will do better."""
PASSING = {408, 409, 429}
"""Of what may be over soon, as are faults of the server itself: those from 500 on."""
LONGEST_WORDS = 500
OF_ANSWERS = {"choices", "content", "usage"}
"""Keys of the answers of either protocol, for which a server charges."""


class Refused(Exception):  # noqa: N818
    """A request without an answer.

    Attributes:
        problem: why.
        again: whether it may be sent again.
        is_final: whether no other request would be answered either.
        seconds: how long to wait before, as the server says.
        usage: what the server says of tokens where a response has arrived that is of no use; None where none has.
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


def refused(status: int, content: bytes, headers: Mapping[str, str]) -> Refused:
    """Words the refusal of a server, in its own words."""
    again = {"true": True, "false": False}.get(headers.get("x-should-retry", ""), status in PASSING or status >= 500)
    return Refused(f"{status} {words_of(content)}", again, status in FINAL, seconds_in(headers), status=status)


def unreadable(protocol: str, content: bytes, error: Exception) -> Refused:
    """Words a response that is no answer of a protocol; an answer that is of no use is charged all the same."""
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return Refused("an answer that is not JSON", again=True, status=HTTPStatus.OK)
    own = body.get("error") if isinstance(body, dict) else None
    problem = f"an answer that is not one of {protocol}'s protocol ({reason_of(error)})"
    # A page of a gateway costs nothing.
    usage = usage_in(body) if isinstance(body, dict) and body.keys() & OF_ANSWERS else None
    return Refused(f"{problem}; {words_of(content)}" if own else problem, again=True, usage=usage, status=HTTPStatus.OK)


def reason_of(error: Exception) -> str:
    """Says in one line what an answer lacks, or has too much."""
    if isinstance(error, KeyError):
        return f"there is no {error}"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    # pydantic names the place before what is wrong there.
    named = lines[1:3] if type(error).__name__ == "ValidationError" else lines[:1]
    return ": ".join(line.partition(" [type=")[0] for line in named)[:LONGEST_WORDS] or type(error).__name__


def usage_in(body: Any) -> Usage:
    """Returns the numbers of tokens in a response, whichever protocol it has."""
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict):
        return Usage()
    pairs = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))
    return Usage(*(count_of(usage.get(one, usage.get(other))) for one, other in pairs))


def words_of(content: bytes) -> str:
    """Returns what a server says is wrong: the message in its response, else the response, in one line."""
    text = content.decode(errors="replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = text
    inner = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(inner, dict):
        inner = next((inner[name] for name in ("message", "detail", "msg") if inner.get(name)), inner)
    words = inner if isinstance(inner, str) else json.dumps(inner)
    return " ".join(words.encode(errors="replace").decode().split())[:LONGEST_WORDS] or "without a word"


def seconds_in(headers: Mapping[str, str]) -> float | None:
    """Returns how long a server asks to wait, None where it does not say so."""
    for name, parts in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / parts
        except ValueError:
            continue
        return max(0.0, seconds) if math.isfinite(seconds) else None
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return None


def told(error: BaseException) -> str:
    """Returns what an error says, or what is behind it."""
    return str(error.__cause__ or error) or type(error).__name__
