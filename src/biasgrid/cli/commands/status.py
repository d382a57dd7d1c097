"""The command that shows how far a run is."""

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
"""Columns that narrow terminals do without, the least important first."""
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
        now = read_status(load_checked_config(config, word_lists))
    if as_json:
        print_text(json.dumps(json_data(now), indent=2))
    else:
        console.print(status_table(now, console.width))


def status_table(now: Status, width: int) -> RenderableType:
    """Draws how far a run is: a line per cell under the sums of its dataset, then what has failed.

    Args:
        now: how far it is.
        width: how many characters a line may have.
    """
    from biasgrid.runs.status import status_totals

    numbers = ["rows", "of", "rows/s", "left", "ex-\npanded", "meas-\nured"]
    table = terminal_table(["cell", "state"], numbers, width)
    for dataset, group in groupby(now.cells, key=attrgetter("dataset")):
        cells, scorers = list(group), [each for each in now.scorers if each.dataset == dataset]
        add_sums(table, dataset, status_totals(cells, scorers))
        for each in (*cells, *scorers):
            made = ["yes" if flag else "-" for flag in (each.expanded, each.measured)]
            state = Text(each.state, style=COLOURS[each.state])
            table.add_row(f"  {cell_name(each)}", state, *status_numbers(each), *made)
    add_sums(table, "total", now.totals)
    found = f"{number_text(now.totals.found)} of these rows come from earlier runs"
    statuses = (*now.cells, *now.scorers)
    failures = [*(failure for each in statuses for failure in each.failures), *now.failures]
    notes = [Text(f"\n{found}", style="dim")] if now.totals.found else []
    if now.failed_manifest:
        notes.append(
            Text(
                "\n"
                f"The last run failed: {now.failed_manifest} says what failed, why, and what is "
                "still missing"
            )
        )
    parts = [
        *notes,
        *reasons_not_measurable(now.cells),
        *(failure_text(failure) for failure in failures),
    ]
    return Group(fit_to_width(table, STATUS_FIRST_TO_GO, width), *parts)


def reasons_not_measurable(cells: Sequence[CellStatus]) -> Iterator[Text]:
    """Yields why cells have no headline, if some have none."""
    lines = [
        f"\n  {cell.model} on {cell.dataset}: {cell.not_measurable}"
        for cell in cells
        if cell.not_measurable
    ]
    if lines:
        yield Text.assemble("\n", ("Not measurable:", "bold red"), *lines)


def add_sums(table: Table, name: str, sums: StatusTotals) -> None:
    """Adds a line of sums."""
    state = f"{sums.states['done']}/{sums.cells} done"
    table.add_row(
        name, state, *status_numbers(sums), f"{sums.expanded}", f"{sums.measured}", style="bold"
    )


def status_numbers(of: CellStatus | StatusTotals) -> list[str]:
    """Returns the numbers of a cell, or of sums over cells, in words."""
    rate = "-" if of.rows_per_second is None else number_text(of.rows_per_second)
    left = "-" if of.seconds_left.value is None else time_text(of.seconds_left.value)
    return [number_text(of.rows), estimate_text(of.instances), rate, left]


def failure_text(failure: Failure) -> Text:
    """Returns a failure in words: the job's rule, its error and its log."""
    return Text.assemble(
        "\n", (failure.rule, "bold red"), f" failed: {failure.error}\n", (failure.log, "dim")
    )
