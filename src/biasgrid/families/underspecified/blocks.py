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
    """A subject or an attribute: its name, and its group, None if it has none."""

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
        """The number of units, pairs with an item, in these blocks."""
        if not len(self.attributes):
            return 0
        items_of_attributes = np.bincount(self.of_items)
        return int(items_of_attributes[self.attributes].sum())

    def chosen(self, pairs: int) -> BoolArray:
        """Returns whether each unit is in these blocks, by pair and item.

        Args:
            pairs: the number of all pairs.

        Returns:
            Shape (units,).
        """
        chosen = np.zeros((pairs, len(self.of_items)), dtype=np.bool_)
        for attribute in np.unique(self.attributes):
            items = np.flatnonzero(self.of_items == attribute)
            pairs_of_attribute = self.pairs[self.attributes == attribute]
            chosen[np.ix_(pairs_of_attribute, items)] = True
        return chosen.ravel()


def blocks_of_sample(crossing: CrossedLists, sample: Sample) -> AskedBlocks:
    """Returns the blocks of a sample: as many as have no more units than it, but at least one."""
    of_items = np.array(crossing.of_items, dtype=np.int64)
    if not len(of_items) or not crossing.pairs:
        nothing = np.zeros(0, dtype=np.int64)
        return AskedBlocks(nothing, nothing, of_items)
    templates = np.bincount(of_items)
    pairs, attributes = order_of_blocks(crossing, templates, sample)
    units_up_to = np.cumsum(templates[attributes])
    count = sample.count(len(crossing.pairs) * len(of_items))
    blocks = max(1, int(np.searchsorted(units_up_to, count, side="right")))
    return AskedBlocks(pairs[:blocks], attributes[:blocks], of_items)


def order_of_blocks(
    crossing: CrossedLists, templates: IntArray, sample: Sample
) -> tuple[IntArray, IntArray]:
    """Returns the blocks that a sample may take, in the order in which it takes them.

    Args:
        crossing: the lists that are crossed.
        templates: shape (attributes,), how many templates ask for each.
        sample: the sample.

    Returns:
        The pair and the attribute of each block, shape (blocks,): at least as many blocks as the
        sample takes.
    """
    subject_ranks = [rank_members(subjects, sample.seed) for subjects in crossing.subjects]
    attribute_ranks = rank_members(crossing.attributes, sample.seed)
    subject_levels = [when_taken(ranks, FEWEST_AT_START) for ranks in subject_ranks]
    attribute_levels = when_taken(attribute_ranks, 1)
    first, second = np.array(crossing.pairs, dtype=np.int64).T
    pair_levels = np.maximum(subject_levels[0][first], subject_levels[-1][second])
    # Only blocks up to this level can be in the sample; a cross of all would take much memory.
    last_level = level_of_sample(pair_levels, attribute_levels, templates, sample)
    pairs = np.flatnonzero(pair_levels <= last_level)
    attributes = np.flatnonzero(attribute_levels <= last_level)
    pair, attribute = np.repeat(pairs, len(attributes)), np.tile(attributes, len(pairs))
    ranks_of_pair = np.stack([subject_ranks[0][first[pair]], subject_ranks[-1][second[pair]]])
    levels = np.maximum(pair_levels[pair], attribute_levels[attribute])
    # The last key is the first to decide.
    keys = (
        ranks_of_pair.min(axis=0),
        ranks_of_pair.max(axis=0),
        attribute_ranks[attribute],
        levels,
    )
    order = np.lexsort(keys)
    return pair[order], attribute[order]


def rank_members(members: Sequence[Member], seed: int) -> IntArray:
    """Returns the rank of each subject or attribute in a random order, from 0.

    The groups of members take turns, so that each has its share of the first ranks.

    Args:
        members: the subjects of a list, or the attributes.
        seed: the seed of the order.
    """
    digests = digest_texts(pl.Series([member.name for member in members], dtype=pl.String))
    groups = numbered_strata([(member.group,) for member in members])
    order = first_units(groups, seeded_hashes(digests, seed), len(members))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def when_taken(rank: IntArray, fewest: int) -> FloatArray:
    """Returns how far a sample has grown when it takes each member, from 0 to 1.

    Args:
        rank: shape (members,), from `rank_members`.
        fewest: how many members are there from the start, at 0. The others follow in even steps.
    """
    return np.maximum(rank + 1 - fewest, 0) / max(1, len(rank) - fewest)


def level_of_sample(
    pair_levels: FloatArray, attribute_levels: FloatArray, templates: IntArray, sample: Sample
) -> float:
    """Returns how far a sample has grown when it has at least its number of units.

    Args:
        pair_levels: shape (pairs,), how far it has grown when it takes each pair.
        attribute_levels: shape (attributes,), the same of attributes.
        templates: shape (attributes,), how many templates ask for each.
        sample: the sample.
    """
    levels = np.unique(np.concatenate([pair_levels, attribute_levels]))
    pairs = np.searchsorted(np.sort(pair_levels), levels, side="right")
    order = np.argsort(attribute_levels, kind="stable")
    attributes = np.searchsorted(attribute_levels[order], levels, side="right")
    items_up_to = np.cumsum(templates[order])
    # The first attribute is there from level 0, so there is always one.
    items = items_up_to[attributes - 1]
    units = sample.count(len(pair_levels) * int(templates.sum()))
    first_level = int(np.searchsorted(pairs * items, units))
    return float(levels[min(first_level, len(levels) - 1)])


def clusters_of_associations(
    crossing: CrossedLists, chosen: BoolArray, clusters: Sequence[int]
) -> tuple[IntArray, IntArray]:
    """Returns in how many template clusters each association of a sample is asked.

    Args:
        crossing: the lists that are crossed.
        chosen: shape (units,), whether each unit is asked, by pair and item.
        clusters: the cluster of each template, by number.

    Returns:
        Two arrays of shape (associations,), by attribute and subject, of the associations that the
        sample asks about: the number of clusters in which each is asked, and the number of clusters
        that ask for its attribute.
    """
    of_items = np.array(crossing.of_items, dtype=np.int64)
    is_asked = chosen.reshape(len(crossing.pairs), -1)
    cluster_of = np.array([clusters[template] for template in crossing.templates], dtype=np.int64)
    first, second = np.array(crossing.pairs, dtype=np.int64).T
    if len(crossing.subjects) > 1:
        # The subjects of both lists are numbered through.
        second = second + len(crossing.subjects[0])
    subjects = sum(map(len, crossing.subjects))
    counts, all_counts = [], []
    for attribute in range(of_items.max(initial=-1) + 1):
        has_attribute = of_items == attribute
        own_clusters = np.unique(cluster_of[has_attribute])
        count = np.zeros(subjects, dtype=np.int64)
        for cluster in own_clusters:
            items = has_attribute & (cluster_of == cluster)
            pairs = is_asked[:, items].any(axis=1)
            count[np.unique(np.concatenate([first[pairs], second[pairs]]))] += 1
        count = count[count > 0]
        counts.append(count)
        all_counts.append(np.full_like(count, len(own_clusters)))
    return np.concatenate(counts), np.concatenate(all_counts)
