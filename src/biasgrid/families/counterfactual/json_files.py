"""Reads text and JSON files, and words what is wrong with them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from biasgrid.faults import Fault

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


def shown(value: Any) -> str:
    """Returns a value as it stands in JSON, for a fault's problem."""
    return json.dumps(value, ensure_ascii=False)


def read_text(path: Path, what: str, faults: list[Fault]) -> str | None:
    """Reads a file in UTF-8; `what` it should be is for the faults. Returns None where it cannot be read."""
    try:
        data = path.read_bytes()
    except OSError as error:
        faults.append(Fault(str(path), "", f"cannot be read ({error.strerror})", what))
        return None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].split(b"\n")
        problem = f"byte {len(before[-1]) + 1} is not UTF-8"
        faults.append(Fault(str(path), f"line {len(before)}", problem, "UTF-8 text"))
        return None


def read_object(path: Path, what: str, faults: list[Fault]) -> dict[str, Any] | None:
    """Reads a JSON file that holds an object with every key once; returns None where it does not."""
    text = read_text(path, what, faults)
    if text is None:
        return None
    twice: list[str] = []

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        content = dict(pairs)
        names = [name for name, _ in pairs]
        twice.extend(name for name in content if names.count(name) > 1)
        return content

    try:
        content = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}"
        faults.append(Fault(str(path), where, f"not JSON ({error.msg}, column {error.colno})", what))
        return None
    faults += [Fault(str(path), "", f"{shown(name)} stands twice in an object", "every key once") for name in twice]
    if not isinstance(content, dict):
        faults.append(Fault(str(path), "", f"holds {kind(content)}", what))
    return content if isinstance(content, dict) and not twice else None
