"""The command that shows what is behind a number."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Annotated

import typer

from biasgrid.cli.options import ResultsFolder
from biasgrid.cli.output import FAILED, console, print_data, print_text, report_errors

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.runs.explain import Explanation

OF_ALL = ("model", "dataset", "measure", "options", "value", "rank", "reason", "role")
"""Columns that are of the number, not of its units."""
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
"""Columns that a table for people does without: what they asked for, and where things stand in
texts.
"""


class OutputFormat(Enum):
    """How sentences are printed."""

    table = "table"
    csv = "csv"
    jsonl = "jsonl"


def explain(
    results: ResultsFolder,
    model: Annotated[str, typer.Option(help="name of a model in the run")],
    dataset: Annotated[str, typer.Option(help="name of a dataset in the run")],
    subject: Annotated[
        str | None,
        typer.Option(help="a subject; with --attribute, explains the association of the two"),
    ] = None,
    attribute: Annotated[str | None, typer.Option(help="the attribute")] = None,
    bias_type: Annotated[
        str | None,
        typer.Option(
            help="a measure; with --group, explains the score or the errors of that group"
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
    from biasgrid.runs.explain import explain_number as find

    names = {
        "subject": subject,
        "attribute": attribute,
        "bias_type": bias_type,
        "group": group,
        "measure": measure,
    }
    names["other"] = other
    with report_errors():
        found = find(
            results,
            model,
            dataset,
            {name: given for name, given in names.items() if given is not None},
        )
        wanted = {"other": other, "template": template, "unit": case}
        shown, of = choose_units(
            found.units, {name: value for name, value in wanted.items() if value is not None}
        )
        if not every:
            shown = of_first(shown, limit)
        print_units(shown, form)
    print_text(sentence(found, shown, of), err=form is not OutputFormat.table)
    if not found.agrees:
        raise typer.Exit(FAILED)


def choose_units(units: pl.DataFrame, wanted: dict[str, str | int]) -> tuple[pl.DataFrame, int]:
    """Returns the units that are asked for, without empty columns, and how many units there are."""
    import polars as pl

    # Of two groups that are compared, each is the other one's.
    either = (
        pl.col("other").is_in([wanted["other"]])
        if "other" in wanted and "other" in units.columns
        else None
    )
    rest = {
        name: value for name, value in wanted.items() if name != "other" and name in units.columns
    }
    rows = units.filter(*(pl.col(name) == value for name, value in rest.items()))
    if either is not None:
        rows = rows.filter(either.any().over("unit"))
    columns = [
        name
        for name in rows.columns
        if name not in OF_ALL and rows[name].null_count() < max(len(rows), 1)
    ]
    return rows.select(columns).cast({pl.Categorical: pl.String}), rows["unit"].n_unique()


def of_first(rows: pl.DataFrame, limit: int) -> pl.DataFrame:
    """Returns the rows of the first units."""
    import polars as pl

    first = rows.select("unit").unique(maintain_order=True).head(limit)["unit"]
    return rows.filter(pl.col("unit").is_in(first.implode(), nulls_equal=True))


def print_units(rows: pl.DataFrame, form: OutputFormat) -> None:
    """Prints rows."""
    from biasgrid.cli.tables import frame_table
    from biasgrid.tables.summary import for_spreadsheets

    if form is OutputFormat.csv:
        print_data(for_spreadsheets(rows).write_csv())
    elif form is OutputFormat.jsonl:
        print_text(rows.write_ndjson(), nl=False)
    else:
        console.print(frame_table("", rows.drop(FOR_PROGRAMS, strict=False)))


def sentence(found: Explanation, shown: pl.DataFrame, of: int) -> str:
    """Returns the recomputed value and that of the table in a sentence."""
    what = f"{found.measure} ({found.options})" if found.options else found.measure
    value = "no value" if found.recomputed is None else f"{found.recomputed:.6g}"
    if found.stated is None:
        table = (
            f"which has no value in the table ({found.flag})"
            if found.flag
            else "which has no value in the table"
        )
    else:
        table = (
            "as in the table"
            if found.agrees
            else f"but the table has {found.stated:.6g}; run again"
        )
    counts = f"{shown['unit'].n_unique()} of {of} shown"
    return f"{what} over all {found.n} is {value}, {table}; {counts}."
