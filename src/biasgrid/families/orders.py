"""Balanced orders of what is crossed with what, and the samples that are their beginnings.

Larger samples hold the smaller ones, as every beginning of an order is balanced.

Of the first `n` units every label of a ring has its share of `n`, to within less than one: every subject, template and
attribute. A ring is gone through over and over, and each time that it is complete all of its labels are even.
Rings that are crossed are gone through beside each other, so each stays even by itself. When both end together, the
outer one is turned by a step by which it was not turned before, so that every pair of labels comes exactly once.

Samples of whole blocks have fewer subjects and attributes, each of which is asked in all of its templates. A block is a
pair of subjects with an attribute. A sample that grows takes one block after the other, of a rectangle of subjects and
attributes that grows on all sides at once: each list keeps the same share of its subjects as there is of the
attributes, but for a few subjects that are there from the start, as of fewer nothing can be said of a group.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from math import gcd, lcm
from typing import NamedTuple, Protocol

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.tables.keys import STEP, mix_bits

UNITS_AT_ONCE = 2**20
"""How many units are looked up together."""
FEWEST_AT_START = 4
"""So many subjects of each list are asked before a second attribute is."""


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
class ListOrder:
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
class CrossedOrder:
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
            turned = turned + hash_numbers(inside // steps, self.seed) % steps
        units = self.ring.turned(place % self.ring.size, turn // by_steps, turned)
        numbers: IntArray = units * self.inner.size + self.inner.at(inside)
        return numbers


def hash_numbers(numbers: IntArray, *seeds: int) -> IntArray:
    """Returns random numbers of 31 bits, the same ones for the same numbers and seeds."""
    start = np.zeros(1, np.uint64)
    for seed in seeds:
        start = mix_bits(start + np.full(1, seed % 2**64, np.uint64))
    bits = mix_bits(start + numbers.astype(np.uint64) * STEP) >> np.uint64(33)
    return bits.astype(np.int64)


def random_order(count: int, *seeds: int) -> IntArray:
    """Returns the numbers below `count` in a random order."""
    return np.argsort(hash_numbers(np.arange(count), *seeds, count), kind="stable")


def units_of_sample(count: int, sample: Sample | None) -> list[int]:
    """Returns which of so many units a sample asks, in their order; of one seed, larger samples hold the smaller ones.

    Args:
        count: how many units there are.
        sample: the sample, None where all are asked.
    """
    if sample is None:
        return list(range(count))
    return sorted(random_order(count, sample.seed)[: sample.count(count)].tolist())


def ring_of(count: int, seed: int) -> Ring:
    """Returns a ring of one round: `count` labels in a random order."""
    return Ring(random_order(count, seed)[np.newaxis])


def cross_lists(sizes: list[int], seed: int) -> Order:
    """Crosses several lists with each other, each label of which is to be even; units are numbered as by `product`."""
    *outer, last = [ring_of(size, seed) for size in sizes] or [Ring(np.zeros((1, 1), np.int64))]
    order: Order = last
    for ring in reversed(outer):
        order = CrossedOrder(ring, order, seed)
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
    names = random_order(count, seed)
    first, second = np.minimum(names[one], names[two]), np.maximum(names[one], names[two])
    return mix_rounds(first * (2 * count - first - 1) // 2 + second - first - 1, seed)


def pairs_across(first: int, second: int, seed: int) -> Ring:
    """Returns the pairs of subjects of two lists, in whose order those of each are even; numbered as by `product`."""
    steps, rounds = np.arange(lcm(first, second)), np.arange(gcd(first, second))[:, np.newaxis]
    one, two = random_order(first, seed)[steps % first], random_order(second, seed, 1)[(steps + rounds) % second]
    return mix_rounds(one * second + two, seed)


def mix_rounds(labels: IntArray, seed: int) -> Ring:
    """Returns a ring whose rounds come in a random order, each begun at a random step."""
    rounds, steps = labels.shape
    order = random_order(rounds, seed, 2)[:, np.newaxis]
    begun = hash_numbers(np.arange(rounds), seed, 3)[:, np.newaxis]
    return Ring(labels[order, (np.arange(steps) + begun) % max(1, steps)])


@dataclass(frozen=True)
class TemplateBlock:
    """Templates that are filled with the same things.

    Attributes:
        templates: how many templates, each of which has as many units.
        order: the units of all of them, of which every beginning is balanced.
    """

    templates: int
    order: Order


def sample_blocks(blocks: Sequence[TemplateBlock], sample: Sample) -> Iterator[tuple[int, IntArray]]:
    """Yields which units of blocks are in a sample.

    Each template has its share of the sample, to within less than one. So has whatever else the orders are balanced
    over in its block's part of the sample, and in the whole sample where there is one block.

    Args:
        blocks: all units.
        sample: the sample.

    Returns:
        Block by block, part by part, the block's place and the numbers of its units, in no order.
    """
    of_templates = np.repeat(np.arange(len(blocks)), [block.templates for block in blocks])
    sizes = np.array([block.order.size // block.templates for block in blocks], dtype=np.int64)[of_templates]
    counts = shares_of_sample(sizes, sample)
    for place, block in enumerate(blocks):
        count = int(counts[of_templates == place].sum())
        for start in range(0, count, UNITS_AT_ONCE):
            yield place, block.order.at(np.arange(start, min(start + UNITS_AT_ONCE, count)))


def shares_of_sample(sizes: IntArray, sample: Sample) -> IntArray:
    """Returns how many units of each part are in a sample; one of blocks has at least one of each.

    Args:
        sizes: shape (parts,), how many units each part has, such as the cases of a template.
        sample: the sample.
    """
    count, each = sample.count(int(sizes.sum())), np.minimum(sizes, int(isinstance(sample, BlockSample)))
    return each + share_out(sizes - each, max(count - int(each.sum()), 0))


def turns_of_sample(sizes: Sequence[int], sample: Sample) -> list[int]:
    """Returns which parts are served, one after another, until a sample is full; see `shares_of_sample`."""
    first = [place for place, size in enumerate(sizes) if size] if isinstance(sample, BlockSample) else []
    rest = [size - (place in first) for place, size in enumerate(sizes)] if first else sizes
    return first + serving_order(rest, max(sample.count(sum(sizes)) - len(first), 0))


def share_out(sizes: IntArray, units: int) -> IntArray:
    """Shares out units among parts, one after another, so that no part is ever off its share by one or more.

    The j-th unit of a part that has the share s of the whole comes between the places (j - 1) / s and j / s. Taking
    what must come soonest keeps all of these times (Steiner and Yeomans, Management Science 1993). Of parts of one size
    those that come first are served first.

    Args:
        sizes: shape (parts,), how many units each part has.
        units: how many are taken; at most all.

    Returns:
        Shape (parts,).
    """
    common = gcd(*sizes.tolist())
    if not common:
        return np.zeros_like(sizes)
    # What is taken begins anew whenever each part has had its share exactly.
    smallest = sizes // common
    rounds, rest = divmod(units, int(smallest.sum()))
    served = np.array(serving_order(smallest.tolist(), rest), dtype=np.int64)
    return rounds * smallest + np.bincount(served, minlength=len(sizes))


def serving_order(sizes: Sequence[int], units: int) -> list[int]:
    """Returns which parts are served, one after another; see `share_out`."""
    whole = sum(sizes)
    waiting = [(1, place) for place, size in enumerate(sizes) if size]
    heapify(waiting)
    ready: list[tuple[int, int]] = []
    taken = [0] * len(sizes)
    served = []
    for time in range(1, units + 1):
        while waiting and waiting[0][0] <= time:
            place = heappop(waiting)[1]
            heappush(ready, (-(-(taken[place] + 1) * whole // sizes[place]), place))
        place = heappop(ready)[1]
        taken[place] += 1
        served.append(place)
        heappush(waiting, (taken[place] * whole // sizes[place] + 1, place))
    return served


class CrossedLists(NamedTuple):
    """What is crossed with what, in numbers.

    Attributes:
        subjects: how many subjects each list has.
        pairs: the pairs of subjects, as rows of the first and of the last list.
        attributes: the attribute of each item, both questions counted as one, by number.
        templates: the template of each item, by number.
    """

    subjects: Sequence[int]
    pairs: Sequence[tuple[int, int]]
    attributes: Sequence[int]
    templates: Sequence[int]


class AskedBlocks(NamedTuple):
    """AskedBlocks of a sample.

    Attributes:
        pairs: shape (blocks,), the pair of each.
        attributes: shape (blocks,), its attribute, by number.
        of_items: shape (items,), the attribute of each item, both questions counted as one.
    """

    pairs: IntArray
    attributes: IntArray
    of_items: IntArray

    @property
    def units(self) -> int:
        """How many units, pairs with an item, they have."""
        return int(np.bincount(self.of_items)[self.attributes].sum()) if len(self.attributes) else 0

    def chosen(self, pairs: int) -> BoolArray:
        """Says which units, of so many pairs, they have; shape (units,), by pair and item."""
        chosen = np.zeros((pairs, len(self.of_items)), dtype=np.bool_)
        for attribute in np.unique(self.attributes):
            items = np.flatnonzero(self.of_items == attribute)
            chosen[np.ix_(self.pairs[self.attributes == attribute], items)] = True
        return chosen.ravel()


def blocks_of_sample(crossing: CrossedLists, sample: Sample) -> AskedBlocks:
    """Returns the blocks of a sample: they have no more units than it asks for, but there is one at least."""
    of_items = np.array(crossing.attributes, dtype=np.int64)
    if not len(of_items) or not crossing.pairs:
        nothing = np.zeros(0, dtype=np.int64)
        return AskedBlocks(nothing, nothing, of_items)
    templates = np.bincount(of_items)
    pairs, attributes = order_of_blocks(crossing, templates, sample)
    ends = np.cumsum(templates[attributes])
    count = sample.count(len(crossing.pairs) * len(of_items))
    taken = max(1, int(np.searchsorted(ends, count, side="right")))
    return AskedBlocks(pairs[:taken], attributes[:taken], of_items)


def order_of_blocks(crossing: CrossedLists, templates: IntArray, sample: Sample) -> tuple[IntArray, IntArray]:
    """Returns pairs and attributes of blocks in the order in which they are taken, of more than are.

    Args:
        crossing: what is crossed.
        templates: shape (attributes,), how many templates ask for each.
        sample: the sample.
    """
    counts = crossing.subjects
    ranks = [rank_in(random_order(count, sample.seed, place)) for place, count in enumerate(counts)]
    levels = [when_taken(rank, FEWEST_AT_START) for rank in ranks]
    of_attributes = when_taken(rank := rank_in(random_order(len(templates), sample.seed, len(counts))), 1)
    first, second = np.array(crossing.pairs, dtype=np.int64).T
    of_pairs = np.maximum(levels[0][first], levels[-1][second])
    last = level_of_sample(of_pairs, of_attributes, templates, sample)
    pairs, attributes = np.flatnonzero(of_pairs <= last), np.flatnonzero(of_attributes <= last)
    pair, attribute = np.repeat(pairs, len(attributes)), np.tile(attributes, len(pairs))
    ranks_of_pair = np.stack([ranks[0][first[pair]], ranks[-1][second[pair]]])
    taken = np.lexsort(
        (
            ranks_of_pair.min(axis=0),
            ranks_of_pair.max(axis=0),
            rank[attribute],
            np.maximum(of_pairs[pair], of_attributes[attribute]),
        )
    )
    return pair[taken], attribute[taken]


def rank_in(order: IntArray) -> IntArray:
    """Returns at which place of an order each number stands."""
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def when_taken(rank: IntArray, fewest: int) -> FloatArray:
    """Returns how far a sample has grown when each is taken: 0 for the first ones, then in even steps up to 1."""
    return np.maximum(rank + 1 - fewest, 0) / max(1, len(rank) - fewest)


def level_of_sample(of_pairs: FloatArray, of_attributes: FloatArray, templates: IntArray, sample: Sample) -> float:
    """Returns how far a sample has grown that has its number of units, at least."""
    levels = np.unique(np.concatenate([of_pairs, of_attributes]))
    pairs = np.searchsorted(np.sort(of_pairs), levels, side="right")
    order = np.argsort(of_attributes, kind="stable")
    items = np.cumsum(templates[order])[np.searchsorted(of_attributes[order], levels, side="right") - 1]
    wanted = sample.count(len(of_pairs) * int(templates.sum()))
    first = int(np.searchsorted(pairs * items, wanted))
    return float(levels[min(first, len(levels) - 1)])


def clusters_of_associations(
    crossing: CrossedLists, chosen: BoolArray, clusters: Sequence[int]
) -> tuple[IntArray, IntArray]:
    """Returns in how many clusters of templates each association of a sample is asked.

    Args:
        crossing: what is crossed.
        chosen: shape (units,), which of them are asked, by pair and item.
        clusters: the cluster of each template, by number.

    Returns:
        Of the associations of which anything is asked: shape (associations,), in how many clusters each is asked, and
        how many ask for its attribute.
    """
    of_items, asked = np.array(crossing.attributes, dtype=np.int64), chosen.reshape(len(crossing.pairs), -1)
    of_cluster = np.array([clusters[template] for template in crossing.templates], dtype=np.int64)
    first, second = np.array(crossing.pairs, dtype=np.int64).T
    second = second + (crossing.subjects[0] if len(crossing.subjects) > 1 else 0)
    found: list[tuple[IntArray, IntArray]] = []
    for attribute in range(of_items.max(initial=-1) + 1):
        own = np.unique(of_cluster[of_items == attribute])
        met = np.zeros(sum(crossing.subjects), dtype=np.int64)
        for cluster in own:
            pairs = asked[:, (of_items == attribute) & (of_cluster == cluster)].any(axis=1)
            met[np.unique(np.concatenate([first[pairs], second[pairs]]))] += 1
        met = met[met > 0]
        found.append((met, np.full_like(met, len(own))))
    counts, all_counts = (np.concatenate(side) for side in zip(*found, strict=True))
    return counts, all_counts
