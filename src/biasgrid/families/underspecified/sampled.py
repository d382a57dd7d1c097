"""Samples of swap groups, balanced over templates, subjects and attributes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import numpy as np

from biasgrid.arrays import BoolArray, IntArray
from biasgrid.families.chosen import Block, chosen_of_blocks
from biasgrid.families.orders import Crossed, Ring, crossed, pairs_across, pairs_within
from biasgrid.families.sampling import Sample
from biasgrid.families.underspecified.design import Design


def chosen_groups(design: Design, sample: Sample) -> BoolArray:
    """Says which swap groups are in a sample; see `chosen.chosen_of_blocks`.

    Templates that ask for the same attributes are a block: each pair of subjects with each of them and each attribute.

    Returns:
        Shape (swap groups,), by pair and item.
    """
    items = len(design.items) // 2
    chosen = np.zeros(len(design.pairs) * items, dtype=np.bool_)
    if not len(chosen):
        return chosen
    pairs, tables = ring_of_pairs(design, sample.seed), list(items_of_blocks(design))
    blocks = [Block(len(of), Crossed(pairs, crossed([*of.shape], sample.seed), sample.seed)) for of in tables]
    for place, units in chosen_of_blocks(blocks, sample):
        pair, item = np.divmod(units, tables[place].size)
        chosen[pair * items + tables[place].ravel()[item]] = True
    return chosen


def ring_of_pairs(design: Design, seed: int) -> Ring:
    """Returns the pairs of a design in an order in which every subject is even."""
    counts = [len(subjects.clusters) for subjects in design.subjects]
    return pairs_within(counts[0], seed) if len(counts) == 1 else pairs_across(counts[0], counts[1], seed)


def items_of_blocks(design: Design) -> Iterator[IntArray]:
    """Yields the numbers of the items of each block, both questions counted as one; shape (templates, attributes)."""
    of_templates: dict[int, dict[str, int]] = defaultdict(dict)
    for number, item in enumerate(design.items[::2]):
        of_templates[item.template][item.attribute.name] = number
    blocks: dict[tuple[str, ...], list[list[int]]] = defaultdict(list)
    for numbers in of_templates.values():
        names = tuple(sorted(numbers))
        blocks[names].append([numbers[name] for name in names])
    yield from (np.array(rows, dtype=np.int64) for rows in blocks.values())
