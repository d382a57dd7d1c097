"""What all sections of a config have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
Variant = Annotated[str, Field(pattern=r"^(qa|lm)(-[A-Za-z0-9]+)*$")]
Task = Literal["fill-mask", "question-answering", "text-classification"]
Scoring = Literal["exact", "unqover"]


class Section(BaseModel):
    """A part of the config: no unknown keys, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True)
