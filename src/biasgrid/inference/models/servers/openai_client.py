"""Asks a server that speaks OpenAI's protocol, through that company's client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openai

from biasgrid.inference.models.servers.client import Client
from biasgrid.inference.models.servers.connection import NO_KEY, Access, http_client
from biasgrid.inference.models.servers.requests import Request, text_of_content

LEAST_LOG_PROBABILITY = -9999.0
"""Of what cannot be, for which some servers give minus infinity."""


class OpenAIClient(Client):
    """Asks a server that speaks OpenAI's protocol."""

    protocol = "OpenAI"

    def __init__(self, access: Access):
        super().__init__(access, openai, library_client(access))

    async def send(self, request: Request) -> Any:
        """Sends a request; see `Client`."""
        sent = {"model": self.access.model, **request.parameters}
        if self.access.asking.api == "completions":
            return await self.client.completions.with_raw_response.create(
                prompt=request.messages, **sent
            )
        sent |= {"messages": request.messages, self.token_limit: sent.pop("max_tokens")}
        return await self.client.chat.completions.with_raw_response.create(**sent)

    def fields(self, body: Any) -> dict[str, Any]:
        """Reads an answer of chats or completions; see `Client`."""
        choice = body["choices"][0]
        finish, scores = choice.get("finish_reason") or "stop", choice.get("logprobs")
        if own := choice.get("error"):
            raise ValueError(
                "it ended with "
                f"an error: {own.get('message', own) if isinstance(own, dict) else own}"
            )
        message = choice.get("message")
        if message is None:
            text = choice["text"]
        elif message.get("content") is None and message.get("refusal"):
            text, finish = message["refusal"], "refusal"
        else:
            text = text_of_content(message.get("content"))
        model = body.get("model") or ""
        return {
            "text": text,
            "finish": finish,
            "model": model,
            "scores": scores_in(scores) if scores else None,
        }


def library_client(access: Access) -> Any:
    """Returns the library's client for a provider."""
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


def scores_in(logprobs: Mapping[str, Any]) -> list[tuple[str, float]] | None:
    """Reads log-probabilities: of an echoed text those of all its tokens, else those of the
    likeliest first ones.

    The first token of a text has none, and 0 stands in its place.
    """
    if logprobs.get("content"):
        return [
            (each["token"], finite(each["logprob"]))
            for each in logprobs["content"][0]["top_logprobs"]
        ]
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not tokens or not values:
        return None
    if len(tokens) > 1:
        return [(token, finite(value or 0.0)) for token, value in zip(tokens, values, strict=True)]
    first = (logprobs.get("top_logprobs") or [None])[0] or {}
    scores = [(token, finite(value)) for token, value in first.items()]
    return sorted(scores, key=lambda item: -item[1]) or None


def finite(value: Any) -> Any:
    """Returns a log-probability, the least one for minus infinity; whatever else it is stays as it
    is.
    """
    return LEAST_LOG_PROBABILITY if value == float("-inf") else value
