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
"""What must be the same of two cells that are compared, and how messages call it where it is
not.
"""


class StoredFigure(Section):
    """A number: `dataset`, `kind` and `label` name the cell; without a subject it is of the whole
    cell.

    `tolerance` says how far the value may be off where it was read off a picture, None if that is
    not known; `low` and `high` are its interval; `mark` is the letter that it was given, of which
    alone something may be known.
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
    """What is known of a cell, beside its numbers.

    `asked` is the digest of what it was asked, `biasgrid` the version that measured it, `model` its
    repository or folder with the commit or the digest of its weights, `level` the coverage of
    intervals.
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
    """The repository of the hub that has a model's weights, by which it is found whatever a config
    calls it.
    """

    kind: str
    label: str
    checkpoint: str


class StoredReferences(Section):
    """References: whose they are (`about`), of which cells, and the numbers. Of others' figures no
    cells are known.
    """

    about: Any = None
    checkpoints: list[StoredCheckpoint] = Field(default_factory=list)
    cells: list[StoredCell] = Field(default_factory=list)
    figures: list[StoredFigure]


class ReferenceNumbers(NamedTuple):
    """A number beside that of a reference.

    Attributes:
        ours: our number.
        theirs: that of the reference.
        reasons: why the two may not be compared; none where they may.
        file: where the reference stands.
    """

    ours: StoredFigure
    theirs: StoredFigure
    reasons: Sequence[str]
    file: str

    @property
    def comparison_text(self) -> str:
        """How the two compare, as far as their intervals allow."""
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
    """Reads all references in some folders; of files of one name the last counts.

    Returns:
        By the name of the file, without its ending.

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
        references: the references, by file.
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
                    reasons = reason_not_beside(our_cell, their_cell)
                    yield ReferenceNumbers(figure, theirs, reasons, file)


def figure_keys(figure: StoredFigure) -> tuple[str | None, ...]:
    """Returns what a figure is about, whatever the model."""
    return figure.dataset, figure.measure, figure.options, figure.bias_type


def cell_key(what: StoredFigure | StoredCell) -> tuple[str, str, str]:
    """Returns dataset, kind and label."""
    return what.dataset, what.kind, what.label


def reason_not_beside(ours: StoredCell, theirs: StoredCell | None) -> list[str]:
    """Lists the reasons why two cells may not be compared; none if they may."""
    if theirs is None or ours.asked is None or theirs.asked is None:
        return ["nobody knows what was asked"]
    reasons = []
    for name, problem in KNOWN.items():
        one, other = getattr(ours, name), getattr(theirs, name)
        if one != other:
            reasons.append(f"{problem} ({one}, not {other})")
    return reasons


def named_references(
    references: Mapping[str, StoredReferences], names: Sequence[str]
) -> dict[str, StoredReferences]:
    """Returns some references alone.

    Args:
        references: all, by file.
        names: labels of models, or files, of which all models are meant; whatever their case.

    Raises:
        UserError: there is none of a name.
    """
    refuse_unknown_references(references, names)
    wanted = {name.casefold() for name in names}
    chosen = {}
    for file, stored in references.items():
        is_whole_file = file.casefold() in wanted
        figures = [
            figure
            for figure in stored.figures
            if is_whole_file or figure.label.casefold() in wanted
        ]
        chosen[file] = stored.model_copy(update={"figures": figures})
    return chosen


def refuse_unknown_references(
    references: Mapping[str, StoredReferences], names: Sequence[str]
) -> None:
    """Refuses names that are neither a file nor a model of any reference, in any case of letters.

    Raises:
        UserError: with all such names, and the files and models that there are.
    """
    labels = sorted({figure.label for stored in references.values() for figure in stored.figures})
    known = [*references, *labels]
    folded = {name.casefold() for name in known}
    missing = [name for name in names if name.casefold() not in folded]
    if missing:
        near = nearest_name(missing[0], known)
        expected = f"a file ({', '.join(references)}) or a model ({', '.join(labels) or 'none'})"
        raise UserError(f"no reference {', '.join(map(repr, missing))}{near}; expected {expected}")
