"""The store of a server's answers: lines of JSON, appended as the answers arrive.

Answers cost money, so they outlive a killed job, a full disk and a damaged file:

- Half a line at the end, which a killed job leaves behind, is dropped when the file is opened.
- Space for the answers under way is reserved in a second file, and freed when the disk is full.
- A damaged line is moved to a third file, and only its request is sent again.

A file has the answers of one model to one dataset, under the digests of their requests.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Self

from biasgrid.base.faults import UserError
from biasgrid.base.files import explain_refusal
from biasgrid.inference.models.servers.requests import (
    Answer,
    ChargedTokens,
    Request,
    Usage,
    checked_answer,
    token_count,
)

logger = logging.getLogger(__name__)

STORE_NAME = "requests.jsonl"
DAMAGED_NAME = "requests.damaged.jsonl"
RESERVE_NAME = "requests.jsonl.reserve"
HEADER = {"biasgrid_answers": 2}
UNKNOWN_REQUEST = ""
"""Stands for the digest of a request that can no longer be read."""
EMPTY_OBJECT = b"{}"
"""Takes the place of a damaged line, so that the lines after it stay where they are."""
SECONDS_BETWEEN_SYNCS = 1.0


class Line(NamedTuple):
    """An answer, or the charge for a request without a usable answer.

    Attributes:
        at: offset of the line in the file, in bytes.
        size: length of the line in bytes.
        request: digest of the request.
        charged: tokens that were charged.
        answer: the answer, None for a charge.
        answered_by: see `Request`; None for a charge.
        asked_with: see `Request`; "" for a charge.
        key: key of the instance; 0 for a charge.
    """

    at: int
    size: int
    request: str
    charged: ChargedTokens
    answer: Answer | None = None
    answered_by: str | None = None
    asked_with: str = ""
    key: int = 0


class DamagedLine(NamedTuple):
    """A line that is neither an answer nor a charge.

    Attributes:
        line_number: its number in the file, from 1.
        at: its offset in bytes.
        line: the bytes of the line.
    """

    line_number: int
    at: int
    line: bytes


class Bill(NamedTuple):
    """The number of answers, and the tokens charged for these and for requests without one."""

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def plus(self, line: Line) -> Bill:
        """Returns the bill with the charge of a line added."""
        requests = self.requests if line.answer is None else self.requests + 1
        tokens_in, tokens_out = line.charged
        return Bill(requests, self.tokens_in + tokens_in, self.tokens_out + tokens_out)


def read_lines(path: Path) -> Iterator[Line | DamagedLine]:
    """Yields the lines of a store; nothing if there is no file.

    Raises:
        UserError: the path is not a file, or the file is not a store of this version.
    """
    requests: set[str] = set()
    for line_number, (at, line) in enumerate(whole_lines(path), start=1):
        if line_number == 1:
            check_header(path, line)
            continue
        if line.strip() in (b"", EMPTY_OBJECT):
            continue
        parsed = parse_line(line_number, at, line)
        if isinstance(parsed, Line) and parsed.answer is not None:
            # Two jobs may have asked the same; predictions were made of the first answer. The
            # second is skipped, its charge included.
            if parsed.request in requests:
                continue
            requests.add(parsed.request)
        yield parsed


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file with their offsets, without half a line at its end."""
    if not path.exists():
        return
    if not path.is_file():
        expected = "expected a store of answers, or nothing: move it away"
        raise UserError(f"{path}: is not a file; {expected}")
    at = 0
    with path.open("rb") as stream:
        for line in stream:
            if line.endswith(b"\n"):
                yield at, line
            at += len(line)


def check_header(path: Path, line: bytes) -> None:
    """Refuses a file whose first line is not the header of this version.

    Raises:
        UserError: with advice.
    """
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        header = None
    if header != HEADER:
        raise UserError(
            f"{path}: is not a store of answers that this version of biasgrid can read; expected "
            f"the first line {json.dumps(HEADER)}: move the file away to run again without its "
            "answers"
        )


def parse_line(line_number: int, at: int, line: bytes) -> Line | DamagedLine:
    """Parses a line of a store; never raises, because one damaged line must not cost the others.

    Args:
        line_number: its number in the file, from 1.
        at: its offset in bytes.
        line: the line. A charge has only `request` and `charged`; an answer also `text` and the
            other fields.
    """
    try:
        fields = json.loads(line)
        request = str(fields["request"])
        charged = ChargedTokens(*(whole_number(tokens) for tokens in fields["charged"]))
        if "text" not in fields:
            return Line(at, len(line), request, charged)
        return Line(
            at,
            len(line),
            request,
            charged,
            parse_answer(fields),
            str(fields["answered_by"]),
            str(fields["asked_with"]),
            whole_number(fields["key"], limit=2**64),
        )
    # Deeply nested brackets exceed the recursion limit of the parser.
    except (ValueError, KeyError, TypeError, RecursionError):
        return DamagedLine(line_number, at, line)


def parse_answer(fields: Mapping[str, Any]) -> Answer:
    """Returns the answer in the fields of a line; raises ValueError or KeyError without one."""
    return checked_answer({name: fields[name] for name in Answer._fields})


def whole_number(value: Any, limit: int = 2**53) -> int:
    """Returns a whole number from 0 to below a limit; raises ValueError for anything else."""
    # Not isinstance: True is an int, too.
    if type(value) is not int or not 0 <= value < limit:
        raise ValueError(f"{value!r} is not a number from 0 to {limit - 1}")
    return value


def stated_charge(line: bytes) -> ChargedTokens | None:
    """Returns the tokens that a damaged line states; None if it states none."""
    try:
        fields = json.loads(line)
        tokens_in = token_count(fields.get("tokens_in")) or 0
        tokens_out = token_count(fields.get("tokens_out")) or 0
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    if tokens_in == tokens_out == 0:
        return None
    return ChargedTokens(tokens_in, tokens_out)


class RequestStore:
    """A store that is open for writing; only one job may have it open.

    Attributes:
        path: the file.
        bill: the cost of all its answers.
    """

    def __init__(self, folder: Path, reserve: int):
        """Prepares a store without opening it.

        Args:
            folder: folder of the cell.
            reserve: space for the answers of the requests under way, in bytes.
        """
        self.path = folder / STORE_NAME
        self.bill = Bill()
        self._reserve = reserve
        self._reserve_path = folder / RESERVE_NAME
        self._places: dict[str, tuple[int, int]] = {}
        self._file = -1
        self._end_of_lines = 0
        self._last_sync = time.monotonic()

    def __enter__(self) -> Self:
        """Opens the file, drops half a line at its end, and reserves space.

        Raises:
            UserError: the file is not a store of this version, or it cannot be written.
        """
        with explain_refusal(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            damaged_lines = []
            for line in read_lines(self.path):
                if isinstance(line, DamagedLine):
                    damaged_lines.append(line)
                else:
                    self._count(line)
            for at, whole_line in whole_lines(self.path):
                self._end_of_lines = at + len(whole_line)
            # Not O_APPEND: Linux would then ignore the offset of `pwrite`.
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            os.ftruncate(self._file, self._end_of_lines)
            with self._reserve_path.open("wb") as stream:
                # Unlike `truncate`, this takes the space now; it refuses a size of 0.
                size = max(1, self._reserve)
                os.posix_fallocate(stream.fileno(), 0, size)
            if damaged_lines:
                self._move_damaged(damaged_lines)
            if self._end_of_lines == 0:
                self._write(HEADER)
        return self

    def __exit__(self, *_: object) -> None:
        os.fsync(self._file)
        os.close(self._file)
        self._reserve_path.unlink(missing_ok=True)

    def __contains__(self, request: Request) -> bool:
        return request.digest in self._places

    def __getitem__(self, request: Request) -> Answer:
        """Returns the answer to a request; raises KeyError without one."""
        at, size = self._places[request.digest]
        return parse_answer(json.loads(os.pread(self._file, size, at)))

    def add(self, request: Request, answer: Answer) -> ChargedTokens:
        """Stores an answer and returns its charge.

        Raises:
            UserError: the disk is full. The answer is stored all the same, in the reserved space.
        """
        charged = request.charge(Usage(answer.tokens_in, answer.tokens_out))
        fields = {
            "request": request.digest,
            "answered_by": request.answered_by,
            "asked_with": request.asked_with,
            "key": request.key,
            **answer._asdict(),
            "charged": charged,
        }
        self._append(fields, request.digest, charged, answer)
        return charged

    def charge(self, request: Request, usage: Usage) -> ChargedTokens:
        """Stores and returns the charge for a request with an unusable answer.

        Raises:
            UserError: the disk is full. The charge is stored all the same, in the reserved space.
        """
        charged = request.charge(usage)
        self._append_charge(request.digest, charged)
        return charged

    def _append_charge(self, digest: str, charged: ChargedTokens) -> None:
        """Appends a charge without an answer."""
        self._append({"request": digest, "charged": charged}, digest, charged)

    def _append(
        self,
        fields: Mapping[str, Any],
        digest: str,
        charged: ChargedTokens,
        answer: Answer | None = None,
    ) -> None:
        """Appends a line and counts it.

        Raises:
            UserError: the disk is full. The line is stored all the same, in the reserved space.
        """
        at = self._end_of_lines
        try:
            self._write(fields)
        except OSError:
            with explain_refusal(self.path):
                # The disk is full, and the line may be half written, or written and not synced.
                # Free the reserved space and write the line again at the same place, then stop:
                # the next answer may find no space.
                self._reserve_path.unlink(missing_ok=True)
                os.ftruncate(self._file, at)
                self._end_of_lines = at
                self._write(fields)
                self._count(Line(at, self._end_of_lines - at, digest, charged, answer))
                raise
        self._count(Line(at, self._end_of_lines - at, digest, charged, answer))

    def _count(self, line: Line) -> None:
        """Adds a line to the bill, and its answer to the index."""
        self.bill = self.bill.plus(line)
        if line.answer is not None:
            self._places[line.request] = line.at, line.size

    def _write(self, fields: Mapping[str, Any]) -> None:
        """Writes a line at the end of the file, and syncs it at most once a second.

        Raises:
            OSError: the line is missing, half written, or written and not synced; `_append` cuts
                it off.
        """
        text = json.dumps(fields, ensure_ascii=False, separators=(",", ":"))
        line = text.encode() + b"\n"
        # `pwrite` may write less than it is given, for instance on an almost full disk.
        position = 0
        while position < len(line):
            position += os.pwrite(self._file, line[position:], self._end_of_lines + position)
        self._end_of_lines += len(line)
        # A sync takes milliseconds. If the machine crashes, a second of answers is lost at most.
        if time.monotonic() - self._last_sync > SECONDS_BETWEEN_SYNCS:
            os.fsync(self._file)
            self._last_sync = time.monotonic()

    def _move_damaged(self, lines: list[DamagedLine]) -> None:
        """Moves damaged lines to a file beside the store; their charges stay in the bill.

        Blanks of the same length take their place, so that the offsets of other lines hold.
        """
        target = self.path.with_name(DAMAGED_NAME)
        with target.open("ab") as stream:
            stream.writelines(damaged.line for damaged in lines)
            stream.flush()
            # Sync before the original is overwritten, or a crash could lose both copies.
            os.fsync(stream.fileno())
        for line_number, at, line in lines:
            width = len(line) - 1
            blank = EMPTY_OBJECT if width >= len(EMPTY_OBJECT) else b""
            os.pwrite(self._file, blank.ljust(width), at)
            charged = stated_charge(line)
            if charged is not None:
                self._append_charge(UNKNOWN_REQUEST, charged)
            logger.warning(
                "%s, line %s: damaged; its answers are asked again (the line was moved to %s)",
                self.path,
                line_number,
                target.name,
            )
