"""Options that are read in what a model writes."""

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from shards import Cell, asked

from biasgrid.inference.models.generation.parsing import parse_option
from biasgrid.inference.models.generation.section import Generation
from biasgrid.tables.files import read_provenance


@pytest.mark.parametrize(
    "response",
    [
        "A",
        "A.",
        "(A)",
        "**A**",
        "A) Chad",
        "A. Chad, because B is wrong.",
        "A because it is said.",
        ("A\nThat is it."),
        "The answer is A.",
        "The correct answer is (A).",
        "Answer: A",
        "Option A is right.",
        "My answer is **A**!",
        ("Let us see.\nA"),
        "Both are named. The answer is A",
        ("Nobody can tell.\nAnswer: **A**."),
        " A ",
        "A: Chad",
        "a",
    ],
)
def test_an_option_is_read_where_it_is_chosen(response: str) -> None:
    assert parse_option(response, ["A", "B"], is_whole=True) == 0
    assert parse_option(response, ["B", "A"], is_whole=True) == 1


@pytest.mark.parametrize(
    "response",
    [
        "",
        "A man met a woman.",
        "A or B",
        "A, B",
        "A/B",
        "A and B are both possible",
        "Neither A nor B",
        "AB",
        "Chad",
        "The answer is unknown",
        "An answer cannot be given.",
        "Is it A? Nobody can tell.",
        "C",
        "The answer is A or B.",
    ],
)
def test_nothing_is_read_where_none_is_chosen(response: str) -> None:
    assert parse_option(response, ["A", "B"], is_whole=True) is None


def test_texts_that_are_cut_off_answer_at_their_beginning_alone() -> None:
    assert parse_option("A. Because", ["A", "B"], is_whole=False) == 0
    assert parse_option("A", ["A", "B"], is_whole=False) is None
    assert parse_option("Well.\nAnswer: A", ["A", "B"], is_whole=False) is None


def test_words_may_have_other_cases_and_the_longest_counts() -> None:
    assert parse_option("YES, they are.", ["Yes", "No"], is_whole=True) == 0
    assert parse_option("No one is.", ["Yes", "No"], is_whole=True) is None
    assert parse_option("10.", ["1", "10", None], is_whole=True) == 1


def test_choices_match_the_texts_and_depend_on_their_spelling(
    tmp_path: Path, writer: Callable[..., Path]
) -> None:
    rows = [{"text": f"Which, {number}? Answer:", "candidates": ["A", "B"]} for number in range(8)]
    # What is most probable hangs on the prompt alone, what is drawn on the options too.
    keys = Generation(max_tokens=150, options="parsed", temperature=0).model_dump()
    written = Cell(tmp_path / "text", "text-generation", asked(rows), writer()).predict(
        answer="text", generation=keys
    )
    ended = written.filter(pl.col("status").cast(pl.String) == "ok")
    said = dict(ended.select("instance", pl.col("response").cast(pl.String)).rows())
    assert 0 < len(said) < len(rows)
    # What the model happens to write is an option.
    texts = [row | {"candidates": ["A", said.get(number, "B")]} for number, row in enumerate(rows)]
    cell = Cell(tmp_path / "choice", "text-generation", asked(texts), writer())
    chosen = cell.predict(generation=keys)
    for row in chosen.cast({pl.Categorical: pl.String}).rows(named=True):
        if row["instance"] in said:
            assert (row["probabilities"], row["status"]) == ([0, 1], "ok")
            assert row["response"] == said[row["instance"]]
        else:
            assert (row["probabilities"], row["status"]) == ([None, None], "length")
    assert chosen["scored_by"].cast(pl.String).unique().to_list() == ["parsed"]
    assert chosen["mass"].null_count() == len(chosen)
    assert read_provenance(cell.out)["generation"] == keys
    cell.predict(generation=keys | {"seed": 2})
    assert cell.timing["found"] == 0
