"""How requests travel: through which proxy, to which host, and how long an answer may be."""

from __future__ import annotations

import httpx2

from biasgrid.base.addresses import proxy_of, public_address
from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.servers.refusals import Refused
from biasgrid.inference.models.servers.requests import Usage

MOST_BYTES = 32 << 20
"""Of a response: those with the log-probabilities of a long prompt's tokens have a few MB."""


class WholeResponses(httpx2.AsyncBaseTransport):
    """Reads each response whole, and no longer than it may be; none of ours is a stream."""

    def __init__(self, inner: httpx2.AsyncBaseTransport):
        self.inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Sends a request.

        Raises:
            Refused: the response is too long, or sends the request to another server.
        """
        response = await self.inner.handle_async_request(request)
        try:
            refuse_other_host(request, response)
            content = bytearray()
            async for chunk in response.aiter_bytes():
                content += chunk
                if len(content) > MOST_BYTES:
                    raise Refused(f"a response of more than {MOST_BYTES >> 20} MB", again=True, usage=Usage())
        finally:
            await response.aclose()
        # What was decoded on the way is not encoded any more.
        kept = [(name, value) for name, value in response.headers.multi_items() if name not in OF_ENCODED_BODIES]
        return httpx2.Response(response.status_code, headers=kept, content=bytes(content))

    async def aclose(self) -> None:
        """Ends the connections."""
        await self.inner.aclose()


OF_ENCODED_BODIES = ("content-encoding", "content-length", "transfer-encoding")


def refuse_other_host(request: httpx2.Request, response: httpx2.Response) -> None:
    """Refuses to follow a server to another one, whose answers would be kept as this one's.

    Raises:
        Refused: with both hosts.
    """
    target = response.headers.get("location") if response.is_redirect else None
    if target is None:
        return
    there = request.url.join(target)
    secured = (request.url.scheme, there.scheme) == ("http", "https") and (request.url.port, there.port) == (None, None)
    if there.host != request.url.host or not (secured or place_of(there) == place_of(request.url)):
        raise Refused(
            f"it redirects from {host_of(request.url)} to {host_of(there)}, which is not asked: write that address "
            "into the config if it is the right one",
            is_final=True,
        )


def place_of(url: httpx2.URL) -> tuple[str, str, int | None]:
    """Returns scheme, host and port."""
    return url.scheme, url.host, url.port


def host_of(url: httpx2.URL) -> str:
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
    proxy = proxy_of(address)
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    try:
        transport = httpx2.AsyncHTTPTransport(proxy=proxy.address if proxy else None, limits=limits)
    except ImportError:
        variable = proxy.variable if proxy else ""
        raise ModelError(
            f"{public_address(address)}: the variable {variable} names a SOCKS proxy, which needs the package socksio; install "
            "it with `pip install socksio`, or unset the variable"
        ) from None
    return httpx2.AsyncClient(transport=WholeResponses(transport), timeout=seconds, follow_redirects=True)
