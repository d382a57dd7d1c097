"""How strong a synthetic bias is: one number, or its parts by group and by name, and how else a
corpus is bent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, WrapValidator, model_validator

from biasgrid.base.sections import KeysError, Section

OF_QUESTIONS = "for underspecified questions"
Number = Annotated[float, Field(ge=0, le=1)]


class Strength(Section):
    """A synthetic bias in parts.

    The part by group is shared by all names, terms or words of a group; the part by name is each
    one's own. A dataset without groups has both in its subjects, each of which is a group of its
    own.
    """

    group: Number = Field(0.0, description="strength of the part that all names of a group share")
    name: Number = Field(0.0, description="strength of the part that each name has for itself")
    unread_negation: Number = Field(
        0.0,
        description=(
            f"{OF_QUESTIONS}: share of the texts in which the negation changes nothing; at 1, the "
            "model learns to ignore it"
        ),
    )
    mass: float = Field(
        1.0,
        gt=0,
        le=1,
        description=(
            f"{OF_QUESTIONS} and masked language models: share of the answers that are one of the "
            "two subjects; the other answers are words that name nobody"
        ),
    )

    @model_validator(mode="after")
    def _at_most_one(self) -> Strength:
        if self.total > 1:
            raise KeysError("expected the sum of `group` and `name` to be at most 1")
        return self

    @property
    def total(self) -> float:
        """The strength of both parts together."""
        return self.group + self.name

    @property
    def without_bias(self) -> Strength:
        """The same without any bias, for controls."""
        return self.model_copy(update={"group": 0.0, "name": 0.0})


def number_or_parts(value: Any, _: Any) -> float | Strength:
    """Checks a strength as what it is: with one fault, in place of one as a number and one as a
    section.
    """
    kind = TypeAdapter(Strength if isinstance(value, dict | Strength) else Number)
    checked: float | Strength = kind.validate_python(value, strict=True)
    return checked


AnyStrength = Annotated[Number | Strength, WrapValidator(number_or_parts)]


def total_strength(strength: float | Strength) -> float:
    """Returns the strength of a bias in all."""
    return strength.total if isinstance(strength, Strength) else strength


def without_bias(strength: float | Strength) -> float | Strength:
    """Returns the strength that a control has: there is nothing to find."""
    return strength.without_bias if isinstance(strength, Strength) else 0.0


def written_strength(strength: float | Strength) -> float | dict[str, float]:
    """Returns a strength as a config has it, which `read_strength` reads."""
    return strength.model_dump() if isinstance(strength, Strength) else strength


def read_strength(written: float | Mapping[str, float]) -> float | Strength:
    """Returns a strength as it was written: a number, or the keys of a section."""
    return Strength(**written) if isinstance(written, Mapping) else written
