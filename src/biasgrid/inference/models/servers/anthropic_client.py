"""Asks a server that speaks Anthropic's protocol, through that company's client: the extra
`anthropic`.
"""

from __future__ import annotations

from typing import Any

from biasgrid.inference.checkpoints.checkpoint import ModelError
from biasgrid.inference.models.servers.client import FILTERED, Client
from biasgrid.inference.models.servers.connection import NO_KEY, Access, http_client
from biasgrid.inference.models.servers.requests import Request, message_text

SAMPLING = ("temperature", "top_p")
"""Parameters of the protocol that the library no longer has arguments for."""


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
        settings = access.server_settings
        client = anthropic.AsyncAnthropic(
            base_url=access.url,
            api_key=access.key or NO_KEY,
            timeout=settings.timeout,
            max_retries=0,
            http_client=http_client(access.url, settings.timeout, settings.concurrency),
        )
        super().__init__(access, anthropic, client)

    async def send(self, request: Request) -> Any:
        """Sends a request; see `Client`."""
        parameters = request.parameters
        sampling = {name: parameters[name] for name in SAMPLING if name in parameters}
        system, messages = split_system(request.messages)
        return await self.client.messages.with_raw_response.create(
            model=self.access.model,
            messages=messages,
            max_tokens=parameters["max_tokens"],
            extra_body=sampling,
            **({"system": system} if system else {}),
        )

    def fields(self, content: Any) -> dict[str, Any]:
        """Reads an answer; see `Client`."""
        reason = content.get("stop_reason") or "stop"
        # Here `refusal` is the content filter's, not the model's own.
        finish = FILTERED if reason == "refusal" else reason
        return {
            "text": message_text(content["content"]),
            "finish": finish,
            "model": content["model"],
            "scores": None,
        }


def split_system(messages: Any) -> tuple[str, list[dict[str, str]]]:
    """Returns the system text, "" without one, and the other messages.

    The protocol has a parameter of its own for the system text.
    """
    system = "".join(message["content"] for message in messages if message["role"] == "system")
    return system, [message for message in messages if message["role"] != "system"]
