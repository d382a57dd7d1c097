import io
import json
import re
import time
from pathlib import Path

import pytest
from rich.console import Console, RenderableType
from small_grid import read_grid, write_grid

from biasgrid.cli.commands.plan import plan_table
from biasgrid.cli.commands.status import status_table
from biasgrid.cli.tables import estimate_text, number_text, time_text
from biasgrid.config import load_word_lists
from biasgrid.jobs.progress import Beat
from biasgrid.runs.counts import UNKNOWN, Estimate
from biasgrid.runs.layout import Layout
from biasgrid.runs.plan import Rate, make_plan
from biasgrid.runs.status import read_status


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"), (7, "7"), (950, "950"), (999.6, "1.0 k"), (5_488_000, "5.5 M"), (9_960_000, "10 M"),
        (33_482_800, "33 M"), (999_500_000, "1.0 G"), (3.2e19, "32 E"), (5e24, "5000 Z"),
    ],
)  # fmt: skip
def test_numbers_have_two_or_three_digits(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"), (59.4, "59 s"), (59.6, "1 min"), (3570, "1 h 0 min"), (7800, "2 h 10 min"), (86_399, "1 d 0 h"),
        (273_600, "3 d 4 h"), (1e9, "11,574 d 2 h"),
    ],
)  # fmt: skip
def test_times_have_two_units(seconds: float, text: str) -> None:
    assert time_text(seconds) == text


def test_figures_have_marks() -> None:
    figures = [Estimate(5e6), Estimate(5e6, "sampled"), Estimate(5e6, "at most"), Estimate(5e6, "about"), UNKNOWN]
    assert [estimate_text(figure) for figure in figures] == ["5.0 M", "5.0 M", "<= 5.0 M", "~5.0 M", "-"]
    assert estimate_text(Estimate(7800, "about"), time_text) == "~2 h 10 min"


def drawn(table: RenderableType, width: int) -> str:
    console = Console(file=io.StringIO(), width=width)
    console.print(table)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A grid of which one shard runs and one has failed."""
    layout = Layout(read_grid(write_grid(tmp_path)))
    running, failed = layout.shards("people", "one")
    running.progress.parent.mkdir(parents=True)
    beat = Beat(rows=40, kept=0, of=72, rows_per_second=0.01, at=time.time(), host="here", pid=1)
    running.progress.write_text(json.dumps(beat._asdict()))
    failed.log.parent.mkdir(parents=True)
    failed.log.write_text("2026-11-20 20:17:30,534 CRITICAL the tokenizer has no [MASK] token\n")
    return layout


@pytest.mark.parametrize("width", [80, 140])
def test_a_plan_has_a_line_per_cell_and_dataset(layout: Layout, width: int) -> None:
    rate = Rate(rows_per_second=0.01)
    plan = make_plan(layout.config, load_word_lists(layout.config), rate)
    lines = drawn(plan_table(plan, rate, width), width).splitlines()
    starts = [line.split()[0] for line in lines[2:11]]
    assert starts == ["people", "one", "two", "masked", "pairs", "one", "two", "masked", "total"]
    assert all(len(line) <= width for line in lines)
    assert "4 h 0 min" in lines[3]
    assert re.search(r" 0/2 +-$", lines[3])
    assert "<= 72" in lines[5]
    assert "0 of 9 shards predicted, 0 of 6 cells measured" in lines
    assert any(line.endswith(", at 0.01 instances a second") for line in lines)


def test_marks_that_do_not_occur_are_not_explained(layout: Layout) -> None:
    config = layout.config
    one = config.model_copy(update={"run": config.run.model_copy(update={"models": ["one"]})})
    text = drawn(plan_table(make_plan(one, load_word_lists(one), Rate()), Rate(), 80), 80)
    assert "<=" not in text
    assert "~ estimated" in text
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
