"""What a config may say of models behind servers; light, as it is imported while a config is
read.
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
    public_address,
)
from biasgrid.base.sections import ADDRESS_PATTERN, PATH, VARIABLE_NAME, KeysError, Section
from biasgrid.inference.models.servers.identity import digests_of_files

HOLES = {"folder", "port", "gpus"}
Api = Literal["chat", "completions", "anthropic"]


class Price(Section):
    """What a server's owner charges, per million tokens."""

    input: float = Field(
        ge=0, allow_inf_nan=False, strict=False, description="price of the tokens that are read"
    )
    output: float = Field(
        ge=0, allow_inf_nan=False, strict=False, description="price of the tokens that are written"
    )


class ServerSettings(Section):
    """How a server is asked; what of it decides answers is named in `DECIDES`."""

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
        """Returns what of it decides answers."""
        return self.model_dump(mode="json", include=set(self.DECIDES))


class Endpoint(ServerSettings):
    """A server that is there already."""

    DECIDES: ClassVar[tuple[str, ...]] = ("model", "api", "provider", "api_version")

    url: Annotated[str, Field(pattern=ADDRESS_PATTERN)] = Field(
        description=(
            "address of the server up to the version, such as `https://host/v1`; `${NAME}` "
            "stands for an environment variable"
        )
    )
    model: str = Field(min_length=1, description="name of the model on the server")
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
        if self.max_cost is not None and self.price is None:
            raise KeysError("expected `price` together with `max_cost`")
        if (self.provider == "azure") != (self.api_version is not None):
            raise KeysError("expected `api_version` if `provider` is azure, and only then")
        if self.provider != "openai" and self.api == "anthropic":
            raise KeysError("expected no `provider` together with `api: anthropic`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns what of it decides answers; of its address what may be shown."""
        return {"url": public_address(self.url), **self._server, **super().deciding_keys()}

    @property
    def _server(self) -> dict[str, str]:
        """A digest of the server where variables name it, as their values decide who answers; none
        without values.
        """
        shown = public_address(self.url)
        if not VARIABLE_REFERENCE.search(shown) or missing_variables(shown):
            return {}
        return {"server": address_digest(canonical_address(fill_secrets(shown)))}


class Serve(ServerSettings):
    """A server that is started for a job, and ended with it."""

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
        holes = {name for _, name, _, _ in split_command(self.command, "command")} - {None}
        if not holes <= HOLES or {name for _, name, _, _ in split_command(self.model, "model")} - {
            None,
            "folder",
        }:
            raise KeysError(
                "expected no placeholders other than {folder}, {port} and {gpus} in "
                "`command`, and {folder} in `model`"
            )
        if "folder" not in holes or ("port" in holes) == (self.port is not None):
            raise KeysError("expected {folder} in `command`, and either {port} or the key `port`")
        if self.api == "anthropic":
            raise KeysError("expected `api: chat` or `completions`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns what of it decides answers, and digests of the files that the command names, if
        there are any.
        """
        files = digests_of_files(self.command)
        return {**super().deciding_keys(), **({"files": files} if files else {})}


def split_command(text: str, key: str) -> list[tuple[str, str | None, str | None, str | None]]:
    """Takes a text with holes apart, as `str.format` does and a shell would.

    Raises:
        KeysError: it cannot be.
    """
    try:
        shlex.split(text)
        return list(Formatter().parse(text))
    except ValueError as error:
        raise KeysError(f"expected a valid {key} ({error})") from None
