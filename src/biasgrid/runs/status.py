"""Reads the progress of a run from its files, during the run or afterwards."""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from biasgrid.config import Config, load_word_lists
from biasgrid.jobs.progress import Beat, read_beat
from biasgrid.jobs.run_progress import AnsweredRows
from biasgrid.runs.counts import (
    UNKNOWN_NUMBER,
    Estimate,
    add_estimates,
    count_instances,
    table_facts,
)
from biasgrid.runs.failures import Failure, failure_of, other_failures
from biasgrid.runs.layout import Layout, ScorerCell, Shard
from biasgrid.tables.metric import NOT_MEASURABLE

ShardState = Literal["failed", "running", "incomplete", "waiting", "done"]
STATES: tuple[ShardState, ...] = get_args(ShardState)
"""States of shards and cells. The first of these that any shard is in is the state of its cell."""
SECONDS_OF_A_BEAT = 120
"""The age of a `Beat` from which on its job is considered dead; jobs write one every 5 seconds."""


class ShardTimes(NamedTuple):
    """Fields of `inference.models.predict.Timing`.

    Attributes:
        rows: number of rows of the shard.
        found: number of these that earlier runs made.
        seconds: time of the others.
    """

    rows: int
    found: int
    seconds: float


class ShardStatus(NamedTuple):
    """The progress of a shard.

    Attributes:
        state: its state.
        rows: number of its rows that are predicted, in a running shard including unsaved ones.
        rate: rows per second, None unless it is running.
        failure: its failure, None unless it has failed.
    """

    state: ShardState
    rows: int
    rate: float | None = None
    failure: Failure | None = None


def shard_status(shard: Shard, rule: str = "predict") -> ShardStatus:
    """Returns the progress of a shard.

    Args:
        shard: its files.
        rule: the rule that makes it, for its failure.
    """
    table = table_status(shard.predictions)
    if table.state == "done":
        return table
    beat = read_beat(shard.progress)
    saved_rows = beat.saved_rows if beat else 0
    # Before the beat: each job begins the log anew, so an error in it means that no job is running.
    failure = failure_of(rule, shard.log)
    if failure is not None:
        return ShardStatus("failed", saved_rows, failure=failure)
    if beat is not None and is_running(beat):
        return ShardStatus("running", beat.rows, beat.rows_per_second)
    return ShardStatus("incomplete" if saved_rows else "waiting", saved_rows)


def is_running(beat: Beat) -> bool:
    """Whether a beat is recent, and the process that wrote it is not known to be gone."""
    return time.time() - beat.at < SECONDS_OF_A_BEAT and not has_died(beat)


def has_died(beat: Beat) -> bool:
    """Whether the process that wrote a beat is known to be gone.

    False on another machine than the process's, and on systems without /proc.
    """
    if beat.host != socket.gethostname():
        return False
    return Path("/proc/self").exists() and not Path("/proc", str(beat.pid)).exists()


def table_status(predictions: Path) -> ShardStatus:
    """Returns `done` for a readable predictions table, else `waiting`; it is then made again."""
    facts = table_facts(predictions)
    if facts is None:
        return ShardStatus("waiting", 0)
    return ShardStatus("done", facts.rows)


def read_timings(shards: Sequence[Shard]) -> list[ShardTimes]:
    """Reads the timings of finished shards; other shards are left out."""
    times = []
    for shard in shards:
        with suppress(OSError, ValueError, KeyError):
            if shard.predictions.exists():
                timing = json.loads(shard.timing.read_text())
                times.append(ShardTimes(timing["rows"], timing["found"], timing["seconds"]))
    return times


def mean_rate(timings: Sequence[ShardTimes]) -> float | None:
    """Returns the rows per second of finished shards, None if they took no time."""
    seconds = sum(timing.seconds for timing in timings)
    # Rows of earlier runs took no time.
    rows = sum(timing.rows - timing.found for timing in timings)
    return rows / seconds if seconds else None


@dataclass(frozen=True)
class AnsweredCount:
    """The number of instances and of answers, of a cell or of several together.

    Attributes:
        instances: number of instances; before they are expanded, from the word lists. For a scorer
            the number of distinct texts; before all are written, its maximum.
        rows: number of instances that are predicted, including those of unfinished shards.
        found: number of these rows that finished shards took over from earlier runs.
        rows_per_second: rate of all running shards together. While none runs, for a cell the mean
            of its finished shards, for sums over cells null.
        seconds_left: time of the remaining rows; unknown while no shard runs.
    """

    instances: Estimate
    rows: int
    found: int
    rows_per_second: float | None
    seconds_left: Estimate


@dataclass(frozen=True)
class CellStatus(AnsweredCount):
    """The progress of a cell or of a scorer.

    Attributes:
        dataset, model: the cell, or the scorer and its dataset.
        writer: None for a cell; for a scorer the model whose texts it reads.
        expanded: whether its instances table is there.
        state: `done` if all is predicted, `running`, `failed` (see `failures`), `incomplete` if it
            was interrupted, or `waiting`.
        shards: number of its shards in each state.
        measured: whether its measures are there and up to date; for a scorer, its writer's.
        not_measurable: reason why the measures have no headline; null if they have one, if it is
            not measured, and for scorers.
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
        states: number of cells, without scorers, in each state.
        expanded, measured: number of cells, without scorers, that have these tables.
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
        failed_manifest: the path of the manifest of the last run if it failed; None if it did not,
            or if a run is in progress.
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
    # Neither has the instances of a dump before it is imported.
    instances = {
        cell: expanded.get(table) or expected.get(table, UNKNOWN_NUMBER)
        for cell, table in tables.items()
    }
    cells = []
    for (model, dataset), table in tables.items():
        is_expanded = table in expanded
        cells.append(cell_status(layout, dataset, model, instances[model, dataset], is_expanded))
    scorers = []
    for scored in layout.scorers():
        scorers.append(scorer_status(layout, scored, instances[scored.writer, scored.dataset]))
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
    """Counts the instances of selected variants that are not expanded, from their word lists.

    Args:
        layout: the places of files.
        expanded: the instances tables that are there. If all are, no word lists are read.
    """
    missing = [
        variant
        for variant in layout.config.selected_variants
        if layout.instances(*variant) not in expanded
    ]
    lists = load_word_lists(layout.config) if missing else {}
    counts = count_instances(layout, {variant: lists[variant] for variant in missing})
    return {layout.instances(*variant): number for variant, (_, number) in counts.items()}


def cell_status(
    layout: Layout, dataset: str, model: str, instances: Estimate, is_expanded: bool
) -> CellStatus:
    """Returns the progress of a cell.

    Args:
        layout: the places of files.
        dataset: the dataset of the cell.
        model: its model.
        instances: the number of its instances.
        is_expanded: whether its instances table is there.
    """
    predictions = layout.predictions_of_cell(dataset, model)
    measures = layout.measures(dataset, model)
    shards = layout.shards(dataset, model)
    statuses = [shard_status(shard) for shard in shards]
    if not shards:
        # Imported predictions are one table, and no shards.
        statuses = [table_status(predictions[0])]
    is_measured = is_up_to_date(measures, predictions)
    return CellStatus(
        dataset=dataset,
        model=model,
        writer=None,
        expanded=is_expanded,
        instances=instances,
        **shard_sums(statuses, read_timings(shards), instances, is_expanded)._asdict(),
        measured=is_measured,
        not_measurable=withheld_reason(measures) if is_measured else None,
    )


def scorer_status(layout: Layout, scored: ScorerCell, cell_instances: Estimate) -> CellStatus:
    """Returns the progress of a scorer.

    Args:
        layout: the places of files.
        scored: the scorer, and the cell whose texts it rates.
        cell_instances: the number of instances of that cell.
    """
    dataset, writer, model = scored
    shard = layout.scorer(dataset, writer, model)
    facts = table_facts(layout.texts(dataset, writer))
    is_expanded = facts is not None
    # There are at most as many distinct texts as instances.
    instances = cell_instances.times(1, exact=False) if facts is None else Estimate(facts.rows)
    statuses = [shard_status(shard, "predict_scorer")]
    return CellStatus(
        dataset=dataset,
        model=model,
        writer=writer,
        expanded=is_expanded,
        instances=instances,
        **shard_sums(statuses, read_timings([shard]), instances, is_expanded)._asdict(),
        measured=is_up_to_date(layout.measures(dataset, writer), [shard.predictions]),
        not_measurable=None,
    )


class ShardSums(NamedTuple):
    """The fields of `CellStatus` that depend on the shards of a cell."""

    rows: int
    found: int
    state: ShardState
    shards: dict[ShardState, int]
    rows_per_second: float | None
    seconds_left: Estimate
    failures: list[Failure]


def shard_sums(
    statuses: Sequence[ShardStatus],
    timings: Sequence[ShardTimes],
    instances: Estimate,
    is_expanded: bool,
) -> ShardSums:
    """Sums the shards of a cell.

    Args:
        statuses: the progress of all shards, at least of one.
        timings: the timings of finished shards only, so not one per status.
        instances: the number of instances of the cell.
        is_expanded: whether its instances table is there.
    """
    rows = sum(status.rows for status in statuses)
    states = count_states(status.state for status in statuses)
    rates = [status.rate for status in statuses if status.rate is not None]
    # Without the table the number of instances is only an estimate.
    is_complete = not is_expanded or rows == instances.value
    return ShardSums(
        rows=rows,
        found=sum(timing.found for timing in timings),
        state=cell_state(states, is_complete=is_complete),
        shards=states,
        rows_per_second=sum(rates) if rates else mean_rate(timings),
        seconds_left=time_left(instances, rows, sum(rates)),
        failures=[status.failure for status in statuses if status.failure is not None],
    )


def cell_state(shards: Mapping[ShardState, int], *, is_complete: bool) -> ShardState:
    """Returns the state of a cell: the first of `STATES` that any of its shards is in.

    It is `incomplete` if its shards are partly done and partly waiting, or lack rows.

    Args:
        shards: the number of its shards in each state; not all 0.
        is_complete: whether finished shards have all rows of the cell. They have not if the
            instances were expanded anew.
    """
    foremost = next(state for state in STATES if shards[state])
    is_partly_waiting = foremost == "waiting" and shards["done"] > 0
    lacks_rows = foremost == "done" and not is_complete
    return "incomplete" if is_partly_waiting or lacks_rows else foremost


def count_states(states: Iterable[ShardState]) -> dict[ShardState, int]:
    """Returns the number of shards or cells in each state."""
    counts = Counter(states)
    return {state: counts[state] for state in STATES}


def time_left(instances: Estimate, rows: int, rate: float) -> Estimate:
    """Returns the seconds for the remaining rows; unknown while nothing runs.

    Args:
        instances: the number of all rows.
        rows: the number of predicted rows.
        rate: rows per second, 0 while nothing runs.
    """
    if instances.value is None or not rate:
        return UNKNOWN_NUMBER
    return Estimate(max(0, instances.value - rows) / rate, instances.exact)


def status_totals(cells: Sequence[CellStatus], scorers: Sequence[CellStatus] = ()) -> StatusTotals:
    """Returns sums over cells and scorers.

    The number of instances, and with it the time left, is unknown if that of a part is.
    """
    statuses = [*cells, *scorers]
    instances = add_estimates(status.instances for status in statuses)
    rows = sum(status.rows for status in statuses)
    # The rate of a cell without running shards is one of the past.
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
    """Whether a file is there, and no input has changed since; a missing input has not."""
    output_time = modification_time(output)
    if output_time is None:
        return False
    return all(output_time >= (modification_time(path) or 0) for path in inputs)


def withheld_reason(measures: Path) -> str | None:
    """Returns why a cell is not measurable; None if it is, or if its table is damaged."""
    import pyarrow
    from pyarrow import parquet

    try:
        flags = parquet.read_table(measures, columns=["flag"])["flag"].unique().to_pylist()
    except (OSError, pyarrow.ArrowException):
        return None
    prefix = f"{NOT_MEASURABLE}: "
    for flag in flags:
        if flag and flag.startswith(prefix):
            return str(flag.removeprefix(prefix))
    return None


def modification_time(path: Path) -> float | None:
    """Returns the time when a file was last changed, in seconds since 1970; None without a file."""
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # A run may remove it at any moment.
        return None
