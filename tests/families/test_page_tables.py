"""Numbers of the report's page are small, and still what the tables round to."""

from __future__ import annotations

import math

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from biasgrid.families.page import SCALE, in_ten_thousandths, page_rows
from biasgrid.tables.claims.numbers import format_number


@given(st.floats(-10, 10))
def test_three_digits_match_the_number_itself(value: float) -> None:
    (whole,) = in_ten_thousandths(pl.Series([value]))
    assert whole is not None
    assert abs(whole / SCALE - value) <= 1 / SCALE + 1e-12
    # Where the number lies in the middle itself, either is right.
    digits = abs(value) / 10 ** (math.floor(math.log10(abs(value))) - 2) if abs(value) > 1e-9 else 0
    if abs(digits % 1 - 0.5) > 1e-6:
        assert format_number(whole / SCALE) == format_number(value)


def test_small_numbers_keep_their_digits() -> None:
    assert in_ten_thousandths(pl.Series([0.00169, 0.0000123456, 0.0])) == [16.9, 0.123, 0]


def test_what_is_no_number_is_none() -> None:
    assert in_ten_thousandths(pl.Series([0.22046, None, math.nan, math.inf, -0.22046])) == [
        2204,
        None,
        None,
        None,
        -2204,
    ]
    assert in_ten_thousandths(pl.Series([None, None])) == [None, None]
    assert in_ten_thousandths(pl.Series([], dtype=pl.Float64)) == []


def test_numbers_beyond_whole_floats_stay_whole() -> None:
    large = in_ten_thousandths(pl.Series([1e20, -3e300, 12_345_678.0]))
    assert large == [int(1e24), int(-3e300 * SCALE), 123_456_780_000]
    assert all(isinstance(number, int) for number in large)


def test_rows_have_their_columns_and_numbers() -> None:
    rows = pl.DataFrame({"group": ["cooks", None], "n": [3, 4], "value": [0.5, None]})
    assert page_rows(rows, ["group", "n"], ["value"]) == [
        {"group": "cooks", "n": 3, "value": 5000},
        {"group": None, "n": 4, "value": None},
    ]
