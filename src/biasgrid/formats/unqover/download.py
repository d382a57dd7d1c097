"""Downloads dumps of several GB: streamed, with a digest, and resumed after interruptions."""

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

from biasgrid.base.addresses import fill_secrets, find_proxy, public_address, split_user
from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import explain_refusal

logger = logging.getLogger(__name__)

CHUNK = 1 << 20
ATTEMPTS = 5
WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds before each further request to a busy server; 0 after the last."""
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
    """Follows redirects to http and https, but not from https to http.

    Such a redirect would send encrypted content as plain text.
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
        """Returns the next request; called by urllib.

        Raises:
            InputError: the redirect is not followed.
        """
        source, target = urlsplit(request.full_url).scheme, urlsplit(address).scheme
        if target not in ("http", "https") or (source, target) == ("https", "http"):
            problem = f"the server redirects from {source} to {target} ({public_address(address)})"
            expected = "redirects only to http or https, and none from https to http"
            raise InputError([Fault(public_address(request.full_url), "", problem, expected)])
        return super().redirect_request(request, file, code, message, headers, address)


def opener_for(address: str) -> OpenerDirector:
    """Returns an opener for an address, which uses the proxy of the environment, if any.

    Raises:
        InputError: the variable of the environment is no address of a proxy, or of a SOCKS proxy.
    """
    proxy = find_proxy(address)
    if proxy and proxy.address.startswith("socks"):
        expected = (
            "a proxy whose address begins with http://; otherwise get the file yourself and set "
            "`file` instead of `url`"
        )
        fault = Fault("the environment", proxy.variable, "names a SOCKS proxy", expected)
        raise InputError([fault])
    proxies = dict.fromkeys(("http", "https"), proxy.address) if proxy else {}
    return build_opener(CarefulRedirects, ProxyHandler(proxies))


def download_dump(url: str, sha256: str, out: Path) -> None:
    """Downloads a file. It gets its name once it is complete and its digest is right.

    The part from an interrupted call stays beside it, under a name with the digest, and the next
    call resumes it if the server allows.

    Args:
        url: the address, http or https; `${NAME}` is replaced by a variable of the environment.
        sha256: the required digest, in hexadecimal.
        out: the path to write.

    Raises:
        InputError: the server does not have the file or cannot be reached, or the digest is another
            one; then the download is removed.
        UserError: the file cannot be written.
    """
    partial = out.with_name(f".{out.name}.{sha256[:16]}.part")
    with explain_refusal(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            digest = _fetch_patiently(fill_secrets(url), partial)
        finally:
            if partial.exists() and not partial.stat().st_size:
                partial.unlink()
        if digest != sha256:
            partial.unlink()
            problem = f"sha256 is {digest} (the download was removed)"
            expected = f"{sha256}, as in the config"
            raise InputError([Fault(public_address(url), "", problem, expected)])
        partial.replace(out)
    logger.info("%s: %d bytes, sha256 %s", public_address(url), out.stat().st_size, digest)


def _fetch_patiently(url: str, partial: Path) -> str:
    """Completes a file, with several attempts; returns its sha256.

    An interrupted download is resumed at once; a busy server gets the next request after `WAITS`.

    Raises:
        InputError: the file is still incomplete after `ATTEMPTS`.
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
    problem = f"{problem}, {ATTEMPTS} times; run again to continue"
    raise InputError([Fault(public_address(url), "", problem, UNREACHABLE)])


def _fetch(url: str, partial: Path) -> str:
    """Downloads the missing bytes of a file, or all of it; returns its sha256.

    All bytes are downloaded if the server cannot resume.

    Raises:
        Interrupted: the file is incomplete.
        Busy, InputError: see `_open`.
    """
    partial.touch()
    with partial.open("rb+") as file:
        # Reading the file moves to its end, where the download resumes.
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
    """Requests a file from a byte on.

    Returns:
        The response; None if the file ends before that byte, so that nothing is missing.

    Raises:
        Busy: the server cannot be reached, or does not answer now.
        InputError: the server does not have the file, or the address or proxy is malformed.
    """
    headers = {"User-Agent": "biasgrid"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        address, user = split_user(url)
        request = Request(address, headers=headers)
        if user:
            # A redirect may lead to another server, which must not get the password.
            request.add_unredirected_header("Authorization", user)
        return cast(HTTPResponse, opener_for(address).open(request, timeout=SECONDS_WITHOUT_DATA))
    except HTTPError as error:
        status = error.code
        if start and status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return None
        # The reason that urllib gives for redirects has several lines.
        reason = " ".join(str(error.reason).split())
        problem = f"the server says {status} {reason}"
        if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise Busy(problem) from None
        raise InputError([Fault(public_address(url), "", problem, "the dump")]) from None
    except ValueError as error:
        problem = f"is not an address ({error})"
        expected = "an address such as https://host/file"
        raise InputError([Fault(public_address(url), "", problem, expected)]) from None
    except (OSError, HTTPException) as error:
        cause = error.reason if isinstance(error, URLError) else error
        raise Busy(f"cannot be reached ({cause})") from None


def _chunks(response: HTTPResponse, start: int) -> Iterator[bytes]:
    """Yields the content of a response, with a progress bar on a terminal.

    Args:
        response: the response.
        start: the number of bytes that the file has already.

    Raises:
        Interrupted: the connection ended before all announced bytes arrived.
    """
    total = None if response.length is None else start + response.length
    is_quiet = not sys.stderr.isatty()
    with tqdm(total=total, initial=start, unit="B", unit_scale=True, disable=is_quiet) as bar:
        try:
            while chunk := response.read(CHUNK):
                yield chunk
                bar.update(len(chunk))
        except (OSError, HTTPException) as error:
            raise Interrupted(repr(error)) from None
    # `length` counts down as bytes are read.
    if response.length:
        raise Interrupted(f"{response.length} bytes are missing")
