"""The command line of biasgrid; `biasgrid --help` lists the commands."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biasgrid.base.faults import UserError, first_few
from biasgrid.base.version import __version__
from biasgrid.cli.commands.ask import ask
from biasgrid.cli.commands.card import card
from biasgrid.cli.commands.compare import compare
from biasgrid.cli.commands.explain import explain
from biasgrid.cli.commands.formats import exports, imports
from biasgrid.cli.commands.gate import gate
from biasgrid.cli.commands.reference import reference
from biasgrid.cli.output import Commands, console, print_text, report_errors
from biasgrid.cli.quickstart.commands import demo, init, try_model

if TYPE_CHECKING:
    from biasgrid.config import Config

app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, help="Social bias of language models over a grid."
)
app.add_typer(imports, name="import")
app.add_typer(exports, name="export")
app.add_typer(reference, name="reference")
app.command("try")(try_model)
app.command()(ask)
app.command()(demo)
app.command()(init)
app.command()(explain)
app.command()(compare)
app.command()(gate)
app.command()(card)
ConfigPath = Annotated[Path, typer.Argument(help="a config, such as config/config.yaml")]
WordListsFolder = Annotated[str | None, typer.Option(help="folder of word lists, in place of the config's")]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON")]


def print_version(asked: bool) -> None:
    """Prints the version and ends, where it is asked for."""
    if asked:
        print_text(f"biasgrid {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=print_version, is_eager=True, help="print the version")
    ] = False,
) -> None:
    """Social bias of language models over a grid; the grid itself is run with `snakemake`."""


def load_checked_config(path: Path, word_lists: str | None) -> Config:
    """Reads a config, with another folder of word lists where one is given.

    Raises:
        InputError: with every fault in it.
    """
    from biasgrid.config import load_config

    return load_config(path, {} if word_lists is None else {"word_lists": word_lists})


@app.command()
def validate(config: ConfigPath, word_lists: WordListsFolder = None) -> None:
    """Checks a config, its word lists and other files; asks no model.

    The code of the config's plugins, and of probes in Python, is run: validate only what you trust.
    """
    from biasgrid.config import load_word_lists
    from biasgrid.runs.checks import LARGEST_INPUT, check_inputs, out_of_vocabulary_words, warnings_of

    with report_errors():
        parsed = load_checked_config(config, word_lists)
        lists = load_word_lists(parsed)
        large = check_inputs(parsed)
        warnings = list(warnings_of(out_of_vocabulary_words(parsed, lists)))
    cells = len(list(parsed.cells()))
    console.print(f"{config}: {cells} cells, {len(lists)} variants of datasets, no faults.")
    if parsed.plugins:
        console.print(f"The code of {first_few(parsed.plugins)} was run.")
    for warning in warnings:
        print_text(warning)
    for file in large:
        print_text(f"{file}: larger than {LARGEST_INPUT // 2**20} MiB; its job will tell whether it has faults")


@app.command()
def plan(
    config: ConfigPath,
    rate: Annotated[float | None, typer.Option(min=1e-6, help="estimate times at this many TFLOPS")] = None,
    rows_per_second: Annotated[
        float | None, typer.Option(min=1e-6, help="estimate times at this many instances per second")
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="show how wide intervals will be, by share asked")
    ] = False,
    interval_width: Annotated[
        float | None, typer.Option("--width", min=1e-6, help="show which share gives intervals as narrow as this")
    ] = None,
    word_lists: WordListsFolder = None,
    as_json: AsJson = False,
) -> None:
    """Shows what each cell of a grid costs and what is done; runs nothing.

    The keys of the JSON are those of `Plan`, `CellPlan` and `Totals` in biasgrid.runs.plan, both with those of `Costs`,
    and under `intervals` those of `Outlook` in biasgrid.runs.forecast; `x_is` tells how the number `x` is
    known: exact, sampled, at most or about.
    """
    from biasgrid.cli.tables import plan_table
    from biasgrid.config import load_word_lists
    from biasgrid.runs.counts import json_data
    from biasgrid.runs.plan import Rate, make_plan

    if rate is not None and rows_per_second is not None:
        raise typer.BadParameter("expected either --rate or --rows-per-second")
    with report_errors():
        parsed = load_checked_config(config, word_lists)
        lists = load_word_lists(parsed)
        speed = Rate(rate, rows_per_second)
        planned = make_plan(parsed, lists, speed)
    told, shown = json_data(planned), [plan_table(planned, speed, console.width)]
    if intervals or interval_width is not None:
        from biasgrid.cli.commands.plan import forecast_table
        from biasgrid.runs.forecast import forecast_intervals

        with report_errors():
            found = forecast_intervals(parsed, lists, planned, interval_width)
        told["intervals"] = json_data(found)
        shown.append(forecast_table(found, interval_width, speed != Rate(), console.width))
    if as_json:
        print_text(json.dumps(told, indent=2))
    else:
        console.print(*shown, sep="\n\n")


@app.command()
def status(config: ConfigPath, word_lists: WordListsFolder = None, as_json: AsJson = False) -> None:
    """Shows what of a grid is done, running, failed and waiting.

    The keys of the JSON are those of `Status`, `CellStatus` and `StatusTotals` in biasgrid.runs.status, both with those
    of `Reached`; `x_is` tells how the number `x` is known: exact or at most.
    """
    from biasgrid.cli.tables import status_table
    from biasgrid.runs.counts import json_data
    from biasgrid.runs.status import read_status

    with report_errors():
        now = read_status(load_checked_config(config, word_lists))
    if as_json:
        print_text(json.dumps(json_data(now), indent=2))
    else:
        console.print(status_table(now, console.width))


@app.command()
def preview(
    config: ConfigPath,
    dataset: Annotated[str, typer.Option(help="name of a dataset")],
    model: Annotated[str | None, typer.Option(help="name of a model: shows its answers too")] = None,
    rows: Annotated[int, typer.Option(min=1, help="how many instances")] = 8,
    word_lists: WordListsFolder = None,
) -> None:
    """Shows the first instances of a dataset as a model gets them; with --model, its answers too."""
    from biasgrid.cli.tables import frame_table
    from biasgrid.runs.preview import preview_dataset as look

    with report_errors():
        shown = look(load_checked_config(config, word_lists), dataset, model, rows, str(config))
    for title, frame in shown._asdict().items():
        if frame is not None:
            console.print(frame_table(title, frame))


@app.command()
def schema(
    write: Annotated[
        Path | None, typer.Option(help="root of the repository, whose schema, captions and tables are written")
    ] = None,
) -> None:
    """Prints the config's JSON schema; --write writes it, the figures' captions and the tables in the docs."""
    from biasgrid.cli.docs import DOCUMENTS, generate_document
    from biasgrid.config.docs import config_schema
    from biasgrid.report.figures.registry import captions_file

    text = json.dumps(config_schema(), indent=2) + "\n"
    if write is None:
        print_text(text, nl=False)
        return
    path, captions = (write / "workflow" / name for name in ("schemas/config.schema.json", "report/figure.rst"))
    documents = [write / name for name in DOCUMENTS]
    with report_errors():
        for needed in (path.parent, captions.parent, *documents):
            if not needed.exists():
                raise UserError(f"there is no {needed}; run this in the root of the repository, or give its folder")
    path.write_text(text)
    captions.write_text(captions_file(), encoding="utf-8")
    for document in documents:
        document.write_text(generate_document(document), encoding="utf-8")


@app.command()
def summary(
    results: Annotated[Path, typer.Argument(help="folder of results, such as results/demo")],
) -> None:
    """Prints the measures of each cell and bias type, what was found, and where the report is."""
    from biasgrid.cli.commands.summary import print_summary

    with report_errors():
        print_summary(results)


@app.command()
def audit(
    results: Annotated[Path, typer.Argument(help="folder of results, such as results/demo")],
    as_json: AsJson = False,
) -> None:
    """Compares a run's files with its manifest: which are damaged, missing or foreign.

    Ends with exit code 1 where any is damaged or missing, or where the last run failed: then it tells why, and what
    that run has not made.
    """
    from biasgrid.runs.audit import audit_results as look
    from biasgrid.runs.counts import json_data

    with report_errors():
        found = look(results)
    if as_json:
        told = {name: [one._asdict() for one in getattr(found, name)] for name in ("findings", "stores")}
        told |= {"failures": json_data(found.failures)}
        print_text(json.dumps(found._asdict() | told, indent=2))
    else:
        for finding in found.findings:
            print_text(f"{finding.state:8} {results / finding.file}")
        print_text(f"{found.files} files compared, {len(found.findings)} not as they were.")
        for store in found.stores:
            print_text(f"{store.dataset}/{store.model}: {store.held} answers are paid for, {store.used} of them used.")
        for failure in found.failures:
            print_text(f"The last run failed in {failure.rule} ({failure.log}): {failure.error}")
        if found.command:
            print_text(f"To make them again:\n  {found.command}")
    if found.command:
        raise typer.Exit(1)


@app.command()
def provenance(
    file: Annotated[Path, typer.Argument(help="a table of the results, such as results/summary.parquet")],
) -> None:
    """Prints who made a table, as JSON: code, config, inputs, models, precision, machine."""
    from biasgrid.tables.files import read_provenance

    with report_errors():
        # A CSV has no place for it; its table stands beside it.
        beside = file.with_suffix(".parquet")
        file = beside if file.suffix == ".csv" and beside.exists() else file
        if file.suffix != ".parquet":
            raise UserError(
                f"{file}: not a table; expected a .parquet file of the results (`manifest.json` there says who made "
                "all cells)"
            )
        if not file.exists():
            raise UserError(f"there is no {file}; expected a table of the results")
        facts = read_provenance(file, anywhere=True)
    print_text(json.dumps(facts, indent=2))
