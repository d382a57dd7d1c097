"""Errors for users: faults of their input are collected and reported all at once."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from biasgrid.base.names import visible_text

SECRET_PARTS = re.compile(r"(?<=://)[^/@\s]*@|\?\S*")
"""Parts of an address that may be secret."""
SEPARATORS = re.compile(r"[\s_-]+")
"""The signs between the words of a name, of which users often take another."""
CHARACTERS_SHOWN = 100
"""The number of characters of a value that are shown."""


@dataclass(frozen=True)
class Fault:
    """A fault in an input file.

    Attributes:
        file: the file as the user named it.
        where: the line number or the path of the key, empty for the whole file.
        problem: the problem, with the faulty value.
        expected: a description of the right value.
    """

    file: str
    where: str
    problem: str
    expected: str

    def __str__(self) -> str:
        place = f"{self.file}, {self.where}" if self.where else self.file
        return f"{place}: {self.problem}; expected {self.expected}"


class Problem(Exception):  # noqa: N818
    """The problem of a part of the input, for callers who know its file and place.

    Attributes:
        problem: as in `Fault`.
        expected: as in `Fault`.
    """

    def __init__(self, problem: str, expected: str):
        self.problem = problem
        self.expected = expected
        super().__init__(f"{problem}; expected {expected}")


class UserError(Exception):
    """An error whose message is enough for users: it says what to do, and no traceback is shown."""

    def __str__(self) -> str:
        """Returns the message with hidden characters escaped: input in it must not act on a
        terminal.
        """
        return visible_text(super().__str__())


class InputError(UserError):
    """Input that cannot be used, with all its faults in `faults`."""

    def __init__(self, faults: Iterable[Fault]):
        self.faults = list(faults)
        fault_count = len(self.faults)
        heading = f"{fault_count} fault{'s' if fault_count != 1 else ''} in the input:"
        super().__init__("\n".join([heading, *(f"  {fault}" for fault in self.faults)]))


LESS_AT_ONCE = (
    "give it more memory, or let it do less at once: more `shards`, a `sample` or a `limit` in the "
    "dataset, or a smaller `inference.token_budget`"
)
"""Advice if memory runs out."""


def out_of_memory(error: BaseException | None) -> UserError | None:
    """Returns the error for users if memory ran out, None for other errors."""
    # Torch has no class for main memory; its class for a GPU's is a subclass of RuntimeError.
    names_memory = re.search("out of memory|allocate memory", str(error))
    is_from_torch = isinstance(error, RuntimeError) and names_memory
    if not (isinstance(error, MemoryError) or is_from_torch):
        return None
    lines = str(error).strip().splitlines()
    detail = f" ({lines[0]})" if lines else ""
    return UserError(f"out of memory{detail}; {LESS_AT_ONCE}")


def one_of(valid_names: Iterable[str]) -> str:
    """Formats valid names as `one of a, b`, sorted, for `expected` of a fault."""
    listed = ", ".join(sorted(valid_names))
    return f"one of {listed}" if listed else "a name, but none is defined yet"


def nearest_name(value: str, valid_names: Iterable[str]) -> str:
    """Returns ` (did you mean X?)` for the valid name most like `value`, "" if none is like it.

    If none is, case and the signs between words do not count.
    """
    names = list(valid_names)
    match = get_close_matches(value, names, n=1, cutoff=0.6)
    if not match:
        simple_names = {simple_form(name): name for name in names}
        similar = get_close_matches(simple_form(value), simple_names, n=1, cutoff=0.6)
        match = [simple_names[name] for name in similar]
    return f" (did you mean {match[0]!r}?)" if match else ""


def simple_form(name: str) -> str:
    """Returns a name without case, with one sign between its words."""
    return SEPARATORS.sub("-", name).casefold()


def first_few(items: Sequence[str], most: int = 3) -> str:
    """Formats up to `most` items and the number of the others: `a, b, c and 2 more`."""
    rest = f" and {len(items) - most} more" if len(items) > most else ""
    return ", ".join(items[:most]) + rest


def unknown_names(
    file: str, key: str, entries: Sequence[str], valid_names: Collection[str]
) -> Iterator[Fault]:
    """Yields a fault for each entry that is not a valid name, and for each repeated entry.

    Args:
        file: the file or command-line option that has the entries, for messages.
        key: the key of the entries in the file; may be empty.
        entries: names that a user wrote.
        valid_names: the names that are defined.
    """
    for name in entries:
        if name not in valid_names:
            problem = f"unknown name {name!r}{nearest_name(name, valid_names)}"
            yield Fault(file, key, problem, one_of(valid_names))
    for name in sorted({name for name in entries if entries.count(name) > 1}):
        yield Fault(file, key, f"{name!r} appears twice", "each name once")


def value_text(value: Any) -> str:
    """Formats a value as in a config, shortened to `CHARACTERS_SHOWN`.

    Text is in quotation marks, None is `null`, and True `true`. User, password and query of an
    address are left out, as they may be secret.
    """
    if isinstance(value, str):
        text = repr(SECRET_PARTS.sub("", value) if "://" in value else value)
    elif isinstance(value, dict):
        items = [f"{value_text(key)}: {value_text(item)}" for key, item in value.items()]
        text = f"{{{', '.join(items)}}}"
    elif isinstance(value, list):
        text = f"[{', '.join(map(value_text, value))}]"
    else:
        text = "null" if value is None else str(value).lower()
    if len(text) > CHARACTERS_SHOWN:
        return f"{text[: CHARACTERS_SHOWN - 3]}..."
    return text
