"""Downloads dumps, which have several GB: streamed, digested on the way, continued after interruptions."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import cast
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from tqdm import tqdm

from biasgrid.faults import Fault, InputError
from biasgrid.files import explained

logger = logging.getLogger(__name__)

CHUNK = 1 << 20
ATTEMPTS = 5
SECONDS_WITHOUT_DATA = 60
UNREACHABLE = "a server that this machine can reach; or get the file otherwise and set `file` in place of `url`"


class Interrupted(Exception):  # noqa: N818
    """A transfer that ended too early."""


def download(url: str, sha256: str, out: Path) -> None:
    """Downloads a file; under its name there is never a part of it, nor one with another digest.

    What an interrupted call has got is kept beside it, under a name that holds the digest, and continued where the
    server allows.

    Args:
        url: where it is, http or https.
        sha256: the digest that it must have, in hexadecimal.
        out: where it goes.

    Raises:
        InputError: it is not there, the server cannot be reached, or the digest is another one.
        UserError: it cannot be written.
    """
    partial = out.with_name(f".{out.name}.{sha256[:16]}.part")
    with explained(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        found = _fetch_patiently(url, partial)
        if found != sha256:
            partial.unlink()
            problem = f"sha256 is {found} (what was downloaded is removed)"
            raise InputError([Fault(url, "", problem, f"{sha256}, which the config says")])
        partial.replace(out)
    logger.info("%s: %d bytes, sha256 %s", url, out.stat().st_size, found)


def _fetch_patiently(url: str, partial: Path) -> str:
    """Completes a file over some interruptions; returns its sha256."""
    for _ in range(ATTEMPTS):
        try:
            return _fetch(url, partial)
        except Interrupted as error:
            problem = f"interrupted at byte {partial.stat().st_size} ({error})"
            logger.warning("%s: %s", url, problem)
    raise InputError([Fault(url, "", f"{problem}, {ATTEMPTS} times; run again to go on", UNREACHABLE)])


def _fetch(url: str, partial: Path) -> str:
    """Downloads what a file lacks, or all of it where the server cannot begin in the middle; returns its sha256.

    Raises:
        Interrupted: the file is there in part.
    """
    partial.touch()
    with partial.open("rb+") as file:
        digest = hashlib.file_digest(file, "sha256")
        response = _open(url, file.tell())
        if response is None:
            return digest.hexdigest()
        with response:
            if response.status != HTTPStatus.PARTIAL_CONTENT:
                digest = hashlib.sha256()
                file.seek(0)
                file.truncate()
            for chunk in _chunks(response, file.tell()):
                file.write(chunk)
                digest.update(chunk)
    return digest.hexdigest()


def _open(url: str, start: int) -> HTTPResponse | None:
    """Asks for a file from a byte on; None where the server has no bytes from there.

    Raises:
        InputError: the server has not the file, or cannot be reached.
    """
    headers = {"User-Agent": "biasgrid"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        return cast(HTTPResponse, urlopen(Request(url, headers=headers), timeout=SECONDS_WITHOUT_DATA))
    except HTTPError as error:
        if start and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None
        raise InputError([Fault(url, "", f"the server says {error.code} {error.reason}", "the dump")]) from None
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise InputError([Fault(url, "", f"cannot be reached ({reason})", UNREACHABLE)]) from None


def _chunks(response: HTTPResponse, start: int) -> Iterator[bytes]:
    """Yields what a server sends, with a bar on a terminal.

    Args:
        response: the server's answer.
        start: how many bytes are there already.

    Raises:
        Interrupted: less came than was announced.
    """
    total = None if response.length is None else start + response.length
    with tqdm(total=total, initial=start, unit="B", unit_scale=True, disable=not sys.stderr.isatty()) as bar:
        try:
            while chunk := response.read(CHUNK):
                yield chunk
                bar.update(len(chunk))
        except (OSError, HTTPException) as error:
            raise Interrupted(repr(error)) from None
    if response.length:
        raise Interrupted(f"{response.length} bytes are missing")
