"""Asks a server that speaks Anthropic's protocol, through that company's client: the extra
`anthropic`.
"""

from __future__ import annotations

from typing import Any

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.servers.client import FILTERED, Client
from biasgrid.inference.models.servers.connection import NO_KEY, Access, http_client
from biasgrid.inference.models.servers.requests import Request, text_of_content

DRAWING = ("temperature", "top_p")
"""Parameters that the protocol knows and the library does not name any more, as newer models do
without.
"""


class AnthropicClient(Client):
    """Sends requests to a server that speaks Anthropic's protocol."""

    protocol = "Anthropic"

    def __init__(self, access: Access):
        """Prepares the client.

        Raises:
            ModelError: the library is not installed.
        """
        try:
            import anthropic
        except ImportError:
            raise ModelError(
                "`api: anthropic` needs the package anthropic; install it with "
                "`pip install biasgrid[anthropic]`"
            ) from None
        asking = access.asking
        client = anthropic.AsyncAnthropic(
            base_url=access.url,
            api_key=access.key or NO_KEY,
            timeout=asking.timeout,
            max_retries=0,
            http_client=http_client(access.url, asking.timeout, asking.concurrency),
        )
        super().__init__(access, anthropic, client)

    async def send(self, request: Request) -> Any:
        """Sends a request; see `Client`."""
        drawing = {name: request.parameters[name] for name in DRAWING if name in request.parameters}
        system, others = split_system(request.messages)
        return await self.client.messages.with_raw_response.create(
            model=self.access.model,
            messages=others,
            max_tokens=request.parameters["max_tokens"],
            extra_body=drawing,
            **({"system": system} if system else {}),
        )

    def fields(self, body: Any) -> dict[str, Any]:
        """Reads an answer; see `Client`."""
        reason = body.get("stop_reason") or "stop"
        # What it calls a refusal is one of its filter.
        finish = FILTERED if reason == "refusal" else reason
        return {
            "text": text_of_content(body["content"]),
            "finish": finish,
            "model": body["model"],
            "scores": None,
        }


def split_system(messages: Any) -> tuple[str, list[dict[str, str]]]:
    """Takes the system text, if any, out of messages, as the protocol has a place of its own for
    it.
    """
    system = "".join(message["content"] for message in messages if message["role"] == "system")
    return system, [message for message in messages if message["role"] != "system"]
