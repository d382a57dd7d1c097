"""Streams the members of a JSON object that is too large to be held in memory."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.text import explain_unreadable

WINDOW_CHARACTERS = 1 << 22
LONGEST_MEMBER = 1 << 16
"""Characters that a member may have; so a fault is noticed where it is and not when a whole file
has been read.
"""
SPACE = re.compile(r"[ \t\n\r]*")
LAYOUT = "a JSON object of entries, as UnQover writes it"


class RepeatedKey(Exception):  # noqa: N818
    """A key that appears twice in one object.

    Attributes:
        key: the key.
    """

    def __init__(self, key: str):
        self.key = key


def distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object of its members, for the JSON decoder, which would keep the last of one key.

    Raises:
        RepeatedKey: a key appears twice.
    """
    members_by_key = dict(pairs)
    if len(members_by_key) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return members_by_key


class Member(NamedTuple):
    """A member of the object, and the 1-based line where it begins."""

    line: int
    key: str
    value: Any


def members(path: Path) -> Iterator[Member]:
    """Yields the members of the JSON object in a file, in its order.

    A few MB of the file are held at a time.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or is not a JSON object, with line and
            column.
    """
    with explain_unreadable(path, LAYOUT), path.open(encoding="utf-8", newline="") as file:
        yield from _Window(path, file).members()


class _Window:
    """A part of a file that slides along it; `place` is where reading stands in `text`, `line` its
    line.
    """

    def __init__(self, path: Path, file: TextIO):
        self.path = path
        self.file = file
        self.text = ""
        self.place = 0
        self.line = 1
        self.at_end = False
        self.decoder = json.JSONDecoder(object_pairs_hook=distinct_keys)

    def members(self) -> Iterator[Member]:
        """Yields the members of the object that the file is."""
        self.move(0)
        self.expect("{", "'{' at the beginning of the file")
        if not self.skip("}"):
            yield self.member()
            while not self.skip("}"):
                self.expect(",", "',' and another entry, or '}' and the end of the file")
                yield self.member()
        if self.place < len(self.text):
            problem = f"{self.rest()} after the last '}}'"
            raise self.fault(self.place, problem, "the end of the file")

    def member(self) -> Member:
        """Reads a key and its value."""
        start, line = self.place, self.line
        key = self.value()
        if not isinstance(key, str):
            raise self.fault(start, f"{key!r:.20} in place of a key", "a string in double quotes")
        self.expect(":", "':' after a key")
        return Member(line, key, self.value())

    def value(self) -> Any:
        """Reads a value and moves behind it."""
        start = self.place
        try:
            value, end = self.decoder.raw_decode(self.text, start)
        except json.JSONDecodeError as error:
            is_unfinished = error.msg.startswith("Unterminated string")
            nothing_follows = not self.text[error.pos :].strip()
            problem = f"not JSON ({error.msg})"
            if self.at_end and (nothing_follows or is_unfinished):
                problem = "the file ends too early"
            raise self.fault(error.pos, problem, LAYOUT) from None
        except RepeatedKey as error:
            problem = f"the key {error.key!r} appears twice in one object"
            raise self.fault(start, problem, "each key once") from None
        except RecursionError:
            raise self.fault(start, "objects or lists are nested too deeply", LAYOUT) from None
        except ValueError as error:
            # Python refuses to read whole numbers of thousands of digits.
            problem = f"a number that cannot be read ({error})"
            raise self.fault(start, problem, LAYOUT) from None
        if end - start > LONGEST_MEMBER:
            raise self.fault(start, "a value is too long", f"at most {LONGEST_MEMBER} characters")
        self.move(end)
        return value

    def expect(self, sign: str, expected: str) -> None:
        """Moves behind a sign that has to stand here."""
        if not self.skip(sign):
            raise self.fault(self.place, self.rest() or "the file ends too early", expected)

    def skip(self, sign: str) -> bool:
        """Moves behind a sign if it stands here; returns whether it did."""
        stands_here = self.text.startswith(sign, self.place)
        if stands_here:
            self.move(self.place + 1)
        return stands_here

    def move(self, place: int) -> None:
        """Moves to a place and over the space behind it, and sees that a whole value lies ahead."""
        self._pass_space(place)
        while len(self.text) - self.place <= LONGEST_MEMBER and not self.at_end:
            more = self._read()
            self.at_end = not more
            self.text, self.place = self.text[self.place :] + more, 0
            self._pass_space(0)

    def _pass_space(self, place: int) -> None:
        """Moves to a place and over the space behind it, and counts lines."""
        space = SPACE.match(self.text, place)
        end = space.end() if space else place
        self.line += self.text.count("\n", self.place, end)
        self.place = end

    def _read(self) -> str:
        """Reads further characters of the file, empty at its end."""
        try:
            return self.file.read(WINDOW_CHARACTERS)
        except UnicodeDecodeError as error:
            where = f"after line {self.line}"
            problem = f"byte {error.object[error.start]:#04x} is not UTF-8"
            raise InputError([Fault(str(self.path), where, problem, "UTF-8 text")]) from None

    def rest(self) -> str:
        """Quotes the next characters, empty at the end of the file."""
        return repr(self.text[self.place : self.place + 20]) if self.place < len(self.text) else ""

    def fault(self, place: int, problem: str, expected: str) -> InputError:
        """Returns the error of a fault at a place of the window."""
        line = self.line + self.text.count("\n", self.place, place)
        where = f"line {line}"
        # The window may begin within a line, where a column would be wrong.
        begin = self.text.rfind("\n", 0, place)
        if begin >= 0 or line <= 1:
            where = f"line {line}, column {place - begin}"
        return InputError([Fault(str(self.path), where, problem, expected)])
