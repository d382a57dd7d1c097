import json
from dataclasses import dataclass

import pytest

from biasgrid.runs.counts import UNKNOWN_NUMBER, Estimate, add_estimates, json_data


@dataclass
class Inner:
    size: Estimate
    names: list[str]


@dataclass
class Outer:
    count: Estimate
    parts: list[Inner]


def test_a_product_is_exact_where_both_factors_are() -> None:
    assert Estimate(4).times(2.5) == Estimate(10)
    assert (
        Estimate(4).times(2, exact=False)
        == Estimate(4, exact=False).times(2)
        == Estimate(8, exact=False)
    )
    assert Estimate(4).times(None).value is None
    assert UNKNOWN_NUMBER.times(2).value is None


def test_a_sum_is_exact_where_all_parts_are_and_unknown_with_an_unknown_part() -> None:
    assert add_estimates([]) == Estimate(0)
    assert add_estimates([Estimate(1), Estimate(2)]) == Estimate(3)
    assert add_estimates([Estimate(1), Estimate(2, exact=False)]) == Estimate(3, exact=False)
    assert add_estimates([Estimate(1), UNKNOWN_NUMBER]) == UNKNOWN_NUMBER


def test_json_has_plain_numbers_and_how_they_are_known() -> None:
    content = json_data(
        Outer(
            UNKNOWN_NUMBER,
            [Inner(Estimate(33.0, exact=False), ["a"]), Inner(Estimate(0.12345), [])],
        )
    )
    assert content == {
        "count": None,
        "count_is": None,
        "parts": [
            {"size": 33, "size_is": "about", "names": ["a"]},
            {"size": 0.123, "size_is": "exact", "names": []},
        ],
    }
    assert json.dumps(content["parts"][0]["size"]) == "33"


@pytest.mark.parametrize(
    ("value", "rounded"), [(33482799.999999996, 33482800), (1 / 3, 0.333), (7, 7)]
)
def test_json_numbers_are_rounded(value: float, rounded: float) -> None:
    assert json_data(Inner(Estimate(value), []))["size"] == rounded
