"""Numbers in words, and tables that fit the width of a terminal."""

import io
import json
import re
import time
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console, RenderableType
from small_grid import read_grid, write_general_grid

from biasgrid.cli.commands.plan import plan_table
from biasgrid.cli.commands.status import status_table
from biasgrid.cli.commands.summary import summary_tables
from biasgrid.cli.tables import (
    SHOW_ALL,
    estimate_text,
    fit_to_width,
    number_text,
    terminal_table,
)
from biasgrid.config import load_word_lists
from biasgrid.jobs.progress import Beat
from biasgrid.jobs.run_progress import time_text
from biasgrid.runs import plan, status
from biasgrid.runs.counts import UNKNOWN_NUMBER, Estimate
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import MachineRate, make_plan
from biasgrid.runs.status import read_status


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (950, "950"),
        (999.6, "1.0 k"),
        (5_488_000, "5.5 M"),
        (9_960_000, "10 M"),
        (33_482_800, "33 M"),
        (999_500_000, "1.0 G"),
        (3.2e19, "32 E"),
        (5e24, "5000 Z"),
    ],
)
def test_numbers_have_two_or_three_digits(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (3570, "1 h 0 min"),
        (7800, "2 h 10 min"),
        (86_399, "1 d 0 h"),
        (273_600, "3 d 4 h"),
        (1e9, "11,574 d 2 h"),
    ],
)
def test_times_have_two_units(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_figures_have_marks() -> None:
    figures = [Estimate(5e6), Estimate(5e6, exact=False), UNKNOWN_NUMBER]
    assert [estimate_text(figure) for figure in figures] == ["5.0 M", "~5.0 M", "-"]
    assert estimate_text(Estimate(7800, exact=False), time_text) == "~2 h 10 min"


def drawn(table: RenderableType, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A grid of which one shard runs and one has failed."""
    layout = Layout(read_grid(write_general_grid(tmp_path)))
    running, failed = layout.shards("people", "one")
    running.progress.parent.mkdir(parents=True)
    beat = Beat(
        rows=40, saved_rows=0, all_rows=72, rows_per_second=0.01, at=time.time(), host="here", pid=1
    )
    running.progress.write_text(json.dumps(beat._asdict()))
    failed.log.parent.mkdir(parents=True)
    failed.log.write_text("2026-11-20 20:17:30,534 CRITICAL the tokenizer has no [MASK] token\n")
    return layout


@pytest.mark.parametrize("width", [80, 140])
def test_a_plan_has_a_line_per_cell_and_dataset(layout: Layout, width: int) -> None:
    rate = MachineRate(rows_per_second=0.01)
    plan = make_plan(layout.config, load_word_lists(layout.config), rate)
    lines = drawn(plan_table(plan, rate, width), width).splitlines()
    starts = [line.split()[0] for line in lines[2:11]]
    assert starts == ["people", "one", "two", "masked", "pairs", "one", "two", "masked", "total"]
    assert all(len(line) <= width for line in lines)
    assert "4 h 0 min" in lines[3]
    assert re.search(r" 0/2 +-$", lines[3])
    assert "144" in lines[5]
    assert "0 of 9 shards predicted, 0 of 6 cells measured" in lines
    assert any(line.endswith(", at 0.01 instances per second") for line in lines)


def test_marks_that_do_not_occur_are_not_explained(layout: Layout) -> None:
    config = layout.config
    one = config.model_copy(update={"run": config.run.model_copy(update={"models": ["one"]})})
    estimated = make_plan(one, load_word_lists(one), MachineRate())
    assert "~ estimated" in drawn(plan_table(estimated, MachineRate(), 80), 80)
    exact = {field.name: Estimate(1) for field in fields(plan.Costs)}
    cells = [replace(cell, **exact) for cell in estimated.cells]
    known = replace(estimated, cells=cells, totals=plan.sum_plans(cells))
    text = drawn(plan_table(known, MachineRate(), 80), 80)
    assert "~" not in text
    assert "time left" not in text


@pytest.mark.parametrize("width", [80, 140])
def test_a_status_has_a_line_per_cell_and_what_failed(layout: Layout, width: int) -> None:
    lines = drawn(status_table(read_status(layout.config), width), width).splitlines()
    table = [line.split() for line in lines[2:11]]
    assert table[0][:3] == ["people", "0/3", "done"]
    assert table[1][:4] == ["one", "failed", "40", "144"]
    assert table[2][:4] == ["two", "waiting", "0", "144"]
    assert "2 h 53 min" in lines[3]
    text = " ".join(lines)
    assert "predict failed: the tokenizer has no [MASK] token" in text
    assert all(len(line) <= width for line in lines[:11])


WIDTHS = [40, 60, 80, 100, 140]
LONG = "a-model-with-quite-a-long-name-of-its-own"
MEASURES = ["mu", "eta", "delta", "epsilon"]


def lines_of(drawing: RenderableType, width: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width)
    console.print(drawing)
    return console.file.getvalue().splitlines()  # type: ignore[attr-defined]


def large_status(folder: Path) -> status.Status:
    now = status.read_status(read_grid(write_general_grid(folder)))
    large: dict[str, Any] = {
        "state": "incomplete",
        "instances": Estimate(88_888_888, exact=False),
        "rows": 77_777_777,
        "rows_per_second": 123_456.0,
        "seconds_left": Estimate(8.6e7),
    }
    cells = [replace(cell, model=LONG, **large) for cell in now.cells]
    return replace(now, cells=cells, totals=status.status_totals(cells))


def large_plan(folder: Path) -> plan.Plan:
    config = read_grid(write_general_grid(folder))
    planned = plan.make_plan(
        config, load_word_lists(config), plan.MachineRate(rows_per_second=0.001)
    )
    large: dict[str, Any] = {
        "instances": Estimate(88_888_888, exact=False),
        "sequences": Estimate(177_777_777, exact=False),
        "tokens": Estimate(3.21e12, exact=False),
        "flop": Estimate(9.87e20, exact=False),
        "predictions_bytes": Estimate(6.54e11, exact=False),
        "seconds": Estimate(8.6e7, exact=False),
        "shards_done": 1023,
        "shards": 1024,
    }
    cells = [replace(cell, model=LONG, **large) for cell in planned.cells]
    return replace(planned, cells=cells, totals=plan.sum_plans(cells))


def summary_rows() -> list[dict[str, Any]]:
    cell = {
        "dataset": "country-and-religion",
        "model": LONG,
        "bias_type": "nationality",
        "scoring": "unqover",
        "mark": None,
    }
    silent = dict.fromkeys(("low", "high", "null_mean", "clusters", "generalises_to")) | {
        "left_out": 0
    }
    measured = [
        {"measure": name, "value": -0.123, "n": 12_345_678, "options": ""} for name in MEASURES
    ]
    return [cell | silent | row for row in measured]


@pytest.mark.parametrize("width", [40, 80, 140])
def test_intervals_are_unbroken_below_their_numbers_and_missing_ones_are_dashes(
    width: int,
) -> None:
    mu, eta, delta, found = summary_rows()
    rows = [
        mu | {"value": 0.25, "null_mean": 0.125, "clusters": 7},
        eta
        | {
            "measure": "strength",
            "value": 0.2,
            "low": 0.1,
            "high": 0.3,
            "generalises_to": "clusters",
            "n": 120,
            "left_out": 20,
        },
        found | {"measure": "significant_tests", "value": 3.0, "n": 550, "left_out": 2},
        delta | {"value": None},
    ]
    lines = lines_of(summary_tables(rows, width, level=0.9), width)
    assert all(cell_len(line) <= width for line in lines)
    told = " ".join(" ".join(lines).split())
    assert "0.250" in told
    assert ">0.125" in told
    assert "noise alone would give c" in told
    if width >= 80:
        assert "0.100..0.300" in told
        assert "90 % interval over clusters (templates that do not reword each other)" in told
        assert "(+d): d more could not be tested" in told
        assert f"strength of country-and-religion, {LONG}: over 120 of 140;" in told
    if width >= 140:
        assert "0.250 0.200 3 - 7" in told
        assert ">0.125 0.100..0.300 of 550 (+2) -" in told


def draw(what: str, folder: Path, width: int) -> list[str]:
    if what == "status":
        return lines_of(status_table(large_status(folder), width), width)
    if what == "plan":
        return lines_of(
            plan_table(large_plan(folder), plan.MachineRate(rows_per_second=0.001), width), width
        )
    return lines_of(summary_tables(summary_rows(), width), width)


NUMBERS = {
    "status": {
        "state": "incomplete",
        "rows": "78 M",
        "of": "~89 M",
        "rows/s": "123 k",
        "left": "995 d 9 h",
    },
    "plan": {
        "instances": "~89 M",
        "sequences": "~178 M",
        "tokens": "~3.2 T",
        "FLOP": "~987 E",
        "size": "~654 GB",
        "time": "~995 d 9 h",
        "done": "1023/1024",
    },
    "summary": dict.fromkeys(MEASURES, "-0.123") | {"n": "12,345,678"},
}
ALWAYS = {"status": ["state", "rows"], "plan": ["instances", "time"], "summary": ["mu"]}


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("what", NUMBERS)
def test_numbers_are_whole_and_what_is_not_shown_is_named(
    what: str, width: int, tmp_path: Path
) -> None:
    lines = draw(what, tmp_path, width)
    rows = [line for line in lines if "a-model" in line]
    # What is said below the table may be wrapped; an empty line ends it.
    _, _, told = "\n".join(lines).partition(f"left out at {width} characters ")
    told = told.partition("\n\n")[0].replace("\n", " ").removeprefix(f"({SHOW_ALL}): ")
    left_out = told.split(", ")
    shown = {
        title: number
        for title, number in NUMBERS[what].items()
        if title not in map(str.strip, left_out)
    }
    assert {*ALWAYS[what]} <= {*shown}
    for row in rows:
        assert cell_len(row) <= width
        rest = row.partition("a-model")[2]
        for number in shown.values():
            assert f" {number}" in rest
            rest = rest.replace(f" {number}", "", 1)
        assert not any(letter.isdigit() for letter in rest)
    assert rows
    assert (width == 140) <= (not told)


def test_what_matters_least_goes_first() -> None:
    table = terminal_table(["cell"], ["rows", "of", "left"], 80)
    table.add_row("a-name-of-20-letters", "11111", "22222", "33333")
    drawn = {
        width: lines_of(fit_to_width(table, ["left", "of"], width), width)
        for width in (38, 30, 29, 23, 10)
    }
    assert drawn[38][1] == "a-name-of-20-letters 11111 22222 33333"
    assert drawn[30][1] == "a-name-of-2… 11111 22222 33333"
    assert drawn[29][1].split() == ["a-name-of-20-let…", "11111", "22222"]
    assert " ".join(drawn[29][3:]).replace("  ", " ") == (
        f"left out at 29 characters ({SHOW_ALL}): left"
    )
    assert drawn[23][1].split() == ["a-name-of-20-let…", "11111"]
    assert "11111" in drawn[10][1]


def test_the_widest_names_are_cut_first() -> None:
    names = ["cell", "state"]
    table = terminal_table(names, ["rows"], 80)
    table.add_row("a-name-of-20-letters", "state", "11111")
    drawn = {
        width: lines_of(fit_to_width(table, [], width, name_titles=names), width)[1]
        for width in (80, 22, 15)
    }
    assert drawn[80] == "a-name-of-20-letters state 11111"
    assert drawn[22] == "a-name-of… state 11111"
    assert drawn[15] == "a-n… sta… 11111"


def test_a_number_is_not_cut_like_the_column_of_names_left_of_it_that_was_left_out() -> None:
    names = ["model", "scoring"]
    table = terminal_table(names, ["mu", "eta"], 42)
    table.add_row("a-model-name-of-30-characters", "exact", "0.123 [0.100, 0.146]", "0.5 [0, 1]")
    lines = lines_of(fit_to_width(table, ["scoring", "eta"], 42, name_titles=names), 42)
    assert lines[1] == "a-model-name-of-30-c… 0.123 [0.100, 0.146]"
    told = " ".join(line.strip() for line in lines[3:])
    assert told == f"left out at 42 characters ({SHOW_ALL}): scoring, eta"
