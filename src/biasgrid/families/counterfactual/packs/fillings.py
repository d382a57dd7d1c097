"""Reads fillings: files with one filling per line, in folders that group them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.names import alike, normal_form
from biasgrid.base.text import read_text

EXPECTED = "a folder of files with one filling per line, or one such file"


@dataclass(frozen=True)
class Filling:
    """A filling and where it stands."""

    text: str
    file: str
    line: int


@dataclass(frozen=True)
class Fillings:
    """The fillings of all tokens.

    Attributes:
        of: the fillings by token, files in sorted order; a token whose files are empty has none.
        complete: whether all files could be read, so that what is not here is nowhere.
        named: whether the dataset names a folder of them.
    """

    of: dict[str, list[Filling]]
    complete: bool
    named: bool


def read_fillings(path: Path | None, faults: list[Fault]) -> Fillings:
    """Reads the fillings of all tokens.

    A file's name without its suffix is a token, and so is every folder that it is in: a folder's fillings are those of
    all files below it, and equal names mean one token. Blank lines and what appears twice among a token's fillings are
    dropped.

    Args:
        path: the folder, or a single file; None for no fillings.
        faults: where to add what is wrong.
    """
    before = len(faults)
    fillings: dict[str, dict[str, Filling]] = {}
    for file, tokens in [] if path is None else files_with_tokens(path):
        lines = read_lines(file, faults)
        for token in tokens:
            known = fillings.setdefault(token, {})
            for filling in lines:
                known.setdefault(filling.text, filling)
    of = {token: list(known.values()) for token, known in fillings.items()}
    for token, known in fillings.items():
        for text, other in alike(known, normal_form):
            problem = f"{text!r} is {other!r} of {known[other].file}, line {known[other].line}, in another normal form"
            expected = f"every filling of {token!r} once, or all in the normal form NFC"
            faults.append(Fault(known[text].file, f"line {known[text].line}", problem, expected))
    return Fillings(of, complete=len(faults) == before, named=path is not None)


def files_with_tokens(path: Path) -> list[tuple[Path, list[str]]]:
    """Returns the files below a folder with the tokens that they fill; dot-files and dot-folders are left out."""
    if not path.is_dir():
        return [(path, [path.stem])]
    files = [file for file in sorted(path.rglob("*")) if file.is_file()]
    places = [(file, file.relative_to(path)) for file in files]
    return [
        (file, list(dict.fromkeys([*place.parent.parts, place.stem])))
        for file, place in places
        if not any(part.startswith(".") for part in place.parts)
    ]


def read_lines(file: Path, faults: list[Fault]) -> list[Filling]:
    """Returns the lines of a file that are not blank, stripped."""
    try:
        text = read_text(file, EXPECTED)
    except InputError as error:
        faults += error.faults
        return []
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), start=1)]
    return [Filling(line, str(file), number) for number, line in lines if line]
