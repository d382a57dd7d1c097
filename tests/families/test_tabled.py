"""Tables of the parts of a cell, as the report's page draws them."""

import polars as pl
import pytest
from small_groups import measured_groups

from biasgrid.families.page import MOST_ROWS, page_table, tables_of_groups
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES

NUMBERS = {"low": pl.Float64, "high": pl.Float64}


@pytest.fixture(scope="module")
def groups() -> pl.DataFrame:
    return measured_groups({"strong": 0.2}, {"faith": ["jewish", "muslim", "other"]})


def test_groups_templates_and_failures_of_a_cell_are_tabled(groups: pl.DataFrame) -> None:
    tables = {table["title"]: table for table in tables_of_groups(groups)}
    scores = groups.filter(
        pl.col("group").is_not_null(),
        pl.col("other").is_null(),
        pl.col("template").is_null(),
        measure="score",
        options="score=mean_class_probability, mode=group",
    )
    assert tables["faith: groups"]["columns"] == [
        ["Group", "name"],
        ["Score", "number"],
        ["n", "count"],
    ]
    expected = [
        (row["group"], round(row["value"] * 10_000)) for row in scores.sort("value").to_dicts()
    ]
    assert [tuple(row[:2]) for row in tables["faith: groups"]["rows"]] == expected
    pairs = [abs(row[2]) for row in tables["faith: pairs of groups"]["rows"]]
    assert pairs == sorted(pairs, reverse=True)
    assert [row[1] for row in tables["Failures"]["rows"]] == sorted(
        row[1] for row in tables["Failures"]["rows"]
    )


def test_a_cell_without_groups_has_no_tables_of_them() -> None:
    assert tables_of_groups(empty_table(MEASURES)) == []


def test_intervals_are_pairs_and_what_is_unknown_is_left_out() -> None:
    rows = pl.DataFrame(
        {"name": ["a", "b"], "low": [0.1, None], "high": [0.2, None]}, schema_overrides=NUMBERS
    )
    (table,) = page_table("t", "a", rows, {"Name": ("name", "name"), "Interval": ("interval", "")})
    assert table["rows"] == [["a", [1000, 2000]], ["b", None]]
    (table,) = page_table(
        "t", "a", rows.tail(1), {"Name": ("name", "name"), "Interval": ("interval", "")}
    )
    assert (table["columns"], table["rows"]) == ([["Name", "name"]], [["b"]])


def test_of_many_rows_some_are_carried_and_all_are_counted() -> None:
    rows = pl.DataFrame({"name": [str(number) for number in range(MOST_ROWS + 5)]})
    (table,) = page_table("t", "a", rows, {"Name": ("name", "name")})
    assert (len(table["rows"]), table["of"]) == (MOST_ROWS, MOST_ROWS + 5)
