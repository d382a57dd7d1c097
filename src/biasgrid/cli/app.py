"""The command line of biasgrid; `biasgrid --help` lists the commands."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from biasgrid.faults import UserError
from biasgrid.unqover import GroupBy

if TYPE_CHECKING:
    from biasgrid.config import Config

app = typer.Typer(no_args_is_help=True, add_completion=False, help="Social bias of language models over a grid.")
imports = typer.Typer(no_args_is_help=True, help="Reads files of other projects into tables.")
exports = typer.Typer(no_args_is_help=True, help="Writes tables as files of other projects.")
app.add_typer(imports, name="import")
app.add_typer(exports, name="export")
# What is not read on a terminal is wrapped nowhere, so that a line of a table stays one line.
console = Console(width=None if sys.stdout.isatty() or "COLUMNS" in os.environ else 1000)

ConfigPath = Annotated[Path, typer.Argument(help="a config, such as config/config.yaml")]
WordListsFolder = Annotated[str | None, typer.Option(help="folder of word lists, in place of the config's")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


@app.callback()
def main() -> None:
    """Social bias of language models over a grid; the grid itself is run with `snakemake`."""


@contextmanager
def told_errors() -> Iterator[None]:
    """Ends the command with the message of a user's error, without a traceback."""
    try:
        yield
    except UserError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(1) from None


def checked_config(path: Path, word_lists: str | None) -> Config:
    """Reads a config, with another folder of word lists where one is given.

    Raises:
        InputError: with every fault in it.
    """
    from biasgrid.config import parse_config, read_config

    content = read_config(path)
    return parse_config(content if word_lists is None else content | {"word_lists": word_lists}, str(path))


@app.command()
def validate(config: ConfigPath, word_lists: WordListsFolder = None) -> None:
    """Checks a config and all word lists it uses, without running anything."""
    from biasgrid.config import load_word_lists

    with told_errors():
        parsed = checked_config(config, word_lists)
        lists = load_word_lists(parsed)
    cells = len(list(parsed.cells()))
    console.print(f"{config}: {cells} cells, {len(lists)} variants of datasets, no faults.")


@app.command()
def plan(
    config: ConfigPath,
    rate: Annotated[float | None, typer.Option(min=1e-6, help="TFLOPS that inference reaches, for times")] = None,
    rows_per_second: Annotated[float | None, typer.Option(min=1e-6, help="instances per second, for times")] = None,
    word_lists: WordListsFolder = None,
    as_json: AsJson = False,
) -> None:
    """Tells what each cell of a grid costs, and what is done, without running anything.

    The keys of the JSON are those of `Plan`, `CellPlan` and `Totals` in biasgrid.run.plan; `x_is` tells how the number
    `x` is known: exact, sampled, at most or about.
    """
    from biasgrid.cli.tables import plan_table
    from biasgrid.config import load_word_lists
    from biasgrid.run.estimates import plain
    from biasgrid.run.plan import Rate, make_plan

    if rate is not None and rows_per_second is not None:
        raise typer.BadParameter("expected either --rate or --rows-per-second")
    with told_errors():
        parsed = checked_config(config, word_lists)
        planned = make_plan(parsed, load_word_lists(parsed), Rate(rate, rows_per_second))
    if as_json:
        typer.echo(json.dumps(plain(planned), indent=2))
    else:
        console.print(plan_table(planned, rate is not None or rows_per_second is not None, console.width))


@app.command()
def status(config: ConfigPath, word_lists: WordListsFolder = None, as_json: AsJson = False) -> None:
    """Tells how far the run of a grid is: what is done, running, failed and waiting.

    The keys of the JSON are those of `Status`, `CellStatus` and `StatusTotals` in biasgrid.run.status; `x_is` tells how
    the number `x` is known: exact or at most.
    """
    from biasgrid.cli.tables import status_table
    from biasgrid.run.estimates import plain
    from biasgrid.run.status import read_status

    with told_errors():
        now = read_status(checked_config(config, word_lists))
    if as_json:
        typer.echo(json.dumps(plain(now), indent=2))
    else:
        console.print(status_table(now, console.width))


@app.command()
def schema(folder: Annotated[Path, typer.Argument(help="root of the repository")] = Path()) -> None:
    """Writes the config's schema, the figures' captions and the tables in the docs: of keys, columns and measures."""
    from biasgrid.cli.docs import DOCUMENTS, generated
    from biasgrid.config.docs import config_schema
    from biasgrid.report.captions import captions_file

    path, captions = (folder / "workflow" / name for name in ("schemas/config.schema.json", "report/figure.rst"))
    documents = [folder / name for name in DOCUMENTS]
    with told_errors():
        for needed in (path.parent, captions.parent, *documents):
            if not needed.exists():
                raise UserError(f"there is no {needed}; run this in the root of the repository, or give its folder")
    path.write_text(json.dumps(config_schema(), indent=2) + "\n")
    captions.write_text(captions_file(), encoding="utf-8")
    for document in documents:
        document.write_text(generated(document), encoding="utf-8")


@app.command()
def summary(
    results: Annotated[Path, typer.Argument(help="folder of results, such as results/demo")],
) -> None:
    """Prints what was measured, a line per cell and bias type, and where the report is."""
    from biasgrid.cli.tables import summary_tables
    from biasgrid.tables.files import read_table
    from biasgrid.tables.measures import SUMMARY

    path = results / "summary.parquet"
    with told_errors():
        if not path.exists():
            raise UserError(
                f"there is no {path}: the run of that folder has not finished, or has not begun; `biasgrid status "
                "CONFIG` tells how far it is"
            )
        headlines = read_table(path, SUMMARY).filter("headline")
    console.print(summary_tables(headlines.iter_rows(named=True), console.width))
    console.print(f"Report: {results / 'report' / 'index.html'}", soft_wrap=True)


@app.command()
def provenance(
    file: Annotated[Path, typer.Argument(help="a table of the results, such as results/summary.parquet")],
) -> None:
    """Prints who made a table, as JSON: code, config, inputs, models, precision, machine."""
    from biasgrid.tables.files import read_provenance

    with told_errors():
        if file.suffix != ".parquet":
            raise UserError(
                f"{file}: not a table; expected a .parquet file of the results, where each table says who made it "
                "(`manifest.json` there gathers that of all cells)"
            )
        if not file.exists():
            raise UserError(f"there is no {file}; expected a table of the results")
        facts = read_provenance(file)
    typer.echo(json.dumps(facts, indent=2))


@imports.command("unqover")
def import_unqover(
    file: Annotated[Path, typer.Argument(help="a source.json or an output.json")],
    out: Annotated[Path, typer.Option(help="folder for instances.parquet and, with answers, predictions.parquet")],
) -> None:
    """Reads a file of UnQover into tables."""
    from biasgrid.unqover.dumps import import_unqover

    with told_errors():
        tables = import_unqover(file, out)
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
    with told_errors():
        cells = Cells(config, dataset)
        if model is None:
            cells.write_source(str(variant), out)
        elif log is None:
            cells.write_output(model, out)
        else:
            cells.write_log(model, log, out)
    console.print(f"{out} written.", soft_wrap=True)
