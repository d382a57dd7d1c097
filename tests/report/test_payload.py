"""How many sentences the page carries, and that no others are made."""

import gzip
import json
import random
from base64 import b64decode
from typing import Any

import pytest

from biasgrid.families.page import Examples
from biasgrid.report.payload import EXAMPLES_AT_ONCE, TAG_BYTES, ExampleTexts, blocks_within_limit

SHAPES = {"evidence/many": 700, "evidence/some": 90, "evidence/few": 3, "evidence/none": 0}
"""How many examples the cells have."""


def example(number: int) -> dict[str, Any]:
    """Returns an example that hardly compresses."""
    return {"number": number, "text": f"{random.Random(number).getrandbits(1600):x}"}


def cells(made: list[int]) -> dict[str, ExampleTexts]:
    """Returns cells with many and few examples, which note what is made of them."""

    def make(start: int, stop: int) -> list[dict[str, Any]]:
        made.extend(range(start, stop))
        return [example(number) for number in range(start, stop)]

    return {name: ExampleTexts(Examples(count, make)) for name, count in SHAPES.items()}


def size_of(packed: dict[str, str]) -> int:
    return sum(TAG_BYTES + len(name) + len(block) for name, block in packed.items())


def carried(packed: dict[str, str]) -> dict[str, int]:
    """Returns how many examples the blocks have, after a look at each."""
    unpacked = {
        name: json.loads(gzip.decompress(b64decode(block))) for name, block in packed.items()
    }
    for name, block in unpacked.items():
        assert block["of"] == SHAPES[name]
        assert block["examples"] == [example(number) for number in range(len(block["examples"]))]
    return {name: len(block["examples"]) for name, block in unpacked.items()}


@pytest.mark.parametrize("most", [1, 2, 5, 16, 17, 40, 89, 90, 91, 300, 699])
def test_as_many_examples_of_each_cell_are_carried_as_fit(most: int) -> None:
    of_most = {
        name: ExampleTexts([example(number) for number in range(min(most, n))])
        for name, n in SHAPES.items()
    }
    room = size_of(blocks_within_limit(of_most, 10**9)) + 50
    packed = blocks_within_limit(cells([]), room)
    assert size_of(packed) <= room
    found = carried(packed)
    longest = found["evidence/many"]
    assert found == {name: min(longest, count) for name, count in SHAPES.items() if count}
    assert 0.95 * most - 1 <= longest <= most


def test_all_are_carried_where_there_is_room_and_none_where_there_is_none() -> None:
    assert carried(blocks_within_limit(cells([]), 10**9)) == {
        name: count for name, count in SHAPES.items() if count
    }
    for room in (0, 100):
        assert blocks_within_limit(cells([]), room) == {}
    assert blocks_within_limit({}, 10**9) == {}


def test_examples_that_do_not_fit_are_not_made_and_none_is_made_twice() -> None:
    made: list[int] = []
    evidence = cells(made)
    first = blocks_within_limit(evidence, 20_000)
    assert 0 < max(carried(first).values()) < EXAMPLES_AT_ONCE
    assert sorted(made) == sorted([*range(EXAMPLES_AT_ONCE), *range(EXAMPLES_AT_ONCE), *range(3)])
    assert blocks_within_limit(evidence, 20_000) == first
    assert len(made) == 2 * EXAMPLES_AT_ONCE + 3


def test_examples_are_a_sequence() -> None:
    of_ten = Examples(10, lambda start, stop: [{"number": number} for number in range(start, stop)])
    plain = [{"number": number} for number in range(10)]
    assert list(of_ten) == plain
    assert len(of_ten) == 10
    assert of_ten[3] == of_ten[-7] == plain[3]
    for part in (
        slice(2, 5),
        slice(8, 30),
        slice(5, 2),
        slice(None, None, 3),
        slice(None, None, -1),
        slice(-2, None),
    ):
        assert of_ten[part] == plain[part]
    with pytest.raises(IndexError):
        of_ten[10]
