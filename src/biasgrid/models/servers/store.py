"""The answers of a server, appended as they arrive to lines of JSON: what was paid for is asked once.

A file holds all answers that a model has given to a dataset, whatever the shards, the code or the version: under the
digest of its request each. A job that is killed may leave half a line, which is dropped.
"""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

from biasgrid.faults import UserError
from biasgrid.files import explained
from biasgrid.models.servers.requests import Answer, Request

logger = logging.getLogger(__name__)

NAME = "requests.jsonl"
RESERVE = ".reserve"
HEADER = {"biasgrid_answers": 1}
SECONDS_BETWEEN_SYNCS = 1.0


class Bill(NamedTuple):
    """What some answers have cost.

    Attributes:
        requests: how many there are.
        tokens_in: how many tokens were read.
        tokens_out: how many were written.
    """

    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0

    def with_answer(self, answer: Answer) -> Bill:
        """Adds an answer."""
        return Bill(
            self.requests + 1, self.tokens_in + (answer.tokens_in or 0), self.tokens_out + (answer.tokens_out or 0)
        )


class Line(NamedTuple):
    """A line of a store.

    Attributes:
        at: where it begins, in bytes.
        request: the digest of the request.
        asked_with: see `Request`.
        key: the key of the instance.
        answer: the answer.
    """

    at: int
    request: str
    asked_with: str
    key: int
    answer: Answer


class RequestStore:
    """A store that is written; use it as a context manager, and one at a time.

    Attributes:
        path: its file.
        bill: what all its answers have cost.
    """

    def __init__(self, folder: Path, reserve: int):
        """Opens nothing yet.

        Args:
            folder: the folder of the cell.
            reserve: how many bytes the answers of the requests under way may take, kept free for them.
        """
        self.path = folder / NAME
        self.reserve = reserve
        self.bill = Bill()
        self.places: dict[str, int] = {}
        self.file = -1
        self.end = 0
        self.last_sync = time.monotonic()

    def __enter__(self) -> RequestStore:
        """Reads what is there, drops half a line at the end, and takes room for answers to come.

        Raises:
            UserError: another version wrote it, or it cannot be written to.
        """
        with explained(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            for line in lines_in(self.path):
                self.places[line.request] = line.at
                self.bill = self.bill.with_answer(line.answer)
            self.file = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            self.end = end_of_lines(self.path)
            os.ftruncate(self.file, self.end)
            self._keep_room()
            if not self.end:
                self._write(HEADER)
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
        return request.digest in self.places

    def __getitem__(self, request: Request) -> Answer:
        """Returns the answer to a request."""
        with self.path.open("rb") as stream:
            stream.seek(self.places[request.digest])
            return answer_in(json.loads(stream.readline()))

    def add(self, request: Request, answer: Answer) -> None:
        """Keeps an answer.

        Raises:
            UserError: the disk is full; the answer is kept all the same, in the room that was kept free.
        """
        line = {"request": request.digest, "asked_with": request.asked_with, "key": request.key, **answer._asdict()}
        at = self.end
        try:
            self._write(line)
        except OSError:
            with explained(self.path):
                self._room.unlink(missing_ok=True)
                os.ftruncate(self.file, at)
                self._write(line)
                self._count(request, at, answer)
                raise
        self._count(request, at, answer)

    def _count(self, request: Request, at: int, answer: Answer) -> None:
        self.places[request.digest] = at
        self.bill = self.bill.with_answer(answer)

    def _write(self, line: Any) -> None:
        content = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        written = 0
        while written < len(content):
            written += os.pwrite(self.file, content[written:], self.end + written)
        self.end += len(content)
        if time.monotonic() - self.last_sync > SECONDS_BETWEEN_SYNCS:
            os.fsync(self.file)
            self.last_sync = time.monotonic()

    @property
    def _room(self) -> Path:
        return self.path.with_name(f"{self.path.name}{RESERVE}")

    def _keep_room(self) -> None:
        with self._room.open("wb") as room:
            os.posix_fallocate(room.fileno(), 0, max(1, self.reserve))


def lines_in(path: Path) -> Iterator[Line]:
    """Yields the answers in a file, the first one of each request; none where there is no file.

    Raises:
        UserError: another version wrote it.
    """
    seen: set[str] = set()
    for number, (at, content) in enumerate(whole_lines(path)):
        if not number:
            check_header(path, content)
            continue
        try:
            line = json.loads(content)
            read = Line(at, line["request"], line["asked_with"], line["key"], answer_in(line))
        except (ValueError, KeyError, TypeError):
            logger.warning("%s, line %s: damaged; what it held is asked again", path, number + 1)
            continue
        if read.request not in seen:
            seen.add(read.request)
            yield read


def whole_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yields the lines of a file that have an end, each with the place where it begins."""
    if not path.exists():
        return
    at = 0
    with path.open("rb") as stream:
        for content in stream:
            if content.endswith(b"\n"):
                yield at, content
            at += len(content)


def end_of_lines(path: Path) -> int:
    """Returns where the last whole line of a file ends."""
    return max((at + len(content) for at, content in whole_lines(path)), default=0)


def check_header(path: Path, content: bytes) -> None:
    """Refuses a file whose first line is not that of a store of this version."""
    try:
        header = json.loads(content)
    except ValueError:
        header = None
    if header != HEADER:
        raise UserError(
            f"{path}: not a store of answers that this version of biasgrid reads; expected the first line "
            f"{json.dumps(HEADER)}: move the file away to run again without its answers"
        )


def answer_in(line: dict[str, Any]) -> Answer:
    """Reads the answer of a line."""
    scores = line["scores"]
    known = {name: line[name] for name in Answer._fields if name != "scores"}
    return Answer(**known, scores=None if scores is None else [(token, score) for token, score in scores])
