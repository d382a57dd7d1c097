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
"""Maximum number of characters of a value.

Without it, a missing quotation mark would be noticed only at the end of a file of several GB.
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
    """Returns an object from its members, for the JSON decoder.

    Raises:
        RepeatedKey: a key appears twice; by default, the decoder would use the last one.
    """
    members_by_key = dict(pairs)
    if len(members_by_key) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return members_by_key


class Member(NamedTuple):
    """A member of the object, and the line where it begins, counted from 1."""

    line: int
    key: str
    value: Any


def members(path: Path) -> Iterator[Member]:
    """Yields the members of the JSON object in a file, in its order.

    A few MB of the file are in memory at a time.

    Raises:
        InputError: the file cannot be read, is not UTF-8, or is not a JSON object. It has line and
            column, and is raised after the members before the fault were yielded.
    """
    with explain_unreadable(path, LAYOUT), path.open(encoding="utf-8", newline="") as file:
        yield from _Window(path, file).members()


class _Window:
    """A part of a file that slides along it.

    Unless the end of the file was reached, more than `LONGEST_MEMBER` characters follow `position`.

    Attributes:
        text: the part.
        position: the next character to read in `text`.
        line: the line of that character, counted from 1.
        at_end: whether `text` contains the end of the file.
    """

    def __init__(self, path: Path, file: TextIO):
        self.path = path
        self.file = file
        self.text = ""
        self.position = 0
        self.line = 1
        self.at_end = False
        self.decoder = json.JSONDecoder(object_pairs_hook=distinct_keys)

    def members(self) -> Iterator[Member]:
        """Yields the members of the object in the file; reads the file once."""
        self.move(0)
        self.expect("{", "'{' at the beginning of the file")
        if not self.skip("}"):
            yield self.member()
            while not self.skip("}"):
                self.expect(",", "',' and another entry, or '}' and the end of the file")
                yield self.member()
        if self.position < len(self.text):
            problem = f"{self.rest()} after the last '}}'"
            raise self.fault(self.position, problem, "the end of the file")

    def member(self) -> Member:
        """Reads a key and its value."""
        start, line = self.position, self.line
        key = self.value()
        if not isinstance(key, str):
            raise self.fault(start, f"{key!r:.20} in place of a key", "a string in double quotes")
        self.expect(":", "':' after a key")
        return Member(line, key, self.value())

    def value(self) -> Any:
        """Reads a value and moves to the next token."""
        start = self.position
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
        """Skips a sign; raises InputError if another one is next."""
        if not self.skip(sign):
            raise self.fault(self.position, self.rest() or "the file ends too early", expected)

    def skip(self, sign: str) -> bool:
        """Skips a sign if it is next; returns whether it was."""
        is_next = self.text.startswith(sign, self.position)
        if is_next:
            self.move(self.position + 1)
        return is_next

    def move(self, position: int) -> None:
        """Moves to the first token from a position on, and reads until `text` has all of it."""
        self._skip_space(position)
        while len(self.text) - self.position <= LONGEST_MEMBER and not self.at_end:
            new_text = self._read()
            self.at_end = not new_text
            self.text, self.position = self.text[self.position :] + new_text, 0
            self._skip_space(0)

    def _skip_space(self, position: int) -> None:
        """Moves to the first character from a position on that is no space, and counts lines."""
        space = SPACE.match(self.text, position)
        end = space.end() if space else position
        self.line += self.text.count("\n", self.position, end)
        self.position = end

    def _read(self) -> str:
        """Returns the next characters of the file, empty at its end."""
        try:
            return self.file.read(WINDOW_CHARACTERS)
        except UnicodeDecodeError as error:
            where = f"after line {self.line}"
            problem = f"byte {error.object[error.start]:#04x} is not UTF-8"
            raise InputError([Fault(str(self.path), where, problem, "UTF-8 text")]) from None

    def rest(self) -> str:
        """Quotes the next characters, empty at the end of the file."""
        characters = self.text[self.position : self.position + 20]
        return repr(characters) if characters else ""

    def fault(self, position: int, problem: str, expected: str) -> InputError:
        """Returns the error of a fault at a position in `text`, not before `self.position`."""
        line = self.line + self.text.count("\n", self.position, position)
        where = f"line {line}"
        # `text` may begin within a line, where a column would be wrong.
        begin = self.text.rfind("\n", 0, position)
        if begin >= 0 or line <= 1:
            where = f"line {line}, column {position - begin}"
        return InputError([Fault(str(self.path), where, problem, expected)])
