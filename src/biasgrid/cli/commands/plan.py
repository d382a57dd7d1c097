"""The command that shows what a grid costs, and how wide its intervals will be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Group, RenderableType
from rich.text import Text

from biasgrid.cli.options import AsJson, ConfigPath, WordListsFolder, load_checked_config
from biasgrid.cli.output import console, print_text, report_errors
from biasgrid.cli.tables import (
    bytes_text,
    cell_name,
    cost_text,
    estimate_text,
    fit_to_width,
    terminal_table,
)
from biasgrid.jobs.run_progress import time_text

if TYPE_CHECKING:
    from biasgrid.runs.counts import Estimate
    from biasgrid.runs.forecast import Forecast
    from biasgrid.runs.plan import CellPlan, MachineRate, Plan, Totals

MEANINGS = {
    "~": (
        "~ estimated: sequences and tokens from a sample, sizes from the number of rows. Before a "
        "tokenizer is fetched, which may drop subjects, and before texts are written, some of "
        "which may be the same, the largest possible number is shown"
    ),
    "-": "- unknown until the model is fetched",
}
CHARGES = ["requests", "written", "cost", "spent"]
PLAN_FIRST_TO_GO = (
    "meas-\nured",
    "FLOP",
    "size",
    "written",
    "sequences",
    "requests",
    "tokens",
    "done",
    "spent",
    "time",
    "cost",
)
"""Columns of the plan that are left out on narrow terminals, the least important first."""
FORECAST_FIRST_TO_GO = ("time", "instances", "found")
"""Columns of the table of intervals that are left out on narrow terminals."""


def plan(
    config: ConfigPath,
    rate: Annotated[
        float | None, typer.Option(min=1e-6, help="estimate times at this many TFLOPS")
    ] = None,
    rows_per_second: Annotated[
        float | None,
        typer.Option(min=1e-6, help="estimate times at this many instances per second"),
    ] = None,
    intervals: Annotated[
        bool,
        typer.Option(
            "--intervals",
            help="show how wide the intervals will be for each share of the instances",
        ),
    ] = False,
    interval_width: Annotated[
        float | None,
        typer.Option(
            "--width",
            min=1e-6,
            help="show the share of the instances that gives intervals of this width",
        ),
    ] = None,
    word_lists: WordListsFolder = None,
    as_json: AsJson = False,
) -> None:
    """Shows what each cell of a grid costs and what is already done. Runs nothing.

    docs/outputs.md lists the keys of the JSON.
    """
    from biasgrid.config import load_word_lists
    from biasgrid.runs.counts import json_data, sample_notes
    from biasgrid.runs.plan import MachineRate, make_plan

    if rate is not None and rows_per_second is not None:
        raise typer.BadParameter("expected either --rate or --rows-per-second")
    with report_errors():
        parsed = load_checked_config(config, word_lists)
        lists = load_word_lists(parsed)
        speed = MachineRate(rate, rows_per_second)
        planned = make_plan(parsed, lists, speed)
        samples = list(sample_notes(parsed, lists))
    content = json_data(planned) | {"samples": samples}
    tables = [plan_table(planned, speed, console.width)]
    if samples:
        tables.append(Text("\n".join(samples)))
    if intervals or interval_width is not None:
        from biasgrid.runs.forecast import forecast_intervals

        with report_errors():
            forecasts = forecast_intervals(parsed, lists, planned, interval_width)
        content["intervals"] = json_data(forecasts)
        with_times = speed != MachineRate()
        tables.append(forecast_table(forecasts, interval_width, with_times, console.width))
    if as_json:
        print_text(json.dumps(content, indent=2))
    else:
        console.print(*tables, sep="\n\n")


def plan_table(planned: Plan, rate: MachineRate, width: int) -> RenderableType:
    """Draws a plan: a line per cell under the sums of its dataset.

    Args:
        planned: the plan.
        rate: the speed of the machine; without one there are no times.
        width: the maximum number of characters in a line.
    """
    from biasgrid.runs.plan import MachineRate, sum_plans

    with_times = rate != MachineRate()
    with_charges = bool(planned.totals.requests.value)
    times = ["time"] if with_times else []
    charges = CHARGES if with_charges else []
    inputs = ["sequences", "tokens"]
    titles = ["instances", *inputs, *charges, "FLOP", "size", *times, "done", "meas-\nured"]
    table = terminal_table(["cell"], titles, width)
    for dataset, group in groupby(planned.cells, key=attrgetter("dataset")):
        cells = list(group)
        scorers = [scorer for scorer in planned.scorers if scorer.dataset == dataset]
        sums = sum_plans(cells, scorers)
        numbers = plan_numbers(sums, sums.bytes, with_times, with_charges)
        table.add_row(dataset, *numbers, f"{sums.measured}", style="bold")
        for cell in (*cells, *scorers):
            numbers = plan_numbers(cell, cell.predictions_bytes, with_times, with_charges)
            table.add_row(f"  {cell_name(cell)}", *numbers, "yes" if cell.measured else "-")
    sums = planned.totals
    numbers = plan_numbers(sums, sums.bytes, with_times, with_charges)
    table.add_row("total", *numbers, f"{sums.measured}", style="bold")
    fitted_table = fit_to_width(table, PLAN_FIRST_TO_GO, width)
    return Group(fitted_table, Text(plan_legend(planned, rate), style="dim"))


def plan_numbers(
    cell: CellPlan | Totals, size: Estimate, with_times: bool, with_charges: bool
) -> list[str]:
    """Returns the numbers of a cell, or of sums over cells, in words.

    Args:
        cell: the cell or the sums.
        size: the size of its predictions in bytes.
        with_times: whether the time is among the numbers.
        with_charges: whether requests and costs are.
    """
    numbers = [
        estimate_text(cell.instances),
        estimate_text(cell.sequences),
        estimate_text(cell.tokens),
    ]
    if with_charges:
        numbers += [
            estimate_text(cell.requests),
            estimate_text(cell.tokens_out),
            estimate_text(cell.cost, cost_text),
            estimate_text(cell.spent, cost_text),
        ]
    numbers += [estimate_text(cell.flop), estimate_text(size, bytes_text)]
    if with_times:
        numbers.append(estimate_text(cell.seconds, time_text))
    numbers.append(f"{cell.shards_done}/{cell.shards}")
    return numbers


def plan_legend(planned: Plan, rate: MachineRate) -> str:
    """Returns the progress of a plan, and the meaning of its columns and marks.

    Args:
        planned: the plan.
        rate: the speed of the machine.
    """
    totals = planned.totals
    lines = [
        "",
        (
            f"{totals.shards_done} of {totals.shards} shards predicted, {totals.measured} of "
            f"{totals.cells} cells measured"
        ),
        time_left_text(totals, rate),
        (
            "sequences, tokens: what models read, without what they write. size: of the "
            "predictions; sums include the instances tables. done: shards"
        ),
    ]
    figures: list[Estimate] = []
    for cell in (*planned.cells, *planned.scorers):
        figures += [cell.instances, cell.tokens, cell.flop, cell.predictions_bytes]
    if any(figure.value is not None and not figure.exact for figure in figures):
        lines.append(MEANINGS["~"])
    if any(figure.value is None for figure in figures):
        lines.append(MEANINGS["-"])
    for model, precision in planned.faster.items():
        lines.append(f"{model}: precision: bfloat16 would be {precision}")
    return "\n".join(lines)


def time_left_text(totals: Totals, rate: MachineRate) -> str:
    """Returns the time that a plan still takes, or how to get an estimate of it."""
    from biasgrid.runs.plan import MachineRate

    if rate == MachineRate():
        return "to estimate times, give --rate TFLOPS or --rows-per-second INSTANCES"
    speed = f"{rate.rows_per_second:g} instances per second"
    if rate.rows_per_second is None:
        speed = f"{rate.tflops:g} TFLOPS (10^12 operations per second)"
    return f"time left: {estimate_text(totals.seconds_left, time_text)}, at {speed}"


def forecast_table(
    forecasts: Sequence[Forecast], width: float | None, with_times: bool, columns: int
) -> RenderableType:
    """Draws how sure numbers will be: a line per share under each variant of a dataset.

    Args:
        forecasts: of all variants.
        width: how wide intervals may be, None where that was not asked.
        with_times: whether a rate was given, so that times are known.
        columns: how many characters a line may have.
    """
    from biasgrid.runs.forecast import ASSUMED

    assumption = (
        f"assumed, because no cell is finished: clusters differ by {ASSUMED} (standard deviation), "
        "in samples by as much as the noise of single instances"
    )
    times = ["time"] if with_times else []
    table = terminal_table(["asked"], ["instances", *times, "width", "found"], columns)
    for forecast in forecasts:
        table.add_row(
            f"{forecast.dataset} ({forecast.variant})", "", *[""] * len(times), "", "", style="bold"
        )
        for step in forecast.steps:
            spent = [estimate_text(step.seconds, time_text)] if with_times else []
            numbers = (
                estimate_text(step.instances),
                *spent,
                estimate_text(step.width, size_text),
                estimate_text(step.minimal_effect, size_text),
            )
            table.add_row(f"  {step.share:.0%}", *numbers)
    lines = [
        "",
        (
            "asked: share of what the config asks; width: from end to end of an interval over "
            "templates; found: the size of an effect detected in 80 % of cells; -: fewer "
            "than 2 clusters"
        ),
        *(forecast_basis(forecast) for forecast in forecasts),
        *([assumption] if any(not forecast.cells for forecast in forecasts) else []),
        *(width_answer(forecast, width) for forecast in forecasts if width is not None),
    ]
    return Group(
        fit_to_width(table, FORECAST_FIRST_TO_GO, columns), Text("\n".join(lines), style="dim")
    )


def size_text(value: float) -> str:
    """Returns a size in two digits."""
    return f"{value:.2g}"


def forecast_basis(forecast: Forecast) -> str:
    """Returns what the widths of a variant rest on, in words."""
    name = f"{forecast.dataset} ({forecast.variant})"
    if forecast.cells:
        cells = (
            f"the noisiest of {forecast.cells} finished cells"
            if forecast.cells > 1
            else "a finished cell"
        )
        return f"{name}: {forecast.number}, {template_clusters_text(forecast)}, from {cells}"
    return f"{name}: {forecast.number}, {template_clusters_text(forecast)}, assumed"


def template_clusters_text(forecast: Forecast) -> str:
    """Returns how many clusters a variant has, in words."""
    return f"{forecast.clusters} cluster{'s' if forecast.clusters != 1 else ''}"


def width_answer(forecast: Forecast, width: float | None) -> str:
    """Returns how much must be asked for intervals of a width, in words."""
    name = f"{forecast.dataset} ({forecast.variant})"
    if forecast.wanted is not None:
        return (
            f"{name}: a width of {width:g} needs {forecast.wanted:.2g} of it "
            f"(sample: {{share: {forecast.wanted:.2g}}})"
        )
    needed = (
        f"{forecast.clusters_wanted} clusters like these would be enough"
        if forecast.clusters_wanted
        else "even 1000 clusters would not be enough"
    )
    return (
        f"{name}: no sample has a width of {width:g}, which has "
        f"{template_clusters_text(forecast)}; {needed}"
    )
