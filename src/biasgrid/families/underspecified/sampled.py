"""Samples of swap groups, balanced over templates, subjects and attributes."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.families.chosen import AT_ONCE, soonest
from biasgrid.families.orders import Crossed, Listed, Ring, crossed, pairs_across, pairs_within
from biasgrid.families.sampling import Sample
from biasgrid.families.underspecified.design import Design


def chosen_groups(design: Design, sample: Sample) -> BoolArray:
    """Says which swap groups are in a sample: the beginning of an order of all.

    Each subject and each template has its share of the sample, to within less than one. So has each attribute, among
    the templates that ask for the same attributes.

    Returns:
        Shape (swap groups,), by pair and item.
    """
    chosen = np.zeros(design.swap_groups, dtype=np.bool_)
    if not len(chosen):
        return chosen
    items = Listed(order_of_items(design, sample.seed))
    order, count = Crossed(ring_of_pairs(design, sample.seed), items, sample.seed), sample.count(len(chosen))
    for start in range(0, count, AT_ONCE):
        chosen[order.at(np.arange(start, min(start + AT_ONCE, count)))] = True
    return chosen


def ring_of_pairs(design: Design, seed: int) -> Ring:
    """Returns the pairs of a design in an order in which every subject is even."""
    counts = [len(subjects.groups) for subjects in design.subjects]
    return pairs_within(counts[0], seed) if len(counts) == 1 else pairs_across(counts[0], counts[1], seed)


def order_of_items(design: Design, seed: int) -> IntArray:
    """Returns the items, both questions counted as one, in an order in which templates and their attributes are even.

    Templates that ask for the same attributes make a table, whose order is that of `orders.crossed`; the tables take
    turns as `chosen.shares` says.
    """
    tables = items_of_tables(design)
    orders = [iter(table.ravel()[crossed([*table.shape], seed).at(np.arange(table.size))]) for table in tables]
    of_templates = [(place, table.shape[1]) for place, table in enumerate(tables) for _ in table]
    turns = soonest([size for _, size in of_templates], sum(table.size for table in tables))
    return np.array([next(orders[of_templates[turn][0]]) for turn in turns], dtype=np.int64)


def items_of_tables(design: Design) -> list[IntArray]:
    """Returns the numbers of items in tables of shape (templates, attributes)."""
    of_templates: dict[int, dict[str, int]] = defaultdict(dict)
    for number, item in enumerate(design.items[::2]):
        of_templates[item.template][item.attribute.name] = number
    tables: dict[tuple[str, ...], list[list[int]]] = defaultdict(list)
    for numbers in of_templates.values():
        names = tuple(sorted(numbers))
        tables[names].append([numbers[name] for name in names])
    return [np.array(rows, dtype=np.int64) for rows in tables.values()]
