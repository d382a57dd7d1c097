"""The answers of a server, appended as they arrive to lines of JSON: what was paid for is asked once.

A file holds all answers that a model has given to a dataset, whatever the shards, the code or the version: under the
digest of its request each. A job that is killed may leave half a line, which is dropped; a line that holds no answer is
moved to a file beside. Files of version 0.1.0 knew no addresses: whose answers they hold is decided once, and written
behind them.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.base.files import explain_refusal
from biasgrid.inference.models.servers.identity import Owner
from biasgrid.inference.models.servers.requests import (
    Answer,
    ChargedTokens,
    Request,
    Usage,
    checked_answer,
    count_of,
    text_of_content,
)

STORE_VERSION_KEY = "biasgrid_answers"
FORMER_HEADER = {STORE_VERSION_KEY: 1}
HEADER = {STORE_VERSION_KEY: 2}
EMPTY_OBJECT = b"{}"
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
    charged: ChargedTokens
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
        elif content.strip() not in (b"", EMPTY_OBJECT):
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
    charged = None if charge is None else ChargedTokens(*(whole_number(tokens) for tokens in charge))
    if "text" not in fields and charged is not None:
        return Line(at, request, charged)
    answer = checked_answer(fields_of_answer(fields))
    is_known = charged is not None or None not in (answer.tokens_in, answer.tokens_out)
    told = ChargedTokens(answer.tokens_in or 0, answer.tokens_out or 0)
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
        raise ValueError(f"{value!r} is not a number from 0 to {end - 1}")
    return value


def charge_in(content: bytes) -> ChargedTokens | None:
    """Returns what a line that holds no answer says that it was charged; None where it does not say."""
    try:
        fields = json.loads(content)
        told = [count_of(fields.get(name)) for name in ("tokens_in", "tokens_out")]
        return ChargedTokens(*(tokens or 0 for tokens in told)) if any(told) else None
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
        raise UserError(f"{path}: is not a file; expected a store of answers, or nothing: move it away")
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
            f"{path}: is not a store of answers that this version of biasgrid can read; expected the first line "
            f"{json.dumps(HEADER)}: move the file away to run again without its answers"
        )


logger = logging.getLogger(__name__)

STORE_NAME = "requests.jsonl"
DAMAGED = "requests.damaged.jsonl"
RESERVE = ".reserve"
SECONDS_BETWEEN_SYNCS = 1.0


class RequestStore:
    """A store that is written; use it as a context manager, and one at a time.

    Attributes:
        path: its file.
        bill: what all its answers have cost.
    """

    def __init__(self, folder: Path, reserve: int, owner_before: Callable[[], Owner]):
        """Opens nothing yet.

        Args:
            folder: the folder of the cell.
            reserve: how many bytes the answers of the requests under way may take, kept free for them.
            owner_before: says whose answers a file of version 0.1.0 holds.
        """
        self.path = folder / STORE_NAME
        self.reserve = reserve
        self.owner_before = owner_before
        self.bill = Bill()
        self.places: dict[str, int] = {}
        self.uncharged: set[str] = set()
        self.owner: str | None = None
        self.file = -1
        self.end = 0
        self.last_sync = time.monotonic()

    def __enter__(self) -> RequestStore:
        """Reads what is there, drops half a line at the end, and takes room for answers to come.

        Raises:
            UserError: another version wrote it, or it cannot be written to.
        """
        with explain_refusal(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            damaged = []
            for line in lines_in(self.path):
                match line:
                    case OwnerLine():
                        self.owner = line.answered_by
                    case DamagedLine():
                        damaged.append(line)
                    case Line():
                        self._count(line)
            self.file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            self.end = end_of_lines(self.path)
            os.ftruncate(self.file, self.end)
            self._keep_room()
            self._set_aside(damaged)
            if not self.end:
                self._write(HEADER)
            elif self.owner is None and is_former(self.path):
                self._decide_owner()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        """Brings all to the disk, and gives the room back."""
        os.fsync(self.file)
        os.close(self.file)
        self._room.unlink(missing_ok=True)

    def __contains__(self, request: Request) -> bool:
        """Says whether a request was answered."""
        return self._digest(request) in self.places

    def __getitem__(self, request: Request) -> Answer:
        """Returns the answer to a request."""
        with self.path.open("rb") as stream:
            stream.seek(self.places[self._digest(request)])
            return checked_answer(fields_of_answer(json.loads(stream.readline())))

    def _digest(self, request: Request) -> str:
        """Returns the digest under which a request is kept, or would be."""
        is_former = self.owner == request.answered_by and request.digest not in self.places
        return request.former_digest if is_former and request.former_digest in self.places else request.digest

    def add(self, request: Request, answer: Answer) -> ChargedTokens:
        """Keeps an answer.

        Returns:
            What it was charged.

        Raises:
            UserError: the disk is full; the answer is kept all the same, in the room that was kept free.
        """
        charged = request.charge(Usage(answer.tokens_in, answer.tokens_out))
        self._append(
            {
                "request": request.digest,
                "answered_by": request.answered_by,
                "asked_with": request.asked_with,
                "key": request.key,
                **answer._asdict(),
                "charged": charged,
            },
            Line(self.end, request.digest, charged, answer),
        )
        return charged

    def charge(self, request: Request, usage: Usage) -> ChargedTokens:
        """Keeps what a request was charged whose answer is of no use.

        Returns:
            What it was charged.

        Raises:
            UserError: the disk is full.
        """
        return self._charge(self._digest(request), request.charge(usage))

    def charge_former(self, request: Request) -> ChargedTokens:
        """Charges an answer of version 0.1.0 of which the server did not say what it charges, once, at most.

        Returns:
            What it was charged, nothing where that is known.
        """
        digest = self._digest(request)
        return self._charge(digest, request.most) if digest in self.uncharged else ChargedTokens(0, 0)

    def _charge(self, digest: str, charged: ChargedTokens) -> ChargedTokens:
        self._append({"request": digest, "charged": charged}, Line(self.end, digest, charged))
        return charged

    def _append(self, content: Any, line: Line) -> None:
        try:
            self._write(content)
        except OSError:
            with explain_refusal(self.path):
                self._room.unlink(missing_ok=True)
                os.ftruncate(self.file, line.at)
                self._write(content)
                self._count(line)
                raise
        self._count(line)

    def _count(self, line: Line) -> None:
        self.bill = self.bill.plus(line)
        if line.answer is None:
            self.uncharged.discard(line.request)
        else:
            self.places[line.request] = line.at
            if not line.is_charge_known:
                self.uncharged.add(line.request)

    def _write(self, line: Any) -> None:
        content = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        written = 0
        while written < len(content):
            written += os.pwrite(self.file, content[written:], self.end + written)
        self.end += len(content)
        if time.monotonic() - self.last_sync > SECONDS_BETWEEN_SYNCS:
            os.fsync(self.file)
            self.last_sync = time.monotonic()

    def _set_aside(self, damaged: list[DamagedLine]) -> None:
        """Moves lines that hold no answer to a file beside; what they say that they were charged stays."""
        if not damaged:
            return
        aside = self.path.with_name(DAMAGED)
        with aside.open("ab") as stream:
            stream.writelines(line.content for line in damaged)
            stream.flush()
            os.fsync(stream.fileno())
        for number, at, content in damaged:
            room = len(content) - 1
            os.pwrite(self.file, (EMPTY_OBJECT if room >= len(EMPTY_OBJECT) else b"").ljust(room), at)
            if charged := charge_in(content):
                self._charge("", charged)
            logger.warning(
                "%s, line %s: damaged; its answers are asked again (the line was moved to %s)",
                self.path, number, aside.name,
            )  # fmt: skip

    def _decide_owner(self) -> None:
        """Decides whose answers a file of version 0.1.0 holds, and writes it behind them."""
        owner = self.owner_before()
        self.owner = owner.answered_by
        self._write({"owner": owner.answered_by, "of": owner.name})
        logger.warning(
            (
                "%s: version 0.1.0 stored these answers without an address; from now on they count as answers of %s, "
                "the address in %s"
            ), self.path, owner.name, owner.source,
        )  # fmt: skip

    @property
    def _room(self) -> Path:
        return self.path.with_name(f"{self.path.name}{RESERVE}")

    def _keep_room(self) -> None:
        with self._room.open("wb") as room:
            os.posix_fallocate(room.fileno(), 0, max(1, self.reserve))
