"""What a config may say of models behind servers; light, as it is imported while a config is read."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, model_validator

from biasgrid.addresses import shown
from biasgrid.section import ADDRESS, VARIABLE_NAME, KeysError, Section

Api = Literal["chat", "completions", "anthropic"]


class Price(Section):
    """What a server's owner charges, per million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False, strict=False, description="for tokens that are read")
    output: float = Field(ge=0, allow_inf_nan=False, strict=False, description="for tokens that are written")


class Asking(Section):
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
        "servers cut them without a word; a token is taken for four letters",
    )

    def deciding_keys(self) -> dict[str, Any]:
        """Returns what of it decides answers."""
        return self.model_dump(mode="json", include=set(self.DECIDES))


class Endpoint(Asking):
    """A server that is there already."""

    DECIDES: ClassVar[tuple[str, ...]] = ("model", "api", "provider", "api_version")

    url: Annotated[str, Field(pattern=ADDRESS)] = Field(
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
        return {"url": shown(self.url), **super().deciding_keys()}
