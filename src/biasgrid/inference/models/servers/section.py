"""The keys of the config for models behind servers.

It is imported whenever a config is read, and so imports no library of a server.
"""

from __future__ import annotations

import shlex
from string import Formatter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from biasgrid.base.addresses import (
    VARIABLE_REFERENCE,
    address_digest,
    canonical_address,
    fill_secrets,
    missing_variables,
    page_of_hub,
    public_address,
)
from biasgrid.base.sections import ADDRESS_PATTERN, PATH, VARIABLE_NAME, KeysError, Section
from biasgrid.inference.models.servers.identity import file_digests

PLACEHOLDERS = {"folder", "port", "gpus"}
"""Placeholders of `Serve.command`."""
Api = Literal["chat", "completions", "anthropic"]


class Price(Section):
    """The prices of a server, per million tokens."""

    input: float = Field(
        ge=0, allow_inf_nan=False, strict=False, description="price of the tokens that are read"
    )
    output: float = Field(
        ge=0, allow_inf_nan=False, strict=False, description="price of the tokens that are written"
    )


class ServerSettings(Section):
    """Keys that all servers have; `DECIDES` names the ones that decide answers."""

    DECIDES: ClassVar[tuple[str, ...]] = ("model", "api")

    api: Api = Field(
        "chat", description="protocol of the requests; `anthropic` needs the extra of that name"
    )
    concurrency: int = Field(32, ge=1, le=1024, description="number of requests at the same time")
    timeout: float = Field(
        60,
        gt=0,
        allow_inf_nan=False,
        strict=False,
        description="number of seconds after which a request is abandoned",
    )
    attempts: int = Field(
        6, ge=1, le=20, description="number of attempts for a request that may succeed later"
    )
    context: int | None = Field(
        None,
        ge=1,
        description=(
            "maximum length of prompt and answer together, in tokens. Longer requests are refused "
            "before they are sent, because servers cut them without warning. With `serve`, the "
            "model's own tokenizer counts the tokens, and the default is the model's number of "
            "positions; otherwise four letters count as one token"
        ),
    )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys that decide answers."""
        return self.model_dump(mode="json", include=set(self.DECIDES))


class Endpoint(ServerSettings):
    """A server that runs already."""

    DECIDES: ClassVar[tuple[str, ...]] = ("model", "api", "provider", "api_version")

    url: Annotated[str, Field(pattern=ADDRESS_PATTERN)] = Field(
        description=(
            "address of the server up to the version, such as `https://host/v1`; `${NAME}` "
            "stands for an environment variable"
        )
    )
    model: str = Field(min_length=1, description="name of the model on the server")
    name_as_is: bool = Field(
        False,
        description=(
            "whether a `model` that the server does not list is asked for all the same, as of a "
            "proxy that takes any name"
        ),
    )
    key: Annotated[str, Field(pattern=VARIABLE_NAME)] | None = Field(
        None,
        description=(
            "`${NAME}`, where NAME is the environment variable with the key; leave it out if the "
            "server needs no key"
        ),
    )
    provider: Literal["openai", "azure", "bedrock"] = Field(
        "openai",
        description=(
            "provider whose format of addresses and keys the server uses; most servers use `openai`"
        ),
    )
    api_version: str | None = Field(
        None, description="version of the protocol, for `provider: azure`"
    )
    requests_per_minute: int | None = Field(
        None, ge=1, description="maximum number of requests per minute, over all jobs"
    )
    tokens_per_minute: int | None = Field(
        None, ge=1, description="maximum number of tokens per minute, over all jobs"
    )
    price: Price | None = Field(None, description="prices of the server")
    max_cost: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        strict=False,
        description=(
            "maximum cost of all answers of the model together, computed from `price`; a cell "
            "stops before it exceeds this"
        ),
    )

    @model_validator(mode="after")
    def _goes_together(self) -> Endpoint:
        if repository := page_of_hub(self.url):
            raise KeysError(
                f"expected the address of a server; for a page of the hub, `checkpoint: "
                f"{repository}` and `revision` in place of `endpoint`"
            )
        if self.max_cost is not None and self.price is None:
            raise KeysError("expected `price` together with `max_cost`")
        if (self.provider == "azure") != (self.api_version is not None):
            raise KeysError("expected `api_version` if `provider` is azure, and only then")
        if self.provider != "openai" and self.api == "anthropic":
            raise KeysError("expected no `provider` together with `api: anthropic`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys that decide answers, with the address without secrets."""
        return {"url": public_address(self.url), **self._server, **super().deciding_keys()}

    @property
    def _server(self) -> dict[str, str]:
        """A digest of an address with environment variables, whose values decide which server
        answers; empty without variables, or if one is not set.
        """
        address = public_address(self.url)
        if not VARIABLE_REFERENCE.search(address) or missing_variables(address):
            return {}
        return {"server": address_digest(canonical_address(fill_secrets(address)))}


class Serve(ServerSettings):
    """A server that each job starts and ends."""

    DECIDES: ClassVar[tuple[str, ...]] = ("command", "model", "api")

    command: str = Field(
        description=(
            "command that starts the server, without a shell: `{folder}` stands for the folder "
            "of the checkpoint, `{port}` for a free port, `{gpus}` for `gpus`"
        )
    )
    health: str = Field(
        "/health", pattern=PATH, description="path that answers with 200 when the server is ready"
    )
    path: str = Field("/v1", pattern=PATH, description="path of the protocol on the server")
    minutes: float = Field(
        10,
        gt=0,
        allow_inf_nan=False,
        strict=False,
        description="maximum number of minutes until the server is ready",
    )
    gpus: int = Field(
        1,
        ge=0,
        le=1024,
        description="number of GPUs for the server; a SLURM job requests the same number",
    )
    port: int | None = Field(
        None, ge=1, le=65535, description="port of the server; default: any free port"
    )
    model: str = Field("{folder}", min_length=1, description="name of the model on the server")

    @model_validator(mode="after")
    def _can_be_started(self) -> Serve:
        in_command = placeholders(self.command, "command")
        in_model = placeholders(self.model, "model")
        if not in_command <= PLACEHOLDERS or not in_model <= {"folder"}:
            raise KeysError(
                "expected no placeholders other than {folder}, {port} and {gpus} in "
                "`command`, and {folder} in `model`"
            )
        if "folder" not in in_command or ("port" in in_command) == (self.port is not None):
            raise KeysError("expected {folder} in `command`, and either {port} or the key `port`")
        if self.api == "anthropic":
            raise KeysError("expected `api: chat` or `completions`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns the keys that decide answers, and `files` if the command names files."""
        files = file_digests(self.command)
        return {**super().deciding_keys(), **({"files": files} if files else {})}


def placeholders(text: str, key: str) -> set[str]:
    """Returns the names in braces in a text.

    Args:
        text: the text, as `str.format` and a shell read it.
        key: the key that has it, for the message.

    Raises:
        KeysError: braces or quotation marks are not balanced.
    """
    try:
        shlex.split(text)
        # Text behind the last placeholder has the name None.
        return {name for _, name, _, _ in Formatter().parse(text) if name is not None}
    except ValueError as error:
        raise KeysError(f"expected a valid {key} ({error})") from None
