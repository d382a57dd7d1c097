import json
import os
import time
from pathlib import Path

import polars as pl
import pytest
from small_grid import read_grid, write_general_grid, write_grid
from small_measures import measures_of

from biasgrid.base.faults import InputError
from biasgrid.jobs.progress import Beat
from biasgrid.runs.counts import Estimate
from biasgrid.runs.failures import Failure, last_error
from biasgrid.runs.layout import Layout, Shard
from biasgrid.runs.status import CellStatus, read_status
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.metric import NOT_MEASURABLE as WITHHELD

PEOPLE, PAIRS = 144, 24
SHARD = PEOPLE // 2
LINE = "2026-11-20 20:17:30,534 {} {}\n"
FAILED = LINE.format("INFO", "loading") + LINE.format("CRITICAL", "model one: no weights")


def write_rows(path: Path, rows: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame({"instance": range(rows)}).write_parquet(path)


def write_text(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def run_shard(shard: Shard, rows: int, rate: float = 1.0, age: float = 0, kept: int = 0) -> None:
    """Leaves what a job writes that has said, some seconds ago, how far it is."""
    beat = Beat(rows, kept, SHARD, rate, time.time() - age, "here", 1)
    write_text(shard.progress, json.dumps(beat._asdict()))


def finish_shard(shard: Shard, rows: int = SHARD, seconds: float = 1, found: int = 0) -> None:
    write_rows(shard.predictions, rows)
    write_text(shard.timing, json.dumps({"rows": rows, "found": found, "seconds": seconds}))


def make_older(*paths: Path) -> None:
    for path in paths:
        os.utime(path, (1, 1))


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    """A grid of which only the instances of people are expanded."""
    layout = Layout(read_grid(write_general_grid(tmp_path)))
    write_rows(layout.instances("people", "texts"), PEOPLE)
    return layout


@pytest.fixture
def shards(layout: Layout) -> list[Shard]:
    return layout.shards("people", "one")


def status_of(layout: Layout, model: str = "one", dataset: str = "people") -> CellStatus:
    cells = read_status(layout.config).cells
    return next(cell for cell in cells if (cell.model, cell.dataset) == (model, dataset))


def test_a_cell_waits_until_it_is_begun(layout: Layout) -> None:
    cell = status_of(layout)
    assert (cell.state, cell.expanded, cell.rows, cell.measured) == ("waiting", True, 0, False)
    assert cell.instances == Estimate(PEOPLE)
    assert cell.rows_per_second is None
    assert cell.seconds_left.value is None


def test_instances_that_are_not_expanded_are_counted_by_the_word_lists(layout: Layout) -> None:
    cell = status_of(layout, dataset="pairs")
    assert (cell.expanded, cell.instances) == (False, Estimate(PAIRS))


@pytest.mark.family("a tokenizer leaves out subjects of underspecified questions")
def test_of_what_a_tokenizer_may_leave_out_there_is_at_most_the_whole(tmp_path: Path) -> None:
    assert status_of(Layout(read_grid(write_grid(tmp_path))), "masked").instances.exact is False


def test_word_lists_are_read_only_where_they_are_needed(layout: Layout) -> None:
    (Path(layout.config.word_lists) / "people.txt").write_text("no tab")
    with pytest.raises(InputError, match=r"people\.txt, line 1"):
        read_status(layout.config)
    for variant in layout.config.selected_variants:
        write_rows(layout.instances(*variant), PEOPLE)
    assert read_status(layout.config).totals.instances == Estimate(6 * PEOPLE)


def test_running_shards_show_rows_rate_and_time_left(layout: Layout, shards: list[Shard]) -> None:
    run_shard(shards[0], rows=20, rate=4)
    run_shard(shards[1], rows=24, rate=6)
    cell = status_of(layout)
    assert (cell.state, cell.rows, cell.rows_per_second) == ("running", 44, 10)
    assert cell.seconds_left == Estimate((PEOPLE - 44) / 10)


def test_a_job_that_is_silent_for_two_minutes_is_not_at_work(
    layout: Layout, shards: list[Shard]
) -> None:
    run_shard(shards[0], rows=20, age=119)
    assert status_of(layout).state == "running"
    run_shard(shards[0], rows=20, age=121)
    cell = status_of(layout)
    assert (cell.state, cell.rows) == ("waiting", 0)


def test_what_an_interrupted_shard_has_written_counts(layout: Layout, shards: list[Shard]) -> None:
    run_shard(shards[0], rows=40, age=1000, kept=32)
    cell = status_of(layout)
    assert (cell.state, cell.rows) == ("incomplete", 32)
    assert cell.seconds_left.value is None


def test_a_cell_is_done_when_all_its_shards_are(layout: Layout, shards: list[Shard]) -> None:
    finish_shard(shards[0], seconds=2)
    cell = status_of(layout)
    assert (cell.state, cell.rows) == ("incomplete", SHARD)
    assert (cell.shards["done"], cell.shards["waiting"]) == (1, 1)
    finish_shard(shards[1], seconds=4)
    cell = status_of(layout)
    assert (cell.state, cell.rows, cell.rows_per_second) == ("done", PEOPLE, PEOPLE / 6)


def test_rows_that_were_found_of_earlier_runs_are_counted(
    layout: Layout, shards: list[Shard]
) -> None:
    finish_shard(shards[0], seconds=2, found=12)
    assert status_of(layout).found == 12
    finish_shard(shards[1], seconds=0, found=SHARD)
    cell = status_of(layout)
    assert (cell.rows, cell.found, cell.rows_per_second) == (PEOPLE, SHARD + 12, (SHARD - 12) / 2)
    assert read_status(layout.config).totals.found == SHARD + 12


def test_times_of_another_version_are_not_read(layout: Layout, shards: list[Shard]) -> None:
    write_rows(shards[0].predictions, SHARD)
    write_text(shards[0].timing, json.dumps({"rows": SHARD, "seconds": 1}))
    cell = status_of(layout)
    assert (cell.rows, cell.found, cell.rows_per_second) == (SHARD, 0, None)


def test_predictions_of_other_instances_than_there_are_now_are_incomplete(
    layout: Layout, shards: list[Shard]
) -> None:
    for shard in shards:
        finish_shard(shard, rows=SHARD - 1)
    assert status_of(layout).state == "incomplete"


def test_a_damaged_table_is_not_done(layout: Layout, shards: list[Shard]) -> None:
    for shard in shards:
        finish_shard(shard)
    shards[0].predictions.write_bytes(b"PAR1 and no more")
    assert status_of(layout).state == "incomplete"


def test_a_cell_is_measured_until_its_predictions_change(
    layout: Layout, shards: list[Shard]
) -> None:
    for shard in shards:
        finish_shard(shard)
    measures = layout.measures("people", "one")
    write_rows(measures, 1)
    assert status_of(layout).measured
    make_older(measures)
    assert not status_of(layout).measured


def test_a_failed_shard_is_reported_with_its_log_and_error(
    layout: Layout, shards: list[Shard]
) -> None:
    write_text(shards[0].log, FAILED)
    # It has failed just now, so its last word is young.
    run_shard(shards[0], rows=20)
    run_shard(shards[1], rows=20, rate=5)
    cell = status_of(layout)
    assert cell.state == "failed"
    assert cell.failures == [Failure("predict", str(shards[0].log), "model one: no weights")]
    assert (cell.shards["failed"], cell.shards["running"]) == (1, 1)
    assert read_status(layout.config).totals.rows_per_second == 5


def test_a_failure_is_over_when_its_output_is_made(layout: Layout, shards: list[Shard]) -> None:
    write_text(shards[0].log, FAILED)
    make_older(shards[0].log)
    finish_shard(shards[0])
    assert status_of(layout).failures == []


def test_failures_of_other_rules_are_listed(layout: Layout) -> None:
    log = layout.logs / "fetch" / "models" / "one.log"
    write_text(log, FAILED)
    write_text(
        layout.logs / "expand" / "people" / "qa.log",
        LINE.format("INFO", "no CRITICAL line") + LINE.format("ERROR", "of a library"),
    )
    assert read_status(layout.config).failures == [
        Failure("fetch", str(log), "model one: no weights")
    ]
    # The next run begins the log anew.
    write_text(log, LINE.format("INFO", "loading"))
    assert read_status(layout.config).failures == []


def test_failures_of_what_is_not_selected_are_not_listed(layout: Layout) -> None:
    write_text(layout.logs / "fetch" / "models" / "gone.log", FAILED)
    write_text(layout.logs / "measure" / "people" / "gone.log", FAILED)
    assert read_status(layout.config).failures == []


@pytest.mark.parametrize(
    ("log", "error"),
    [
        (LINE.format("INFO", "nothing CRITICAL"), None),
        (LINE.format("ERROR", "of a library, which goes on"), None),
        (LINE.format("CRITICAL", "one") + LINE.format("CRITICAL", "two"), "two"),
        (
            LINE.format("CRITICAL", "2 faults in the input:")
            + "  a.txt, line 1: bad\n  b.txt: bad\n",
            "a.txt, line 1: bad",
        ),
        (
            LINE.format("CRITICAL", "failed") + "Traceback\n  File x\nValueError: bad\n",
            "ValueError: bad",
        ),
        (LINE.format("CRITICAL", "no progress") + "It hung at:\n  File x\n", "no progress"),
        ("", None),
    ],
)
def test_the_last_error_of_a_log(log: str, error: str | None) -> None:
    assert last_error(log) == error


def test_totals_count_states_and_show_the_time_left_at_the_present_rate(
    layout: Layout, shards: list[Shard]
) -> None:
    for variant in layout.config.selected_variants:
        write_rows(layout.instances(*variant), 100)
    write_rows(layout.instances("people", "texts"), PEOPLE)
    for shard in shards:
        finish_shard(shard)
    run_shard(layout.shards("people", "two")[0], rows=4, rate=2)
    run_shard(layout.shards("pairs", "two")[0], rows=0, rate=3)
    totals = read_status(layout.config).totals
    assert totals.states == {"failed": 0, "running": 2, "incomplete": 0, "waiting": 3, "done": 1}
    assert (totals.cells, totals.expanded, totals.rows) == (6, 6, PEOPLE + 4)
    assert totals.instances == Estimate(3 * PEOPLE + 3 * 100)
    assert totals.rows_per_second == 5
    assert totals.seconds_left == Estimate((2 * PEOPLE - 4 + 300) / 5)


@pytest.mark.family("predictions are imported of underspecified questions")
def test_imported_predictions_are_done_when_they_are_there(tmp_path: Path) -> None:
    (tmp_path / "dump.json").write_text("{}")
    dump = {"file": str(tmp_path / "dump.json")}
    model = {
        "task": "question-answering",
        "variant": "qa",
        "kind": "QA",
        "label": "one",
        "predictions": {"people": dump},
    }
    path = write_grid(
        tmp_path, models={"one": model}, run={"models": ["one"], "datasets": ["people"]}
    )
    layout = Layout(read_grid(path))
    cell = status_of(layout)
    assert (cell.state, cell.expanded, cell.instances.value) == ("waiting", False, None)
    write_rows(layout.instances_of_cell("people", "one"), PEOPLE)
    write_rows(layout.predictions_of_cell("people", "one")[0], PEOPLE)
    cell = status_of(layout)
    assert (cell.state, cell.rows, cell.instances) == ("done", PEOPLE, Estimate(PEOPLE))


def test_a_cell_that_is_not_measurable_shows_why(layout: Layout, shards: list[Shard]) -> None:
    for shard in shards:
        finish_shard(shard)
    measures = layout.measures("people", "one")
    flags = (None, "only 2 templates", f"{WITHHELD}: a; b")
    rows = [{"model": "one", "dataset": "people", "flag": flag} for flag in flags]
    measures.parent.mkdir(parents=True)
    write_table(measures_of(rows), measures, MEASURES, {})
    assert status_of(layout).not_measurable == "a; b"
    assert status_of(layout, "two").not_measurable is None
