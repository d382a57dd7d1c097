"""Measures as formulas: units of templates in prompt formats, and intervals of shares."""

from __future__ import annotations

import polars as pl
import pytest

from biasgrid.families.formulas import EVERY_ROW, ONE, Formula, sum_formulas, with_cases
from biasgrid.stats.sums import DIFFERENCE, TEMPLATES, Sums

VALUE = pl.col("value")
IS_FIRST = pl.col("template") == 2
MEAN_OF_VALUES = Formula(
    "mean_of_values", [VALUE, ONE], n=VALUE.is_not_null(), share_interval="effective Wilson"
)
DIFFERENCE_OF_VALUES = Formula(
    "difference_of_values",
    [VALUE * IS_FIRST, IS_FIRST, VALUE * ~IS_FIRST, ~IS_FIRST],
    DIFFERENCE,
    share_interval="difference of shares",
)


def sums_of(formula: Formula, **columns: list[float | None]) -> Sums:
    """The sums of a formula over three rows of the templates 10, 2 and 2."""
    table = with_cases(pl.DataFrame({"template": [10, 2, 2], **columns}), EVERY_ROW)
    (sums,) = sum_formulas(table, [], {TEMPLATES: "template"}, [formula])
    return sums


@pytest.mark.parametrize(
    ("values", "interval"),
    [
        ([0.0, 1.0, None], "effective Wilson"),
        ([None, None, None], "effective Wilson"),
        ([0.0, 1.0, 0.5], "t"),
    ],
)
def test_means_of_zeros_and_ones_are_shares(values: list[float | None], interval: str) -> None:
    assert sums_of(MEAN_OF_VALUES, value=values).interval == interval


@pytest.mark.parametrize(
    ("values", "interval"), [([0.0, 1.0, 1.0], "difference of shares"), ([0.0, 1.0, 0.5], "t")]
)
def test_both_sides_of_a_difference_decide_on_its_interval(
    values: list[float | None], interval: str
) -> None:
    assert sums_of(DIFFERENCE_OF_VALUES, value=values).interval == interval


def test_units_are_templates_in_their_prompt_formats() -> None:
    values = [0.25, 0.5, 1.0]
    assert sums_of(MEAN_OF_VALUES, value=values).along[TEMPLATES].units == ["2", "10"]
    along = sums_of(MEAN_OF_VALUES, value=values, prompt_format=[0, 1, 0]).along[TEMPLATES]
    assert along.units == ["2/0", "10/0", "2/1"]
    assert along.sums[0].tolist() == [[1, 1], [0.25, 1], [0.5, 1]]


def test_options_of_rows_distinguish_variants_of_a_measure() -> None:
    rows = pl.DataFrame({"item": [0, 0, 1], "options": ["score=a", "score=b", "score=a"]})
    table = with_cases(rows.with_columns(value=pl.Series([1.0, 0.5, 0.0])), EVERY_ROW)
    (sums,) = sum_formulas(table, ["options"], {"items": "item"}, [MEAN_OF_VALUES])
    assert sums.keys.select("measure", "options", "n").rows() == [
        ("mean_of_values", "score=a", 2),
        ("mean_of_values", "score=b", 1),
    ]
    assert sums.values.tolist() == [0.5, 0.5]
