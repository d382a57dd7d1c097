"""Reads users' files of text and JSON, and refuses those that cannot be used."""

from __future__ import annotations

import json
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_character, hidden_within

LARGEST_TEXT = 64 * 2**20
"""Bytes that a file may have which is read as a whole; dumps of predictions are streamed and may be
larger.
"""
MOST_SHOWN = 20
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
SHOWN_BEFORE = 20
"""How many characters are shown before half of one."""


@contextmanager
def explain_unreadable(path: str | Path, expected: str) -> Iterator[None]:
    """Puts the system's refusal to read a file into words for users; `expected` is what the file
    should be.

    Raises:
        InputError: with the path and the reason; or it is a pipe or a device, which might never
            end.
    """
    try:
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise InputError([Fault(str(path), "", "is a pipe or a device", expected)])
        yield
    except OSError as error:
        raise InputError(
            [Fault(str(path), "", f"cannot be read ({error.strerror})", expected)]
        ) from None


def read_text(path: str | Path, expected: str, largest: int = LARGEST_TEXT) -> str:
    """Reads a text file in UTF-8, with or without a mark of its byte order; all its lines end in a
    line feed.

    Args:
        path: the file.
        expected: what it should be.
        largest: the bytes that it may have.

    Raises:
        InputError: it is larger, cannot be read, or is not UTF-8, with line and byte; or it holds
            what cannot be seen, with the lines and the characters' names.
    """
    data = read_bytes(path, expected, largest)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].split(b"\n")
        problem = f"byte {len(before[-1]) + 1} is not UTF-8"
        raise InputError([Fault(str(path), f"line {len(before)}", problem, "UTF-8 text")]) from None
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    if hidden_character(lines):
        numbered = (
            (number, hidden_character(line))
            for number, line in enumerate(lines.split("\n"), start=1)
        )
        found = ((f"line {number}", name) for number, name in numbered if name)
        raise InputError(
            Fault(str(path), where, f"contains {name}", VISIBLE_CHARACTERS)
            for where, name in islice(found, MOST_SHOWN)
        )
    return lines


def read_bytes(path: str | Path, expected: str, largest: int = LARGEST_TEXT) -> bytes:
    """Reads a regular file of at most so many bytes.

    Raises:
        InputError: it is larger, or cannot be read.
    """
    with explain_unreadable(path, expected):
        size = Path(path).stat().st_size
        if size > largest:
            problem = f"{size / 2**20:,.0f} MiB"
            raise InputError(
                [Fault(str(path), "", problem, f"{expected}, of at most {largest // 2**20} MiB")]
            )
        return Path(path).read_bytes()


def read_json(path: str | Path, expected: str) -> Any:
    """Reads a JSON file in which every key stands once in its object.

    Args:
        path: the file.
        expected: what it should be.

    Raises:
        InputError: it cannot be read, or is not JSON, with the line; keys stand twice, each with
            its path; or it holds what no model can be asked.
    """
    try:
        content = json.loads(read_text(path, expected), object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        where, problem = f"line {error.lineno}", f"not JSON ({error.msg}, column {error.colno})"
    except RecursionError:
        where, problem = "", "its lists or objects are nested too deeply"
    except ValueError:  # Python turns no longer number into an integer.
        where, problem = "", "contains an integer with thousands of digits"
    else:
        return _checked(content, str(path))
    raise InputError([Fault(str(path), where, problem, expected)])


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object as they stand in a file, where a key may stand twice."""


def _checked(content: Any, file: str) -> Any:
    """Returns parsed JSON with objects in place of their pairs.

    Raises:
        InputError: keys stand twice in an object, or a text holds half of a character, which no
            tokenizer takes.
    """
    faults: list[Fault] = []
    content = _without_pairs(content, file, "", faults)
    text = json.dumps(content, ensure_ascii=False)
    if half := HALF_CHARACTER.search(text):
        shown = text[max(0, half.start() - SHOWN_BEFORE) : half.end()]
        faults.append(Fault(file, "", f"{shown!a} ends with half a character", "whole characters"))
    else:
        found = islice(hidden_within(content), MOST_SHOWN)
        faults += [
            Fault(file, where, f"contains {name}", VISIBLE_CHARACTERS) for where, name in found
        ]
    if faults:
        raise InputError(faults)
    return content


def _without_pairs(value: Any, file: str, where: str, faults: list[Fault]) -> Any:
    """Returns a value with objects in place of their pairs; reports keys that stand twice in an
    object.
    """
    if isinstance(value, _Pairs):
        paths = {name: f"{where}.{name}" if where else name for name, _ in value}
        for name, count in Counter(name for name, _ in value).items():
            if count > 1:
                problem = f"the key {json.dumps(name, ensure_ascii=False)} appears twice"
                faults.append(Fault(file, paths[name], problem, "each key once"))
        return {name: _without_pairs(one, file, paths[name], faults) for name, one in value}
    if isinstance(value, list):
        return [
            _without_pairs(one, file, f"{where}[{place}]", faults)
            for place, one in enumerate(value)
        ]
    return value


def read_words(path: Path, expected: str) -> list[str]:
    """Returns the words of a file with one in each line: in lower case, each once; # begins a
    comment.

    Raises:
        InputError: it cannot be read, or holds none.
    """
    lines = (
        line.partition("#")[0].strip().lower() for line in read_text(path, expected).split("\n")
    )
    words = list(dict.fromkeys(filter(None, lines)))
    if not words:
        raise InputError([Fault(str(path), "", "contains no words", expected)])
    return words


def word_list_lines(path: Path, faults: list[Fault]) -> list[tuple[int, str]]:
    """Returns the kept lines of a word list with their 1-based numbers."""
    try:
        text = read_text(path, "a word list")
    except InputError as error:
        faults += error.faults
        return []
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1)]
    kept = [(number, line) for number, line in lines if line and not line.startswith("#")]
    if not kept:
        problem = "only comments" if text.strip() else "the file is empty"
        faults.append(Fault(str(path), "", problem, "one item per line"))
    return kept
