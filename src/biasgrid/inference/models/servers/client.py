"""Clients of servers: one request, and the answer to it or why there is none.

The libraries of the servers' makers know addresses, keys and how a request is written. They send it
once; `queue.ask_patiently` sends it again if `RefusedRequest` says that this may help. Answers are
read from the JSON that arrived, and not from the library's classes.
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
    refusal_error,
    reported_usage,
    unreadable_response,
)

FILTERED = "content_filter"
WRONG_PARAMETER = (400, 422)
"""Statuses with which servers refuse a parameter that they do not know."""


class Client(ABC):
    """Sends requests; a subclass for each protocol.

    Attributes:
        protocol: the name of the protocol, for messages.
        access: the access to the server.
        library: the module of the protocol's maker, which has the errors `APIStatusError` and
            `APIConnectionError`.
        client: the library's client.
        token_limit: the server's name of the parameter that limits the length of answers.
    """

    protocol: ClassVar[str]

    def __init__(self, access: Access, library: Any, client: Any):
        self.access, self.library, self.client = access, library, client
        self.token_limit = access.token_limit

    async def ask(self, request: Request) -> Answer:
        """Sends a request once, or twice if the server does not know the name `token_limit`.

        From then on the other name is used.

        Raises:
            RefusedRequest: there is no answer.
        """
        # Another request may change the name while this one is under way.
        name = self.token_limit
        try:
            return await self.ask_once(request)
        except RefusedRequest as error:
            if error.status not in WRONG_PARAMETER or name not in error.problem:
                raise
            (self.token_limit,) = set(TOKEN_LIMITS) - {name}
            return await self.ask_once(request)

    async def ask_once(self, request: Request) -> Answer:
        """Sends a request once; see `ask`."""
        seconds = self.access.server_settings.timeout
        try:
            async with asyncio.timeout(seconds):
                response = await self.send(request)
        except TimeoutError:
            raise RefusedRequest(f"no answer within {seconds:g} s", may_retry=True) from None
        except self.library.APIStatusError as error:
            body = error.response.content
            if is_filtered(body):
                return Answer("", "content_filter", None, None, "")
            raise refusal_error(error.status_code, body, error.response.headers) from None
        except self.library.APIConnectionError as error:
            raise RefusedRequest(f"no answer ({error_text(error)})", may_retry=True) from None
        return self.read(response.http_response.content)

    def read(self, body: bytes) -> Answer:
        """Reads the body of a response.

        Raises:
            RefusedRequest: it is not an answer of the protocol, or not complete. The request may
                be sent again, and the tokens that the server reports are charged.
        """
        try:
            content = json.loads(body)
            answer = checked_answer({**self.fields(content), **reported_usage(content)._asdict()})
        except (
            AttributeError,
            IndexError,
            KeyError,
            TypeError,
            ValueError,
            RecursionError,
        ) as error:
            raise unreadable_response(self.protocol, body, error) from None
        without_key = self.access.without_key_in_answer
        return answer._replace(text=without_key(answer.text), model=without_key(answer.model))

    @abstractmethod
    async def send(self, request: Request) -> Any:
        """Sends a request through the library and returns the library's raw response."""

    @abstractmethod
    def fields(self, content: Any) -> dict[str, Any]:
        """Returns the fields of an `Answer` but its numbers of tokens, not checked yet.

        Args:
            content: the parsed body of a response, which may be any JSON.

        Raises:
            KeyError: there is no answer. AttributeError, IndexError, TypeError and ValueError mean
                the same.
        """

    async def close(self) -> None:
        """Ends the connections."""
        await self.client.close()


def is_filtered(body: bytes) -> bool:
    """Whether a response is the refusal of a content filter."""
    try:
        content = json.loads(body)
        return bool(content.get("error", content)["code"] == FILTERED)
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return False
