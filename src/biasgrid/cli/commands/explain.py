"""The command that shows the sentences behind a number."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from biasgrid.cli.options import ResultsFolder
from biasgrid.cli.output import FAILED, console, print_data, print_text, report_errors

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.runs.explain import Explanation

Value = TypeVar("Value")

OF_ALL = ("model", "dataset", "measure", "options", "value", "rank", "reason", "role")
"""Columns about the whole number, which are the same for all of its units."""
FOR_PROGRAMS = (
    "subject",
    "attribute",
    "bias_type",
    "position",
    "length",
    "other_position",
    "other_length",
    "instance",
)
"""Columns that are left out of a table for people: their request, and positions within texts."""


class OutputFormat(Enum):
    """How sentences are printed."""

    table = "table"
    csv = "csv"
    jsonl = "jsonl"


def explain(
    results: ResultsFolder,
    model: Annotated[
        str | None, typer.Option(help="name of a model in the run, if it has several")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="name of a dataset in the run, if it has several")
    ] = None,
    subject: Annotated[
        str | None,
        typer.Option(help="a subject; with --attribute, explains the association of the two"),
    ] = None,
    attribute: Annotated[str | None, typer.Option(help="the attribute")] = None,
    bias_type: Annotated[
        str | None,
        typer.Option(
            help=(
                "a bias type, such as gender; with --group, explains the score or the errors of "
                "that group"
            )
        ),
    ] = None,
    group: Annotated[str | None, typer.Option(help="the group or class")] = None,
    measure: Annotated[str | None, typer.Option(help="a metric of the probe")] = None,
    other: Annotated[
        str | None, typer.Option(help="show only comparisons with this subject or group")
    ] = None,
    template: Annotated[int | None, typer.Option(min=0, help="show only this template")] = None,
    case: Annotated[
        int | None, typer.Option(min=0, help="show only this swap group, case, pair or item")
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="number of swap groups, cases, pairs or items to show")
    ] = 20,
    every: Annotated[
        bool, typer.Option("--all", help="show all swap groups, cases, pairs or items")
    ] = False,
    form: Annotated[
        OutputFormat, typer.Option("--format", help="the output format of the sentences")
    ] = OutputFormat.table,
) -> None:
    """Shows the sentences behind a number, the strongest first, and recomputes the number from all
    of them.

    The exit code is 1 if the result differs from the number in the table.
    """
    from biasgrid.runs.explain import explain_number

    keys = without_nulls(
        {
            "subject": subject,
            "attribute": attribute,
            "bias_type": bias_type,
            "group": group,
            "measure": measure,
            "other": other,
        }
    )
    filters: dict[str, str | int | None] = {"other": other, "template": template, "unit": case}
    with report_errors():
        explanation = explain_number(results, model, dataset, keys)
        units, unit_count = choose_units(explanation.units, without_nulls(filters))
        if not every:
            units = of_first(units, limit)
        print_units(units, form)
    print_text(sentence(explanation, units, unit_count), err=form is not OutputFormat.table)
    if not explanation.agrees:
        raise typer.Exit(FAILED)


def without_nulls(options: Mapping[str, Value | None]) -> dict[str, Value]:
    """Returns the options that were given."""
    return {name: value for name, value in options.items() if value is not None}


def choose_units(units: pl.DataFrame, filters: Mapping[str, str | int]) -> tuple[pl.DataFrame, int]:
    """Picks units.

    Args:
        units: rows of units.
        filters: the values of columns. A column that `units` does not have is ignored.

    Returns:
        The rows without columns that are null in all of them, and the number of their units.
    """
    import polars as pl

    rows = units
    for name, value in filters.items():
        if name != "other" and name in units.columns:
            rows = rows.filter(pl.col(name) == value)
    if "other" in filters and "other" in units.columns:
        # Of two groups that are compared, each is the other of one row.
        is_wanted = pl.col("other").is_in([filters["other"]])
        rows = rows.filter(is_wanted.any().over("unit"))
    columns = []
    for name in rows.columns:
        if name not in OF_ALL and rows[name].null_count() < max(len(rows), 1):
            columns.append(name)
    return rows.select(columns).cast({pl.Categorical: pl.String}), rows["unit"].n_unique()


def of_first(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Returns the rows of the first units."""
    import polars as pl

    first = rows.select("unit").unique(maintain_order=True).head(limit)["unit"]
    return rows.filter(pl.col("unit").is_in(first.implode(), nulls_equal=True))


def print_units(rows: pl.DataFrame, form: OutputFormat) -> None:
    """Prints rows in a format."""
    from biasgrid.cli.tables import frame_table
    from biasgrid.tables.summary import for_spreadsheets

    if form is OutputFormat.csv:
        print_data(for_spreadsheets(rows).write_csv())
    elif form is OutputFormat.jsonl:
        print_text(rows.write_ndjson(), nl=False)
    else:
        console.print(frame_table("", rows.drop(FOR_PROGRAMS, strict=False)))


def sentence(explanation: Explanation, units: pl.DataFrame, unit_count: int) -> str:
    """Returns the recomputed value and the value of the table in a sentence.

    Args:
        explanation: the number.
        units: the units that are shown.
        unit_count: the number of units that could be shown.
    """
    measure = explanation.measure
    if explanation.measure_options:
        measure = f"{measure} ({explanation.measure_options})"
    value = "no value"
    if explanation.recomputed is not None:
        value = f"{explanation.recomputed:.6g}"
    if explanation.table_value is None:
        table = "which has no value in the table"
        if explanation.flag:
            table = f"{table} ({explanation.flag})"
    elif explanation.agrees:
        table = "as in the table"
    else:
        table = f"but the table has {explanation.table_value:.6g}; run again"
    counts = f"{units['unit'].n_unique()} of {unit_count} shown"
    return f"{measure} over all {explanation.n} is {value}, {table}; {counts}."
