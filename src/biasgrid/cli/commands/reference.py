"""The commands that keep what models were measured to be, and put a run beside it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.output import Command, Commands, console, print_text, report_errors

if TYPE_CHECKING:
    from rich.table import Table

    from biasgrid.stats.compare.references import ReferenceNumbers, StoredFigure, StoredReferences

OWN_REFERENCES = Path("references")
"""The default folder of one's own references."""

reference = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Saves measured models as references, and compares runs with references.",
)
MeasuredResults = Annotated[
    Path, typer.Argument(help="folder of results, such as results/try-mine")
]
Folder = Annotated[Path, typer.Option("--folder", help="folder with your own references")]


@reference.command(
    cls=Command, epilog="Example: `biasgrid reference add results --model b --name mine`"
)
def add(
    results: MeasuredResults,
    model: Annotated[
        list[str] | None, typer.Option(help="name of a model; default: all models from the hub")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="name of the file; default: the name of the results")
    ] = None,
    folder: Folder = OWN_REFERENCES,
) -> None:
    """Saves the measures of a run's models from the hub as a reference, with what they were asked
    and how.
    """
    from biasgrid.base.files import write_text
    from biasgrid.runs.references import public_models, run_references

    with report_errors():
        stored = run_references(results, model or public_models(results))
        path = folder / f"{name or results.resolve().name}.json"
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, stored.model_dump_json(indent=1, exclude_defaults=True) + "\n")
    print_text(f"{path}: {len(stored.figures)} numbers of {len(stored.cells)} cells")


@reference.command("list", cls=Command, epilog="Example: `biasgrid reference list`")
def list_references(folder: Folder = OWN_REFERENCES) -> None:
    """Lists the references that come with biasgrid, and your own."""
    with report_errors():
        references = references_of(folder)
    for file, stored in references.items():
        labels = ", ".join(dict.fromkeys(figure.label for figure in stored.figures))
        datasets = ", ".join(dict.fromkeys(figure.dataset for figure in stored.figures))
        console.print(f"{file}: {labels}; {datasets}", soft_wrap=True, highlight=False)


@reference.command(
    "beside", cls=Command, epilog="Example: `biasgrid reference beside results 'BERT base'`"
)
def compare_with_references(
    results: MeasuredResults,
    name: Annotated[
        list[str] | None,
        typer.Argument(help="files or models that `reference list` shows; default: all"),
    ] = None,
    folder: Folder = OWN_REFERENCES,
) -> None:
    """Compares the measures of a run with references, and says for each whether the two are
    comparable.
    """
    with report_errors():
        print_beside(results, folder, name or [], all_of_them=True)


def references_of(folder: Path) -> dict[str, StoredReferences]:
    """Reads the references that come with biasgrid, and those in a folder."""
    from biasgrid.config.paths import workflow_folder
    from biasgrid.stats.compare.references import read_reference_folders

    return read_reference_folders([workflow_folder() / "reference", folder])


def print_beside(
    results: Path, folder: Path, reference_names: Sequence[str], *, all_of_them: bool
) -> None:
    """Prints the measures of a run beside references.

    Args:
        results: the folder of results.
        folder: the folder of the user's own references.
        reference_names: files or labels of references; if empty, all.
        all_of_them: whether references are printed that are not comparable.

    Raises:
        UserError: there is no such reference, or no measure of a run beside it.
    """
    from biasgrid.runs.references import run_references
    from biasgrid.stats.compare import references

    stored = references_of(folder)
    if reference_names:
        stored = references.named_references(stored, reference_names)
    pairs = list(references.join_references(run_references(results), stored))
    if not all_of_them:
        pairs = [pair for pair in pairs if not pair.reasons]
    if not pairs and all_of_them:
        raise UserError(
            f"no reference has a dataset and a measure in common with {results}; expected datasets "
            "with the same names"
        )
    if pairs:
        console.print(reference_table(pairs))


def reference_table(pairs: Iterable[ReferenceNumbers]) -> Table:
    """Returns a table of our numbers beside those of references, a line each."""
    from rich.table import Table

    from biasgrid.stats.compare.sentences import measure_label

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    ours_titles = ("dataset", "measure", "model", "number")
    for title in (*ours_titles, "reference", "its number", "our number is"):
        table.add_column(title, overflow="fold")
    for pair in pairs:
        ours, theirs = pair.ours, pair.theirs
        measure = measure_label(ours.measure, ours.options, ours.bias_type)
        other = f"{theirs.label}, {theirs.kind} ({pair.file})"
        numbers = reference_number(ours), other, reference_number(theirs)
        table.add_row(ours.dataset, measure, ours.label, *numbers, pair.comparison_text)
    return table


def reference_number(figure: StoredFigure) -> str:
    """Returns a number with its mark and interval."""
    from biasgrid.tables.claims.numbers import format_number

    interval = None
    if figure.low is not None:
        interval = f"({format_number(figure.low)} to {format_number(figure.high)})"
    return " ".join(filter(None, (format_number(figure.value), figure.mark, interval)))
