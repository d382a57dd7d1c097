"""How far a run is: what is done, running, failed and waiting, from its files alone, while it runs
or after.
"""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

from biasgrid.config import Config, load_word_lists
from biasgrid.jobs.progress import Beat, read_beat
from biasgrid.jobs.run_progress import AnsweredRows
from biasgrid.runs.counts import UNKNOWN_NUMBER, Estimate, count_instances, table_facts, total
from biasgrid.runs.failures import Failure, failure_of, other_failures
from biasgrid.runs.layout import Layout, Shard
from biasgrid.tables.metric import NOT_MEASURABLE

ShardState = Literal["failed", "running", "incomplete", "waiting", "done"]
STATES: tuple[ShardState, ...] = get_args(ShardState)
"""From what most needs to be seen to what least does."""
SECONDS_OF_A_BEAT = 120
"""A job reports its progress about every 5 seconds; one that has been silent for longer than this
is not running.
"""


class ShardTimes(NamedTuple):
    """The fields of `inference.models.predict.Timing` that are read."""

    rows: int
    found: int
    seconds: float


class ShardStatus(NamedTuple):
    """How far a shard is; `rate` is in rows per second, and None where nothing runs."""

    state: ShardState
    rows: int
    rate: float | None = None
    failure: Failure | None = None


def status_of_shard(shard: Shard, rule: str = "predict") -> ShardStatus:
    """Returns how far a shard is.

    A job that fails leaves its error in its log, which the next job of the shard begins anew; so an
    error means that no job is running.
    """
    table = status_of_table(shard.predictions)
    if table.state == "done":
        return table
    beat = read_beat(shard.progress)
    kept = beat.kept if beat else 0
    failure = failure_of(rule, shard.log)
    if failure is not None:
        return ShardStatus("failed", kept, failure=failure)
    if beat is not None and time.time() - beat.at < SECONDS_OF_A_BEAT and not has_died(beat):
        return ShardStatus("running", beat.rows, beat.rows_per_second)
    return ShardStatus("incomplete" if kept else "waiting", kept)


def has_died(beat: Beat) -> bool:
    """Returns whether the process that wrote a beat is known to be gone, which only its own machine
    knows.
    """
    return (
        beat.host == socket.gethostname()
        and not Path("/proc", str(beat.pid)).exists()
        and Path("/proc/self").exists()
    )


def status_of_table(predictions: Path) -> ShardStatus:
    """Returns `done` if a predictions table is there and readable; one that cannot be read is made
    again.
    """
    facts = table_facts(predictions)
    return ShardStatus("waiting", 0) if facts is None else ShardStatus("done", facts.rows)


def times_of(shards: Sequence[Shard]) -> list[ShardTimes]:
    """Reads how long finished shards took, of those with a timing."""
    times = []
    for shard in shards:
        with suppress(OSError, ValueError, KeyError):
            timing = json.loads(shard.timing.read_text()) if shard.predictions.exists() else {}
            times.append(ShardTimes(*(timing[name] for name in ShardTimes._fields)))
    return times


def mean_rate(times: Sequence[ShardTimes]) -> float | None:
    """Returns the rows per second of finished shards, None where no timing is known."""
    seconds = sum(shard.seconds for shard in times)
    return sum(shard.rows - shard.found for shard in times) / seconds if seconds else None


@dataclass(frozen=True)
class AnsweredCount:
    """How much of what is asked is answered, of a cell or of several together.

    Attributes:
        instances: how many instances there are; before they are expanded, by the word lists; of a
            scorer how many distinct texts there are or, before all are written, at most will be.
        rows: how many of them are predicted; those of unfinished shards count.
        found: how many of these finished shards found in what earlier runs had finished, so that
            none was asked again.
        rows_per_second: of all running shards together; where none runs, of a cell the mean of its
            finished ones, of several null.
        seconds_left: how long the rows that are left take while shards run, null where none does.
    """

    instances: Estimate
    rows: int
    found: int
    rows_per_second: float | None
    seconds_left: Estimate


@dataclass(frozen=True)
class CellStatus(AnsweredCount):
    """How far a cell is.

    Attributes:
        dataset, model: the cell.
        writer: of a scorer the model whose texts of the cell it reads, None of a cell.
        expanded: whether its instances table is there.
        state: `done`, predicted; `running`; `failed`, with `failures`; `incomplete`, interrupted on
            its way; `waiting`.
        shards: how many of its shards are in each state.
        measured: whether its measures are there, and not older than its predictions.
        not_measurable: why the measures have no headline, null where they have one.
        failures: why shards failed.
    """

    dataset: str
    model: str
    writer: str | None
    expanded: bool
    state: ShardState
    shards: dict[ShardState, int]
    measured: bool
    not_measurable: str | None
    failures: list[Failure]


@dataclass(frozen=True)
class StatusTotals(AnsweredCount):
    """Sums over cells and scorers.

    Attributes:
        cells: how many cells there are.
        states: how many cells are in each state.
        expanded, measured: how many cells have these tables.
    """

    cells: int
    states: dict[ShardState, int]
    expanded: int
    measured: int


@dataclass(frozen=True)
class Status:
    """How far a run is.

    Attributes:
        cells: its cells, dataset by dataset.
        scorers: the scorers of the texts of cells, dataset by dataset.
        totals: sums over both.
        failures: failures of other rules than `predict` and `predict_scorer`.
        failed_manifest: what the last run has left that failed; None where it did not, or one is at
            work.
    """

    cells: list[CellStatus]
    scorers: list[CellStatus]
    totals: StatusTotals
    failures: list[Failure]
    failed_manifest: str | None


def read_status(config: Config) -> Status:
    """Returns how far a run is.

    Raises:
        InputError: not all instances are expanded, and the word lists by which they are counted
            have faults.
    """
    layout = Layout(config)
    tables = {layout.instances_of_cell(dataset, model) for model, dataset in config.cells()}
    rows = {
        table: Estimate(facts.rows) for table in tables if (facts := table_facts(table)) is not None
    }
    expected = expected_instances(layout, rows)
    instances = {}
    for cell in config.cells():
        table = layout.instances_of_cell(cell[1], cell[0])
        instances[cell] = rows.get(table) or expected.get(table, UNKNOWN_NUMBER), table in rows
    cells = [
        status_of_cell(layout, dataset, model, *instances[model, dataset])
        for model, dataset in instances
    ]
    scorers = [
        status_of_scorer(layout, dataset, writer, model, instances[writer, dataset][0])
        for dataset, writer, model in layout.scorers()
    ]
    failed = str(layout.failed_manifest) if layout.failed_manifest.exists() else None
    return Status(
        cells, scorers, status_totals(cells, scorers), list(other_failures(layout)), failed
    )


def answered_rows(config: Config) -> AnsweredRows:
    """Returns how many rows of a run are answered, with rate and time left; see `read_status`."""
    totals = read_status(config).totals
    return AnsweredRows(
        totals.rows, totals.instances.value, totals.rows_per_second, totals.seconds_left.value
    )


def expected_instances(layout: Layout, expanded: Collection[Path]) -> dict[Path, Estimate]:
    """Counts the instances of tables that are not there by their word lists, which are read only if
    there are any.
    """
    missing = [
        variant
        for variant in layout.config.selected_variants
        if layout.instances(*variant) not in expanded
    ]
    lists = load_word_lists(layout.config) if missing else {}
    counts = count_instances(layout, {variant: lists[variant] for variant in missing})
    return {layout.instances(*variant): count for variant, (_, count) in counts.items()}


def status_of_cell(
    layout: Layout, dataset: str, model: str, instances: Estimate, expanded: bool
) -> CellStatus:
    """Returns how far a cell is."""
    predictions, measures = (
        layout.predictions_of_cell(dataset, model),
        layout.measures(dataset, model),
    )
    shards = layout.shards(dataset, model)
    # Predictions that are imported are not made in shards.
    found = [status_of_shard(shard) for shard in shards] or [status_of_table(predictions[0])]
    measured = is_up_to_date(measures, predictions)
    return CellStatus(
        dataset=dataset,
        model=model,
        writer=None,
        expanded=expanded,
        instances=instances,
        **of_shards(found, times_of(shards), instances, expanded),
        measured=measured,
        not_measurable=why_withheld(measures) if measured else None,
    )


def status_of_scorer(
    layout: Layout, dataset: str, writer: str, model: str, asked: Estimate
) -> CellStatus:
    """Returns how far a scorer is that reads the texts of a cell.

    Args:
        layout: where files lie.
        dataset: the dataset of the cell.
        writer: its model.
        model: who reads its texts.
        asked: how many instances the cell has.
    """
    shard, facts = layout.scorer(dataset, writer, model), table_facts(layout.texts(dataset, writer))
    instances = asked.times(1, exact=False) if facts is None else Estimate(facts.rows)
    found, expanded = [status_of_shard(shard, "predict_scorer")], facts is not None
    return CellStatus(
        dataset=dataset,
        model=model,
        writer=writer,
        expanded=expanded,
        instances=instances,
        **of_shards(found, times_of([shard]), instances, expanded),
        measured=is_up_to_date(layout.measures(dataset, writer), [shard.predictions]),
        not_measurable=None,
    )


def of_shards(
    shards: Sequence[ShardStatus], times: Sequence[ShardTimes], instances: Estimate, expanded: bool
) -> dict[str, Any]:
    """Returns the fields of `CellStatus` that come from a cell's shards."""
    rows, states = (
        sum(shard.rows for shard in shards),
        count_states(shard.state for shard in shards),
    )
    rates = [shard.rate for shard in shards if shard.rate is not None]
    return {
        "rows": rows,
        "found": sum(shard.found for shard in times),
        "state": state_of_cell(states, whole=not expanded or rows == instances.value),
        "shards": states,
        "rows_per_second": sum(rates) if rates else mean_rate(times),
        "seconds_left": time_left(instances, rows, sum(rates)),
        "failures": [shard.failure for shard in shards if shard.failure is not None],
    }


def state_of_cell(shards: Mapping[ShardState, int], whole: bool) -> ShardState:
    """Returns a cell's state.

    Args:
        shards: how many of its shards are in each state.
        whole: whether the predictions that are there would be all.
    """
    foremost = next(state for state in STATES if shards[state])
    partly = foremost == "waiting" and shards["done"] > 0
    return "incomplete" if partly or (foremost == "done" and not whole) else foremost


def count_states(states: Iterable[ShardState]) -> dict[ShardState, int]:
    """Counts how often each state occurs."""
    counts = Counter(states)
    return {state: counts[state] for state in STATES}


def time_left(instances: Estimate, rows: int, rate: float) -> Estimate:
    """Returns the seconds that the rows take that are left, unknown where nothing runs."""
    if instances.value is None or not rate:
        return UNKNOWN_NUMBER
    return Estimate(max(0, instances.value - rows) / rate, instances.exact)


def status_totals(cells: Sequence[CellStatus], scorers: Sequence[CellStatus] = ()) -> StatusTotals:
    """Returns sums over cells and scorers."""
    statuses = [*cells, *scorers]
    instances, rows = (
        total(each.instances for each in statuses),
        sum(each.rows for each in statuses),
    )
    rates = [each.rows_per_second or 0 for each in statuses if each.shards["running"]]
    return StatusTotals(
        cells=len(cells),
        states=count_states(cell.state for cell in cells),
        expanded=sum(cell.expanded for cell in cells),
        measured=sum(cell.measured for cell in cells),
        instances=instances,
        rows=rows,
        found=sum(each.found for each in statuses),
        rows_per_second=sum(rates) if rates else None,
        seconds_left=time_left(instances, rows, sum(rates)),
    )


def is_up_to_date(output: Path, inputs: Sequence[Path]) -> bool:
    """Returns whether a file is there and none of the files that it was made from has changed
    since.
    """
    made = modification_time(output)
    return made is not None and all(made >= (modification_time(path) or 0) for path in inputs)


def why_withheld(measures: Path) -> str | None:
    """Returns why a cell is not measurable, None where it is, or where its table is damaged."""
    import pyarrow
    from pyarrow import parquet

    with suppress(OSError, pyarrow.ArrowException):
        flags = parquet.read_table(measures, columns=["flag"])["flag"].unique().to_pylist()
        beginning = f"{NOT_MEASURABLE}: "
        return next(
            (flag.removeprefix(beginning) for flag in flags if flag and flag.startswith(beginning)),
            None,
        )
    return None


def modification_time(path: Path) -> float | None:
    """Returns when a file was last changed, in seconds since 1970; None where there is none."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # A run may remove it at any moment.
        return None
