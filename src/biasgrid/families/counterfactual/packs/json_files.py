"""Reads JSON files of packs, and names what stands in them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.text import read_json

KINDS: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a truth value",
    int: "an integer",
    float: "a fraction",
    type(None): "null",
}


def kind(value: Any) -> str:
    """Names the JSON type of a value."""
    return KINDS[type(value)]


def as_json(value: Any) -> str:
    """Returns a value as it stands in JSON, for a fault's problem."""
    return json.dumps(value, ensure_ascii=False)


def read_object(path: Path, expected: str, faults: list[Fault]) -> dict[str, Any] | None:
    """Reads a JSON file that holds an object; returns None where it does not, and adds why to the faults."""
    try:
        content = read_json(path, expected)
    except InputError as error:
        faults += error.faults
        return None
    if isinstance(content, dict):
        return content
    faults.append(Fault(str(path), "", f"holds {kind(content)}", expected))
    return None
