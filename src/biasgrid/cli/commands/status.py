"""The command that shows the progress of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from biasgrid.cli.options import AsJson, ConfigPath, WordListsFolder, load_checked_config
from biasgrid.cli.output import console, print_text, report_errors
from biasgrid.cli.tables import cell_name, estimate_text, fit_to_width, number_text, terminal_table
from biasgrid.jobs.run_progress import time_text

if TYPE_CHECKING:
    from biasgrid.runs.failures import Failure
    from biasgrid.runs.status import CellStatus, ShardState, Status, StatusTotals

STATUS_FIRST_TO_GO = ("ex-\npanded", "meas-\nured", "rows/s", "left", "of", "rows")
"""Columns that are left out on narrow terminals, the least important first."""
COLOURS: dict[ShardState, str] = {
    "failed": "bold red",
    "running": "cyan",
    "incomplete": "yellow",
    "waiting": "dim",
    "done": "green",
}


def status(config: ConfigPath, word_lists: WordListsFolder = None, as_json: AsJson = False) -> None:
    """Shows which parts of a grid are done, running, failed or waiting.

    docs/outputs.md lists the keys of the JSON.
    """
    from biasgrid.runs.counts import json_data
    from biasgrid.runs.status import read_status

    with report_errors():
        run_status = read_status(load_checked_config(config, word_lists))
    if as_json:
        print_text(json.dumps(json_data(run_status), indent=2))
    else:
        console.print(status_table(run_status, console.width))


def status_table(run_status: Status, width: int) -> RenderableType:
    """Draws the progress of a run: a line per cell under the sums of its dataset, then failures.

    Args:
        run_status: the progress.
        width: the maximum number of characters in a line.
    """
    from biasgrid.runs.status import status_totals

    numbers = ["rows", "of", "rows/s", "left", "ex-\npanded", "meas-\nured"]
    table = terminal_table(["cell", "state"], numbers, width)
    for dataset, group in groupby(run_status.cells, key=attrgetter("dataset")):
        cells = list(group)
        scorers = [scorer for scorer in run_status.scorers if scorer.dataset == dataset]
        add_sums(table, dataset, status_totals(cells, scorers))
        for cell in (*cells, *scorers):
            state = Text(cell.state, style=COLOURS[cell.state])
            steps = ["yes" if is_done else "-" for is_done in (cell.expanded, cell.measured)]
            table.add_row(f"  {cell_name(cell)}", state, *status_numbers(cell), *steps)
    add_sums(table, "total", run_status.totals)
    fitted_table = fit_to_width(table, STATUS_FIRST_TO_GO, width)
    return Group(fitted_table, *status_notes(run_status))


def status_notes(run_status: Status) -> Iterator[Text]:
    """Yields notes on reused rows, the last run, cells without headlines, and failures."""
    reused = run_status.totals.found
    if reused:
        note = f"\n{number_text(reused)} of these rows come from earlier runs"
        yield Text(note, style="dim")
    if run_status.failed_manifest:
        yield Text(
            f"\nThe last run failed: {run_status.failed_manifest} says what failed, why, and what "
            "is still missing"
        )
    yield from reasons_not_measurable(run_status.cells)
    for cell in (*run_status.cells, *run_status.scorers):
        yield from map(failure_text, cell.failures)
    yield from map(failure_text, run_status.failures)


def reasons_not_measurable(cells: Sequence[CellStatus]) -> Iterator[Text]:
    """Yields the reasons why cells have no headline, if some have none."""
    lines = [
        f"\n  {cell.model} on {cell.dataset}: {cell.not_measurable}"
        for cell in cells
        if cell.not_measurable
    ]
    if lines:
        yield Text.assemble("\n", ("Not measurable:", "bold red"), *lines)


def add_sums(table: Table, name: str, sums: StatusTotals) -> None:
    """Adds a line of sums over cells."""
    state = f"{sums.states['done']}/{sums.cells} done"
    steps = [f"{sums.expanded}", f"{sums.measured}"]
    table.add_row(name, state, *status_numbers(sums), *steps, style="bold")


def status_numbers(cell: CellStatus | StatusTotals) -> list[str]:
    """Returns the numbers of a cell, or of sums over cells, in words."""
    rate = "-" if cell.rows_per_second is None else number_text(cell.rows_per_second)
    time_left = "-" if cell.seconds_left.value is None else time_text(cell.seconds_left.value)
    return [number_text(cell.rows), estimate_text(cell.instances), rate, time_left]


def failure_text(failure: Failure) -> Text:
    """Returns a failure in words: the job's rule, its error and its log."""
    return Text.assemble(
        "\n", (failure.rule, "bold red"), f" failed: {failure.error}\n", (failure.log, "dim")
    )
