"""Clients of servers: one request, and the answer to it or why there is none.

The libraries of the servers' makers know addresses, keys and how a request is written. They send it once; what may be
sent again is told by `Refused`, and sent again by `asking`. What comes back is read here, from the JSON that arrived.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from biasgrid.models.servers.access import NO_KEY, TOKEN_LIMITS, Access
from biasgrid.models.servers.refusals import Refused, refused, told, unreadable, usage_in
from biasgrid.models.servers.requests import Answer, Request, checked_answer, text_of_content
from biasgrid.models.servers.transport import http_client

FILTERED = "content_filter"
WRONG_PARAMETER = (400, 422)
"""Statuses with which servers refuse a parameter that they do not know."""
LEAST_LOG_PROBABILITY = -9999.0
"""Of what cannot be, for which some servers give minus infinity."""


class Client(ABC):
    """What sends requests.

    Attributes:
        access: how the server is reached.
        library: the module of its maker, which has the errors `APIStatusError` and `APIConnectionError`.
        client: the library's client.
        token_limit: what the server calls the most tokens that may be written.
    """

    protocol: ClassVar[str]

    def __init__(self, access: Access, library: Any, client: Any):
        self.access, self.library, self.client = access, library, client
        self.token_limit = access.token_limit

    async def ask(self, request: Request) -> Answer:
        """Sends a request once; twice where the server does not know the name of a parameter.

        Raises:
            Refused: there is no answer.
        """
        sent_as = self.token_limit
        try:
            return await self.ask_once(request)
        except Refused as error:
            if error.status not in WRONG_PARAMETER or sent_as not in error.problem:
                raise
            (self.token_limit,) = set(TOKEN_LIMITS) - {sent_as}
            return await self.ask_once(request)

    async def ask_once(self, request: Request) -> Answer:
        """Sends a request once; see `ask`."""
        seconds = self.access.asking.timeout
        try:
            async with asyncio.timeout(seconds):
                response = await self.send(request)
        except TimeoutError:
            raise Refused(f"no answer within {seconds:g} s", again=True) from None
        except self.library.APIStatusError as error:
            content = error.response.content
            if is_filtered(content):
                return Answer("", "content_filter", None, None, "")
            raise refused(error.status_code, content, error.response.headers) from None
        except self.library.APIConnectionError as error:
            raise Refused(f"no answer ({told(error)})", again=True) from None
        return self.read(response.http_response.content)

    def read(self, content: bytes) -> Answer:
        """Reads a response.

        Raises:
            Refused: it is no answer of the protocol, or not a whole one.
        """
        try:
            body = json.loads(content)
            answer = checked_answer({**self.fields(body), **usage_in(body)._asdict()})
        except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError) as error:
            raise unreadable(self.protocol, content, error) from None
        without_key = self.access.without_key_in_answer
        return answer._replace(text=without_key(answer.text), model=without_key(answer.model))

    @abstractmethod
    async def send(self, request: Request) -> Any:
        """Sends a request through the library; returns its response as it came."""

    @abstractmethod
    def fields(self, body: Any) -> dict[str, Any]:
        """Returns the fields of an `Answer` in a response, as they stand there, but those of usage.

        Raises:
            KeyError: there is none; so do AttributeError, IndexError, TypeError and ValueError.
        """

    async def close(self) -> None:
        """Ends the connections."""
        await self.client.close()


def client_of(access: Access) -> Client:
    """Returns the client that a server needs.

    Raises:
        ModelError: its library is not installed.
        InputError: the environment names a proxy that is none.
    """
    if access.asking.api == "anthropic":
        from biasgrid.models.servers.anthropic_client import AnthropicClient

        return AnthropicClient(access)
    return OpenAIClient(access)


class OpenAIClient(Client):
    """Asks a server that speaks OpenAI's protocol."""

    protocol = "OpenAI"

    def __init__(self, access: Access):
        import openai

        super().__init__(access, openai, library_client(access))

    async def send(self, request: Request) -> Any:
        """Sends a request; see `Client`."""
        sent = {"model": self.access.model, **request.parameters}
        if self.access.asking.api == "completions":
            return await self.client.completions.with_raw_response.create(prompt=request.messages, **sent)
        sent |= {"messages": request.messages, self.token_limit: sent.pop("max_tokens")}
        return await self.client.chat.completions.with_raw_response.create(**sent)

    def fields(self, body: Any) -> dict[str, Any]:
        """Reads an answer of chats or completions; see `Client`."""
        choice = body["choices"][0]
        finish, scores = choice.get("finish_reason") or "stop", choice.get("logprobs")
        if own := choice.get("error"):
            raise ValueError(f"it ended with an error: {own.get('message', own) if isinstance(own, dict) else own}")
        message = choice.get("message")
        if message is None:
            text = choice["text"]
        elif message.get("content") is None and message.get("refusal"):
            text, finish = message["refusal"], "refusal"
        else:
            text = text_of_content(message.get("content"))
        model = body.get("model") or ""
        return {"text": text, "finish": finish, "model": model, "scores": scores_in(scores) if scores else None}


def library_client(access: Access) -> Any:
    """Returns the library's client for a provider."""
    import openai

    asking = access.asking
    options: dict[str, Any] = {
        "max_retries": 0,
        "timeout": asking.timeout,
        "http_client": http_client(access.url, asking.timeout, asking.concurrency),
    }
    if access.provider == "azure":
        options |= {"azure_endpoint": access.url, "api_version": access.api_version}
        return openai.AsyncAzureOpenAI(api_key=access.key or NO_KEY, **options)
    if access.provider == "bedrock":
        # Without a key the library looks for credentials of AWS, as its other tools do.
        return openai.AsyncBedrockOpenAI(base_url=access.url, api_key=access.key, **options)
    return openai.AsyncOpenAI(base_url=access.url, api_key=access.key or NO_KEY, **options)


def is_filtered(content: bytes) -> bool:
    """Says whether a refusal is the one with which a filter of contents answers."""
    try:
        body = json.loads(content)
        return bool(body.get("error", body)["code"] == FILTERED)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return False


def scores_in(logprobs: Mapping[str, Any]) -> list[tuple[str, float]] | None:
    """Reads log-probabilities: of an echoed text those of all its tokens, else those of the likeliest first ones.

    The first token of a text has none, and 0 stands in its place.
    """
    if logprobs.get("content"):
        return [(each["token"], finite(each["logprob"])) for each in logprobs["content"][0]["top_logprobs"]]
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not tokens or not values:
        return None
    if len(tokens) > 1:
        return [(token, finite(value or 0.0)) for token, value in zip(tokens, values, strict=True)]
    first = (logprobs.get("top_logprobs") or [None])[0] or {}
    return sorted(((token, finite(value)) for token, value in first.items()), key=lambda item: -item[1]) or None


def finite(value: Any) -> Any:
    """Returns a log-probability, the least one for minus infinity; whatever else it is stays as it is."""
    return LEAST_LOG_PROBABILITY if value == float("-inf") else value
