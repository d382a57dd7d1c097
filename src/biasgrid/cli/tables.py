"""Plan and status as tables for a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.table import Column, Table
from rich.text import Text

from biasgrid.runs import plan, status
from biasgrid.runs.counts import Estimate, EstimateKind
from biasgrid.runs.failures import Failure
from biasgrid.runs.status import ShardState

if TYPE_CHECKING:
    import polars as pl


NARROWEST_NAME = 12
"""Characters to which a column of names may be cut before other columns are left out."""


def terminal_table(texts: Sequence[str], numbers: Sequence[str], width: int) -> Table:
    """Makes a table for a terminal of some width: columns of text, then numbers, which are aligned to the right."""
    table = Table(box=None, pad_edge=False, padding=(0, column_gap(width), 0, 0), header_style="dim")
    for column in texts:
        table.add_column(column, no_wrap=True, vertical="bottom", overflow="ellipsis")
    for column in numbers:
        table.add_column(column, no_wrap=True, vertical="bottom", justify="right")
    return table


def column_gap(width: int) -> int:
    """Returns how many characters stand between columns on a terminal of some width."""
    return 2 if width >= 100 else 1


def fit_to_width(table: Table, first_to_go: Sequence[str], width: int, names: int = 1) -> RenderableType:
    """Leaves out columns of a table from `empty_table` until all others can be shown whole, but for names.

    Args:
        table: the table with all its rows.
        first_to_go: titles of columns that may be left out, the least important first.
        width: how many characters a line may have.
        names: how many columns, from the left, hold names, which may be cut.

    Returns:
        The table, with a line below it that says what is left out.
    """
    kept, left_out = list(table.columns), []
    for title in first_to_go:
        if sum(widths(kept, names, NARROWEST_NAME)) + column_gap(width) * (len(kept) - 1) <= width:
            break
        left_out += [column for column in kept if column.header == title]
        kept = [column for column in kept if column.header != title]
    shown = with_columns(table, kept, width)
    free = width - column_gap(width) * (len(kept) - 1) - sum(widths(kept, 0, 0)[names:])
    for column, room in zip(shown.columns, column_widths(widths(kept, 0, 0)[:names], free), strict=False):
        column.max_width = room
    if not left_out:
        return shown
    titles = ", ".join(str(column.header).replace("-\n", "").replace("\n", " ") for column in left_out)
    return Group(shown, Text(f"\nnot shown in {width} characters: {titles}", style="dim"))


def widths(columns: Sequence[Column], names: int, narrowest: int) -> list[int]:
    """Returns how many characters columns need, where those of names, from the left, may be cut."""
    needed = [max(line_length(content) for content in (column.header, *column.cells)) for column in columns]
    return [min(size, narrowest) for size in needed[:names]] + needed[names:]


def line_length(content: RenderableType) -> int:
    """Returns how many characters the longest line of a cell takes."""
    return max((cell_len(line) for line in str(content).splitlines()), default=0)


def column_widths(needed: Sequence[int], free: int) -> list[int]:
    """Divides room among columns: each gets what it needs, and where that is too much the widest get less."""
    room = list(needed)
    while sum(room) > max(free, len(room)):
        room[room.index(max(room))] -= 1
    return room


def with_columns(table: Table, columns: Sequence[Column], width: int) -> Table:
    """Returns a table with some columns of another one."""
    titles: dict[bool, list[str]] = {False: [], True: []}
    for column in columns:
        titles[column.justify == "right"].append(str(column.header))
    part = terminal_table(titles[False], titles[True], width)
    for row, *cells in zip(table.rows, *(column.cells for column in columns), strict=True):
        part.add_row(*cells, style=row.style)
    return part


Cell = TypeVar("Cell", plan.CellPlan, status.CellStatus)

ESTIMATE_MARKS: dict[EstimateKind, str] = {"exact": "", "sampled": "", "at most": "<= ", "about": "~"}
MEANINGS = {
    "<= ": "<= at most: a tokenizer not fetched yet may drop subjects, and texts not written yet may be the same",
    "~": "~ estimated: tokens from words or the longest texts, sizes from rows",
    "-": "- not known before the model is fetched",
}
CHARGES = ["requests", "written", "cost", "spent"]
PLAN_FIRST_TO_GO = ("meas-\nured", "FLOP", "size", "written", "requests", "tokens", "done", "spent", "time", "cost")
STATUS_FIRST_TO_GO = ("ex-\npanded", "meas-\nured", "rows/s", "left", "of", "rows")
"""Columns that narrow terminals do without, the least important first."""
PREFIXES = ("", "k", "M", "G", "T", "P", "E", "Z")
COLOURS: dict[ShardState, str] = {
    "failed": "bold red",
    "running": "cyan",
    "incomplete": "yellow",
    "waiting": "dim",
    "done": "green",
}


def number_text(value: float, unit: str = "") -> str:
    """Words a number in two or three digits: `7`, `950`, `5.5 M`, `33 MB`."""
    size = 0
    # What would be rounded to 1000 is 1 of the next prefix.
    while value >= 999.5 and size < len(PREFIXES) - 1:
        value, size = value / 1000, size + 1
    digits = f"{value:.1f}" if size and value < 9.95 else f"{value:.0f}"
    return f"{digits} {PREFIXES[size]}{unit}".rstrip()


def time_text(seconds: float) -> str:
    """Words a time by its two largest units: `0 s`, `45 s`, `12 min`, `2 h 10 min`, `3 d 4 h`."""
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    if minutes < 24 * 60:
        return f"{minutes // 60} h {minutes % 60} min"
    hours = round(minutes / 60)
    return f"{hours // 24:,} d {hours % 24} h"


def estimate_text(figure: Estimate, word: Callable[[float], str] = number_text) -> str:
    """Words a figure with its mark, `-` where it is unknown."""
    return "-" if figure.value is None else ESTIMATE_MARKS[figure.kind] + word(figure.value)


def bytes_text(value: float) -> str:
    """Words a size."""
    return number_text(value, "B")


def cost_text(value: float) -> str:
    """Words what something costs, in whatever the config's prices are in."""
    return f"{value:.2f}" if value < 1000 else f"{value:,.0f}"


def by_dataset(cells: Sequence[Cell]) -> Iterator[tuple[str, list[Cell]]]:
    """Yields the cells of each dataset."""
    for dataset, group in groupby(cells, key=lambda cell: cell.dataset):
        yield dataset, list(group)


def cell_name(asked: plan.CellPlan | status.CellStatus) -> str:
    """Names who answers in a cell, or whose texts a model reads."""
    return f"{asked.model} of {asked.writer}'s texts" if asked.writer else asked.model


def plan_table(planned: plan.Plan, rate: plan.Rate, width: int) -> RenderableType:
    """Draws a plan: a line per cell under the sums of its dataset.

    Args:
        planned: the plan.
        rate: how fast the machine is; without one there are no times.
        width: how many characters a line may have.
    """
    with_times = rate != plan.Rate()
    times = ["time"] if with_times else []
    charges = CHARGES if planned.totals.requests.value else []
    names = ["instances", "tokens", *charges, "FLOP", "size", *times, "done", "meas-\nured"]
    table = terminal_table(["cell"], names, width)
    for dataset, cells in by_dataset(planned.cells):
        scorers = [each for each in planned.scorers if each.dataset == dataset]
        sums = plan.totals_of(cells, scorers)
        table.add_row(
            dataset, *plan_numbers(sums, sums.bytes, with_times, bool(charges)), f"{sums.measured}", style="bold"
        )
        for each in (*cells, *scorers):
            numbers = plan_numbers(each, each.predictions_bytes, with_times, bool(charges))
            table.add_row(f"  {cell_name(each)}", *numbers, "yes" if each.measured else "-")
    sums = planned.totals
    table.add_row("total", *plan_numbers(sums, sums.bytes, with_times, bool(charges)), f"{sums.measured}", style="bold")
    return Group(fit_to_width(table, PLAN_FIRST_TO_GO, width), Text(plan_legend(planned, rate), style="dim"))


def plan_numbers(of: plan.CellPlan | plan.Totals, size: Estimate, with_times: bool, with_charges: bool) -> list[str]:
    """Words the numbers of a cell, or of sums over cells."""
    charges = [
        estimate_text(of.requests),
        estimate_text(of.tokens_out),
        estimate_text(of.cost, cost_text),
        estimate_text(of.spent, cost_text),
    ]
    times = [estimate_text(of.seconds, time_text)] if with_times else []
    counts = [estimate_text(of.instances), estimate_text(of.tokens), *(charges if with_charges else [])]
    return [*counts, estimate_text(of.flop), estimate_text(size, bytes_text), *times, f"{of.shards_done}/{of.shards}"]


def rate_text(rate: plan.Rate) -> str:
    """Words a rate with its unit."""
    if rate.rows_per_second is not None:
        return f"{rate.rows_per_second:g} instances a second"
    return f"{rate.tflops:g} TFLOPS (10^12 operations a second)"


def plan_legend(planned: plan.Plan, rate: plan.Rate) -> str:
    """Words what is done of a plan and what is left, and what its columns and marks stand for."""
    totals = planned.totals
    left = "for times give --rate TFLOPS or --rows-per-second INSTANCES"
    if rate != plan.Rate():
        left = f"time left: {estimate_text(totals.seconds_left, time_text)}, at {rate_text(rate)}"
    shown_marks = {
        ESTIMATE_MARKS[figure.kind] if figure.value is not None else "-"
        for cell in (*planned.cells, *planned.scorers)
        for figure in (cell.instances, cell.tokens, cell.flop, cell.predictions_bytes)
    }
    lines = [
        "",
        f"{totals.shards_done} of {totals.shards} shards predicted, {totals.measured} of {totals.cells} cells measured",
        left,
        "size: of the predictions, in sums with the instances tables; done: shards",
        *(meaning for mark, meaning in MEANINGS.items() if mark in shown_marks),
        *(f"{model}: precision: auto would be {words}" for model, words in planned.faster.items()),
    ]
    return "\n".join(lines)


def status_table(now: status.Status, width: int) -> RenderableType:
    """Draws how far a run is: a line per cell under the sums of its dataset, then what has failed.

    Args:
        now: how far it is.
        width: how many characters a line may have.
    """
    numbers = ["rows", "of", "rows/s", "left", "ex-\npanded", "meas-\nured"]
    table = terminal_table(["cell", "state"], numbers, width)
    for dataset, cells in by_dataset(now.cells):
        scorers = [each for each in now.scorers if each.dataset == dataset]
        add_sums(table, dataset, status.status_totals(cells, scorers))
        for each in (*cells, *scorers):
            made = ["yes" if flag else "-" for flag in (each.expanded, each.measured)]
            state = Text(each.state, style=COLOURS[each.state])
            table.add_row(f"  {cell_name(each)}", state, *status_numbers(each), *made)
    add_sums(table, "total", now.totals)
    found = f"{number_text(now.totals.found)} of these rows were found in what earlier runs had finished"
    asked = (*now.cells, *now.scorers)
    failures = [*(failure for each in asked for failure in each.failures), *now.failures]
    notes = [Text(f"\n{found}", style="dim")] if now.totals.found else []
    if now.failed_manifest:
        notes.append(Text(f"\nThe last run failed: {now.failed_manifest} says what, why, and what is missing"))
    told = [*notes, *reasons_not_measurable(now.cells), *(failure_text(failure) for failure in failures)]
    return Group(fit_to_width(table, STATUS_FIRST_TO_GO, width), *told)


def reasons_not_measurable(cells: Sequence[status.CellStatus]) -> Iterator[Text]:
    """Yields why cells have no headline, if some have none."""
    lines = [f"\n  {cell.model} on {cell.dataset}: {cell.not_measurable}" for cell in cells if cell.not_measurable]
    if lines:
        yield Text.assemble("\n", ("Not measurable:", "bold red"), *lines)


def add_sums(table: Table, name: str, sums: status.StatusTotals) -> None:
    """Adds a line of sums."""
    state = f"{sums.states['done']}/{sums.cells} done"
    table.add_row(name, state, *status_numbers(sums), f"{sums.expanded}", f"{sums.measured}", style="bold")


def status_numbers(of: status.CellStatus | status.StatusTotals) -> list[str]:
    """Words the numbers of a cell, or of sums over cells."""
    rate = "-" if of.rows_per_second is None else number_text(of.rows_per_second)
    left = "-" if of.seconds_left.value is None else time_text(of.seconds_left.value)
    return [number_text(of.rows), estimate_text(of.instances), rate, left]


def failure_text(failure: Failure) -> Text:
    """Words a failure: the job's rule, the error, and where to read on."""
    return Text.assemble("\n", (failure.rule, "bold red"), f" failed: {failure.error}\n", (failure.log, "dim"))


def frame_table(title: str, frame: pl.DataFrame) -> Table:
    """Makes a table of a few rows of a data frame, without columns that hold nothing."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 2, 0, 0))
    kept = [column for column in frame.columns if frame[column].null_count() < len(frame)]
    for column in kept:
        table.add_column(column, overflow="fold")
    for row in frame.select(kept).iter_rows():
        table.add_row(*(value_text(value) for value in row))
    return table


def value_text(value: Any) -> str:
    """Words a value of a data frame."""
    if value is None:
        return "-"
    if isinstance(value, list):
        return ", ".join(map(value_text, value))
    return f"{value:.4g}" if isinstance(value, float) else str(value)
