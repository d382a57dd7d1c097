"""The command line: `biasgrid validate`, `schema`, `summary`, `import unqover` and `export unqover`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from biasgrid.faults import UserError
from biasgrid.unqover import GroupBy

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Social bias of language models over a grid.")
imports = typer.Typer(no_args_is_help=True, help="Reads files of other projects into tables.")
exports = typer.Typer(no_args_is_help=True, help="Writes tables as files of other projects.")
app.add_typer(imports, name="import")
app.add_typer(exports, name="export")
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


@imports.command("unqover")
def import_unqover(
    file: Annotated[Path, typer.Argument(help="a source.json or an output.json")],
    out: Annotated[Path, typer.Option(help="folder for instances.parquet and, with answers, predictions.parquet")],
) -> None:
    """Reads a file of UnQover into tables."""
    from biasgrid.unqover.reading import import_unqover

    try:
        tables = import_unqover(file, out)
    except UserError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    for table in tables:
        console.print(f"{table} written.", soft_wrap=True)


@exports.command("unqover")
def export_unqover(
    config: Annotated[Path, typer.Option(help="the config whose results are written")],
    dataset: Annotated[str, typer.Option(help="name of a dataset")],
    out: Annotated[Path, typer.Option(help="the file to write")],
    variant: Annotated[str | None, typer.Option(help="variant of the dataset: writes its source.json")] = None,
    model: Annotated[str | None, typer.Option(help="name of a model: writes the output.json of its cell")] = None,
    log: Annotated[GroupBy | None, typer.Option(help="with --model: writes log.txt, associations grouped so")] = None,
) -> None:
    """Writes results as UnQover's source.json, output.json or log.txt."""
    from biasgrid.unqover.cells import Cells

    if (variant is None) == (model is None) or (log is not None and model is None):
        raise typer.BadParameter("expected either --variant or --model, and --log only with --model")
    try:
        cells = Cells(config, dataset)
        if model is None:
            cells.write_source(str(variant), out)
        elif log is None:
            cells.write_output(model, out)
        else:
            cells.write_log(model, log, out)
    except UserError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None
    console.print(f"{out} written.", soft_wrap=True)
