"""Orders of what is crossed with what, of which every beginning is balanced: samples are such beginnings.

Of the first `n` units every label of a ring has its share of `n`, to within less than one: every subject, template and
attribute. A ring is gone through over and over, and each time that it is complete all of its labels are even.
Rings that are crossed are gone through beside each other, so each stays even by itself. When both end together, the
outer one is turned by a step by which it was not turned before, so that every pair of labels comes exactly once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, lcm
from typing import Protocol

import numpy as np

from biasgrid.base.arrays import IntArray
from biasgrid.tables.keys import STEP, mix_bits


class Order(Protocol):
    """An order of units, which are numbered from 0."""

    @property
    def size(self) -> int:
        """How many units there are."""

    def at(self, places: IntArray) -> IntArray:
        """Returns the units at some places, from 0 to `size` - 1."""


@dataclass(frozen=True)
class Ring:
    """An order that can be turned without losing its balance.

    Attributes:
        labels: shape (rounds, steps), the units: round after round. Whatever they are balanced over is even after each
            round, and within one also if a round is begun at any of its steps and goes round.
    """

    labels: IntArray

    @property
    def size(self) -> int:
        """How many units there are."""
        return self.labels.size

    def at(self, places: IntArray) -> IntArray:
        """Returns the units at some places."""
        units: IntArray = self.labels.ravel()[places]
        return units

    def turned(self, places: IntArray, rounds: IntArray, steps: IntArray) -> IntArray:
        """Returns the units at some places, where other rounds come first, each begun at another step."""
        of_round, within = np.divmod(places, self.labels.shape[1])
        units: IntArray = self.labels[(of_round + rounds) % len(self.labels), (within + steps) % self.labels.shape[1]]
        return units


@dataclass(frozen=True)
class Listed:
    """An order that is a list of units.

    Attributes:
        units: shape (units,), the units.
    """

    units: IntArray

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.units)

    def at(self, places: IntArray) -> IntArray:
        """Returns the units at some places."""
        units: IntArray = self.units[places]
        return units


@dataclass(frozen=True)
class Crossed:
    """Every unit of a ring with every unit of another order; each beginning is as balanced as those of both.

    A unit's number is that of the ring's unit times the other order's size, and the other one's.

    Attributes:
        ring: the ring.
        inner: the other order.
        seed: of the turns of the ring where it would go in step with what is inside.
    """

    ring: Ring
    inner: Order
    seed: int

    @property
    def size(self) -> int:
        """How many units there are."""
        return self.ring.size * self.inner.size

    def at(self, places: IntArray) -> IntArray:
        """Returns the units at some places."""
        turn, place = np.divmod(places, lcm(self.ring.size, self.inner.size))
        inside, steps = place % self.inner.size, self.ring.labels.shape[1]
        # A turn moves what the common divisor of both sizes leaves of a place: first by steps, then by rounds.
        by_steps = gcd(gcd(self.ring.size, self.inner.size), steps)
        turned = turn % by_steps
        if self.inner.size % steps == 0 and len(self.ring.labels) == 1:
            turned = turned + hashed(inside // steps, self.seed) % steps
        units = self.ring.turned(place % self.ring.size, turn // by_steps, turned)
        numbers: IntArray = units * self.inner.size + self.inner.at(inside)
        return numbers


def hashed(numbers: IntArray, *seeds: int) -> IntArray:
    """Returns random numbers of 31 bits, the same ones for the same numbers and seeds."""
    start = np.zeros(1, np.uint64)
    for seed in seeds:
        start = mix_bits(start + np.full(1, seed % 2**64, np.uint64))
    bits = mix_bits(start + numbers.astype(np.uint64) * STEP) >> np.uint64(33)
    return bits.astype(np.int64)


def shuffled(count: int, *seeds: int) -> IntArray:
    """Returns the numbers below `count` in a random order."""
    return np.argsort(hashed(np.arange(count), *seeds, count), kind="stable")


def ring_of(count: int, seed: int) -> Ring:
    """Returns a ring of one round: `count` labels in a random order."""
    return Ring(shuffled(count, seed)[np.newaxis])


def crossed(sizes: list[int], seed: int) -> Order:
    """Crosses several lists with each other, each label of which is to be even; units are numbered as by `product`."""
    *outer, last = [ring_of(size, seed) for size in sizes] or [Ring(np.zeros((1, 1), np.int64))]
    order: Order = last
    for ring in reversed(outer):
        order = Crossed(ring, order, seed)
    return order


def pairs_within(count: int, seed: int) -> Ring:
    """Returns the pairs of `count` subjects, in whose order every subject is even; numbered as by `combinations`.

    An even number of subjects plays rounds as in a tournament, in each of which everybody plays once. An odd number
    goes round in cycles through all of them (Walecki, in Lucas, Recreations mathematiques II, 1883), of which every
    second edge is taken until each has been: everybody plays twice a round.
    """
    others, rounds = count - 1, np.arange(count - 1)[:, np.newaxis]
    if count % 2 == 0:
        steps = np.arange(1, count // 2)
        one = np.hstack([np.full((others, 1), others), (rounds + steps) % others])
        two = np.hstack([rounds, (rounds - steps) % others])
    else:
        zigzag = np.arange(others)
        zigzag = np.where(zigzag % 2, (zigzag + 1) // 2, -(zigzag // 2))
        cycles = np.hstack([np.full((others // 2, 1), others), (rounds[: others // 2] + zigzag) % others])
        edge = np.arange(count) * 2 % count
        one, two = cycles[:, edge], cycles[:, (edge + 1) % count]
    names = shuffled(count, seed)
    first, second = np.minimum(names[one], names[two]), np.maximum(names[one], names[two])
    return mixed_up(first * (2 * count - first - 1) // 2 + second - first - 1, seed)


def pairs_across(first: int, second: int, seed: int) -> Ring:
    """Returns the pairs of subjects of two lists, in whose order those of each are even; numbered as by `product`."""
    steps, rounds = np.arange(lcm(first, second)), np.arange(gcd(first, second))[:, np.newaxis]
    one, two = shuffled(first, seed)[steps % first], shuffled(second, seed, 1)[(steps + rounds) % second]
    return mixed_up(one * second + two, seed)


def mixed_up(labels: IntArray, seed: int) -> Ring:
    """Returns a ring whose rounds come in a random order, each begun at a random step."""
    rounds, steps = labels.shape
    order = shuffled(rounds, seed, 2)[:, np.newaxis]
    begun = hashed(np.arange(rounds), seed, 3)[:, np.newaxis]
    return Ring(labels[order, (np.arange(steps) + begun) % max(1, steps)])
