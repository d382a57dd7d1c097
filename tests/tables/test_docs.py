"""The documentation of the outputs is that of the schemas."""

from dataclasses import fields
from pathlib import Path

import pytest

from biasgrid.inference.models.predict import Timing
from biasgrid.tables.docs import column_table, flag_table, measure_table, with_tables
from biasgrid.tables.metric import Limit, Measure
from biasgrid.tables.schema import answer_schema

OUTPUTS = (Path(__file__).parents[2] / "docs" / "outputs.md").read_text()


def test_tables_are_made_anew_and_the_rest_is_kept():
    document = "a\n<!-- table: {} -->\n{}\n<!-- end of table -->\nb\n".format
    made = with_tables(
        document("one", "out of date") + document("two", ""),
        {"one": lambda: "1\n", "two": lambda: "2\n"},
    )
    assert made == document("one", "\n1\n") + document("two", "\n2\n")
    with pytest.raises(KeyError, match="three"):
        with_tables(document("three", ""), {})


def test_a_measure_is_documented_with_what_it_is_and_is_not():
    share = Measure("win ratio", "w", "share of wins", "a probability", "Li", "share", fair=0.5)
    count = Measure("answers", "n", "how many there are", "a measure of a|b", "Li", "count")
    assert measure_table({"win_ratio": share, "answers": count}).splitlines()[2:] == [
        "| `win_ratio` | win ratio: share of wins | a probability | 0.5 |",
        "| `answers` | answers: how many there are | a measure of a\\|b |  |",
    ]


def test_a_column_is_documented_with_type_and_meaning():
    schema = answer_schema("text")
    lines = column_table(schema).splitlines()
    assert "| `tokens_in` | UInt32, or null | number of tokens read, if known |" in lines
    assert len(lines) == 2 + len(schema.columns)


def test_every_field_of_a_timing_is_documented():
    section = OUTPUTS.split("## Timings")[1].split("## ")[0]
    assert all(f"| `{field.name}` |" in section for field in fields(Timing))


def test_a_flag_that_families_treat_differently_has_a_row_for_each_way():
    def flag(withholds: bool, value: float) -> Measure:
        limit = Limit(value, "problem", "remedy", withholds=withholds)
        return Measure("flag", "f", "a share", "bias", "", "share", limit=limit)

    of_families = {"one": flag(True, 0.5), "two": flag(True, 0.5), "three": flag(False, 0.5)}
    table = flag_table({family: {"same": each} for family, each in of_families.items()})
    assert table.splitlines()[2:] == [
        "| `same` | one, two | a share | above 0.5 | all claims | remedy |",
        "| `same` | three | a share | above 0.5 | nothing | remedy |",
    ]
