"""Errors that users meet: faults in what they wrote are collected and reported all at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from biasgrid.base.names import visible_text

SECRET_PARTS = re.compile(r"(?<=://)[^/@\s]*@|\?\S*")
"""What may be secret in an address."""
CHARACTERS_SHOWN = 100
"""How many characters of a value are shown."""


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong in an input file.

    Attributes:
        file: the file as the user named it.
        where: the line number or the path of the key, empty where the whole file is meant.
        problem: what is wrong, with the offending value.
        expected: what would be right.
    """

    file: str
    where: str
    problem: str
    expected: str

    def __str__(self) -> str:
        place = f"{self.file}, {self.where}" if self.where else self.file
        return f"{place}: {self.problem}; expected {self.expected}"


class Problem(Exception):  # noqa: N818
    """What is wrong with a part of the input, for callers who know its file and place.

    Attributes:
        problem: as in `Fault`.
        expected: as in `Fault`.
    """

    def __init__(self, problem: str, expected: str):
        self.problem = problem
        self.expected = expected
        super().__init__(f"{problem}; expected {expected}")


class UserError(Exception):
    """An error whose message alone tells a user what is wrong and what to do; no traceback is
    shown.
    """

    def __str__(self) -> str:
        """Returns the message; what others wrote into it, such as a server, does nothing to a
        terminal.
        """
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
"""What to do where memory runs out."""


def out_of_memory(error: BaseException | None) -> UserError | None:
    """Returns the error for users where memory ran out, None for errors of another kind."""
    # Torch has no class of its own for main memory, and derives that for a GPU's from RuntimeError.
    is_torch = isinstance(error, RuntimeError) and re.search(
        "out of memory|allocate memory", str(error)
    )
    if not (isinstance(error, MemoryError) or is_torch):
        return None
    detail = str(error).strip().splitlines()
    return UserError(f"out of memory{f' ({detail[0]})' if detail else ''}; {LESS_AT_ONCE}")


def one_of(allowed: Iterable[str]) -> str:
    """Names what is allowed, for a fault's `expected`."""
    names = ", ".join(sorted(allowed))
    return f"one of {names}" if names else "a name, but none is defined yet"


def nearest_name(value: str, allowed: Iterable[str]) -> str:
    """Returns ` (did you mean X?)` for the allowed name most like `value`, or an empty string."""
    match = get_close_matches(value, list(allowed), n=1, cutoff=0.6)
    return f" (did you mean {match[0]!r}?)" if match else ""


def first_few(names: Sequence[str], most: int = 3) -> str:
    """Writes the first of many names behind each other, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def unknown_names(
    source: str, key: str, names: Sequence[str], known: Iterable[str]
) -> Iterator[Fault]:
    """Yields names that are not known, or stand twice.

    Args:
        source: the file in which they stand.
        key: where.
        names: the names.
        known: what they may be.
    """
    for name in names:
        if name not in known:
            yield Fault(
                source, key, f"unknown name {name!r}{nearest_name(name, known)}", one_of(known)
            )
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Fault(source, key, f"{name!r} appears twice", "each name once")


def value_text(value: Any) -> str:
    """Writes a value as a config has it, cut where it is long; of addresses without user, password
    and query.
    """
    if isinstance(value, str):
        text = repr(SECRET_PARTS.sub("", value) if "://" in value else value)
    elif isinstance(value, dict):
        text = (
            "{"
            + ", ".join(f"{value_text(key)}: {value_text(item)}" for key, item in value.items())
            + "}"
        )
    elif isinstance(value, list):
        text = "[" + ", ".join(value_text(item) for item in value) + "]"
    else:
        text = "null" if value is None else str(value).lower()
    return text if len(text) <= CHARACTERS_SHOWN else f"{text[: CHARACTERS_SHOWN - 3]}..."
