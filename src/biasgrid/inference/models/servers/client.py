"""Clients of servers: one request, and the answer to it or why there is none.

The libraries of the servers' makers know addresses, keys and how a request is written. They send it
once; what may be sent again is told by `RefusedRequest`, and sent again by `asking`. What comes
back is read here, from the JSON that arrived.
"""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from biasgrid.inference.models.servers.connection import TOKEN_LIMITS, Access
from biasgrid.inference.models.servers.requests import (
    Answer,
    RefusedRequest,
    Request,
    checked_answer,
    error_text,
    refusal_of,
    unreadable_response,
    usage_in,
)

FILTERED = "content_filter"
WRONG_PARAMETER = (400, 422)
"""Statuses with which servers refuse a parameter that they do not know."""


class Client(ABC):
    """What sends requests.

    Attributes:
        access: how the server is reached.
        library: the module of its maker, which has the errors `APIStatusError` and
            `APIConnectionError`.
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
            RefusedRequest: there is no answer.
        """
        sent_as = self.token_limit
        try:
            return await self.ask_once(request)
        except RefusedRequest as error:
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
            raise RefusedRequest(f"no answer within {seconds:g} s", again=True) from None
        except self.library.APIStatusError as error:
            content = error.response.content
            if is_filtered(content):
                return Answer("", "content_filter", None, None, "")
            raise refusal_of(error.status_code, content, error.response.headers) from None
        except self.library.APIConnectionError as error:
            raise RefusedRequest(f"no answer ({error_text(error)})", again=True) from None
        return self.read(response.http_response.content)

    def read(self, content: bytes) -> Answer:
        """Reads a response.

        Raises:
            RefusedRequest: it is no answer of the protocol, or not a whole one; it may be sent
                again, and the tokens that the server says it used are charged.
        """
        try:
            body = json.loads(content)
            answer = checked_answer({**self.fields(body), **usage_in(body)._asdict()})
        except (
            AttributeError,
            IndexError,
            KeyError,
            TypeError,
            ValueError,
            RecursionError,
        ) as error:
            raise unreadable_response(self.protocol, content, error) from None
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


def is_filtered(content: bytes) -> bool:
    """Says whether a refusal is the one with which a filter of contents answers."""
    try:
        body = json.loads(content)
        return bool(body.get("error", body)["code"] == FILTERED)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return False
