"""Instances of a probe: each item with its prompts, in all orders of its options, repeated."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from math import factorial
from random import Random
from typing import Any

import polars as pl

from biasgrid.families.expansion import Expansion, coverage_of_design, expand_rows
from biasgrid.families.probe.definitions import (
    EXPECTED_KEY,
    GROUP_KEY,
    OPTIONS_PLACEHOLDER,
    ItemKeys,
    fill_keys,
)
from biasgrid.families.probe.read import ProbeRequests
from biasgrid.families.sampler import Strata, units_of_sample
from biasgrid.inference.surface_forms import option_letter
from biasgrid.tables.schema import column

KEYS = {
    "item": column(pl.UInt32, description="the item, numbered from 0"),
    "prompt": column(pl.UInt16, description="the prompt in its item, numbered from 0"),
    "order": column(pl.UInt16, description="the order of the options, numbered from 0"),
    "repetition": column(pl.UInt16, description="0 if the text is asked for the first time"),
    "group": column(pl.Categorical, description="the prompt's group, if any", nullable=True),
    "expected": column(pl.Categorical, description="the expected label, if any", nullable=True),
    "options": column(pl.List(pl.Categorical), description="the options in the order asked"),
    "keys": column(pl.Categorical, description="keys of the item and the prompt, as JSON"),
}
SCHEMA = {
    "text": pl.Categorical,
    "system": pl.Categorical,
    **{name: key.dtype.type for name, key in KEYS.items() if name != "repetition"},
}


def expand(requests: ProbeRequests) -> Expansion:
    """Expands a probe into a row for each prompt."""
    items = sampled_items(requests)
    prompts: list[tuple[Any, ...]] = []
    for item in items:
        prompts += prompt_rows(requests, item)
    rows = pl.DataFrame(prompts, schema=SCHEMA, orient="row")
    repetitions = requests.files.repetitions
    if repetitions > 1:
        rows = rows.select(pl.all().repeat_by(repetitions).explode())
    columns = {"repetition": pl.int_range(pl.len()) % repetitions}
    for place, text in enumerate(requests.candidates.values(), start=1):
        columns[f"candidate{place}"] = pl.lit(text)
    coverage = coverage_of_design(
        {"items": len(items), "rows": len(rows)},
        {"items": len(requests.probe.items), "rows": requests.count},
    )
    return expand_rows(rows.with_columns(**columns), KEYS, coverage)


def sampled_items(requests: ProbeRequests) -> list[int]:
    """Returns the items that are asked.

    A sample is even by the values that metrics compare and by the expected answers. An item with
    several prompts is in the stratum of all of their values.
    """
    probe = requests.probe
    compared = (getattr(metric, "by", None) for metric in probe.head.metric.values())
    names = sorted({GROUP_KEY, EXPECTED_KEY, *filter(None, compared)})
    strata: list[Strata] = []
    keys = []
    for item in probe.items:
        values = set()
        for prompt in item:
            values.add(tuple(prompt.get(name) for name in names))
        strata.append((frozenset(values),))
        keys.append(json.dumps(item, ensure_ascii=False, sort_keys=True))
    return units_of_sample(strata, keys, requests.files.sample)


def prompt_rows(requests: ProbeRequests, item: int) -> Iterator[tuple[Any, ...]]:
    """Yields the prompts of an item in each order of its options, in the columns of `SCHEMA`."""
    head = requests.probe.head
    for number, order in enumerate(option_orders(requests, item)):
        for place, keys in enumerate(requests.probe.items[item]):
            options = []
            for position, option in enumerate(order):
                text = fill_keys(head.options[option], keys)
                options.append(f"({option_letter(position)}) {text}")
            group = keys.get(GROUP_KEY)
            yield (
                fill_keys(head.question, keys | {OPTIONS_PLACEHOLDER: ", ".join(options)}),
                head.system,
                item,
                place,
                number,
                None if group is None else str(group),
                keys.get(EXPECTED_KEY),
                list(order),
                json.dumps(keys, ensure_ascii=False),
            )


def option_orders(requests: ProbeRequests, item: int) -> list[tuple[str, ...]]:
    """Returns the orders in which the options of an item are asked.

    They depend on the item alone, so that a change of another item changes none of them.
    """
    head = requests.probe.head
    options = list(head.options)
    count = factorial(len(options))
    numbers: Iterable[int] = range(count)
    if head.orders != "all":
        seed = json.dumps([head.seed, requests.probe.items[item]], ensure_ascii=False)
        numbers = Random(seed).sample(range(count), head.orders)
    return [permutation(options, number) for number in numbers]


def permutation(options: Sequence[str], rank: int) -> tuple[str, ...]:
    """Returns a permutation by its number, in the order of `itertools.permutations`."""
    remaining, order = list(options), []
    for item_count in range(len(options) - 1, -1, -1):
        place, rank = divmod(rank, factorial(item_count))
        order.append(remaining.pop(place))
    return tuple(order)


def parse_keys(keys: str) -> ItemKeys:
    """Reads the column `keys` of an instance."""
    values: ItemKeys = json.loads(keys)
    return values
