"""References: numbers of models that were measured elsewhere or before, in files of one format,
beside our own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, model_validator

from biasgrid.base.faults import UserError, nearest_name
from biasgrid.base.messages import validate_content
from biasgrid.base.sections import KeysError, Section
from biasgrid.base.text import read_json

FIGURES_EXPECTED = "JSON with a list under the key 'figures'"
KNOWN = {
    "asked": "other texts",
    "scoring": "scored otherwise",
    "precision": "other precision",
    "biasgrid": "version",
    "level": "intervals of other coverage",
}
"""Fields of `StoredCell` that must be equal in two cells to compare them, and the name of a
difference in messages.
"""


class StoredFigure(Section):
    """A number of a cell, as JSON has it; at least one of `value` and `mark` is known.

    Attributes:
        dataset: the dataset of its cell.
        kind: the kind of the cell's model.
        label: the label of the cell's model.
        measure: the measure.
        options: the measure's options, "" if there are none.
        bias_type: the bias type, None if the number is about all.
        subject: the subject, None for a number of the whole cell.
        value: the number, None if only its mark is known.
        tolerance: how far the value may be off if it was read off a picture, None if unknown.
        low: lower end of its interval, None if it has none.
        high: upper end, likewise.
        mark: the letter or range of letters that it was given, None if it was given none.
    """

    dataset: str
    kind: str
    label: str
    measure: str
    options: str = ""
    bias_type: str | None = None
    subject: str | None = None
    value: float | None = None
    tolerance: float | None = None
    low: float | None = None
    high: float | None = None
    mark: (
        Literal[
            "A",
            "B",
            "C",
            "D",
            "A to B",
            "A to C",
            "A to D",
            "B to C",
            "B to D",
            "C to D",
        ]
        | None
    ) = None

    @model_validator(mode="after")
    def _says_something(self) -> StoredFigure:
        if self.value is None and self.mark is None:
            raise KeysError("expected a `value`, a `mark`, or both")
        return self

    @model_validator(mode="after")
    def _has_a_whole_interval(self) -> StoredFigure:
        if (self.low is None) != (self.high is None) or (self.low or 0) > (self.high or 0):
            raise KeysError("expected `low` and `high`, the smaller one first, or neither of them")
        return self


class StoredCell(Section):
    """Facts about a cell, as JSON has them; None if unknown.

    Attributes:
        dataset: its dataset.
        kind: the kind of its model.
        label: the label of its model.
        asked: the digest of its instances.
        scoring: how its model was scored.
        precision: the precision of its model.
        biasgrid: the version that measured it.
        model: the repository or folder of its model, with the commit or the digest of its weights.
        level: the level of its intervals.
    """

    dataset: str
    kind: str
    label: str
    asked: str | None
    scoring: str | None
    precision: str | None
    biasgrid: str
    model: str | None = None
    level: float | None = None


class StoredCheckpoint(Section):
    """The hub repository with a model's weights, which identifies it whatever a config calls it."""

    kind: str
    label: str
    checkpoint: str


class StoredReferences(Section):
    """A file of references.

    Attributes:
        about: whose numbers they are, and their source.
        checkpoints: the checkpoints of their models, as far as known.
        cells: facts about their cells; empty for published figures of others, with which nothing
            can be compared.
        figures: the numbers.
    """

    about: Any = None
    checkpoints: list[StoredCheckpoint] = Field(default_factory=list)
    cells: list[StoredCell] = Field(default_factory=list)
    figures: list[StoredFigure]


class ReferenceNumbers(NamedTuple):
    """A number of ours and the same number of a reference.

    Attributes:
        ours: our number.
        theirs: the number of the reference.
        reasons: why the two may not be compared; empty if they may.
        file: the name of the reference's file, without its ending.
    """

    ours: StoredFigure
    theirs: StoredFigure
    reasons: Sequence[str]
    file: str

    @property
    def comparison_text(self) -> str:
        """How our number compares: `above`, `below`, `not distinguishable`, or why it does not.

        Above and below mean that the intervals do not overlap.
        """
        if self.reasons:
            return f"not compared: {'; '.join(self.reasons)}"
        low, high = self.ours.low, self.ours.high
        other_low, other_high = self.theirs.low, self.theirs.high
        if low is None or high is None or other_low is None or other_high is None:
            return "no interval: not distinguishable"
        if low > other_high:
            return "above"
        return "below" if high < other_low else "not distinguishable"


def read_references(path: str | Path) -> StoredReferences:
    """Reads a file of references.

    Raises:
        InputError: the file cannot be read or is no such JSON, with every faulty figure.
    """
    return validate_content(StoredReferences, read_json(path, FIGURES_EXPECTED), str(path))


def read_reference_folders(folders: Sequence[Path]) -> dict[str, StoredReferences]:
    """Reads all references in some folders.

    Returns:
        References by the name of their file, without its ending. If several folders have a file of
        one name, the last folder counts.

    Raises:
        InputError: see `read_references`.
    """
    return {
        path.stem: read_references(path)
        for folder in folders
        for path in sorted(folder.glob("*.json"))
    }


def join_references(
    ours: StoredReferences, references: Mapping[str, StoredReferences]
) -> Iterator[ReferenceNumbers]:
    """Joins numbers with the references of the same dataset, measure, options and bias type.

    Args:
        ours: our cells and figures.
        references: the references by file.

    Yields:
        A pair for each of our figures and each figure of a reference about a whole cell with the
        same keys, whatever its model.
    """
    our_cells = {cell_key(cell): cell for cell in ours.cells}
    for figure in ours.figures:
        our_cell = our_cells[cell_key(figure)]
        for file, reference in references.items():
            their_cells = {cell_key(cell): cell for cell in reference.cells}
            for theirs in reference.figures:
                # Figures of single subjects are no numbers of whole cells.
                if theirs.subject is None and figure_keys(theirs) == figure_keys(figure):
                    their_cell = their_cells.get(cell_key(theirs))
                    reasons = reasons_not_comparable(our_cell, their_cell)
                    yield ReferenceNumbers(figure, theirs, reasons, file)


def figure_keys(figure: StoredFigure) -> tuple[str | None, ...]:
    """Returns the keys of a figure but its model."""
    return figure.dataset, figure.measure, figure.options, figure.bias_type


def cell_key(entry: StoredFigure | StoredCell) -> tuple[str, str, str]:
    """Returns the keys of a cell: dataset, kind and label."""
    return entry.dataset, entry.kind, entry.label


def reasons_not_comparable(ours: StoredCell, theirs: StoredCell | None) -> list[str]:
    """Lists the reasons why two cells may not be compared; none if they may.

    Args:
        ours: our cell.
        theirs: the reference's cell, None if nothing is known about it.
    """
    if theirs is None or ours.asked is None or theirs.asked is None:
        return ["nobody knows what was asked"]
    reasons = []
    for name, problem in KNOWN.items():
        own_fact, their_fact = getattr(ours, name), getattr(theirs, name)
        if own_fact != their_fact:
            reasons.append(f"{problem} ({own_fact}, not {their_fact})")
    return reasons


def named_references(
    references: Mapping[str, StoredReferences], models_or_files: Sequence[str]
) -> dict[str, StoredReferences]:
    """Returns the references with only the figures of some models or files.

    Args:
        references: all references by file.
        models_or_files: labels of models, or names of files, whose figures all stay; the case of
            letters does not matter.

    Raises:
        UserError: a name is neither a file nor a model.
    """
    refuse_unknown_references(references, models_or_files)
    folded_names = {name.casefold() for name in models_or_files}
    selected_references = {}
    for file, reference in references.items():
        is_whole_file = file.casefold() in folded_names
        figures = [
            figure
            for figure in reference.figures
            if is_whole_file or figure.label.casefold() in folded_names
        ]
        selected_references[file] = reference.model_copy(update={"figures": figures})
    return selected_references


def refuse_unknown_references(
    references: Mapping[str, StoredReferences], models_or_files: Sequence[str]
) -> None:
    """Refuses names that are neither a file nor a model of any reference, in any case of letters.

    Raises:
        UserError: with all such names, and the files and models that there are.
    """
    all_figures = [figure for reference in references.values() for figure in reference.figures]
    labels = sorted({figure.label for figure in all_figures})
    names = [*references, *labels]
    folded_names = {name.casefold() for name in names}
    missing = [name for name in models_or_files if name.casefold() not in folded_names]
    if missing:
        near = nearest_name(missing[0], names)
        expected = f"a file ({', '.join(references)}) or a model ({', '.join(labels) or 'none'})"
        raise UserError(f"no reference {', '.join(map(repr, missing))}{near}; expected {expected}")
