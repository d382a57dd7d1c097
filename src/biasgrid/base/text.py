"""Reads users' files of text and JSON, and refuses those that cannot be used."""

from __future__ import annotations

import json
import logging
import re
import stat
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import nearest_path
from biasgrid.base.names import (
    VISIBLE_CHARACTERS,
    hidden_character,
    hidden_within,
    visible_text,
)

logger = logging.getLogger(__name__)

LARGEST_TEXT = 64 * 2**20
"""Maximum size in bytes of a file that is read at once; dumps of predictions are streamed."""
MOST_SHOWN = 20
HALF_CHARACTER = re.compile("[\ud800-\udfff]")
SHOWN_BEFORE = 20
"""The number of characters that are shown before half a character."""
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")
"""The byte order marks of UTF-16."""
EXPECTED_UTF_8 = "UTF-8 text: save the file as UTF-8 (spreadsheets call it `CSV UTF-8`)"
OTHER_FORMATS = {
    b"PK\x03\x04": "a spreadsheet, a text document or a zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel or Word document",
    b"%PDF": "a PDF",
    b"\x1f\x8b": "compressed by gzip",
}
"""What a file that begins with some bytes is."""


@contextmanager
def explain_unreadable(path: str | Path, expected: str) -> Iterator[None]:
    """Turns the system's refusal to read a file into InputError.

    Args:
        path: the file.
        expected: a description of the right file, for messages.

    Raises:
        InputError: with the reason; also for a pipe or a device, which might never end.
    """
    try:
        mode = Path(path).stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise InputError([Fault(str(path), "", "is a pipe or a device", expected)])
        yield
    except OSError as error:
        hint = nearest_path(Path(path))[1] if isinstance(error, FileNotFoundError) else ""
        problem = f"cannot be read ({error.strerror}){hint}"
        raise InputError([Fault(str(path), "", problem, expected)]) from None


def read_text(path: str | Path, expected: str, largest: int = LARGEST_TEXT) -> str:
    """Reads a text file in UTF-8, with or without a byte order mark, or in UTF-16 with one.

    Args:
        path: the file.
        expected: a description of the right file, for messages.
        largest: its maximum size in bytes.

    Returns:
        The text, in which all lines end in a line feed.

    Raises:
        InputError: it is larger, cannot be read, or is in another encoding, with line and word; or
            it contains hidden characters, with their lines and names.
    """
    text = decode(path, read_bytes(path, expected, largest), expected)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    # Most texts have no hidden character, and one search is faster than one for each line.
    if hidden_character(text):
        faults = []
        for number, line in enumerate(text.split("\n"), start=1):
            name = hidden_character(line)
            if name is not None:
                problem = f"contains {name}"
                faults.append(Fault(str(path), f"line {number}", problem, VISIBLE_CHARACTERS))
            if len(faults) == MOST_SHOWN:
                break
        raise InputError(faults)
    return text


def decode(path: str | Path, data: bytes, expected: str) -> str:
    """Returns the text of a file's bytes; see `read_text`."""
    for beginning, name in OTHER_FORMATS.items():
        if data.startswith(beginning):
            raise InputError([Fault(str(path), "", f"is {name}", f"text in UTF-8: {expected}")])
    # The letters of Latin scripts, and all spaces and line ends, have a byte that is 0.
    if data.startswith(UTF_16_MARKS) and b"\0" in data:
        with suppress(UnicodeDecodeError):
            text = data.decode("utf-16")
            note_cure(path, "is in UTF-16 and was read as such; UTF-8 is expected")
            return text
    if data.count(b"\0") > len(data) / 3:
        problem = "is in UTF-16, without a byte order mark"
        raise InputError([Fault(str(path), "", problem, EXPECTED_UTF_8)])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].split(b"\n")
        place = len(before[-1])
        problem = f"byte {place + 1} is not UTF-8"
        line = data[error.start - place :].splitlines()[0]
        word = word_at(line, place)
        if word:
            problem = f"{problem}; in Windows-1252 (ANSI) it would be in the word {word!r}"
        where = f"line {len(before)}"
        raise InputError([Fault(str(path), where, problem, EXPECTED_UTF_8)]) from None


def word_at(line: bytes, place: int) -> str:
    """Returns the word around a byte of a line in Windows-1252, "" if there is none.

    That is the encoding of most files that are not in UTF-8.
    """
    # Each byte is one character.
    for word in re.finditer(r"[^\W_]+", line.decode("cp1252", errors="replace")):
        if word.start() <= place < word.end():
            return word[0][:SHOWN_BEFORE]
    return ""


def note_cure(path: str | Path, cure: str) -> None:
    """Says once in a process how a file was read that is not quite as expected.

    Commands print the line, jobs have it in their logs.

    Args:
        path: the file.
        cure: what is unusual in it, and how it was read.
    """
    log_once(Path(path).resolve(), visible_text(f"warning: {path}: {cure}"))


@cache
def log_once(_file: Path, line: str) -> None:
    """Logs a line about a file, unless it was logged before."""
    logger.warning(line)


def read_bytes(path: str | Path, expected: str, largest: int = LARGEST_TEXT) -> bytes:
    """Reads a regular file; raises InputError if it has too many bytes or cannot be read."""
    with explain_unreadable(path, expected):
        size = Path(path).stat().st_size
        if size > largest:
            problem = f"{size / 2**20:,.0f} MiB"
            expected = f"{expected}, of at most {largest // 2**20} MiB"
            raise InputError([Fault(str(path), "", problem, expected)])
        return Path(path).read_bytes()


def read_json(path: str | Path, expected: str) -> Any:
    """Reads a JSON file without repeated keys.

    Args:
        path: the file.
        expected: a description of the right file, for messages.

    Raises:
        InputError: it cannot be read, or is not JSON, with the line; keys are repeated, each with
            its path; or a text contains hidden characters or half a character.
    """
    try:
        content = json.loads(read_text(path, expected), object_pairs_hook=_Pairs)
    except json.JSONDecodeError as error:
        where, problem = f"line {error.lineno}", f"not JSON ({error.msg}, column {error.colno})"
    except RecursionError:
        where, problem = "", "its lists or objects are nested too deeply"
    except ValueError:  # Python refuses to parse integers with more than 4,300 digits.
        where, problem = "", "contains an integer with thousands of digits"
    else:
        return _checked(content, str(path))
    raise InputError([Fault(str(path), where, problem, expected)])


class _Pairs(list[tuple[str, Any]]):
    """The keys and values of an object as they are in a file, where a key may be repeated."""


def _checked(content: Any, file: str) -> Any:
    """Returns parsed JSON with objects in place of their pairs.

    Raises:
        InputError: keys are repeated in an object, or a text contains hidden characters or half a
            character, which no tokenizer accepts.
    """
    faults: list[Fault] = []
    content = _without_pairs(content, file, "", faults)
    text = json.dumps(content, ensure_ascii=False)
    half = HALF_CHARACTER.search(text)
    if half is not None:
        excerpt = text[max(0, half.start() - SHOWN_BEFORE) : half.end()]
        faults.append(
            Fault(file, "", f"{excerpt!a} ends with half a character", "whole characters")
        )
    else:
        for where, name in islice(hidden_within(content), MOST_SHOWN):
            faults.append(Fault(file, where, f"contains {name}", VISIBLE_CHARACTERS))
    if faults:
        raise InputError(faults)
    return content


def _without_pairs(value: Any, file: str, where: str, faults: list[Fault]) -> Any:
    """Returns a value with objects in place of their pairs.

    Args:
        value: parsed JSON.
        file: its file, for messages.
        where: its path in the file.
        faults: the faults of the file. Repeated keys are added.
    """
    if isinstance(value, _Pairs):
        paths = {name: f"{where}.{name}" if where else name for name, _ in value}
        for name, count in Counter(name for name, _ in value).items():
            if count > 1:
                problem = f"the key {json.dumps(name, ensure_ascii=False)} appears twice"
                faults.append(Fault(file, paths[name], problem, "each key once"))
        content = {}
        for name, inner_value in value:
            content[name] = _without_pairs(inner_value, file, paths[name], faults)
        return content
    if isinstance(value, list):
        return [
            _without_pairs(item, file, f"{where}[{place}]", faults)
            for place, item in enumerate(value)
        ]
    return value
