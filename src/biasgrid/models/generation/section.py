"""What a config may say of generative models; light, as it is imported while a config is read."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from biasgrid.section import Section


class Generation(Section):
    """How a model writes texts; where options are scored, their probabilities do not depend on it."""

    max_tokens: int = Field(200, ge=1, description="longest text in tokens, those of thinking included")
    temperature: float = Field(
        1.0,
        ge=0,
        allow_inf_nan=False,
        strict=False,
        description="what log-probabilities are divided by before a token is drawn; 0 takes the most probable one",
    )
    top_p: float = Field(
        1.0,
        gt=0,
        le=1,
        strict=False,
        description="draws among the most probable tokens alone that have this much probability together",
    )
    options: Literal["scored", "parsed"] = Field(
        "scored",
        description="how the model chooses among options: `scored` reads their probabilities, `parsed` lets it write "
        "and looks for the option in its text",
    )
    seed: int = Field(1, ge=0, lt=2**63, description="seed of the draws; of it and of what is asked a text depends")
    thinking: bool = Field(
        False,
        description="whether a model that can think before it answers does; its thoughts are no part of the answer",
    )
