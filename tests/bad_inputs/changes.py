"""A bad input is a change to one thing of the project in `base`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

GONE = object()
"""Takes a key away."""


class Bad(NamedTuple):
    """A bad input.

    Attributes:
        at: where it is: a key of the config, with dots, or the path of a file.
        put: what stands there.
        says: what the message must hold.
    """

    at: str
    put: Any
    says: tuple[str, ...]


def bad(at: str, put: Any, *says: str) -> Bad:
    return Bad(at, put, says)


def swap(old: str, new: str) -> Callable[[str], str]:
    """Replaces a text, once."""
    return lambda text: text.replace(old, new, 1)
