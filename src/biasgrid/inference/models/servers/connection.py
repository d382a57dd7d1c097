"""How a server is reached: its address, what it calls the model, and the key, which no text of ours
ever holds.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from biasgrid.base.addresses import STARS, fill_secrets, find_proxy, hide_secrets, public_address
from biasgrid.inference.checkpoints.checkpoint import ModelError, checked_folder
from biasgrid.inference.models.servers.requests import RefusedRequest, Usage
from biasgrid.inference.models.servers.section import Endpoint, Serve, ServerSettings
from biasgrid.inference.models.servers.serving import run_server

MOST_BYTES = 32 << 20
"""Of a response: those with the log-probabilities of a long prompt's tokens have a few MB."""


class WholeResponses(httpx2.AsyncBaseTransport):
    """Reads each response whole, and no longer than it may be; none of ours is a stream."""

    def __init__(self, inner: httpx2.AsyncBaseTransport):
        self.inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request.

        Raises:
            RefusedRequest: the response is too long, or sends the request to another server.
        """
        response = await self.inner.handle_async_request(request)
        try:
            refuse_other_host(request, response)
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > MOST_BYTES:
                    raise RefusedRequest(
                        f"a response of more than {MOST_BYTES >> 20} MB", again=True, usage=Usage()
                    )
        finally:
            await response.aclose()
        # What was decoded on the way is not encoded any more.
        kept = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name not in OF_ENCODED_BODIES
        ]
        return httpx2.Response(response.status_code, headers=kept, content=bytes(content))

    async def aclose(self) -> None:
        """Ends the connections."""
        await self.inner.aclose()


OF_ENCODED_BODIES = ("content-encoding", "content-length", "transfer-encoding")


def refuse_other_host(request: httpx2.Request, response: httpx2.Response) -> None:
    """Refuses to follow a server to another one, whose answers would be kept as this one's.

    Raises:
        RefusedRequest: with both hosts.
    """
    target = response.headers.get("location") if response.is_redirect else None
    if target is None:
        return
    url = request.url
    there = url.join(target)
    has_default_ports = url.port is None and there.port is None
    is_secured = (url.scheme, there.scheme) == ("http", "https") and has_default_ports
    is_same_server = is_secured or origin_of(there) == origin_of(url)
    if there.host != url.host or not is_same_server:
        raise RefusedRequest(
            f"it redirects from {host_and_port(url)} to {host_and_port(there)}, and "
            "biasgrid does not follow that; write that address into the config if it is "
            "the right one",
            is_final=True,
        )


def origin_of(url: httpx2.URL) -> tuple[str, str, int | None]:
    """Returns scheme, host and port."""
    return url.scheme, url.host, url.port


def host_and_port(url: httpx2.URL) -> str:
    """Returns host and port, as a message shows them."""
    return url.netloc.decode()


def http_client(address: str, seconds: float, concurrency: int) -> httpx2.AsyncClient:
    """Returns what sends requests to a server.

    Args:
        address: its address.
        seconds: how long a connection may be silent.
        concurrency: how many requests are under way at a time.

    Raises:
        ModelError: the environment names a proxy that cannot be used.
    """
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    with usable_proxy(address) as proxy:
        transport = httpx2.AsyncHTTPTransport(proxy=proxy, limits=limits)
    return httpx2.AsyncClient(
        transport=WholeResponses(transport), timeout=seconds, follow_redirects=True
    )


@contextmanager
def usable_proxy(address: str) -> Iterator[str | None]:
    """Gives the address of the proxy through which a server is reached, None without one.

    Raises:
        ModelError: the environment names one that needs a package which is not there.
    """
    proxy = find_proxy(address)
    try:
        yield proxy.address if proxy else None
    except ImportError:
        variable = proxy.variable if proxy else ""
        raise ModelError(
            f"{public_address(address)}: the variable {variable} names a SOCKS proxy, which needs "
            "the package socksio; install it with `pip install socksio`, or unset the variable"
        ) from None


NO_KEY = "none"
"""Servers that need no key take any; the clients insist on one, and would look for theirs in the
environment.
"""
TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")
"""What chats call the most tokens that may be written; services know one of them, or both."""
SHORTEST_SECRET = 8
"""Shorter keys, such as `none`, are words that an answer may have."""
TALKATIVE = ("anthropic", "httpcore2", "httpx2", "openai")
"""Libraries that log every request, and addresses with all that is in them."""


@dataclass(frozen=True)
class Access:
    """How a server is reached.

    Attributes:
        url: its address, secrets included.
        shown: what of it may be shown.
        model: what it calls the model.
        asking: how it is asked.
        provider: see `Endpoint`.
        api_version: see `Endpoint`.
        key: the key, None where it needs none.
        token_limit: what a chat calls the most tokens that may be written, see `capabilities`.
    """

    url: str = field(repr=False)
    shown: str
    model: str
    asking: ServerSettings
    provider: str = "openai"
    api_version: str | None = None
    key: str | None = field(default=None, repr=False)
    token_limit: str = TOKEN_LIMITS[0]

    def without_key(self, text: str) -> str:
        """Takes the key, and an address that may hold another one, out of a text that a server has
        written.
        """
        for secret in self._secrets:
            text = text.replace(secret, STARS)
        return hide_secrets(text, self._secrets)

    def without_key_in_answer(self, text: str) -> str:
        """Takes the key out of an answer, where it is long enough to be no word that a model
        writes.
        """
        return hide_secrets(
            text, [secret for secret in self._secrets if len(secret) >= SHORTEST_SECRET]
        )

    @property
    def _secrets(self) -> list[str]:
        return list(filter(None, (self.key, self.url if self.url != self.shown else None)))

    def error(self, problem: str, expected: str) -> ModelError:
        """Words what is wrong with a server."""
        return ModelError(self.without_key(f"{self.shown}: {problem}; expected {expected}"))


def quiet_libraries() -> None:
    """Keeps libraries from logging every request."""
    for name in TALKATIVE:
        logging.getLogger(name).setLevel(logging.WARNING)


@contextmanager
def server_access(
    record: Mapping[str, Any], section: Mapping[str, Any], log: Path | None
) -> Iterator[Access]:
    """Gives access to a model's server for as long as the context lasts.

    Args:
        record: the model's record.
        section: its section of the config.
        log: the log of the job; the output of a server of ours goes beside it.

    Raises:
        InputError: a variable of the environment is not there.
        ModelError: the server cannot be started, or the checkpoint is not what it was.
    """
    if "endpoint" in section:
        endpoint = Endpoint.model_validate(section["endpoint"])
        yield Access(
            url=fill_secrets(endpoint.url),
            shown=public_address(endpoint.url),
            model=endpoint.model,
            asking=endpoint,
            provider=endpoint.provider,
            api_version=endpoint.api_version,
            key=None if endpoint.key is None else fill_secrets(endpoint.key).strip(),
        )
        return
    serve = Serve.model_validate(section["serve"])
    folder = str(checked_folder(record).resolve())
    with run_server(serve, folder, (log or Path("server.log")).with_suffix(".server.log")) as url:
        yield Access(url=url, shown=url, model=serve.model.format(folder=folder), asking=serve)
