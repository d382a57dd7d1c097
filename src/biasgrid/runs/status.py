"""Reads the progress of a run from its files alone, while it runs or after: shards that are done,
running, failed or waiting.
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
"""States of shards, the one that most needs to be seen first."""
SECONDS_OF_A_BEAT = 120
"""A job reports its progress about every 5 seconds; one that has been silent for longer than this
is not running.
"""


class ShardTimes(NamedTuple):
    """The fields of `inference.models.predict.Timing` that are needed here."""

    rows: int
    found: int
    seconds: float


class ShardStatus(NamedTuple):
    """The progress of a shard; `rate` is in rows per second, and None while nothing runs."""

    state: ShardState
    rows: int
    rate: float | None = None
    failure: Failure | None = None


def status_of_shard(shard: Shard, rule: str = "predict") -> ShardStatus:
    """Returns the progress of a shard.

    A job that fails leaves its error in its log, which the next job of the shard begins anew; so an
    error means that no job is running.
    """
    table = status_of_table(shard.predictions)
    if table.state == "done":
        return table
    beat = read_beat(shard.progress)
    kept = beat.saved_rows if beat else 0
    failure = failure_of(rule, shard.log)
    if failure is not None:
        return ShardStatus("failed", kept, failure=failure)
    if beat is not None and is_running(beat):
        return ShardStatus("running", beat.rows, beat.rows_per_second)
    return ShardStatus("incomplete" if kept else "waiting", kept)


def is_running(beat: Beat) -> bool:
    """Whether a beat is recent, and the process that wrote it is not known to be gone."""
    return time.time() - beat.at < SECONDS_OF_A_BEAT and not has_died(beat)


def has_died(beat: Beat) -> bool:
    """Whether the process that wrote a beat is known to be gone.

    Only the machine of the process knows.
    """
    if beat.host != socket.gethostname():
        return False
    # Systems without /proc know nothing, either.
    return Path("/proc/self").exists() and not Path("/proc", str(beat.pid)).exists()


def status_of_table(predictions: Path) -> ShardStatus:
    """Returns `done` if a predictions table is there and readable, else `waiting`.

    A table that cannot be read is made again.
    """
    facts = table_facts(predictions)
    if facts is None:
        return ShardStatus("waiting", 0)
    return ShardStatus("done", facts.rows)


def times_of(shards: Sequence[Shard]) -> list[ShardTimes]:
    """Reads the timings of finished shards; shards without one are left out."""
    times = []
    for shard in shards:
        with suppress(OSError, ValueError, KeyError):
            if shard.predictions.exists():
                timing = json.loads(shard.timing.read_text())
                times.append(ShardTimes(timing["rows"], timing["found"], timing["seconds"]))
    return times


def mean_rate(times: Sequence[ShardTimes]) -> float | None:
    """Returns the rows per second of finished shards, None without a timing."""
    seconds = sum(shard.seconds for shard in times)
    # Rows that were found took no time.
    rows = sum(shard.rows - shard.found for shard in times)
    return rows / seconds if seconds else None


@dataclass(frozen=True)
class AnsweredCount:
    """The number of instances and of answers, of a cell or of several together.

    Attributes:
        instances: number of instances; before they are expanded, by the word lists; of a scorer the
            number of distinct texts or, before all are written, its maximum.
        rows: number of instances that are predicted; those of unfinished shards count.
        found: number of these rows that finished shards took over from earlier runs, so that none
            was asked again.
        rows_per_second: of all running shards together; while none runs, of a cell the mean of its
            finished ones, of several null.
        seconds_left: time of the remaining rows while shards run, null while none does.
    """

    instances: Estimate
    rows: int
    found: int
    rows_per_second: float | None
    seconds_left: Estimate


@dataclass(frozen=True)
class CellStatus(AnsweredCount):
    """The progress of a cell.

    Attributes:
        dataset, model: the cell.
        writer: of a scorer the model whose texts of the cell it reads, None of a cell.
        expanded: whether its instances table is there.
        state: `done`, predicted; `running`; `failed`, with `failures`; `incomplete`, interrupted on
            its way; `waiting`.
        shards: number of its shards in each state.
        measured: whether its measures are there, and not older than its predictions.
        not_measurable: reason why the measures have no headline, null if they have one.
        failures: failures of its shards.
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
        cells: number of cells.
        states: number of cells in each state.
        expanded, measured: number of cells that have these tables.
    """

    cells: int
    states: dict[ShardState, int]
    expanded: int
    measured: int


@dataclass(frozen=True)
class Status:
    """The progress of a run.

    Attributes:
        cells: its cells, dataset by dataset.
        scorers: the scorers of the texts of cells, dataset by dataset.
        totals: sums over both.
        failures: failures of other rules than `predict` and `predict_scorer`.
        failed_manifest: the manifest of the last run if it failed; None if it did not, or if one is
            at work.
    """

    cells: list[CellStatus]
    scorers: list[CellStatus]
    totals: StatusTotals
    failures: list[Failure]
    failed_manifest: str | None


def read_status(config: Config) -> Status:
    """Returns the progress of a run.

    Raises:
        InputError: not all instances are expanded, and the word lists by which they are counted
            have faults.
    """
    layout = Layout(config)
    tables = {
        (model, dataset): layout.instances_of_cell(dataset, model)
        for model, dataset in config.cells()
    }
    expanded = {}
    for table in set(tables.values()):
        facts = table_facts(table)
        if facts is not None:
            expanded[table] = Estimate(facts.rows)
    expected = expected_instances(layout, expanded)
    instances = {
        cell: expanded.get(table) or expected.get(table, UNKNOWN_NUMBER)
        for cell, table in tables.items()
    }
    cells = []
    for (model, dataset), table in tables.items():
        count = instances[model, dataset]
        cells.append(status_of_cell(layout, dataset, model, count, table in expanded))
    scorers = []
    for dataset, writer, model in layout.scorers():
        count = instances[writer, dataset]
        scorers.append(status_of_scorer(layout, dataset, writer, model, count))
    failed = str(layout.failed_manifest) if layout.failed_manifest.exists() else None
    return Status(
        cells, scorers, status_totals(cells, scorers), list(other_failures(layout)), failed
    )


def answered_rows(config: Config) -> AnsweredRows:
    """Returns the number of answered rows of a run, with rate and time left; see `read_status`."""
    totals = read_status(config).totals
    return AnsweredRows(
        totals.rows, totals.instances.value, totals.rows_per_second, totals.seconds_left.value
    )


def expected_instances(layout: Layout, expanded: Collection[Path]) -> dict[Path, Estimate]:
    """Counts the instances of tables that are not there, by their word lists.

    Word lists are read only if a table is missing.
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
    """Returns the progress of a cell.

    Args:
        layout: the places of files.
        dataset: the dataset of the cell.
        model: its model.
        instances: the number of its instances.
        expanded: whether its instances table is there.
    """
    predictions = layout.predictions_of_cell(dataset, model)
    measures = layout.measures(dataset, model)
    shards = layout.shards(dataset, model)
    statuses = [status_of_shard(shard) for shard in shards]
    if not shards:
        # Predictions that are imported are not made in shards.
        statuses = [status_of_table(predictions[0])]
    measured = is_up_to_date(measures, predictions)
    return CellStatus(
        dataset=dataset,
        model=model,
        writer=None,
        expanded=expanded,
        instances=instances,
        **of_shards(statuses, times_of(shards), instances, expanded),
        measured=measured,
        not_measurable=why_withheld(measures) if measured else None,
    )


def status_of_scorer(
    layout: Layout, dataset: str, writer: str, model: str, asked: Estimate
) -> CellStatus:
    """Returns the progress of a scorer that reads the texts of a cell.

    Args:
        layout: the places of files.
        dataset: the dataset of the cell.
        writer: its model.
        model: the model that reads its texts.
        asked: the number of the cell's instances.
    """
    shard = layout.scorer(dataset, writer, model)
    facts = table_facts(layout.texts(dataset, writer))
    expanded = facts is not None
    # There are at most as many distinct texts as instances.
    instances = asked.times(1, exact=False) if facts is None else Estimate(facts.rows)
    statuses = [status_of_shard(shard, "predict_scorer")]
    return CellStatus(
        dataset=dataset,
        model=model,
        writer=writer,
        expanded=expanded,
        instances=instances,
        **of_shards(statuses, times_of([shard]), instances, expanded),
        measured=is_up_to_date(layout.measures(dataset, writer), [shard.predictions]),
        not_measurable=None,
    )


def of_shards(
    shards: Sequence[ShardStatus], times: Sequence[ShardTimes], instances: Estimate, expanded: bool
) -> dict[str, Any]:
    """Returns the fields of `CellStatus` that come from a cell's shards."""
    rows = sum(shard.rows for shard in shards)
    states = count_states(shard.state for shard in shards)
    rates = [shard.rate for shard in shards if shard.rate is not None]
    is_whole = not expanded or rows == instances.value
    return {
        "rows": rows,
        "found": sum(shard.found for shard in times),
        "state": state_of_cell(states, is_whole),
        "shards": states,
        "rows_per_second": sum(rates) if rates else mean_rate(times),
        "seconds_left": time_left(instances, rows, sum(rates)),
        "failures": [shard.failure for shard in shards if shard.failure is not None],
    }


def state_of_cell(shards: Mapping[ShardState, int], whole: bool) -> ShardState:
    """Returns a cell's state.

    Args:
        shards: the number of its shards in each state.
        whole: whether the predictions that are there would be all.
    """
    foremost = next(state for state in STATES if shards[state])
    is_partly_waiting = foremost == "waiting" and shards["done"] > 0
    lacks_rows = foremost == "done" and not whole
    return "incomplete" if is_partly_waiting or lacks_rows else foremost


def count_states(states: Iterable[ShardState]) -> dict[ShardState, int]:
    """Returns the number of shards or cells in each state."""
    counts = Counter(states)
    return {state: counts[state] for state in STATES}


def time_left(instances: Estimate, rows: int, rate: float) -> Estimate:
    """Returns the seconds that the remaining rows take, unknown while nothing runs.

    Args:
        instances: the number of all rows.
        rows: the number of rows that are there.
        rate: rows per second, 0 while nothing runs.
    """
    if instances.value is None or not rate:
        return UNKNOWN_NUMBER
    return Estimate(max(0, instances.value - rows) / rate, instances.exact)


def status_totals(cells: Sequence[CellStatus], scorers: Sequence[CellStatus] = ()) -> StatusTotals:
    """Returns sums over cells and scorers."""
    statuses = [*cells, *scorers]
    instances = total(status.instances for status in statuses)
    rows = sum(status.rows for status in statuses)
    # A cell without running shards has the mean rate of finished ones, which says nothing of now.
    rates = [status.rows_per_second or 0 for status in statuses if status.shards["running"]]
    return StatusTotals(
        cells=len(cells),
        states=count_states(cell.state for cell in cells),
        expanded=sum(cell.expanded for cell in cells),
        measured=sum(cell.measured for cell in cells),
        instances=instances,
        rows=rows,
        found=sum(status.found for status in statuses),
        rows_per_second=sum(rates) if rates else None,
        seconds_left=time_left(instances, rows, sum(rates)),
    )


def is_up_to_date(output: Path, inputs: Sequence[Path]) -> bool:
    """Whether a file is there, and no file that it was made from has changed since."""
    made = modification_time(output)
    if made is None:
        return False
    return all(made >= (modification_time(path) or 0) for path in inputs)


def why_withheld(measures: Path) -> str | None:
    """Returns the reason why a cell is not measurable.

    None if it is, or if its table is damaged.
    """
    import pyarrow
    from pyarrow import parquet

    try:
        flags = parquet.read_table(measures, columns=["flag"])["flag"].unique().to_pylist()
    except (OSError, pyarrow.ArrowException):
        return None
    beginning = f"{NOT_MEASURABLE}: "
    for flag in flags:
        if flag and flag.startswith(beginning):
            return str(flag.removeprefix(beginning))
    return None


def modification_time(path: Path) -> float | None:
    """Returns the time when a file was last changed, in seconds since 1970; None without a file."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # A run may remove it at any moment.
        return None
