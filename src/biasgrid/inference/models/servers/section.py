"""What a config may say of models behind servers; light, as it is imported while a config is read."""

from __future__ import annotations

import shlex
from string import Formatter
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from biasgrid.base.addresses import (
    VARIABLE_REFERENCE,
    address_digest,
    canonical_address,
    missing_variables,
    public_address,
    with_secrets,
)
from biasgrid.base.sections import ADDRESS_PATTERN, PATH, VARIABLE_NAME, KeysError, Section
from biasgrid.inference.models.servers.identity import digests_of_files

HOLES = {"folder", "port", "gpus"}
Api = Literal["chat", "completions", "anthropic"]


class Price(Section):
    """What a server's owner charges, per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False, strict=False, description="for tokens that are read")
    output: float = Field(ge=0, allow_inf_nan=False, strict=False, description="for tokens that are written")


class ServerSettings(Section):
    """How a server is asked; what of it decides answers is named in `DECIDES`."""

    DECIDES: ClassVar[tuple[str, ...]] = ("model", "api")

    api: Api = Field("chat", description="how it is asked; `anthropic` needs the extra of that name")
    concurrency: int = Field(32, ge=1, le=1024, description="requests that are under way at a time")
    timeout: float = Field(
        60, gt=0, allow_inf_nan=False, strict=False, description="seconds after which a request is given up"
    )
    attempts: int = Field(6, ge=1, le=20, description="how often a request that may succeed later is sent")
    context: int | None = Field(
        None,
        ge=1,
        description="longest prompt and answer together in tokens: longer ones are refused before they are sent, as "
        "servers cut them without a word; of a model that is served its own tokenizer counts, and without this key its "
        "positions are the limit; else a token is taken for four letters",
    )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns what of it decides answers."""
        return self.model_dump(mode="json", include=set(self.DECIDES))


class Endpoint(ServerSettings):
    """A server that is there already."""

    DECIDES: ClassVar[tuple[str, ...]] = ("model", "api", "provider", "api_version")

    url: Annotated[str, Field(pattern=ADDRESS_PATTERN)] = Field(
        description="its address up to the version, such as `https://host/v1`; `${NAME}` stands for a variable of the "
        "environment"
    )
    model: str = Field(min_length=1, description="what it calls the model")
    key: Annotated[str, Field(pattern=VARIABLE_NAME)] | None = Field(
        None, description="`${NAME}`, the variable of the environment that holds the key; none where it needs none"
    )
    provider: Literal["openai", "azure", "bedrock"] = Field(
        "openai", description="whose way of addresses and keys it has; `openai` is that of most servers"
    )
    api_version: str | None = Field(None, description="of `provider: azure`: the version of the protocol")
    requests_per_minute: int | None = Field(None, ge=1, description="most requests in a minute, over all jobs")
    tokens_per_minute: int | None = Field(None, ge=1, description="most tokens in a minute, over all jobs")
    price: Price | None = Field(None, description="what it charges")
    max_cost: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        strict=False,
        description="what all answers of the model may cost together, by `price`; a cell stops before that is passed",
    )

    @model_validator(mode="after")
    def _goes_together(self) -> Endpoint:
        if self.max_cost is not None and self.price is None:
            raise KeysError("expected `price` beside `max_cost`")
        if (self.provider == "azure") != (self.api_version is not None):
            raise KeysError("expected `api_version` exactly where `provider` is azure")
        if self.provider != "openai" and self.api == "anthropic":
            raise KeysError("expected no `provider` beside `api: anthropic`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns what of it decides answers; of its address what may be shown."""
        return {"url": public_address(self.url), **self._server, **super().deciding_keys()}

    @property
    def _server(self) -> dict[str, str]:
        """A digest of the server where variables name it, as their values decide who answers; none without values."""
        shown = public_address(self.url)
        if not VARIABLE_REFERENCE.search(shown) or missing_variables(shown):
            return {}
        return {"server": address_digest(canonical_address(with_secrets(shown)))}


class Serve(ServerSettings):
    """A server that is started for a job, and ended with it."""

    DECIDES: ClassVar[tuple[str, ...]] = ("command", "model", "api")

    command: str = Field(
        description="what starts it, without a shell: `{folder}` stands for the folder of the checkpoint, `{port}` for "
        "a free port, `{gpus}` for `gpus`"
    )
    health: str = Field("/health", pattern=PATH, description="path that answers with 200 when it is ready")
    path: str = Field("/v1", pattern=PATH, description="path of its protocol")
    minutes: float = Field(
        10, gt=0, allow_inf_nan=False, strict=False, description="how long it may take until it is ready"
    )
    gpus: int = Field(1, ge=0, le=1024, description="how many GPUs it is given; SLURM is asked for as many")
    port: int | None = Field(None, ge=1, le=65535, description="its port; without it, any that is free")
    model: str = Field("{folder}", min_length=1, description="what it calls the model")

    @model_validator(mode="after")
    def _can_be_started(self) -> Serve:
        holes = {name for _, name, _, _ in split_command(self.command, "command")} - {None}
        if not holes <= HOLES or {name for _, name, _, _ in split_command(self.model, "model")} - {None, "folder"}:
            raise KeysError("expected no holes but {folder}, {port} and {gpus} in `command`, {folder} in `model`")
        if "folder" not in holes or ("port" in holes) == (self.port is not None):
            raise KeysError("expected {folder} in `command`, and either {port} or the key `port`")
        if self.api == "anthropic":
            raise KeysError("expected `api: chat` or `completions`")
        return self

    def deciding_keys(self) -> dict[str, Any]:
        """Returns what of it decides answers, and digests of the files that the command names, if there are any."""
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
        raise KeysError(f"expected a {key} without errors ({error})") from None
