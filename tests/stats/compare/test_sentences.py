"""Sentences on two models claim what the intervals of their differences allow."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from rich.text import Text
from small_measures import table_of

from biasgrid.cli.commands.compare import comparison_lines
from biasgrid.stats.compare.results import Difference
from biasgrid.stats.compare.sentences import difference_sentences
from biasgrid.tables.comparison import COMPARISONS
from biasgrid.tables.evidence import EVIDENCE
from biasgrid.tables.files import empty_table

ROW: dict[str, Any] = {
    "measure": "mu",
    "value": 0.3,
    "other_value": 0.1,
    "difference": 0.2,
    "low": 0.1,
    "high": 0.3,
}
OF_ALL = {"dataset": "gender", "model": "one", "other_model": "two", "options": "", "tests": 1}


def said(*rows: dict[str, Any]) -> list[str]:
    table: pl.DataFrame = table_of(COMPARISONS, list(rows), **OF_ALL)
    return [
        *difference_sentences(
            Difference("gender", "one", "two", table, empty_table(EVIDENCE), 0.95), {("mu", "")}
        )
    ]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            ROW | {"q": 0.01},
            "gender, mu: one is above two (one 0.300, two 0.100; difference 0.200, 95 % interval ",
        ),
        (ROW | {"q": 0.2}, "gender, mu: not distinguishable (one 0.300, two 0.100; "),
        (ROW | {"q": None}, "gender, mu: not distinguishable ("),
        (ROW | {"difference": -0.2, "q": 0.01}, "gender, mu: one is below two ("),
        (
            ROW | {"low": None, "high": None},
            "gender, mu: one 0.300, two 0.100; no interval: not distinguishable",
        ),
        (
            ROW | {"difference": None, "reason": "unlike lists"},
            "gender: one and two are not compared: unlike lists",
        ),
    ],
)
def test_a_difference_is_reported_where_it_is_significant(row: dict[str, Any], told: str) -> None:
    (sentence,) = said(row)
    assert sentence.startswith(told)


def test_parts_and_other_measures_are_left_out() -> None:
    assert said(ROW, ROW | {"subject": "Ann"}, ROW | {"measure": "eta"}) == said(ROW)


def test_a_number_that_one_model_lacks_is_a_dash() -> None:
    lacking = {"bias_type": "race", "value": None, "difference": None, "low": None, "high": None}
    _, sentence = said(ROW, ROW | lacking | {"reason": "one has no such number"})
    assert (
        sentence
        == "gender, mu of race: one -, two 0.100; one has no such number: not distinguishable"
    )


@pytest.mark.parametrize("names", [None, "names"])
def test_what_a_comparison_of_whole_cells_takes_as_given_is_said(names: str | None) -> None:
    part = ROW | {
        "measure": "share_gamma",
        "subject_group": "female",
        "q": 0.01,
        "other_factors": names,
    }
    rows = [row | {"clusters": 7, "paired": True} for row in (ROW, part)]
    table: pl.DataFrame = table_of(COMPARISONS, rows, **OF_ALL)
    found = Difference("gender", "one", "two", table, empty_table(EVIDENCE), 0.95)
    lines = [line.plain for line in comparison_lines(found, 100) if isinstance(line, Text)]
    said_of_names = (
        "intervals of parts cover other names, too; those of whole cells are for these names only"
    )
    assert (said_of_names in lines) == bool(names)
