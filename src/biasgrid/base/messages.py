"""Faults from errors of pydantic: the place, the value there and what is allowed."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.sections import PATTERNS, SECRET_PATTERNS, KeysError

# YAML takes 1e-3, which has no dot, for text.
NUMBER_EXPECTED = "a number, such as 0.001 or 1.0e-3"
EXPECTED_BY_ERROR = {
    "bool_type": "true or false",
    "dict_type": "a mapping of names to values",
    "finite_number": "a finite number",
    "float_parsing": NUMBER_EXPECTED,
    "float_type": NUMBER_EXPECTED,
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "json_invalid": "one JSON object per line",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "list_type": "a list, such as [a, b]",
    "string_too_short": "{min_length} or more characters",
    "too_long": "at most {max_length} entries",
    "too_short": "{min_length} or more entries",
}
"""Descriptions of the values that are allowed, by pydantic's type of error."""

KeyPath = tuple[int | str, ...]
"""The path of a value in a file: keys of mappings and positions in lists, the outermost first."""
FileContent = TypeVar("FileContent", bound=BaseModel)


def validate_content(
    kind: type[FileContent], content: Any, file: str, context: Any = None
) -> FileContent:
    """Returns the content of a file as a model; raises InputError with all faults and places."""
    try:
        return kind.model_validate(content, context=context)
    except ValidationError as error:
        raise InputError(as_fault(detail, file) for detail in error.errors()) from None


def as_fault(detail: ErrorDetails, file: str, line: int | None = None) -> Fault:
    """Returns the fault of one of pydantic's errors.

    Args:
        detail: the error.
        file: the file that is faulty.
        line: the line of the faulty content, None if it is the whole file.
    """
    if detail["type"] == "union_tag_invalid":
        detail = tag_error(detail)
    place, allowed = detail["loc"], allowed_names(detail)
    expected = one_of(allowed) if allowed else error_expectation(detail)
    problem = error_problem(detail, allowed)
    if place[-1:] == ("[key]",):
        # Pydantic adds the key and this mark to the place of a mapping whose key is faulty.
        place, problem = place[:-2], f"the key {value_text(detail['input'])}"
    return Fault(file, at_line(line, place_text(place)), problem, expected)


def tag_error(detail: ErrorDetails) -> ErrorDetails:
    """Returns the error of a section of an unknown kind as an error of the key that names it."""
    context = detail["ctx"]
    key = context["discriminator"].strip("'")
    return ErrorDetails(
        type="literal_error",
        loc=(*detail["loc"], key),
        msg=detail["msg"],
        input=detail["input"][key],
        ctx={"expected": context["expected_tags"]},
    )


def error_problem(detail: ErrorDetails, allowed: list[str]) -> str:
    """Returns the problem of an error: the faulty value, or that it is missing."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return "missing"
    if kind == "json_invalid":
        return f"not JSON ({context['error']})".replace(" at line 1 column", ", column")
    if kind == "extra_forbidden":
        return f"unknown key{nearest_name(str(detail['loc'][-1]), allowed)}"
    if context.get("pattern") in SECRET_PATTERNS:
        return "a value that is not shown, because it may be a secret"
    if kind == "value_error" and isinstance(context["error"], KeysError):
        keys = [key for key, setting in value.items() if setting is not None]
        return f"has {', '.join(keys) or 'no keys'}"
    return f"{value_text(value)}{nearest_name(str(value), allowed)}"


def allowed_names(detail: ErrorDetails) -> list[str]:
    """Returns the names that are allowed at the place of an error; empty if names do not matter."""
    if detail["type"] == "extra_forbidden":
        # `Section` puts the names of its keys there.
        return list(detail["input"])
    if detail["type"] == "literal_error":
        # Pydantic writes 'a', 'b' or 'c'.
        words = detail["ctx"]["expected"].replace(" or ", ", ").split(", ")
        return [word.strip("'") for word in words]
    return []


def error_expectation(detail: ErrorDetails) -> str:
    """Returns a description of the values that are allowed at the place of an error."""
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return f"the key {detail['loc'][-1]!r}"
    if kind == "string_type":
        return "text" if value is None or isinstance(value, (dict, list)) else "text, in quotes"
    if kind == "string_pattern_mismatch":
        return PATTERNS[context["pattern"]]
    if kind == "value_error":
        return str(context["error"]).removeprefix("expected ")
    return EXPECTED_BY_ERROR.get(kind, detail["msg"]).format(**context)


def at_line(line: int | None, where: str) -> str:
    """Formats a place with its line, if that is known."""
    return where if line is None else f"line {line}, {where}".removesuffix(", ")


def place_text(place: KeyPath) -> str:
    """Formats a place for messages: names after dots, numbers of items in brackets."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in place]
    return "".join(parts).removeprefix(".")
