"""Words what pydantic finds wrong in a config: the place, what stands there and what is allowed."""

from __future__ import annotations

from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from biasgrid.config.dataset_sections import FAMILIES
from biasgrid.config.section import PATTERNS
from biasgrid.config.sections import Config
from biasgrid.faults import Fault, nearest, one_of

# YAML takes 1e-3, which has no dot, for text.
NUMBER = "a number, such as 0.001 or 1.0e-3"
EXPECTED = {
    "bool_type": "true or false",
    "dict_type": "a mapping of names to values",
    "finite_number": "a finite number",
    "float_parsing": NUMBER,
    "float_type": NUMBER,
    "greater_than": "a number greater than {gt:g}",
    "greater_than_equal": "a number of at least {ge:g}",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "less_than": "a number less than {lt:g}",
    "less_than_equal": "a number of at most {le:g}",
    "list_type": "a list, such as [a, b]",
    "too_long": "{max_length} entries at most",
    "too_short": "{min_length} or more entries",
}
"""What is allowed where pydantic finds an error of a type."""
SHOWN = 100
"""How many characters of a value are shown."""

Place = tuple[int | str, ...]


def as_fault(detail: ErrorDetails, source: str) -> Fault:
    """Words one of pydantic's errors."""
    place, allowed = detail["loc"], allowed_at(detail)
    expected = one_of(allowed) if allowed else expected_of(detail)
    if place[-1] == "[key]":
        return Fault(source, written(place[:-2]), f"the key {shown(detail['input'])}", expected)
    if detail["type"] == "invalid_key":
        return Fault(source, written(place[:-1]), f"the key {shown(detail['input'])}", expected)
    if detail["type"] == "union_tag_invalid":
        value = detail["input"]["family"]
        return Fault(source, f"{written(place)}.family", f"{shown(value)}{nearest(str(value), allowed)}", expected)
    return Fault(source, written(place), problem_of(detail, allowed), expected)


def problem_of(detail: ErrorDetails, allowed: list[str]) -> str:
    """Says what stands where an error is, or what is missing there."""
    place, kind, value = detail["loc"], detail["type"], detail["input"]
    if kind == "missing":
        return "missing"
    if kind == "extra_forbidden":
        return f"unknown key{nearest(str(place[-1]), allowed)}"
    if kind == "union_tag_not_found" and isinstance(value, dict):
        return "no `family`"
    if kind == "value_error" and is_section(kind_at(place)):
        given = [key for key, setting in value.items() if setting is not None]
        return f"has {', '.join(given) or 'no keys'}"
    return f"{shown(value)}{nearest(str(value), allowed)}"


def allowed_at(detail: ErrorDetails) -> list[str]:
    """Returns the names that are allowed where an error is, none where it is not about names."""
    if detail["type"] in ("extra_forbidden", "invalid_key"):
        return keys_at(detail["loc"][:-1])
    if detail["type"] == "literal_error":
        return [word.strip("'") for word in detail["ctx"]["expected"].replace(" or ", ", ").split(", ")]
    return list(FAMILIES) if detail["type"] == "union_tag_invalid" else []


def expected_of(detail: ErrorDetails) -> str:
    """Says what is allowed where an error is."""
    place, kind, value, context = detail["loc"], detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "missing":
        return f"the key {place[-1]!r}"
    if kind == "model_type":
        return f"a section of keys such as {', '.join(keys_at(place))}"
    if kind == "union_tag_not_found":
        return "`family: counterfactual`, whose keys these are" if isinstance(value, dict) else "the keys of a dataset"
    if kind == "string_type":
        return "text" if value is None or isinstance(value, (dict, list)) else "text, in quotes"
    if kind == "string_pattern_mismatch":
        return PATTERNS[context["pattern"]]
    if kind == "value_error":
        return str(context["error"]).removeprefix("expected ")
    return EXPECTED.get(kind, detail["msg"]).format(**context)


def shown(value: Any) -> str:
    """Writes a value as a config has it, cut where it is long."""
    if isinstance(value, str):
        text = repr(value)
    elif isinstance(value, dict):
        text = "{" + ", ".join(f"{shown(key)}: {shown(item)}" for key, item in value.items()) + "}"
    elif isinstance(value, list):
        text = "[" + ", ".join(shown(item) for item in value) + "]"
    else:
        text = "null" if value is None else str(value).lower()
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 3]}..."


def written(place: Place) -> str:
    """Writes a place as messages do: names with dots between them, numbers of items in brackets."""
    own = without_family(place)
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in own).removeprefix(".")


def without_family(place: Place) -> Place:
    """Returns a place without the family that pydantic puts behind the name of a dataset."""
    return (*place[:2], *place[3:]) if place[:1] == ("datasets",) else place


def keys_at(place: Place) -> list[str]:
    """Returns the keys that the section at a place of the config may have."""
    return list(kind_at(place).model_fields)


def kind_at(place: Place) -> Any:
    """Returns the type of what stands at a place of the config, the section itself for lists of a section."""
    if place[:1] == ("datasets",) and len(place) > 2:
        return kind_in(FAMILIES[str(place[2])], place[3:])
    return kind_in(Config, place)


def kind_in(kind: Any, place: Place) -> Any:
    """Returns the type of what stands at a place of a section."""
    for part in place:
        if is_section(kind) and isinstance(part, int):
            continue  # A place in a list: what the items are was found with the list.
        # In a mapping of sections the part is a name of the user's choice.
        kind = kind.model_fields[part].annotation if is_section(kind) else get_args(kind)[1]
        if get_origin(kind) is not dict:
            kind = section_in(kind)
    return kind


def section_in(kind: Any) -> Any:
    """Returns the section that a type allows, itself or in a list; the type where it allows none."""
    options = [kind, *get_args(kind)]
    items = [item for option in options if get_origin(option) is list for item in get_args(option)]
    return next((option for option in options + items if is_section(option)), kind)


def is_section(kind: Any) -> bool:
    """Says whether a type is a section of the config."""
    return isinstance(kind, type) and issubclass(kind, BaseModel)
