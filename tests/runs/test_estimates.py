import json
from dataclasses import dataclass

import pytest

from biasgrid.runs.estimates import UNKNOWN, Figure, plain, total


@dataclass
class Inner:
    size: Figure
    names: list[str]


@dataclass
class Outer:
    count: Figure
    parts: list[Inner]


def test_products_are_known_as_their_loosest_factor_is() -> None:
    assert Figure(4).times(2.5) == Figure(10)
    assert Figure(4, "at most").times(2, "sampled") == Figure(8, "at most")
    assert Figure(4, "at most").times(2, "about") == Figure(8, "about")
    assert Figure(4).times(None).value is None
    assert UNKNOWN.times(2).value is None


def test_sums_are_known_as_their_loosest_part_is_and_unknown_with_an_unknown_part() -> None:
    assert total([]) == Figure(0)
    assert total([Figure(1), Figure(2, "sampled")]) == Figure(3, "sampled")
    assert total([Figure(1, "about"), Figure(2, "at most")]) == Figure(3, "about")
    assert total([Figure(1), UNKNOWN]) == UNKNOWN


def test_json_has_plain_numbers_and_how_they_are_known() -> None:
    content = plain(Outer(UNKNOWN, [Inner(Figure(33.0, "about"), ["a"]), Inner(Figure(0.12345), [])]))
    assert content == {
        "count": None,
        "count_is": None,
        "parts": [
            {"size": 33, "size_is": "about", "names": ["a"]},
            {"size": 0.123, "size_is": "exact", "names": []},
        ],
    }
    assert json.dumps(content["parts"][0]["size"]) == "33"


@pytest.mark.parametrize(("value", "rounded"), [(33482799.999999996, 33482800), (1 / 3, 0.333), (7, 7)])
def test_json_numbers_are_rounded(value: float, rounded: float) -> None:
    assert plain(Inner(Figure(value), []))["size"] == rounded
