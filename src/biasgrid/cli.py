"""The command line: `biasgrid validate`, `biasgrid schema`, `biasgrid summary`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from biasgrid.faults import UserError

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Social bias of language models over a grid.")
console = Console()


@app.callback()
def main() -> None:
    """Social bias of language models over a grid; the grid itself is run with `snakemake`."""


@app.command()
def validate(
    config: Annotated[Path, typer.Argument(help="a config, such as config/config.yaml")],
    word_lists: Annotated[str | None, typer.Option(help="folder of word lists, in place of the config's")] = None,
) -> None:
    """Checks a config and all word lists it uses, without running anything."""
    from biasgrid.config import load_word_lists, parse_config, read_config

    try:
        content = read_config(config)
        if word_lists is not None:
            content["word_lists"] = word_lists
        parsed = parse_config(content, str(config))
        lists = load_word_lists(parsed)
    except UserError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    cells = len(list(parsed.cells()))
    console.print(f"{config}: {cells} cells, {len(lists)} variants of datasets, no faults.")


@app.command()
def schema(folder: Annotated[Path, typer.Argument(help="root of the repository")] = Path()) -> None:
    """Writes the config's schema and the table of its keys, both from the models in biasgrid.config."""
    from biasgrid.config.docs import config_schema, with_key_tables

    path = folder / "workflow/schemas/config.schema.json"
    path.write_text(json.dumps(config_schema(), indent=2) + "\n")
    readme = folder / "config/README.md"
    readme.write_text(with_key_tables(readme.read_text()))


@app.command()
def summary(
    results: Annotated[Path, typer.Argument(help="folder of results, such as results/demo")],
) -> None:
    """Prints what was measured, a line per cell, and where the report is."""
    from biasgrid.tables import SUMMARY, read_table

    try:
        cells = read_table(results / "summary.parquet", SUMMARY)
    except UserError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    measures = ["mu", "eta", "delta", "epsilon"]
    table = Table(title="What was measured")
    for column in ("dataset", "model"):
        table.add_column(column, no_wrap=True)
    for column in (*measures, "swap groups"):
        table.add_column(column, justify="right", no_wrap=True)
    for cell in cells.iter_rows(named=True):
        numbers = [f"{cell[measure]:.3f}" for measure in measures]
        table.add_row(cell["dataset"], cell["model"], *numbers, f"{cell['swap_groups']:,}")
    console.print(table)
    console.print(f"Report: {results / 'report' / 'index.html'}", soft_wrap=True)
