"""Asks a server that speaks Anthropic's protocol, through that company's client: the extra `anthropic`."""

from __future__ import annotations

import json
from typing import Any

from biasgrid.checkpoints.checkpoint import ModelError
from biasgrid.models.servers.access import NO_KEY, Access
from biasgrid.models.servers.refusals import Refused, refused, told
from biasgrid.models.servers.requests import Answer, Request

FINISHES = {"end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "content_filter"}
DRAWING = ("temperature", "top_p")
"""Parameters that the protocol knows and the library does not name any more, as newer models do without."""


class AnthropicClient:
    """Sends requests to a server that speaks Anthropic's protocol."""

    def __init__(self, access: Access):
        """Prepares the client.

        Raises:
            ModelError: the library is not installed.
        """
        try:
            import anthropic
        except ImportError:
            raise ModelError(
                "`api: anthropic` needs the package anthropic; install it with `pip install biasgrid[anthropic]`"
            ) from None
        self.library, self.access = anthropic, access
        self.client: Any = anthropic.AsyncAnthropic(
            base_url=access.url,
            api_key=access.key or NO_KEY,
            timeout=access.asking.timeout,
            max_retries=access.asking.attempts - 1,
        )

    async def ask(self, request: Request) -> Answer:
        """Sends a request; see `client.Client`."""
        try:
            return answer_of(await self._sent(request))
        except json.JSONDecodeError:
            raise Refused("an answer that is not JSON", again=True) from None
        except self.library.APIStatusError as error:
            raise refused(error.status_code, self.access.without_key(str(error)), error.response.headers) from None
        except self.library.APIConnectionError as error:
            raise Refused(f"no answer ({self.access.without_key(told(error))})") from None
        except (self.library.AnthropicError, AttributeError, KeyError, TypeError, ValueError) as error:
            problem = f"an answer that is not one of Anthropic's protocol ({type(error).__name__})"
            raise Refused(problem, again=True) from None

    async def _sent(self, request: Request) -> Any:
        drawing = {name: request.parameters[name] for name in DRAWING if name in request.parameters}
        system, others = apart(request.messages)
        raw = await self.client.messages.with_raw_response.create(
            model=self.access.model,
            messages=others,
            max_tokens=request.parameters["max_tokens"],
            extra_body=drawing,
            **({"system": system} if system else {}),
        )
        return await raw.parse()

    async def close(self) -> None:
        """Ends the connections."""
        await self.client.close()


def apart(messages: Any) -> tuple[str, list[dict[str, str]]]:
    """Takes the system text, if any, out of messages, as the protocol has a place of its own for it."""
    system = "".join(message["content"] for message in messages if message["role"] == "system")
    return system, [message for message in messages if message["role"] != "system"]


def answer_of(message: Any) -> Answer:
    """Reads an answer of Anthropic's protocol."""
    text = "".join(block.text for block in message.content if block.type == "text")
    finish = FINISHES.get(message.stop_reason, message.stop_reason or "stop")
    return Answer(text, finish, message.usage.input_tokens, message.usage.output_tokens, message.model)
