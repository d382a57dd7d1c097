"""Checks, before anything else is done, that a server answers and has a model."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from ssl import SSLCertVerificationError, SSLError

import httpx2

from biasgrid.base.faults import UserError, first_few, nearest_name
from biasgrid.inference.models.servers.connection import (
    MOST_BYTES,
    NO_KEY,
    Access,
    quiet_libraries,
    server_access,
    usable_proxy,
)
from biasgrid.inference.models.servers.queue import open_client
from biasgrid.inference.models.servers.requests import (
    FINAL,
    RefusedRequest,
    Request,
    error_text,
    server_message,
)
from biasgrid.inference.models.servers.section import Endpoint

REFUSED_KEY = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
UNKNOWN_MODEL = {*FINAL, HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY}
"""Statuses of a short request that may mean that a server does not have the model."""
MODELS_LISTED = 20
MODELS_A_PAGE = 1000
"""The most names that Anthropic's list has on a page; without a number it has 20."""
FEW_TOKENS = 16
"""Tokens of an answer that nobody reads; some servers refuse fewer."""


def check_endpoint(endpoint: Endpoint) -> None:
    """Refuses a server that cannot be reached, or that refuses the key or the name of the model.

    A name that is not in the server's list is refused: some servers take any name, and answer as
    the model that they have. With `name_as_is` it is tried with a short request.

    Raises:
        InputError: a variable of the environment is not set.
        UserError: with the names in the list, or with the server's own message.
    """
    quiet_libraries()
    with server_access({}, {"endpoint": endpoint.model_dump()}, None) as access:
        listed = listed_models(access)
        if not listed or access.model in listed:
            return
        problem = "it is not in the server's list"
        expected = (
            "; expected a listed name, or --name-as-is (in a config `name_as_is: true`) if the "
            "server takes others"
        )
        if endpoint.name_as_is:
            refusal, expected = model_refusal(access), ""
            if refusal is None:
                return
            problem = refusal
        near = nearest_name(access.model, listed)
        raise UserError(
            access.without_key(
                f"{access.public_url}: no model {access.model!r} there{near}: {problem}. "
                f"The server lists: {first_few(listed, MODELS_LISTED)}{expected}"
            )
        )


def only_model(endpoint: Endpoint) -> str:
    """Returns the name of the only model of a server.

    Args:
        endpoint: the server; its `model` is not read.

    Raises:
        InputError: a variable of the environment is not set.
        UserError: nobody answers, or there is not just one model.
    """
    with server_access({}, {"endpoint": endpoint.model_dump()}, None) as access:
        listed = listed_models(access)
        if len(listed) == 1:
            return listed[0]
        known = (
            f"The server lists: {first_few(listed, MODELS_LISTED)}"
            if listed
            else "The server lists no models"
        )
        raise UserError(
            f"{access.public_url}: which model? {known}; expected --name with the name of a model"
        )


def listed_models(access: Access) -> Sequence[str]:
    """Returns the names of a server's models; empty if it does not list them.

    Raises:
        UserError: nobody answers, or the key is refused.
    """
    try:
        status, content = request_models(access)
    except httpx2.RequestError as error:
        advice = "Is the server running?"
        if speaks_plainly(error):
            plain = access.public_url.replace("https://", "http://", 1)
            advice = f"The server does not speak https; expected {plain}"
        problem = (
            f"There is no answer from {access.public_url} ({connection_problem(error)}). {advice}"
        )
        raise UserError(access.without_key(problem)) from None
    if status in REFUSED_KEY and access.provider == "openai":
        advice = (
            "a different key"
            if access.key
            else (
                "a key: name the environment variable that contains it with --key or, in the "
                "config, with `key`"
            )
        )
        raise access.error(f"{status} {server_message(content)}", advice)
    # Where deployments of models have names of their own, the list is not of these.
    return model_names(content) if access.provider == "openai" else []


def request_models(access: Access) -> tuple[int, bytes]:
    """Requests the list of a server's models.

    Returns:
        The status, whatever it is, and the body, cut off soon after `MOST_BYTES`.

    Raises:
        RequestError: nobody answers, or the content cannot be decompressed.
        ModelError: see `usable_proxy`.
    """
    is_anthropic = access.server_settings.api == "anthropic"
    headers = {"authorization": f"Bearer {access.key or NO_KEY}"}
    if is_anthropic:
        headers = {"x-api-key": access.key or NO_KEY, "anthropic-version": "2023-06-01"}
    address = httpx2.URL(access.url)
    path = f"{address.path.rstrip('/')}{'/v1' * is_anthropic}/models"
    if is_anthropic:
        address = address.copy_merge_params({"limit": MODELS_A_PAGE})
    with usable_proxy(access.url) as proxy:
        client = httpx2.Client(proxy=proxy, trust_env=False, timeout=access.server_settings.timeout)
    with client, client.stream("GET", address.copy_with(path=path), headers=headers) as response:
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > MOST_BYTES:
                break
    return response.status_code, bytes(content)


def model_names(content: bytes) -> list[str]:
    """Returns the names in a response with a list of models; empty for any other response."""
    try:
        return [str(each["id"]) for each in json.loads(content)["data"]]
    except (KeyError, TypeError, ValueError, RecursionError):
        return []


def model_refusal(access: Access) -> str | None:
    """Returns why a server refuses a model; None if it answers, or may answer later."""
    is_plain = access.server_settings.api == "completions"
    messages = "Hello" if is_plain else [{"role": "user", "content": "Hello"}]

    async def ask() -> None:
        client = open_client(access)
        try:
            await client.ask(Request("", "", 0, messages, {"max_tokens": FEW_TOKENS}))
        finally:
            await client.close()

    try:
        asyncio.run(ask())
    except RefusedRequest as error:
        return error.problem if error.status in UNKNOWN_MODEL else None
    return None


NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
"""Reasons of TLS why it cannot read an answer that is not encrypted."""


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yields an error, its cause, the cause of that, and so on."""
    cause: BaseException | None = error
    while cause is not None:
        yield cause
        cause = cause.__cause__ or cause.__context__


def speaks_plainly(error: BaseException) -> bool:
    """Whether a connection by https fails because the server speaks http."""
    return any(isinstance(cause, SSLError) and cause.reason in NO_TLS for cause in causes(error))


def connection_problem(error: BaseException) -> str:
    """Returns why a connection fails, in the system's words: `connection refused`."""
    for cause in causes(error):
        if isinstance(cause, SSLCertVerificationError):
            return cause.verify_message
        if isinstance(cause, SSLError) and cause.reason:
            return cause.reason.lower().replace("_", " ")
        if isinstance(cause, OSError) and cause.errno is not None:
            words = os.strerror(cause.errno) if cause.errno > 0 else cause.strerror
            return (words or str(cause)).lower()
    return error_text(error) or "no answer"
