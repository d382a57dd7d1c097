"""What speaks against texts: too long ones, and thoughts between marks that nobody has named."""

from __future__ import annotations

import polars as pl
import pytest

from biasgrid.families.validity import over_limit, thought_marks


def checks(**columns: list[object]) -> dict[str, float]:
    predictions = pl.DataFrame(columns).lazy()
    return {
        check.measure: check.value
        for check in (*over_limit(predictions), *thought_marks(predictions))
    }


def test_texts_that_are_well_have_no_flag() -> None:
    assert checks(response=["Yes.", "I think so.", ""], over_limit=[False, None, False]) == {}
    assert checks(probability=[0.5]) == {}


def test_texts_that_are_too_long_are_counted_where_that_is_known() -> None:
    assert checks(over_limit=[True, False, None, True, False], response=["a"] * 5) == {
        "over_limit": 0.5
    }


@pytest.mark.parametrize(
    "mark", ["<reasoning>", "[REASON]", "<|thoughts|>", "<x:Thinking>", " \n<my_thought>"]
)
def test_marks_that_nobody_has_named_are_counted(mark: str) -> None:
    found = checks(response=[f"{mark} they are stupid. No", "No", f"No {mark}", None])
    assert found == {"thought_marks": pytest.approx(1 / 3)}
