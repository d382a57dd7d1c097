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
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from biasgrid.base.files import explain_refusal
from biasgrid.inference.models.servers.identity import Owner
from biasgrid.inference.models.servers.requests import Answer, Request, Tokens, Usage, checked_answer
from biasgrid.inference.models.servers.store_lines import (
    HEADER,
    NOTHING,
    Bill,
    DamagedLine,
    Line,
    OwnerLine,
    charge_in,
    end_of_lines,
    fields_of_answer,
    is_former,
    lines_in,
)

logger = logging.getLogger(__name__)

NAME = "requests.jsonl"
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
        self.path = folder / NAME
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

    def add(self, request: Request, answer: Answer) -> Tokens:
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

    def charge(self, request: Request, usage: Usage) -> Tokens:
        """Keeps what a request was charged whose answer is of no use.

        Returns:
            What it was charged.

        Raises:
            UserError: the disk is full.
        """
        return self._charge(self._digest(request), request.charge(usage))

    def charge_former(self, request: Request) -> Tokens:
        """Charges an answer of version 0.1.0 of which the server did not say what it charges, once, at most.

        Returns:
            What it was charged, nothing where that is known.
        """
        digest = self._digest(request)
        return self._charge(digest, request.most) if digest in self.uncharged else Tokens(0, 0)

    def _charge(self, digest: str, charged: Tokens) -> Tokens:
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
            os.pwrite(self.file, (NOTHING if room >= len(NOTHING) else b"").ljust(room), at)
            if charged := charge_in(content):
                self._charge("", charged)
            logger.warning(
                "%s, line %s: damaged; what it held is asked again (the line is moved to %s)",
                self.path, number, aside.name,
            )  # fmt: skip

    def _decide_owner(self) -> None:
        """Decides whose answers a file of version 0.1.0 holds, and writes it behind them."""
        owner = self.owner_before()
        self.owner = owner.answered_by
        self._write({"owner": owner.answered_by, "of": owner.name})
        logger.warning(
            "%s: version 0.1.0 kept these answers without an address; from now on they are taken to be those of %s, "
            "which %s names", self.path, owner.name, owner.source,
        )  # fmt: skip

    @property
    def _room(self) -> Path:
        return self.path.with_name(f"{self.path.name}{RESERVE}")

    def _keep_room(self) -> None:
        with self._room.open("wb") as room:
            os.posix_fallocate(room.fileno(), 0, max(1, self.reserve))
