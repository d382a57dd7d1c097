"""The lines of a store of a server's answers, as they are read; see `store`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.inference.models.servers.requests import Answer, Tokens, checked_answer, count_of, text_of_content

VERSION = "biasgrid_answers"
FORMER_HEADER = {VERSION: 1}
HEADER = {VERSION: 2}
NOTHING = b"{}"
"""What stands in place of a line that was moved away."""


class Bill(NamedTuple):
    """What some answers have cost.

    Attributes:
        requests: how many there are.
        tokens_in: how many tokens were read, those of requests without an answer included.
        tokens_out: how many were written.
    """

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def plus(self, line: Line) -> Bill:
        """Adds what a line of a store has cost."""
        read, written = line.charged
        return Bill(self.requests + (line.answer is not None), self.tokens_in + read, self.tokens_out + written)


class Line(NamedTuple):
    """A line of a store: an answer, or what a request without an answer was charged.

    Attributes:
        at: where it begins, in bytes.
        request: the digest of the request.
        charged: how many tokens it was charged.
        answer: the answer, None where there is none.
        answered_by: see `Request`; None in lines of version 0.1.0.
        asked_with: see `Request`.
        key: the key of the instance.
        is_charge_known: whether the server has said how many tokens it charges, or the most was taken.
    """

    at: int
    request: str
    charged: Tokens
    answer: Answer | None = None
    answered_by: str | None = None
    asked_with: str = ""
    key: int = 0
    is_charge_known: bool = True


class OwnerLine(NamedTuple):
    """A line that says whose the answers of version 0.1.0 are: the digest of who answers, see `identity`."""

    answered_by: str


class DamagedLine(NamedTuple):
    """A line that holds nothing that a store has: its number, where it begins, and its bytes."""

    number: int
    at: int
    content: bytes


def lines_in(path: Path) -> Iterator[Line | OwnerLine | DamagedLine]:
    """Yields what a file holds, of each request the first answer; nothing where there is no file.

    Raises:
        UserError: it is no file, or another version wrote it.
    """
    seen: set[str] = set()
    for number, (at, content) in enumerate(whole_lines(path)):
        if not number:
            check_header(path, content)
        elif content.strip() not in (b"", NOTHING):
            line = read_line(number + 1, at, content)
            if not isinstance(line, Line) or line.answer is None or line.request not in seen:
                seen.update([line.request] if isinstance(line, Line) and line.answer else [])
                yield line


def read_line(number: int, at: int, content: bytes) -> Line | OwnerLine | DamagedLine:
    """Reads the line of a number, which begins at a place."""
    try:
        fields = json.loads(content)
        return OwnerLine(str(fields["owner"])) if "owner" in fields else line_of(at, fields)
    except (ValueError, KeyError, TypeError, RecursionError):
        return DamagedLine(number, at, content)


def line_of(at: int, fields: dict[str, Any]) -> Line:
    """Reads a line.

    Args:
        at: where it begins.
        fields: what it says.

    Raises:
        ValueError: it holds neither an answer nor a charge; so do KeyError and TypeError.
    """
    request, charge = str(fields["request"]), fields.get("charged")
    charged = None if charge is None else Tokens(*(whole_number(tokens) for tokens in charge))
    if "text" not in fields and charged is not None:
        return Line(at, request, charged)
    answer = checked_answer(fields_of_answer(fields))
    is_known = charged is not None or None not in (answer.tokens_in, answer.tokens_out)
    told = Tokens(answer.tokens_in or 0, answer.tokens_out or 0)
    key = whole_number(fields["key"], 2**64)
    return Line(
        at, request, charged or told, answer, fields.get("answered_by"), str(fields["asked_with"]), key, is_known
    )


def fields_of_answer(line: dict[str, Any]) -> dict[str, Any]:
    """Returns the fields of an answer in those of a line; version 0.1.0 kept texts and usages as servers gave them."""
    fields = {name: line[name] for name in Answer._fields}
    usage = {name: count_of(fields[name]) for name in ("tokens_in", "tokens_out")}
    return {**fields, **usage, "text": text_of_content(fields["text"])}


def whole_number(value: Any, end: int = 2**53) -> int:
    """Returns a whole number from 0 on.

    Raises:
        ValueError: it is none.
    """
    if type(value) is not int or not 0 <= value < end:
        raise ValueError(f"{value!r} is no number from 0 to {end - 1}")
    return value


def charge_in(content: bytes) -> Tokens | None:
    """Returns what a line that holds no answer says that it was charged; None where it does not say."""
    try:
        fields = json.loads(content)
        told = [count_of(fields.get(name)) for name in ("tokens_in", "tokens_out")]
        return Tokens(*(tokens or 0 for tokens in told)) if any(told) else None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file that have an end, each with the place where it begins.

    Raises:
        UserError: there is something of this name that is no file.
    """
    if not path.exists():
        return
    if not path.is_file():
        raise UserError(f"{path}: not a file; expected a store of answers, or nothing: move it away")
    at = 0
    with path.open("rb") as stream:
        for content in stream:
            if content.endswith(b"\n"):
                yield at, content
            at += len(content)


def end_of_lines(path: Path) -> int:
    """Returns where the last whole line of a file ends."""
    return max((at + len(content) for at, content in whole_lines(path)), default=0)


def is_former(path: Path) -> bool:
    """Says whether version 0.1.0 began a file, whose answers have no address."""
    return bool(json.loads(next(whole_lines(path))[1]) == FORMER_HEADER)


def check_header(path: Path, content: bytes) -> None:
    """Refuses a file whose first line is not that of a store that this version reads."""
    try:
        header = json.loads(content)
    except (ValueError, RecursionError):
        header = None
    if header not in (HEADER, FORMER_HEADER):
        raise UserError(
            f"{path}: not a store of answers that this version of biasgrid reads; expected the first line "
            f"{json.dumps(HEADER)}: move the file away to run again without its answers"
        )
