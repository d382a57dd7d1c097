"""Samples of cases, balanced over templates and fillings; the terms of all groups are asked in each of them."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from biasgrid.base.arrays import BoolArray
from biasgrid.families.counterfactual.packs.pack import Pack
from biasgrid.families.orders import TemplateBlock, cross_lists, sample_blocks
from biasgrid.families.sampling import Sample


def chosen_cases(pack: Pack, sample: Sample) -> BoolArray:
    """Says which cases are in a sample; see `chosen.chosen_of_blocks`.

    Templates with the same placeholders are a block: each template with each filling of each of them.

    Returns:
        Shape (cases,).
    """
    by_tokens: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for block in pack.blocks:
        by_tokens[tuple(slot.token for slot in pack.templates[block.template].slots)].append(block.first_case)
    sizes = [[len(pack.fillings[token]) for token in tokens] for tokens in by_tokens]
    firsts = [np.array(firsts, dtype=np.int64) for firsts in by_tokens.values()]
    orders = [cross_lists([len(first), *size], sample.seed) for first, size in zip(firsts, sizes, strict=True)]
    blocks = [TemplateBlock(len(first), order) for first, order in zip(firsts, orders, strict=True)]
    chosen = np.zeros(pack.cases, dtype=np.bool_)
    for place, units in sample_blocks(blocks, sample):
        template, filled = np.divmod(units, orders[place].size // len(firsts[place]))
        chosen[firsts[place][template] + filled] = True
    return chosen
