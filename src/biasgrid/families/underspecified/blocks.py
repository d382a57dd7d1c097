"""Samples of whole blocks: fewer subjects and attributes, each of which is asked in all of its templates.

A block is a pair of subjects with an attribute, in all templates that ask for it. A sample that grows takes one block
after the other, of a rectangle of subjects and attributes that grows on all sides at once: each list keeps the same
share of its subjects as there is of the attributes, but for a few subjects that are there from the start, as of fewer
nothing can be said of a group. Larger samples hold the smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.orders import random_order
from biasgrid.families.sampling import Sample
from biasgrid.families.underspecified.word_lists import DesignItem, Subjects


class Crossing(Protocol):
    """What of a design decides its blocks; see `design.Design`."""

    @property
    def subjects(self) -> list[Subjects]:
        """One list of subjects, or two."""

    @property
    def items(self) -> list[DesignItem]:
        """What every pair is asked."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The pairs of subjects."""

    @property
    def swap_groups(self) -> int:
        """How many swap groups there are."""


FEWEST = 4
"""So many subjects of each list are asked before a second attribute is."""


class Blocks(NamedTuple):
    """Blocks of a sample.

    Attributes:
        pairs: shape (blocks,), the pair of each.
        attributes: shape (blocks,), its attribute, by number.
        of_items: shape (items,), the attribute of each item, both questions counted as one.
    """

    pairs: IntArray
    attributes: IntArray
    of_items: IntArray

    @property
    def swap_groups(self) -> int:
        """How many swap groups they have."""
        return int(np.bincount(self.of_items)[self.attributes].sum()) if len(self.attributes) else 0

    def chosen(self, pairs: int) -> BoolArray:
        """Says which swap groups, of so many pairs, they have; shape (swap groups,), by pair and item."""
        chosen = np.zeros((pairs, len(self.of_items)), dtype=np.bool_)
        for attribute in np.unique(self.attributes):
            items = np.flatnonzero(self.of_items == attribute)
            chosen[np.ix_(self.pairs[self.attributes == attribute], items)] = True
        return chosen.ravel()


def blocks_of_sample(design: Crossing, sample: Sample) -> Blocks:
    """Returns the blocks of a sample: they have no more swap groups than it asks for, but there is one at least."""
    of_items = attributes_of_items(design)
    if not len(of_items) or not design.pairs:
        nothing = np.zeros(0, dtype=np.int64)
        return Blocks(nothing, nothing, of_items)
    templates = np.bincount(of_items)
    pairs, attributes = order_of_blocks(design, templates, sample)
    ends = np.cumsum(templates[attributes])
    taken = max(1, int(np.searchsorted(ends, sample.count(design.swap_groups), side="right")))
    return Blocks(pairs[:taken], attributes[:taken], of_items)


def order_of_blocks(design: Crossing, templates: IntArray, sample: Sample) -> tuple[IntArray, IntArray]:
    """Returns pairs and attributes of blocks in the order in which they are taken, of more than are.

    Args:
        design: the design.
        templates: shape (attributes,), how many templates ask for each.
        sample: the sample.
    """
    counts = [len(subjects.groups) for subjects in design.subjects]
    ranks = [rank_in(random_order(count, sample.seed, place)) for place, count in enumerate(counts)]
    levels = [when_taken(rank, FEWEST) for rank in ranks]
    of_attributes = when_taken(rank := rank_in(random_order(len(templates), sample.seed, len(counts))), 1)
    first, second = np.array(design.pairs, dtype=np.int64).T
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
    """Returns how far a sample has grown that has its number of swap groups, at least."""
    levels = np.unique(np.concatenate([of_pairs, of_attributes]))
    pairs = np.searchsorted(np.sort(of_pairs), levels, side="right")
    order = np.argsort(of_attributes, kind="stable")
    items = np.cumsum(templates[order])[np.searchsorted(of_attributes[order], levels, side="right") - 1]
    wanted = sample.count(len(of_pairs) * int(templates.sum()))
    first = int(np.searchsorted(pairs * items, wanted))
    return float(levels[min(first, len(levels) - 1)])


class AssociationClusters(NamedTuple):
    """The associations of which something is asked.

    Attributes:
        asked: shape (associations,), in how many clusters of templates each is asked.
        all: shape (associations,), how many clusters ask for its attribute.
    """

    asked: IntArray
    all: IntArray


def clusters_of_associations(design: Crossing, chosen: BoolArray, clusters: Sequence[int]) -> AssociationClusters:
    """Returns in how many clusters of templates each association of a sample is asked.

    Args:
        design: the design.
        chosen: shape (swap groups,), which of them are asked, by pair and item.
        clusters: the cluster of each template, by number.
    """
    of_items, asked = attributes_of_items(design), chosen.reshape(len(design.pairs), -1)
    of_cluster = np.array([clusters[item.template] for item in design.items[::2]], dtype=np.int64)
    first, second = np.array(design.pairs, dtype=np.int64).T
    counts = [len(subjects.groups) for subjects in design.subjects]
    second = second + (counts[0] if len(counts) > 1 else 0)
    found: list[tuple[IntArray, IntArray]] = []
    for attribute in range(of_items.max(initial=-1) + 1):
        own = np.unique(of_cluster[of_items == attribute])
        met = np.zeros(sum(counts), dtype=np.int64)
        for cluster in own:
            pairs = asked[:, (of_items == attribute) & (of_cluster == cluster)].any(axis=1)
            met[np.unique(np.concatenate([first[pairs], second[pairs]]))] += 1
        met = met[met > 0]
        found.append((met, np.full_like(met, len(own))))
    return AssociationClusters(*(np.concatenate(side) for side in zip(*found, strict=True)))


def attributes_of_items(design: Crossing) -> IntArray:
    """Returns the attribute of each item, both questions counted as one, by number; shape (items,)."""
    names = [item.attribute.name for item in design.items[::2]]
    place = {name: number for number, name in enumerate(dict.fromkeys(names))}
    return np.array([place[name] for name in names], dtype=np.int64)
