"""How options are written, and what a table of measures refuses."""

from typing import Any

import polars as pl
import pytest

from biasgrid.tables.files import TableError, validate_table
from biasgrid.tables.measures import MEASURES, cell_table
from biasgrid.tables.metric import options_text, parse_options


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, ""),
        (
            {"mode": "group", "argument": "macro", "score": "f1"},
            "score=f1, argument=macro, mode=group",
        ),
        ({"difference": "mean", "threshold": 0.1}, "difference=mean, threshold=0.1"),
        ({"score": "class_probability", "argument": 0}, "score=class_probability, argument=0"),
    ],
)
def test_options_are_read_as_they_were_written(options: dict[str, Any], text: str) -> None:
    assert options_text(**options) == text
    assert parse_options(text) == {name: str(value) for name, value in options.items()}


def test_what_was_not_chosen_is_not_written() -> None:
    assert options_text(score="accuracy", argument=None) == "score=accuracy"


def test_an_unknown_option_is_an_error() -> None:
    with pytest.raises(ValueError, match="not in"):
        options_text(colour="red")


def test_what_has_no_value_is_null() -> None:
    rows = pl.DataFrame(
        {
            "measure": ["mu", "eta"],
            "options": "",
            "value": [float("nan"), 0.5],
            "n": 0,
            "left_out": 3,
        }
    )
    table = cell_table(rows, MEASURES, "model", "dataset")
    validate_table(table, MEASURES, "measures")
    assert table["value"].to_list() == [None, 0.5]
    with pytest.raises(TableError, match="no NaN"):
        validate_table(table.with_columns(value=pl.lit(float("nan"))), MEASURES, "measures")
