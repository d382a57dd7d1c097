"""Reads text and JSON files, and words what is wrong with them."""

from __future__ import annotations

import json
import re
from collections import Counter
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
HALF_CHARACTER = re.compile(".{0,20}[\ud800-\udfff]", re.DOTALL)


class Pairs(list[tuple[str, Any]]):
    """The keys and values of an object as they stand in a file, where a key may stand twice."""


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
    before = len(faults)
    try:
        content = without_pairs(json.loads(text, object_pairs_hook=Pairs), str(path), "", faults)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}"
        faults.append(Fault(str(path), where, f"not JSON ({error.msg}, column {error.colno})", what))
        return None
    except RecursionError:
        faults.append(Fault(str(path), "", "lists or objects are nested too deeply", what))
        return None
    except ValueError:
        # Python turns no longer number into an integer.
        faults.append(Fault(str(path), "", "holds an integer of thousands of digits", what))
        return None
    if half := HALF_CHARACTER.search(shown(content)):
        problem = f"{half[0]!a} ends with half of a character"
        faults.append(Fault(str(path), "", problem, "whole characters"))
    elif not isinstance(content, dict):
        faults.append(Fault(str(path), "", f"holds {kind(content)}", what))
    return content if len(faults) == before else None


def without_pairs(value: Any, file: str, where: str, faults: list[Fault]) -> Any:
    """Returns a value with objects in place of their pairs; reports keys that stand twice in an object."""
    if isinstance(value, Pairs):
        paths = {name: f"{where}.{name}" if where else name for name, _ in value}
        for name, count in Counter(name for name, _ in value).items():
            if count > 1:
                faults.append(Fault(file, paths[name], f"the key {shown(name)} stands twice", "every key once"))
        return {name: without_pairs(one, file, paths[name], faults) for name, one in value}
    if isinstance(value, list):
        return [without_pairs(one, file, f"{where}[{place}]", faults) for place, one in enumerate(value)]
    return value
