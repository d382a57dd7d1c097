"""Reads the pairs of a dataset, in whatever layout, and says what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from biasgrid.base.faults import Fault
from biasgrid.base.precomputed_file import first_faults
from biasgrid.base.references import load
from biasgrid.families.pairs.items import ROLES, PairFiles, PairSet, SentencePair

LAYOUTS = {"crows-pairs": "crows_pairs", "stereoset": "stereoset", "plain": "plain"}
"""By the names of layouts, their modules."""


def read(files: PairFiles) -> tuple[PairSet, list[Fault]]:
    """Reads the files of a dataset and returns its pairs with every fault that is in them."""
    faults: list[Fault] = []
    layout = load(f"{__package__}.layouts.{LAYOUTS[files.layout]}")
    found = [(path, pair) for path in files.files for pair in layout.pairs_of(path, faults)]
    if not faults:
        faults += repeated_ids(found)
        asked = tuple(pair for _, pair in found if pair.task is None or pair.task in files.tasks)
        if not asked:
            of_tasks = f" of {' or '.join(files.tasks)}" if found else ""
            expected = f"pairs in the layout {files.layout}{of_tasks}"
            faults.append(
                Fault(", ".join(map(str, files.files)), "", f"no pairs{of_tasks}", expected)
            )
        return PairSet(files, asked), first_faults(faults, files.files[0])
    return PairSet(files, ()), first_faults(faults, files.files[0])


def repeated_ids(found: Sequence[tuple[Path, SentencePair]]) -> Iterator[Fault]:
    """Yields ids of pairs, and of sentences that have one, that are used twice."""
    first: dict[str, tuple[Path, SentencePair]] = {}
    for path, pair in found:
        for name in (pair.name, *(pair.sentence_id(role) for role in ROLES if pair.ids)):
            if name not in first:
                first[name] = path, pair
                continue
            other_path, other = first[name]
            place = other.where if other_path == path else f"{other.where} of {other_path.name}"
            yield Fault(
                str(path), pair.where, f"the id {name} is already in {place}", "each id once"
            )
