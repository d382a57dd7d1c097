"""Samples of whole blocks: pairs of subjects with an attribute, each asked in all of its templates.

They have fewer subjects and attributes. A sample that grows takes one block after the other, of a
rectangle of subjects and attributes that grows on all sides at once: each list keeps the same share
of its subjects as there is of the attributes, but for a few subjects that are there from the start,
as of fewer nothing can be said of a group. In what order subjects and attributes come,
`families.sampler` says: their groups take turns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.sampler import first_units, numbered_strata, seeded_hashes
from biasgrid.families.sampling import Sample
from biasgrid.tables.keys import digest_texts

FEWEST_AT_START = 4
"""So many subjects of each list are asked before a second attribute is."""


class Member(NamedTuple):
    """A subject or an attribute: its name, and its group where it has one."""

    name: str
    group: str | None


class CrossedLists(NamedTuple):
    """The lists that a design crosses.

    Attributes:
        subjects: the subjects of each list.
        attributes: the attributes.
        pairs: the pairs of subjects, as rows of the first and of the last list.
        of_items: the attribute of each item, both questions counted as one, by number.
        templates: the template of each item, by number.
    """

    subjects: Sequence[Sequence[Member]]
    attributes: Sequence[Member]
    pairs: Sequence[tuple[int, int]]
    of_items: Sequence[int]
    templates: Sequence[int]


class AskedBlocks(NamedTuple):
    """The blocks of a sample.

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
    """Returns the blocks of a sample: they have no more units than it asks for, but there is one at
    least.
    """
    of_items = np.array(crossing.of_items, dtype=np.int64)
    if not len(of_items) or not crossing.pairs:
        nothing = np.zeros(0, dtype=np.int64)
        return AskedBlocks(nothing, nothing, of_items)
    templates = np.bincount(of_items)
    pairs, attributes = order_of_blocks(crossing, templates, sample)
    ends = np.cumsum(templates[attributes])
    count = sample.count(len(crossing.pairs) * len(of_items))
    taken = max(1, int(np.searchsorted(ends, count, side="right")))
    return AskedBlocks(pairs[:taken], attributes[:taken], of_items)


def order_of_blocks(
    crossing: CrossedLists, templates: IntArray, sample: Sample
) -> tuple[IntArray, IntArray]:
    """Returns pairs and attributes of blocks in the order in which they are taken, of more than
    are.

    Args:
        crossing: what is crossed.
        templates: shape (attributes,), how many templates ask for each.
        sample: the sample.
    """
    ranks = [rank_members(subjects, sample.seed) for subjects in crossing.subjects]
    rank = rank_members(crossing.attributes, sample.seed)
    levels = [when_taken(of_subjects, FEWEST_AT_START) for of_subjects in ranks]
    of_attributes = when_taken(rank, 1)
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


def rank_members(members: Sequence[Member], seed: int) -> IntArray:
    """Returns the rank of each subject or attribute in the order of a seed, in which groups have
    their shares.
    """
    digests = digest_texts(pl.Series([member.name for member in members], dtype=pl.String))
    groups = numbered_strata([(member.group,) for member in members])
    order = first_units(groups, seeded_hashes(digests, seed), len(members))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def when_taken(rank: IntArray, fewest: int) -> FloatArray:
    """Returns how far a sample has grown when each is taken: 0 for the first ones, then in even
    steps up to 1.
    """
    return np.maximum(rank + 1 - fewest, 0) / max(1, len(rank) - fewest)


def level_of_sample(
    of_pairs: FloatArray, of_attributes: FloatArray, templates: IntArray, sample: Sample
) -> float:
    """Returns how far a sample has grown that has its number of units, at least."""
    levels = np.unique(np.concatenate([of_pairs, of_attributes]))
    pairs = np.searchsorted(np.sort(of_pairs), levels, side="right")
    order = np.argsort(of_attributes, kind="stable")
    items = np.cumsum(templates[order])[
        np.searchsorted(of_attributes[order], levels, side="right") - 1
    ]
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
        Of the associations of which anything is asked: shape (associations,), in how many clusters
        each is asked, and how many ask for its attribute.
    """
    of_items, asked = (
        np.array(crossing.of_items, dtype=np.int64),
        chosen.reshape(len(crossing.pairs), -1),
    )
    of_cluster = np.array([clusters[template] for template in crossing.templates], dtype=np.int64)
    first, second = np.array(crossing.pairs, dtype=np.int64).T
    second = second + (len(crossing.subjects[0]) if len(crossing.subjects) > 1 else 0)
    found: list[tuple[IntArray, IntArray]] = []
    for attribute in range(of_items.max(initial=-1) + 1):
        own = np.unique(of_cluster[of_items == attribute])
        met = np.zeros(sum(map(len, crossing.subjects)), dtype=np.int64)
        for cluster in own:
            pairs = asked[:, (of_items == attribute) & (of_cluster == cluster)].any(axis=1)
            met[np.unique(np.concatenate([first[pairs], second[pairs]]))] += 1
        met = met[met > 0]
        found.append((met, np.full_like(met, len(own))))
    counts, all_counts = (np.concatenate(side) for side in zip(*found, strict=True))
    return counts, all_counts
