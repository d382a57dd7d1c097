"""Why a request has no answer, and whether it may be sent again."""

from __future__ import annotations

from collections.abc import Mapping

FINAL = {401, 403, 404}
"""Of a wrong key, and of a model or path that the server lacks: nobody else's request will do better."""
LONGEST_WAIT = 120
"""Seconds; where a server asks for more, the libraries give up at once, otherwise after all attempts."""


class Refused(Exception):  # noqa: N818
    """A request without an answer.

    Attributes:
        problem: why.
        again: whether it may be sent again.
        is_final: whether no other request would be answered either.
        seconds: how long to wait before, as the server says.
    """

    def __init__(self, problem: str, again: bool = False, is_final: bool = False, seconds: float | None = None):
        super().__init__(problem)
        self.problem, self.again, self.is_final, self.seconds = problem, again, is_final, seconds


def refused(status: int, text: str, headers: Mapping[str, str]) -> Refused:
    """Words the refusal of a server."""
    seconds = seconds_in(headers)
    again = seconds is not None and seconds > LONGEST_WAIT
    return Refused(f"{status} {text}"[:500], again, status in FINAL, seconds)


def seconds_in(headers: Mapping[str, str]) -> float | None:
    """Returns how long a server asks to wait, None where it does not say so in seconds."""
    try:
        return max(0.0, float(headers.get("retry-after", "")))
    except ValueError:
        return None


def told(error: BaseException) -> str:
    """Returns what an error says, or what is behind it."""
    return str(error.__cause__ or error) or type(error).__name__
