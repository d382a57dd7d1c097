"""Samples of whole blocks: fewer subjects and attributes, each of which is asked in all of its templates.

A block is a pair of subjects with an attribute, in all templates that ask for it. A sample that grows takes one block
after the other, of a rectangle of subjects and attributes that grows on all sides at once: each list keeps the same
share of its subjects as there is of the attributes, but for a few subjects that are there from the start, as of fewer
nothing can be said of a group. Larger samples hold the smaller ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.orders import random_order
from biasgrid.families.sampling import Sample

FEWEST = 4
"""So many subjects of each list are asked before a second attribute is."""


class Crossing(NamedTuple):
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


def blocks_of_sample(crossing: Crossing, sample: Sample) -> Blocks:
    """Returns the blocks of a sample: they have no more swap groups than it asks for, but there is one at least."""
    of_items = np.array(crossing.attributes, dtype=np.int64)
    if not len(of_items) or not crossing.pairs:
        nothing = np.zeros(0, dtype=np.int64)
        return Blocks(nothing, nothing, of_items)
    templates = np.bincount(of_items)
    pairs, attributes = order_of_blocks(crossing, templates, sample)
    ends = np.cumsum(templates[attributes])
    count = sample.count(len(crossing.pairs) * len(of_items))
    taken = max(1, int(np.searchsorted(ends, count, side="right")))
    return Blocks(pairs[:taken], attributes[:taken], of_items)


def order_of_blocks(crossing: Crossing, templates: IntArray, sample: Sample) -> tuple[IntArray, IntArray]:
    """Returns pairs and attributes of blocks in the order in which they are taken, of more than are.

    Args:
        crossing: what is crossed.
        templates: shape (attributes,), how many templates ask for each.
        sample: the sample.
    """
    counts = crossing.subjects
    ranks = [rank_in(random_order(count, sample.seed, place)) for place, count in enumerate(counts)]
    levels = [when_taken(rank, FEWEST) for rank in ranks]
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


def clusters_of_associations(crossing: Crossing, chosen: BoolArray, clusters: Sequence[int]) -> AssociationClusters:
    """Returns in how many clusters of templates each association of a sample is asked.

    Args:
        crossing: what is crossed.
        chosen: shape (swap groups,), which of them are asked, by pair and item.
        clusters: the cluster of each template, by number.
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
    return AssociationClusters(*(np.concatenate(side) for side in zip(*found, strict=True)))
