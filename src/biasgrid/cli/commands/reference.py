"""The commands that keep what models were measured to be, and put a run beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from biasgrid.base.faults import UserError
from biasgrid.cli.output import Command, Commands, console, print_text, report_errors

if TYPE_CHECKING:
    from biasgrid.stats.compare.references import ReferenceNumbers, StoredFigure, StoredReferences

OWN_REFERENCES = Path("references")
"""The default folder of one's own references."""

reference = typer.Typer(
    cls=Commands, no_args_is_help=True, help="Keeps measured models as references, and puts runs beside them."
)
MeasuredResults = Annotated[Path, typer.Argument(help="folder of results, such as results/try-mine")]
Folder = Annotated[Path, typer.Option("--folder", help="folder of your own references")]


@reference.command(cls=Command, epilog="Example: `biasgrid reference add results --model b --name mine`")
def add(
    results: MeasuredResults,
    model: Annotated[list[str] | None, typer.Option(help="name of a model, in place of all from the hub")] = None,
    name: Annotated[str | None, typer.Option(help="name of the file, in place of the results' name")] = None,
    folder: Folder = OWN_REFERENCES,
) -> None:
    """Keeps the measures of a run's models of the hub, with what they were asked and how."""
    from biasgrid.base.files import write_text
    from biasgrid.runs.references import public_models, references_of_run

    with report_errors():
        stored = references_of_run(results, model or public_models(results))
        path = folder / f"{name or results.resolve().name}.json"
        folder.mkdir(parents=True, exist_ok=True)
        write_text(path, stored.model_dump_json(indent=1, exclude_defaults=True) + "\n")
    print_text(f"{path}: {len(stored.figures)} numbers of {len(stored.cells)} cells")


@reference.command("list", cls=Command, epilog="Example: `biasgrid reference list`")
def list_references(folder: Folder = OWN_REFERENCES) -> None:
    """Lists the references: those that come with biasgrid, and your own."""
    with report_errors():
        known = references_of(folder)
    for file, stored in known.items():
        labels = ", ".join(dict.fromkeys(figure.label for figure in stored.figures))
        datasets = ", ".join(dict.fromkeys(figure.dataset for figure in stored.figures))
        console.print(f"{file}: {labels}; {datasets}", soft_wrap=True, highlight=False)


@reference.command("beside", cls=Command, epilog="Example: `biasgrid reference beside results 'BERT base'`")
def compare_with_references(
    results: MeasuredResults,
    label: Annotated[list[str] | None, typer.Argument(help="labels of references, in place of all")] = None,
    folder: Folder = OWN_REFERENCES,
) -> None:
    """Puts the measures of a run beside references, and says of each whether the two may be compared."""
    with report_errors():
        print_beside(results, folder, label or [], all_of_them=True)


def references_of(folder: Path) -> dict[str, StoredReferences]:
    """Reads the references that come with biasgrid, and those in a folder."""
    from biasgrid.runs.workflow import workflow_folder
    from biasgrid.stats.compare.references import read_reference_folders

    return read_reference_folders([workflow_folder() / "reference", folder])


def print_beside(results: Path, folder: Path, labels: Sequence[str], *, all_of_them: bool) -> None:
    """Prints the measures of a run beside references.

    Args:
        results: the folder of results.
        folder: the folder of references of one's own.
        labels: those of the references, all without any.
        all_of_them: whether references count that may not be compared, too.

    Raises:
        UserError: there is no such reference, or no measure of a run beside it.
    """
    from biasgrid.runs.references import references_of_run
    from biasgrid.stats.compare import references

    known = references_of(folder)
    known = references.references_with_labels(known, labels) if labels else known
    pairs = [
        pair
        for pair in references.join_references(references_of_run(results), known)
        if all_of_them or not pair.reasons
    ]
    if not pairs and all_of_them:
        raise UserError(f"no reference has a dataset and a measure of {results}; expected the same names")
    for line in reference_lines(pairs):
        console.print(line, soft_wrap=True, highlight=False)


def reference_lines(pairs: Iterable[ReferenceNumbers]) -> Iterator[str]:
    """Yields our numbers, each with those of references below it."""
    from biasgrid.stats.compare.sentences import measure_named

    last = None
    for pair in pairs:
        if pair.ours is not last:
            last = pair.ours
            name = measure_named(last.measure, last.options, last.bias_type)
            yield f"{last.dataset}: {last.label}, {name} {reference_number(last)}"
        theirs = f"{reference_number(pair.theirs)}  {pair.theirs.label}, {pair.theirs.kind}"
        yield f"  {theirs} ({pair.file}): {pair.comparison_text}"


def reference_number(figure: StoredFigure) -> str:
    """Returns a number with its mark and interval."""
    from biasgrid.tables.claims.numbers import format_number

    interval = None if figure.low is None else f"({format_number(figure.low)} to {format_number(figure.high)})"
    return " ".join(filter(None, (format_number(figure.value), figure.mark, interval)))
