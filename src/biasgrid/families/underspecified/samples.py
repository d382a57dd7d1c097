"""Samples of a design: whole blocks, or a share of the pairs of each item.

A block is a pair of subjects with an attribute, asked in all of its templates. A sample of blocks
has fewer subjects and attributes. If it grows, it takes one block after the other, of a rectangle
of subjects and attributes that grows on all sides at once: each list keeps the same share of its
subjects as there is of the attributes, but for a few subjects that are there from the start, as of
fewer nothing can be said of a group. `families.sampler` determines in what order subjects and
attributes come: their groups take turns.

A unit, here, is a swap group: a pair of subjects with an item, both questions counted as one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from math import gcd
from typing import NamedTuple, Protocol

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.families.sampler import first_units, numbered_strata, seeded_hashes
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.templates import DesignItem, QuestionTemplate
from biasgrid.tables.keys import Digests, digest_texts, mix_bits

FEWEST_AT_START = 4
"""So many subjects of each list are asked before a second attribute is."""


class CrossedLists(Protocol):
    """A design; see `read.Design`, which imports this module if it has blocks."""

    @property
    def templates(self) -> Sequence[QuestionTemplate]:
        """The templates."""

    @property
    def subjects(self) -> Sequence[Subjects]:
        """One list of subjects or two."""

    @property
    def pairs(self) -> Sequence[tuple[int, int]]:
        """The pairs of subjects, as rows of the first and of the last list."""

    @property
    def plain_items(self) -> Sequence[DesignItem]:
        """The items with the plain question, one for both questions of a swap group."""

    @property
    def blocks(self) -> AskedBlocks:
        """The blocks that a sample of them asks."""


def asked_groups(design: CrossedLists, sample: Sample) -> BoolArray:
    """Returns which swap groups are in a sample: whole blocks, or a share of each item's pairs.

    In a sample of rows, an item with all of its pairs is a stratum. All strata have one size, so
    each has as many swap groups as the others, and the rest is shared out among items whose
    templates take turns. The pairs of an item come in the rounds of `pair_order`.

    Returns:
        Shape (swap groups,), by pair and item.
    """
    if isinstance(sample, BlockSample):
        return design.blocks.unit_mask(len(design.pairs))
    items = design.plain_items
    count = sample.count(unit_count(design))
    templates = numbered_strata([(item.template, item.prompt) for item in items])
    digests = item_digests(design, items)
    item_order = first_units(templates, seeded_hashes(digests, sample.seed), len(items))
    name_digests = [
        name_digest(side.base_terms) for side in (design.subjects[0], design.subjects[-1])
    ]
    pairs = pair_rows(design)
    unit_mask = np.zeros((len(pairs), len(items)), dtype=np.bool_)
    for rank, item in enumerate(item_order):
        # The first items of the order have one pair more than the last ones.
        pairs_asked = (count + len(items) - 1 - rank) // len(items)
        first, last = (seeded_hashes(names + digests[item], sample.seed) for names in name_digests)
        unit_mask[pair_order(pairs, first, last)[:pairs_asked], item] = True
    return unit_mask.ravel()


def unit_count(design: CrossedLists) -> int:
    """Returns how many units a design has, whether they are asked or not."""
    return len(design.pairs) * len(design.plain_items)


def pair_rows(design: CrossedLists) -> IntArray:
    """Returns the pairs as rows of the first and of the last list, shape (pairs, 2)."""
    return np.array(design.pairs, dtype=np.int64).reshape(-1, 2)


def name_digest(terms: Collection[str]) -> Digests:
    """Returns a digest of each name."""
    return digest_texts(pl.Series(list(terms), dtype=pl.String))


def pair_order(pairs: IntArray, first_hashes: Digests, second_hashes: Digests) -> IntArray:
    """Returns the order in which an item is asked of pairs: in rounds without repeated subjects.

    A round has the pairs of which the ranks add up to one number, modulo the number of subjects of
    the longer list. Of this list it has as many neighbours as the other one has subjects; the next
    round begins behind these, so that all are asked about equally often.

    Args:
        pairs: shape (pairs, 2), the subjects of each, as rows of the first and of the last list.
        first_hashes: shape (subjects,), a hash of each subject of the first list.
        second_hashes: the same of the last list, which may be the first one again.
    """
    first_rank, second_rank = (
        np.argsort(np.argsort(hashes, kind="stable"), kind="stable")
        for hashes in (first_hashes, second_hashes)
    )
    first_row, second_row = pairs.T
    shorter, longer = sorted((len(first_hashes), len(second_hashes)))
    # Lists may be empty, but nothing is divided by 0.
    modulus = max(longer, 1)
    rounds = np.arange(longer)
    # After one lap, or several, a round would begin where the first one did.
    laps = rounds * gcd(shorter, longer) // modulus
    round_of_sum = np.argsort((rounds * shorter + laps) % modulus)
    sums = (first_rank[first_row] + second_rank[second_row]) % modulus
    pair_hash = mix_bits(first_hashes)[first_row] + mix_bits(second_hashes)[second_row]
    # One number holds both, as sorting by two takes three times as long: the round, and 40 bits of
    # the hash.
    high_bits = round_of_sum[sums].astype(np.uint64) << np.uint64(40)
    return np.argsort(high_bits | (pair_hash >> np.uint64(24)))


def item_digests(design: CrossedLists, items: Sequence[DesignItem]) -> Digests:
    """Digests the template, prompt format and attribute of items; shape (items,)."""
    parts = [
        [design.templates[item.template].text for item in items],
        [item.prompt.text if item.prompt else "" for item in items],
        [item.attribute.name for item in items],
    ]
    digests = np.zeros(len(items), np.uint64)
    for texts in parts:
        digests = mix_bits(digests + name_digest(texts))
    return digests


# Blocks


class AskedBlocks(NamedTuple):
    """The blocks of a sample.

    Attributes:
        pairs: shape (blocks,), the pair of each.
        attributes: shape (blocks,), its attribute, by number.
        attribute_of_item: shape (items,), from `item_attributes`.
    """

    pairs: IntArray
    attributes: IntArray
    attribute_of_item: IntArray

    @property
    def units(self) -> int:
        """The number of units in these blocks."""
        if not len(self.attributes):
            return 0
        items_of_attributes = np.bincount(self.attribute_of_item)
        return int(items_of_attributes[self.attributes].sum())

    def unit_mask(self, pairs: int) -> BoolArray:
        """Returns whether each unit is in these blocks, by pair and item.

        Args:
            pairs: the number of all pairs.

        Returns:
            Shape (units,).
        """
        unit_mask = np.zeros((pairs, len(self.attribute_of_item)), dtype=np.bool_)
        for attribute in np.unique(self.attributes):
            items = np.flatnonzero(self.attribute_of_item == attribute)
            unit_mask[np.ix_(self.pairs[self.attributes == attribute], items)] = True
        return unit_mask.ravel()


def item_attributes(design: CrossedLists) -> IntArray:
    """Returns the attribute of each plain item, numbered in the order of first appearance."""
    numbers: dict[str, int] = {}
    names = [item.attribute.name for item in design.plain_items]
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def sample_blocks(design: CrossedLists, sample: Sample) -> AskedBlocks:
    """Returns the blocks of a sample: as many as have no more units than it, but at least one.

    There are none if the design has no units.
    """
    attribute_of_item = item_attributes(design)
    if not unit_count(design):
        nothing = np.zeros(0, dtype=np.int64)
        return AskedBlocks(nothing, nothing, attribute_of_item)
    templates = np.bincount(attribute_of_item)
    pairs, attributes = block_order(design, templates, sample)
    units_up_to = np.cumsum(templates[attributes])
    count = sample.count(unit_count(design))
    blocks = max(1, int(np.searchsorted(units_up_to, count, side="right")))
    return AskedBlocks(pairs[:blocks], attributes[:blocks], attribute_of_item)


def block_order(
    design: CrossedLists, templates: IntArray, sample: Sample
) -> tuple[IntArray, IntArray]:
    """Returns the blocks that a sample may take, in the order in which it takes them.

    Args:
        design: the design.
        templates: shape (attributes,), how many templates ask for each.
        sample: the sample.

    Returns:
        The pair and the attribute of each block, shape (blocks,): at least as many blocks as the
        sample takes.
    """
    subject_ranks = [
        rank_names(side.base_terms, side.groups, sample.seed) for side in design.subjects
    ]
    group_of = {item.attribute.name: item.attribute.group for item in design.plain_items}
    attribute_ranks = rank_names(group_of, list(group_of.values()), sample.seed)
    subject_levels = [when_taken(ranks, FEWEST_AT_START) for ranks in subject_ranks]
    attribute_levels = when_taken(attribute_ranks, 1)
    first, second = pair_rows(design).T
    pair_levels = np.maximum(subject_levels[0][first], subject_levels[-1][second])
    # Only blocks up to this level can be in the sample; a cross of all would take much memory.
    last_level = sample_level(pair_levels, attribute_levels, templates, sample)
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


def rank_names(terms: Collection[str], groups: Sequence[str | None], seed: int) -> IntArray:
    """Returns the rank of each subject or attribute in a random order, from 0.

    Groups take turns, so that each has its share of the first ranks.

    Args:
        terms: the subjects of a list, or the attributes.
        groups: the group of each, None if it has none.
        seed: the seed of the order.
    """
    strata = numbered_strata([(group,) for group in groups])
    order = first_units(strata, seeded_hashes(name_digest(terms), seed), len(terms))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank


def when_taken(rank: IntArray, fewest: int) -> FloatArray:
    """Returns how far a sample has grown when it takes each name, from 0 to 1.

    Args:
        rank: shape (names,), from `rank_names`.
        fewest: how many names are there from the start, at 0. The others follow in even steps.
    """
    return np.maximum(rank + 1 - fewest, 0) / max(1, len(rank) - fewest)


def sample_level(
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


def association_clusters(
    design: CrossedLists, unit_mask: BoolArray, clusters: Sequence[int]
) -> tuple[IntArray, IntArray]:
    """Returns in how many template clusters each association of a sample is asked.

    Args:
        design: the design.
        unit_mask: shape (units,), whether each unit is asked, by pair and item.
        clusters: the cluster of each template, by number.

    Returns:
        Two arrays of shape (associations,), by attribute and subject, of the associations that the
        sample asks about: the number of clusters in which each is asked, and the number of clusters
        that ask for its attribute.
    """
    attribute_of_item = item_attributes(design)
    is_asked = unit_mask.reshape(len(design.pairs), -1)
    cluster_of = np.array([clusters[item.template] for item in design.plain_items], dtype=np.int64)
    pairs = pair_rows(design)
    subjects = sum(len(side.groups) for side in design.subjects)
    if len(design.subjects) > 1:
        # The subjects of both lists are numbered through.
        pairs = pairs + np.array([0, len(design.subjects[0].groups)])
    counts, all_counts = [], []
    for attribute in range(attribute_of_item.max(initial=-1) + 1):
        has_attribute = attribute_of_item == attribute
        own_clusters = np.unique(cluster_of[has_attribute])
        count = np.zeros(subjects, dtype=np.int64)
        for cluster in own_clusters:
            items = has_attribute & (cluster_of == cluster)
            count[np.unique(pairs[is_asked[:, items].any(axis=1)])] += 1
        count = count[count > 0]
        counts.append(count)
        all_counts.append(np.full_like(count, len(own_clusters)))
    return np.concatenate(counts), np.concatenate(all_counts)
