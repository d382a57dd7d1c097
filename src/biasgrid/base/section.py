"""What all sections of a config, and entries of data files, have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

from biasgrid.base.faults import shown

NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$"
VARIANT = r"^(qa|lm|llm)(-[A-Za-z0-9]+)*$"
FOLDER = r"^[^{}<>\x00-\x1f]+$"
HOST = r"([A-Za-z0-9_${}-]+(\.[A-Za-z0-9_${}-]+)*|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?"
ADDRESS = rf"^https?://([^\s/?#@]+@)?{HOST}([/?#]\S*)?$"
DIGEST = r"^[0-9a-f]{64}$"
PATH = r"^/[A-Za-z0-9_./-]*$"
VARIABLE_NAME = r"^\$\{[A-Za-z_][A-Za-z0-9_]*\}$"
WRITTEN = r"\S"
PATTERNS = {
    WRITTEN: "a text that is not empty",
    NAME: "a name of letters, digits, `_`, `.` and `-` that begins with a letter or digit, of at most 100 characters",
    VARIANT: "`qa`, `lm` or `llm`, with parts of letters and digits behind hyphens, such as `qa-newsqa` or `lm-bert`",
    FOLDER: "a folder, without any of { } < > or control characters in its name",
    ADDRESS: "an address that begins with http:// or https:// and a host such as example.org, without white space",
    PATH: "a path that begins with /, such as /health",
    VARIABLE_NAME: "the name of a variable of the environment that holds it, such as `${OPENAI_API_KEY}`",
    DIGEST: "64 of the digits 0-9 and a-f, as `sha256sum` prints them",
}
"""What the patterns of texts ask for, in words."""
SECRETS = {VARIABLE_NAME}
"""Patterns of which values that do not match are not shown: somebody may have written a secret there."""

Name = Annotated[str, Field(pattern=NAME)]
Variant = Annotated[str, Field(pattern=VARIANT)]
Scoring = Literal["exact", "unqover"]
TargetScoring = Literal["joint", "pll", "pll-l2r"]


class KeysError(ValueError):
    """Keys of a section that do not go together; says what is expected."""


class Section(BaseModel):
    """A part of a file: no unknown keys, no values of other types, nothing changes after reading."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @model_validator(mode="before")
    @classmethod
    def _naming_keys(cls, content: Any) -> Any:
        """Puts the keys that may stand here in place of an unknown key's value: pydantic's errors tell values alone."""
        keys = list(cls.model_fields)
        if not isinstance(content, dict):
            raise ValueError(f"expected a section of keys such as {', '.join(keys)}")
        named = {key if isinstance(key, str) else shown(key): value for key, value in content.items()}
        return {key: value if key in keys else keys for key, value in named.items()}


Kind = TypeVar("Kind", bound=Section)


def named_section(key: str, kinds: Mapping[str, type[Kind]], value: Any) -> Kind:
    """Checks a section by what the value of one of its keys says that it is.

    Args:
        key: the key.
        kinds: the sections, by what stands there.
        value: what is checked.

    Raises:
        ValidationError: with all that is wrong with it.
        ValueError: it is no section.
    """
    if not isinstance(value, dict):
        raise ValueError(f"expected one of {', '.join(sorted(kinds))}, or keys with one of them in `{key}`")
    name = value.get(key)
    if not isinstance(name, str) or name not in kinds:
        raise ValidationError.from_exception_data("Section", [not_one_of(key, name, list(kinds))])
    return kinds[name].model_validate(value)


def not_one_of(key: str, value: Any, allowed: Sequence[str]) -> InitErrorDetails:
    """Returns the error of a key whose value is none of those that are allowed."""
    expected = " or ".join(f"'{name}'" for name in allowed)
    return InitErrorDetails(type="literal_error", loc=(key,), input=value, ctx={"expected": expected})
