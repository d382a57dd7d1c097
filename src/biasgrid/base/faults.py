"""Errors for users: faults of their input are collected and reported all at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from biasgrid.base.names import visible_text

SECRET_PARTS = re.compile(r"(?<=://)[^/@\s]*@|\?\S*")
"""Parts of an address that may be secret."""
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
        """Returns the message, in which nothing that others wrote can act on a terminal."""
        return visible_text(super().__str__())


class InputError(UserError):
    """Input that cannot be used, with every fault that was found in it."""

    def __init__(self, faults: Iterable[Fault]):
        self.faults = list(faults)
        count = len(self.faults)
        heading = f"{count} fault{'s' if count != 1 else ''} in the input:"
        super().__init__("\n".join([heading, *(f"  {fault}" for fault in self.faults)]))


LESS_AT_ONCE = (
    "give it more memory, or let it do less at once: more `shards`, a `sample` or a `limit` in the "
    "dataset, or a smaller `inference.token_budget`"
)
"""Advice for the case that memory runs out."""


def out_of_memory(error: BaseException | None) -> UserError | None:
    """Returns the error for users if memory ran out, None for other errors."""
    # Torch has no class of its own for main memory, and derives that for a GPU's from RuntimeError.
    says_so = re.search("out of memory|allocate memory", str(error))
    is_of_torch = isinstance(error, RuntimeError) and says_so
    if not (isinstance(error, MemoryError) or is_of_torch):
        return None
    lines = str(error).strip().splitlines()
    detail = f" ({lines[0]})" if lines else ""
    return UserError(f"out of memory{detail}; {LESS_AT_ONCE}")


def one_of(allowed: Iterable[str]) -> str:
    """Returns the names that are allowed in words, for `expected` of a fault."""
    names = ", ".join(sorted(allowed))
    return f"one of {names}" if names else "a name, but none is defined yet"


def nearest_name(value: str, allowed: Iterable[str]) -> str:
    """Returns ` (did you mean X?)` for the allowed name most like `value`, or an empty string."""
    match = get_close_matches(value, list(allowed), n=1, cutoff=0.6)
    return f" (did you mean {match[0]!r}?)" if match else ""


def first_few(names: Sequence[str], most: int = 3) -> str:
    """Returns the first of many names in words, and the number of further names."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def unknown_names(
    source: str, key: str, names: Sequence[str], known: Iterable[str]
) -> Iterator[Fault]:
    """Yields faults of names that are not known, or repeated.

    Args:
        source: the file of the names, for messages.
        key: their place in the file.
        names: the names.
        known: the names that are allowed.
    """
    for name in names:
        if name not in known:
            problem = f"unknown name {name!r}{nearest_name(name, known)}"
            yield Fault(source, key, problem, one_of(known))
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Fault(source, key, f"{name!r} appears twice", "each name once")


def value_text(value: Any) -> str:
    """Formats a value as in a config, shortened if it is long.

    Addresses are shown without user, password and query.
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
