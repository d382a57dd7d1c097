"""Samples of statements, balanced over templates and over what fills them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.families.chosen import AT_ONCE, soonest
from biasgrid.families.orders import crossed
from biasgrid.families.sampling import Sample
from biasgrid.families.statement.packs.combinations import places_of
from biasgrid.families.statement.packs.pack import Pack

LOOKED_AT = 256
"""Among how many statements of a template the next one is chosen. With more, samples of the packs that come with the
project are not better balanced; with 32 a value is off its share by up to 3, with these by up to 2."""


@dataclass
class Waiting:
    """The statements of a template that are not in a sample yet.

    Attributes:
        order: shape (statements,), the places of all of them, in the order in which they are looked at.
        values: shape (statements, parameters), the values that fill each, numbered through all domains.
        looked_at: shape (some,), places of those that may be next.
        seen: how many were looked at.
    """

    order: IntArray
    values: IntArray
    looked_at: IntArray
    seen: int

    @classmethod
    def of(cls, order: IntArray, values: IntArray) -> Waiting:
        """Looks at the first statements."""
        return cls(order, values, order[:LOOKED_AT].copy(), min(LOOKED_AT, len(order)))

    def take(self, corrected: IntArray) -> int:
        """Takes the statement whose values are missed most, the first one of several.

        Args:
            excess: shape (values,), how much more often than due each is in the sample.
        """
        place = int(corrected[self.values[self.looked_at]].sum(axis=1).argmin())
        taken = int(self.looked_at[place])
        self.looked_at[place:-1] = self.looked_at[place + 1 :]
        if self.seen < len(self.order):
            self.looked_at[-1] = self.order[self.seen]
            self.seen += 1
        else:
            self.looked_at = self.looked_at[:-1]
        return taken


def chosen_of_each(pack: Pack, kept: Sequence[IntArray], sample: Sample) -> list[BoolArray]:
    """Says which statements of each template are in a sample.

    One statement after another is taken: of the template that is due (see `chosen.shares`), so that each has its share
    to within less than one, and of its statements one whose values are missed most. A larger sample goes on from a
    smaller one.

    Args:
        pack: the pack.
        kept: the combinations of the values of each template of `pack.statements`, in ascending order.
        sample: the sample.

    Returns:
        For each template an array of shape (combinations that are kept,).
    """
    waiting = [
        Waiting.of(order_of(pack, place, combinations, sample.seed), values_of(pack, place, combinations))
        for (place, *_), combinations in zip(pack.statements, kept, strict=True)
    ]
    chosen = [np.zeros(len(combinations), dtype=np.bool_) for combinations in kept]
    for template, statement in taken(waiting, sample.count(sum(map(len, kept)))):
        chosen[template][statement] = True
    return chosen


def taken(waiting: Sequence[Waiting], count: int) -> Iterator[tuple[int, int]]:
    """Yields so many statements, by template and place."""
    numbers = np.concatenate([np.zeros(0, np.int64), *(each.values.ravel() for each in waiting)])
    totals = np.bincount(numbers)
    whole, corrected = sum(len(each.order) for each in waiting), np.zeros_like(totals)
    for template in soonest([len(each.order) for each in waiting], count):
        corrected -= totals
        statement = waiting[template].take(corrected)
        np.add.at(corrected, waiting[template].values[statement], whole)
        yield template, statement


def values_of(pack: Pack, place: int, combinations: IntArray) -> IntArray:
    """Returns the values that fill a template, numbered through all domains; shape (combinations, parameters)."""
    domains = list(pack.values)
    starts = np.cumsum([0, *(len(pack.values[domain]) for domain in domains)])
    template = pack.templates[place]
    places = places_of(pack, template, combinations)
    columns = [starts[domains.index(domain)] + place for domain, place in zip(template.domains, places, strict=True)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(combinations), 0), np.int64)


def order_of(pack: Pack, place: int, combinations: IntArray, seed: int) -> IntArray:
    """Returns places of combinations in a random order, in which neighbours have few values in common."""
    order = crossed([len(values) for values in pack.values_of(pack.templates[place])], seed)
    number = np.full(order.size, -1, dtype=np.int64)
    number[combinations] = np.arange(len(combinations))
    slices = (np.arange(start, min(start + AT_ONCE, order.size)) for start in range(0, order.size, AT_ONCE))
    found = [each[each >= 0] for each in (number[order.at(places)] for places in slices)]
    return np.concatenate([np.zeros(0, np.int64), *found])
