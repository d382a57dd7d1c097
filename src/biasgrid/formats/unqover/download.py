"""Downloads dumps, which have several GB: streamed, digested on the way, continued after
interruptions.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import time
from collections.abc import Iterator
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage, HTTPResponse
from pathlib import Path
from typing import IO, cast
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, OpenerDirector, ProxyHandler, Request, build_opener

from tqdm import tqdm

from biasgrid.base.addresses import proxy_of, public_address, with_secrets, without_user
from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import explain_refusal

logger = logging.getLogger(__name__)

CHUNK = 1 << 20
ATTEMPTS = 5
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before a server that is busy is asked again."""
SECONDS_WITHOUT_DATA = 60
UNREACHABLE = (
    "a server that this machine can reach; otherwise get the file yourself and set `file` instead "
    "of `url`"
)


class Interrupted(Exception):  # noqa: N818
    """A transfer that ended too early."""


class Busy(Exception):  # noqa: N818
    """A server that does not answer now, but may later."""


class CarefulRedirects(HTTPRedirectHandler):
    """Follows redirects to http and https, and none from https to http, which would show what was
    encrypted.
    """

    def redirect_request(
        self,
        request: Request,
        file: IO[bytes],
        code: int,
        message: str,
        headers: HTTPMessage,
        address: str,
    ) -> Request | None:
        """Returns what to ask then.

        Raises:
            InputError: it is not to be asked.
        """
        before, then = urlsplit(request.full_url).scheme, urlsplit(address).scheme
        if then not in ("http", "https") or (before, then) == ("https", "http"):
            problem = f"the server redirects from {before} to {then} ({public_address(address)})"
            expected = "redirects only to http or https, and none from https to http"
            raise InputError([Fault(public_address(request.full_url), "", problem, expected)])
        return super().redirect_request(request, file, code, message, headers, address)


def opener_for(address: str) -> OpenerDirector:
    """Returns what opens an address, through the proxy that the environment names for it, if any.

    Raises:
        InputError: that is no proxy, or one of a kind that downloads do not take.
    """
    proxy = proxy_of(address)
    if proxy and proxy.address.startswith("socks"):
        expected = (
            "a proxy whose address begins with http://; otherwise get the file yourself and set "
            "`file` instead of `url`"
        )
        raise InputError(
            [Fault("the environment", proxy.variable, "names a SOCKS proxy", expected)]
        )
    proxies = dict.fromkeys(("http", "https"), proxy.address) if proxy else {}
    return build_opener(CarefulRedirects, ProxyHandler(proxies))


def download_dump(url: str, sha256: str, out: Path) -> None:
    """Downloads a file; under its name there is never a part of it, nor one with another digest.

    What an interrupted call has got is kept beside it, under a name that holds the digest, and
    continued where the server allows.

    Args:
        url: where it is, http or https; `${NAME}` stands for a variable of the environment.
        sha256: the digest that it must have, in hexadecimal.
        out: where it goes.

    Raises:
        InputError: it is not there, the server cannot be reached, or the digest is another one.
        UserError: it cannot be written.
    """
    partial = out.with_name(f".{out.name}.{sha256[:16]}.part")
    with explain_refusal(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            found = _fetch_patiently(with_secrets(url), partial)
        finally:
            if partial.exists() and not partial.stat().st_size:
                partial.unlink()
        if found != sha256:
            partial.unlink()
            problem = f"sha256 is {found} (the download was removed)"
            raise InputError(
                [Fault(public_address(url), "", problem, f"{sha256}, as in the config")]
            )
        partial.replace(out)
    logger.info("%s: %d bytes, sha256 %s", public_address(url), out.stat().st_size, found)


def _fetch_patiently(url: str, partial: Path) -> str:
    """Completes a file over some interruptions; returns its sha256.

    What ends in the middle is taken up at once; a server that refuses, or is busy, is asked again
    later.
    """
    waits = iter(WAITS)
    for _ in range(ATTEMPTS):
        try:
            return _fetch(url, partial)
        except Interrupted as error:
            problem = f"interrupted at byte {partial.stat().st_size} ({error})"
            logger.warning("%s: %s", public_address(url), problem)
        except Busy as error:
            problem = str(error)
            seconds = next(waits, 0)
            logger.warning("%s: %s; trying again in %g s", public_address(url), problem, seconds)
            time.sleep(seconds)
    raise InputError(
        [
            Fault(
                public_address(url),
                "",
                f"{problem}, {ATTEMPTS} times; run again to continue",
                UNREACHABLE,
            )
        ]
    )


def _fetch(url: str, partial: Path) -> str:
    """Downloads what a file lacks, or all of it where the server cannot begin in the middle;
    returns its sha256.

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
        Busy: the server cannot be reached, or does not answer now.
        InputError: the server has not the file, the address is none, or its proxy.
    """
    headers = {"User-Agent": "biasgrid"} | ({"Range": f"bytes={start}-"} if start else {})
    try:
        address, user = without_user(url)
        request = Request(address, headers=headers)
        if user:
            # Another server, to which this one may send us, has no business with it.
            request.add_unredirected_header("Authorization", user)
        return cast(HTTPResponse, opener_for(address).open(request, timeout=SECONDS_WITHOUT_DATA))
    except HTTPError as error:
        if start and error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None
        # What urllib says of redirects has several lines.
        problem = f"the server says {error.code} {' '.join(str(error.reason).split())}"
        if (
            error.code == HTTPStatus.TOO_MANY_REQUESTS
            or error.code >= HTTPStatus.INTERNAL_SERVER_ERROR
        ):
            raise Busy(problem) from None
        raise InputError([Fault(public_address(url), "", problem, "the dump")]) from None
    except ValueError as error:
        raise InputError(
            [
                Fault(
                    public_address(url),
                    "",
                    f"is not an address ({error})",
                    "an address such as https://host/file",
                )
            ]
        ) from None
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise Busy(f"cannot be reached ({reason})") from None


def _chunks(response: HTTPResponse, start: int) -> Iterator[bytes]:
    """Yields what a server sends, with a bar on a terminal.

    Args:
        response: the server's answer.
        start: how many bytes are there already.

    Raises:
        Interrupted: less came than was announced.
    """
    total = None if response.length is None else start + response.length
    with tqdm(
        total=total, initial=start, unit="B", unit_scale=True, disable=not sys.stderr.isatty()
    ) as bar:
        try:
            while chunk := response.read(CHUNK):
                yield chunk
                bar.update(len(chunk))
        except (OSError, HTTPException) as error:
            raise Interrupted(repr(error)) from None
    if response.length:
        raise Interrupted(f"{response.length} bytes are missing")
