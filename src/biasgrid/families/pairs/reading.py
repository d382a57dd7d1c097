"""Reads the pairs of a dataset, in any layout, and reports their faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from biasgrid.base.faults import Fault
from biasgrid.base.precomputed_file import first_faults
from biasgrid.base.references import load
from biasgrid.families.pairs.items import PairFiles, PairSet, SentencePair

LAYOUTS = {"crows-pairs": "crows_pairs", "stereoset": "stereoset", "plain": "plain"}
"""By the names of layouts, their modules."""


def read(files: PairFiles) -> tuple[PairSet, list[Fault]]:
    """Reads the files of a dataset and returns its pairs with all of their faults.

    If there are faults, but for an id that is used twice, there are no pairs.
    """
    faults: list[Fault] = []
    layout = load(f"{__package__}.layouts.{LAYOUTS[files.layout]}")
    located: list[tuple[Path, SentencePair]] = []
    for path in files.files:
        located += [(path, pair) for pair in layout.pairs_of(path, faults)]
    if faults:
        return PairSet(files, ()), first_faults(faults, files.files[0])
    faults += repeated_ids(located)
    pairs = tuple(pair for _, pair in located if pair.task is None or pair.task in files.tasks)
    if not pairs:
        # Pairs that are there are of other tasks.
        of_tasks = f" of {' or '.join(files.tasks)}" if located else ""
        paths = ", ".join(map(str, files.files))
        expected = f"pairs in the layout {files.layout}{of_tasks}"
        faults.append(Fault(paths, "", f"no pairs{of_tasks}", expected))
    return PairSet(files, pairs), first_faults(faults, files.files[0])


def repeated_ids(located: Sequence[tuple[Path, SentencePair]]) -> Iterator[Fault]:
    """Yields ids that are used twice, of pairs and of sentences that have one.

    Args:
        located: the pairs, each with its file.
    """
    first_use: dict[str, tuple[Path, SentencePair]] = {}
    for path, pair in located:
        for name in (pair.name, *pair.ids):
            if name not in first_use:
                first_use[name] = path, pair
                continue
            first_path, first = first_use[name]
            place = first.where if first_path == path else f"{first.where} of {first_path.name}"
            problem = f"the id {name} is already in {place}"
            yield Fault(str(path), pair.where, problem, "each id once")
