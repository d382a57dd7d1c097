"""Turns a probe into the table of its prompts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from math import factorial
from random import Random
from typing import Any

import polars as pl

from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.probe.definitions import EXPECTED_KEY, GROUP_KEY
from biasgrid.families.probe.keys import KEYS
from biasgrid.families.probe.reading import ProbeRequests
from biasgrid.families.probe.section import (
    OPTIONS_PLACEHOLDER,
    ItemKeys,
    fill_keys,
    lettered_options,
)
from biasgrid.families.sampler import units_of_sample

OptionOrder = tuple[str, ...]
SCHEMA = {
    "text": pl.Categorical,
    "system": pl.Categorical,
    **{name: key.dtype.type for name, key in KEYS.items() if name != "repetition"},
}


def expand(requests: ProbeRequests) -> Expansion:
    """Expands a probe: item by item, in each order of the options each of its prompts, as often as
    it is repeated.
    """
    files = requests.files
    items = sampled_items(requests)
    rows = pl.DataFrame(
        [row for item in items for row in prompt_rows(requests, item)], schema=SCHEMA, orient="row"
    )
    repeated = (
        rows.select(pl.all().repeat_by(files.repetitions).explode())
        if files.repetitions > 1
        else rows
    )
    number = pl.int_range(pl.len()) % files.repetitions
    texts = requests.candidates.values()
    candidate_columns = {
        f"candidate{place}": pl.lit(text) for place, text in enumerate(texts, start=1)
    }
    whole = {"items": len(requests.probe.items), "rows": requests.count}
    coverage = coverage_of_design({"items": len(items), "rows": len(repeated)}, whole)
    return expand_rows(
        repeated.with_columns(repetition=number, **candidate_columns), KEYS, coverage
    )


def sampled_items(requests: ProbeRequests) -> list[int]:
    """Returns the items that are asked, of a sample evenly by the values that metrics compare, and
    by what is expected.

    An item with several prompts is in the stratum of all of their values.
    """
    probe = requests.probe
    compared = (getattr(metric, "by", None) for metric in probe.head.metric.values())
    names = sorted({GROUP_KEY, EXPECTED_KEY, *filter(None, compared)})
    strata = [
        (frozenset(tuple(prompt.get(name) for name in names) for prompt in item),)
        for item in probe.items
    ]
    keys = [json.dumps(item, ensure_ascii=False, sort_keys=True) for item in probe.items]
    return units_of_sample(strata, keys, requests.files.sample)


def prompt_rows(requests: ProbeRequests, item: int) -> Iterator[tuple[Any, ...]]:
    """Yields the prompts of an item, in the columns of `SCHEMA`."""
    head, prompts = requests.probe.head, requests.probe.items[item]
    for number, order in enumerate(option_orders(requests, item)):
        for place, keys in enumerate(prompts):
            texts = [fill_keys(head.options[option], keys) for option in order]
            question = fill_keys(
                head.question, keys | {OPTIONS_PLACEHOLDER: lettered_options(texts)}
            )
            group = keys.get(GROUP_KEY)
            yield (
                question,
                head.system,
                item,
                place,
                number,
                None if group is None else str(group),
                keys.get(EXPECTED_KEY),
                list(order),
                json.dumps(keys, ensure_ascii=False),
            )


def option_orders(requests: ProbeRequests, item: int) -> list[OptionOrder]:
    """Returns the orders in which the options of an item are asked; another item changes nothing of
    these.
    """
    head = requests.probe.head
    options = list(head.options)
    count = factorial(len(options))
    if head.orders == "all":
        return [permutation(options, number) for number in range(count)]
    seed = json.dumps([head.seed, requests.probe.items[item]], ensure_ascii=False)
    return [
        permutation(options, number) for number in Random(seed).sample(range(count), head.orders)
    ]


def permutation(options: Sequence[str], number: int) -> OptionOrder:
    """Returns a permutation by its number, in the order of `itertools.permutations`."""
    left, order = list(options), []
    for rest in range(len(options) - 1, -1, -1):
        place, number = divmod(number, factorial(rest))
        order.append(left.pop(place))
    return tuple(order)


def parse_keys(keys: str) -> ItemKeys:
    """Reads the column `keys` of an instance."""
    values: ItemKeys = json.loads(keys)
    return values
