"""Access to a server: its address, the model's name there, and the key, which is never logged."""

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
"""The largest response. The log-probabilities of a long prompt's tokens take a few MB."""


class WholeResponses(httpx2.AsyncBaseTransport):
    """Reads each response whole, up to `MOST_BYTES`; we request no streams."""

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
            body = bytearray()
            async for chunk in response.aiter_bytes():
                body += chunk
                if len(body) > MOST_BYTES:
                    # Charged in full: the empty usage stands for the most there can have been.
                    raise RefusedRequest(
                        f"a response of more than {MOST_BYTES >> 20} MB",
                        may_retry=True,
                        usage=Usage(),
                    )
        finally:
            await response.aclose()
        # `aiter_bytes` has decompressed the body, so these headers are no longer true.
        headers = [
            (name, value)
            for name, value in response.headers.multi_items()
            if name not in ENCODING_HEADERS
        ]
        return httpx2.Response(response.status_code, headers=headers, content=bytes(body))

    async def aclose(self) -> None:
        """Ends the connections."""
        await self.inner.aclose()


ENCODING_HEADERS = ("content-encoding", "content-length", "transfer-encoding")


def refuse_other_host(request: httpx2.Request, response: httpx2.Response) -> None:
    """Refuses a redirect to another server, whose answers would be stored as this server's.

    A redirect of the same host from http to https is allowed.

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
    is_same_server = is_secured or url_origin(there) == url_origin(url)
    if there.host != url.host or not is_same_server:
        raise RefusedRequest(
            f"it redirects from {host_and_port(url)} to {host_and_port(there)}, and "
            "biasgrid does not follow that; write that address into the config if it is "
            "the right one",
            is_final=True,
        )


def url_origin(url: httpx2.URL) -> tuple[str, str, int | None]:
    """Returns scheme, host and port of an address."""
    return url.scheme, url.host, url.port


def host_and_port(url: httpx2.URL) -> str:
    """Returns host and port of an address for a message."""
    return url.netloc.decode()


def http_client(address: str, seconds: float, concurrency: int) -> httpx2.AsyncClient:
    """Returns an HTTP client for a server.

    Args:
        address: its address.
        seconds: how long a connection may be silent.
        concurrency: the number of requests at the same time.

    Raises:
        ModelError: see `usable_proxy`.
    """
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    with usable_proxy(address) as proxy:
        transport = httpx2.AsyncHTTPTransport(proxy=proxy, limits=limits)
    return httpx2.AsyncClient(
        transport=WholeResponses(transport), timeout=seconds, follow_redirects=True
    )


@contextmanager
def usable_proxy(address: str) -> Iterator[str | None]:
    """Yields the address of the proxy for a server, None without one.

    Use it around the code that opens the connection, whose ImportError it explains.

    Raises:
        ModelError: a SOCKS proxy needs a package that is not installed.
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
"""The key for servers that need none. Without it, clients would read one from the environment."""
TOKEN_LIMITS = ("max_completion_tokens", "max_tokens")
"""Names of the parameter that limits the length of a chat's answer; servers know one or both."""
SHORTEST_SECRET = 8
"""Characters. A shorter key, such as `none`, may be a word of an answer."""
TALKATIVE_LIBRARIES = ("anthropic", "httpcore2", "httpx2", "openai")
"""Libraries that log every request, with keys in the addresses."""


@dataclass(frozen=True)
class Access:
    """The address of a server, its key and its settings.

    Attributes:
        url: its address, secrets included.
        public_url: the address without secrets, for messages.
        model: its name of the model.
        server_settings: its section of the config.
        provider: see `Endpoint`.
        api_version: see `Endpoint`.
        key: the key; None if it needs none.
        token_limit: the name of the parameter that limits the length of a chat's answer, one of
            `TOKEN_LIMITS`; see `capabilities`.
    """

    url: str = field(repr=False)
    public_url: str
    model: str
    server_settings: ServerSettings
    provider: str = "openai"
    api_version: str | None = None
    key: str | None = field(default=None, repr=False)
    token_limit: str = TOKEN_LIMITS[0]

    def without_key(self, text: str) -> str:
        """Replaces the key, and an address with secrets, by stars in a server's message."""
        for secret in self._secrets:
            text = text.replace(secret, STARS)
        return hide_secrets(text, self._secrets)

    def without_key_in_answer(self, text: str) -> str:
        """Replaces the same secrets in an answer, unless they are so short as to be words."""
        long_secrets = [secret for secret in self._secrets if len(secret) >= SHORTEST_SECRET]
        return hide_secrets(text, long_secrets)

    @property
    def _secrets(self) -> list[str]:
        return list(filter(None, (self.key, self.url if self.url != self.public_url else None)))

    def error(self, problem: str, expected: str) -> ModelError:
        """Returns the error of a server, without secrets."""
        return ModelError(self.without_key(f"{self.public_url}: {problem}; expected {expected}"))


def quiet_libraries() -> None:
    """Stops libraries from logging every request."""
    for name in TALKATIVE_LIBRARIES:
        logging.getLogger(name).setLevel(logging.WARNING)


@contextmanager
def server_access(
    record: Mapping[str, Any], section: Mapping[str, Any], log: Path | None
) -> Iterator[Access]:
    """Yields access to a model's server; starts the server if the section has `serve`.

    Args:
        record: the model's record; not read for an endpoint.
        section: the model's section of the config.
        log: the log of the job, for the name of the server's log; None without one.

    Raises:
        InputError: an environment variable is missing.
        ModelError: the server cannot be started, or the checkpoint has changed.
    """
    if "endpoint" in section:
        endpoint = Endpoint.model_validate(section["endpoint"])
        yield Access(
            url=fill_secrets(endpoint.url),
            public_url=public_address(endpoint.url),
            model=endpoint.model,
            server_settings=endpoint,
            provider=endpoint.provider,
            api_version=endpoint.api_version,
            key=None if endpoint.key is None else fill_secrets(endpoint.key).strip(),
        )
        return
    serve = Serve.model_validate(section["serve"])
    folder = str(checked_folder(record).resolve())
    with run_server(serve, folder, (log or Path("server.log")).with_suffix(".server.log")) as url:
        yield Access(
            url=url, public_url=url, model=serve.model.format(folder=folder), server_settings=serve
        )
