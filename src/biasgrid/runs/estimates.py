"""Numbers that are known, bounded, estimated or unknown, and what comes of calculating with them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Any, Literal, get_args

Kind = Literal["exact", "sampled", "at most", "about"]
LOOSENESS: tuple[Kind, ...] = get_args(Kind)
"""From the firmest kind to the loosest."""


@dataclass(frozen=True)
class Figure:
    """A number and how it is known.

    Attributes:
        value: the number, None where it is unknown.
        kind: `exact`; `sampled`, from an even sample; `at most`, an upper bound; or `about`, a rough estimate.
    """

    value: float | None
    kind: Kind = "exact"

    def times(self, factor: float | None, kind: Kind = "exact") -> Figure:
        """Multiplies with another number, which is known in its own way; unknown where one of the two is."""
        product = None if self.value is None or factor is None else self.value * factor
        return Figure(product, loosest([self.kind, kind]))


UNKNOWN = Figure(None)


def total(figures: Iterable[Figure]) -> Figure:
    """Adds figures; the sum is known as its loosest part is, and not at all where a part is unknown."""
    parts = list(figures)
    values = [part.value for part in parts if part.value is not None]
    if len(values) < len(parts):
        return UNKNOWN
    return Figure(sum(values), loosest(part.kind for part in parts))


def loosest(kinds: Iterable[Kind]) -> Kind:
    """Returns the loosest of some kinds, `exact` of none."""
    return max(kinds, key=LOOSENESS.index, default="exact")


def plain(value: Any) -> Any:
    """Turns dataclasses into what JSON can hold.

    A figure `x` becomes two keys: `x`, the number or null, and `x_is`, its kind or null where it is unknown.
    """
    if isinstance(value, list):
        return [plain(part) for part in value]
    if not is_dataclass(value):
        return value
    content: dict[str, Any] = {}
    for field in fields(value):
        part = getattr(value, field.name)
        if isinstance(part, Figure):
            content[field.name] = None if part.value is None else rounded(part.value)
            content[f"{field.name}_is"] = None if part.value is None else part.kind
        else:
            content[field.name] = plain(part)
    return content


def rounded(value: float) -> float:
    """Rounds to three decimals, and to an integer where none is left."""
    short = round(value, 3)
    return int(short) if short == int(short) else short
