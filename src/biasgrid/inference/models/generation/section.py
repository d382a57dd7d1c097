"""What a config may say of generative models; light, as it is imported while a config is read."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from biasgrid.base.sections import NOT_EMPTY, KeysError, Model, Section

DATE = "2024-07-26"
"""The day that chat templates write down as today where a config names none."""


def iso_day(value: Any) -> str:
    """Returns a day as YAML may have it, written as in ISO 8601."""
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    try:
        return date.fromisoformat(value).isoformat()
    except (TypeError, ValueError):
        raise ValueError(f"expected a day such as {DATE}") from None


Day = Annotated[str, BeforeValidator(iso_day)]


class Thinking(Section):
    """Marks of a model that thinks before it answers, of which biasgrid does not know."""

    begin: str = Field(
        pattern=NOT_EMPTY, description="mark at the start of the thoughts, such as `<reasoning>`"
    )
    end: str = Field(
        pattern=NOT_EMPTY, description="mark at the end of the thoughts, such as `</reasoning>`"
    )

    @model_validator(mode="after")
    def _differ(self) -> Thinking:
        if self.end.strip() in self.begin:
            raise KeysError("expected an `end` that is not part of `begin`")
        return self


class Generation(Section):
    """How a model writes texts; where options are scored, their probabilities do not depend on
    it.
    """

    max_tokens: int = Field(
        200, ge=1, description="maximum length of a text in tokens, including thoughts"
    )
    temperature: float = Field(
        1.0,
        ge=0,
        allow_inf_nan=False,
        strict=False,
        description=(
            "number by which log-probabilities are divided before a token is drawn; 0 always takes "
            "the most probable token"
        ),
    )
    top_p: float = Field(
        1.0,
        gt=0,
        le=1,
        strict=False,
        description="draws only among the most probable tokens that together have this probability",
    )
    options: Literal["scored", "parsed"] = Field(
        "scored",
        description=(
            "how the model chooses among options: `scored` reads the probabilities of the options, "
            "`parsed` lets the model write and looks for the option in its text"
        ),
    )
    seed: int = Field(
        1,
        ge=0,
        lt=2**63,
        description="seed of the draws; a text depends only on this seed and on the request",
    )
    thinking: bool | Thinking = Field(
        False,
        description=(
            "whether a model that can think before it answers does so; its thoughts are not part "
            "of the answer. `{begin: TEXT, end: TEXT}` lets the model think and names the marks "
            "around its thoughts, if they differ from `<think>`, `[THINK]` and those of Cohere, "
            "EXAONE, Gemma, Seed-OSS and gpt-oss"
        ),
    )

    @field_validator("thinking", mode="before")
    @classmethod
    def _switch_or_marks(cls, value: Any) -> Any:
        """Reads a switch, or the marks of thoughts, which switch thinking on too."""
        if isinstance(value, bool | Thinking):
            return value
        if not isinstance(value, dict):
            raise ValueError("expected true, false, or the keys begin and end")
        return Thinking.model_validate(value)


class GenerativeModel(Model):
    """A model that writes."""

    generation: Generation = Field(Generation(), description="how the model writes texts")
    chat_template: bool = Field(
        True,
        description=(
            "whether the checkpoint's chat template is used, if it has one; `false` is for a base "
            "model whose tokenizer has a template"
        ),
    )
    date: Day = Field(
        DATE,
        description=(
            "date that a chat template uses as today's date, so that prompts do not change from "
            "day to day; a model that runs behind a server gets the date of the server"
        ),
    )

    @model_validator(mode="after")
    def _dates_its_prompts(self) -> GenerativeModel:
        if self.date != DATE and not self.source.runs_here:
            raise KeysError(
                "expected `date` only for a model whose prompts biasgrid writes; set it "
                "on the server"
            )
        return self
