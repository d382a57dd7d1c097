"""Asks a server that speaks OpenAI's protocol, through that company's client."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import openai

from biasgrid.inference.models.servers.client import Client
from biasgrid.inference.models.servers.connection import NO_KEY, Access, http_client
from biasgrid.inference.models.servers.requests import Request, message_text

LEAST_LOG_PROBABILITY = -9999.0
"""Takes the place of minus infinity, which some servers report and JSON files cannot hold."""


class OpenAIClient(Client):
    """Asks a server that speaks OpenAI's protocol."""

    protocol = "OpenAI"

    def __init__(self, access: Access):
        super().__init__(access, openai, library_client(access))

    async def send(self, request: Request) -> Any:
        """Sends a request; see `Client`."""
        sent = {"model": self.access.model, **request.parameters}
        if self.access.server_settings.api == "completions":
            return await self.client.completions.with_raw_response.create(
                prompt=request.messages, **sent
            )
        sent |= {"messages": request.messages, self.token_limit: sent.pop("max_tokens")}
        return await self.client.chat.completions.with_raw_response.create(**sent)

    def fields(self, content: Any) -> dict[str, Any]:
        """Reads an answer of chats or completions; see `Client`."""
        choice = content["choices"][0]
        finish = choice.get("finish_reason") or "stop"
        logprobs = choice.get("logprobs")
        if error := choice.get("error"):
            problem = error.get("message", error) if isinstance(error, dict) else error
            raise ValueError(f"it ended with an error: {problem}")
        message = choice.get("message")
        if message is None:
            text = choice["text"]
        elif message.get("content") is None and message.get("refusal"):
            text, finish = message["refusal"], "refusal"
        else:
            text = message_text(message.get("content"))
        return {
            "text": text,
            "finish": finish,
            "model": content.get("model") or "",
            "scores": read_log_probabilities(logprobs) if logprobs else None,
        }


def library_client(access: Access) -> Any:
    """Returns the library's client for a provider."""
    # NO_KEY, because without a key the library would take OPENAI_API_KEY.
    settings = access.server_settings
    options: dict[str, Any] = {
        "max_retries": 0,
        "timeout": settings.timeout,
        "http_client": http_client(access.url, settings.timeout, settings.concurrency),
    }
    if access.provider == "azure":
        options |= {"azure_endpoint": access.url, "api_version": access.api_version}
        return openai.AsyncAzureOpenAI(api_key=access.key or NO_KEY, **options)
    if access.provider == "bedrock":
        # Without a key the library looks for AWS credentials, as AWS's own tools do.
        return openai.AsyncBedrockOpenAI(base_url=access.url, api_key=access.key, **options)
    return openai.AsyncOpenAI(base_url=access.url, api_key=access.key or NO_KEY, **options)


def read_log_probabilities(logprobs: Mapping[str, Any]) -> list[tuple[str, float]] | None:
    """Returns `Answer.scores`; None if there are none.

    Args:
        logprobs: the key `logprobs` of a choice. A chat has the likeliest first tokens in
            `content`, a completion in `top_logprobs`. A completion of several tokens was echoed,
            because no other request of ours asks for more than one.
    """
    if logprobs.get("content"):
        top_tokens = logprobs["content"][0]["top_logprobs"]
        return [(top["token"], finite(top["logprob"])) for top in top_tokens]
    tokens, values = logprobs.get("tokens"), logprobs.get("token_logprobs")
    if not tokens or not values:
        return None
    if len(tokens) > 1:
        # The very first token of a text has no log-probability; `or` turns its null into 0.
        return [(token, finite(value or 0.0)) for token, value in zip(tokens, values, strict=True)]
    top_by_token = (logprobs.get("top_logprobs") or [None])[0] or {}
    scores = [(token, finite(value)) for token, value in top_by_token.items()]
    return sorted(scores, key=lambda item: -item[1]) or None


def finite(value: Any) -> Any:
    """Replaces minus infinity by `LEAST_LOG_PROBABILITY`; returns anything else unchanged."""
    return LEAST_LOG_PROBABILITY if value == float("-inf") else value
