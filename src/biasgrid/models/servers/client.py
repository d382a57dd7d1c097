"""Clients of servers: one request, and the answer to it or why there is none.

The libraries of the servers' makers send a request again where that may help; what they give up too early is told by
`Refused`, and sent again by `asking`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple, Protocol

import openai

from biasgrid.models.servers.access import NO_KEY, Access
from biasgrid.models.servers.refusals import Refused, refused, told
from biasgrid.models.servers.requests import Answer, Request

REFUSED = "content_filter"


class Client(Protocol):
    """What sends requests."""

    async def ask(self, request: Request) -> Answer:
        """Sends a request.

        Raises:
            Refused: there is no answer.
        """

    async def close(self) -> None:
        """Ends the connections."""


def client_of(access: Access) -> Client:
    """Returns the client that a server needs.

    Raises:
        ModelError: its library is not installed.
    """
    if access.asking.api == "anthropic":
        from biasgrid.models.servers.anthropic_client import AnthropicClient

        return AnthropicClient(access)
    return OpenAIClient(access)


class OpenAIClient:
    """Asks a server that speaks OpenAI's protocol."""

    def __init__(self, access: Access):
        self.access = access
        self.client: Any = library_client(access)
        self.is_chat = access.asking.api == "chat"

    async def ask(self, request: Request) -> Answer:
        """Sends a request; see `Client`."""
        try:
            return answer_of(await self._sent(request))
        except json.JSONDecodeError:
            raise Refused("an answer that is not JSON", again=True) from None
        except openai.APIStatusError as error:
            if is_filtered(error.body):
                return Answer("", REFUSED, None, None, "")
            raise refused(error.status_code, self.access.without_key(str(error)), error.response.headers) from None
        except openai.APIConnectionError as error:
            raise Refused(f"no answer ({self.access.without_key(told(error))})", again=False) from None
        except (openai.OpenAIError, AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            problem = f"an answer that is not one of OpenAI's protocol ({type(error).__name__})"
            raise Refused(problem, again=True) from None

    async def _sent(self, request: Request) -> Any:
        sent = {"model": self.access.model, **request.parameters}
        if self.is_chat:
            sent |= {"messages": request.messages, "max_completion_tokens": sent.pop("max_tokens")}
            raw = await self.client.chat.completions.with_raw_response.create(**sent)
        else:
            raw = await self.client.completions.with_raw_response.create(prompt=request.messages, **sent)
        return raw.parse()

    async def close(self) -> None:
        """Ends the connections."""
        await self.client.close()


def library_client(access: Access) -> openai.AsyncOpenAI:
    """Returns the library's client for a provider."""
    asking = access.asking
    options: dict[str, Any] = {"timeout": asking.timeout, "max_retries": asking.attempts - 1}
    if access.is_ours:
        options["http_client"] = openai.DefaultAsyncHttpxClient(trust_env=False)
    if access.provider == "azure":
        options |= {"azure_endpoint": access.url, "api_version": access.api_version}
        azure: openai.AsyncOpenAI = openai.AsyncAzureOpenAI(api_key=access.key or NO_KEY, **options)
        return azure
    if access.provider == "bedrock":
        # Without a key the library looks for credentials of AWS, as its other tools do.
        return openai.AsyncBedrockOpenAI(base_url=access.url, api_key=access.key, **options)
    return openai.AsyncOpenAI(base_url=access.url, api_key=access.key or NO_KEY, **options)


def is_filtered(body: Any) -> bool:
    """Says whether a refusal is the one with which a filter of contents answers."""
    return isinstance(body, dict) and body.get("code") == REFUSED


class Written(NamedTuple):
    """What was written, and why it ended."""

    text: str
    finish: str


def answer_of(completion: Any) -> Answer:
    """Reads an answer of OpenAI's protocol, of chats or completions."""
    choice, usage = completion.choices[0], completion.usage
    written = written_in(choice)
    return Answer(
        written.text,
        written.finish,
        usage.prompt_tokens if usage else None,
        usage.completion_tokens if usage else None,
        str(completion.model or ""),
        scores_in(choice.logprobs) if choice.logprobs else None,
    )


def written_in(choice: Any) -> Written:
    """Reads what was written; a refusal has its own place in chats."""
    finish = str(choice.finish_reason or "stop")
    message = getattr(choice, "message", None)
    if message is None:
        return Written(choice.text, finish)
    if message.content is None and getattr(message, "refusal", None):
        return Written(message.refusal, "refusal")
    return Written(message.content or "", finish)


def scores_in(logprobs: Any) -> list[tuple[str, float]] | None:
    """Reads log-probabilities: of an echoed text those of all its tokens, else those of the likeliest first ones.

    The first token of a text has none, and 0 stands in its place.
    """
    if getattr(logprobs, "content", None):
        return [(each.token, each.logprob) for each in logprobs.content[0].top_logprobs]
    tokens, values = getattr(logprobs, "tokens", None), getattr(logprobs, "token_logprobs", None)
    if not tokens or not values:
        return None
    if len(tokens) > 1:
        return [(token, value or 0.0) for token, value in zip(tokens, values, strict=True)]
    first = (logprobs.top_logprobs or [None])[0]
    return sorted(first.items(), key=lambda item: -item[1]) if first else None
