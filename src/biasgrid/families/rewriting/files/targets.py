"""Reads the words whose nearness to words of groups is measured."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from biasgrid.families.rewriting.section import RewritingDataset
from biasgrid.faults import Fault, InputError
from biasgrid.reading import read_text

EXPECTED = "words, one a line"


def targets_of(folder: Path, section: RewritingDataset) -> tuple[list[str], list[Fault]]:
    """Returns the words of a dataset in lower case, none where it names no file, and what is wrong with the file."""
    return ([], []) if section.targets is None else read_targets(folder / section.targets)


@cache
def read_targets(path: Path) -> tuple[list[str], list[Fault]]:
    """Reads words; # begins a comment."""
    try:
        lines = [line.partition("#")[0].strip().lower() for line in read_text(path, EXPECTED).split("\n")]
    except InputError as error:
        return [], error.faults
    words = list(dict.fromkeys(filter(None, lines)))
    return words, [] if words else [Fault(str(path), "", "holds no words", EXPECTED)]
