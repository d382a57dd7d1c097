"""The strength of a synthetic bias: a number, or its parts by group and by name.

If the config gives a number, the family of the dataset decides which part it is: by group, unless
the family says that it is by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, WrapValidator, model_validator

from biasgrid.base.sections import KeysError, Section

OF_QUESTIONS = "for underspecified questions"
Number = Annotated[float, Field(ge=0, le=1)]


class Strength(Section):
    """A synthetic bias in parts, with other properties of its corpus.

    All names, terms or words of a group share the part by group; each has a part by name of its
    own. In a dataset without groups each subject is a group.
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
        """A copy without bias, for controls; the other properties stay."""
        return self.model_copy(update={"group": 0.0, "name": 0.0})


def number_or_parts(value: Any, _: Any) -> float | Strength:
    """Validates a number or a section, and reports one fault in place of one per alternative."""
    adapter = TypeAdapter(Strength if isinstance(value, dict | Strength) else Number)
    strength: float | Strength = adapter.validate_python(value, strict=True)
    return strength


AnyStrength = Annotated[Number | Strength, WrapValidator(number_or_parts)]


def total_strength(strength: float | Strength) -> float:
    """Returns the strength of a bias, of both parts together."""
    return strength.total if isinstance(strength, Strength) else strength


def without_bias(strength: float | Strength) -> float | Strength:
    """Returns the strength for a control: 0, or a section without bias."""
    return strength.without_bias if isinstance(strength, Strength) else 0.0


def written_strength(strength: float | Strength) -> float | dict[str, float]:
    """Returns a strength as data for JSON, which `read_strength` reads."""
    return strength.model_dump() if isinstance(strength, Strength) else strength


def read_strength(content: float | Mapping[str, float]) -> float | Strength:
    """Returns the strength of which `written_strength` made data for JSON."""
    return Strength(**content) if isinstance(content, Mapping) else content
