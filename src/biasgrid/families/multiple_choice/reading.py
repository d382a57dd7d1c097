"""Reads the items of a dataset in any layout, and finds their faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.faults import Fault
from biasgrid.base.precomputed_file import first_faults
from biasgrid.base.references import load, load_reference
from biasgrid.families.multiple_choice.items import (
    NEGATIVE,
    NON_NEGATIVE,
    POLARITIES,
    Item,
    ItemFiles,
    QuestionSet,
)


class ItemLayout(NamedTuple):
    """How files of items are written.

    Attributes:
        ending: how their names end.
        path: the module whose `items_of` reads them.
    """

    ending: str
    path: str


LAYOUTS = {
    "bbq": ItemLayout(".jsonl", "biasgrid.formats.bbq.bbq"),
    "esbbq": ItemLayout(".jsonl", "biasgrid.formats.bbq.esbbq"),
    "kobbq": ItemLayout(".tsv", "biasgrid.formats.bbq.kobbq"),
}
"""By the names of layouts."""
METADATA = "biasgrid.formats.bbq.metadata:with_metadata"
"""What reads the table beside items."""
WILDCARDS = "*?["


def read(files: ItemFiles) -> tuple[QuestionSet, list[Fault]]:
    """Reads the files of a dataset and returns its items with every fault that is in them.

    There are no items if a file cannot be read.
    """
    faults: list[Fault] = []
    layout = load(LAYOUTS[files.layout].path)
    placed_items: list[tuple[Path, Item]] = []
    for path in paths_of(files, faults):
        placed_items += [(path, item) for item in layout.items_of(path, faults)]
    if faults:
        return QuestionSet(files, ()), first_faults(faults, files.files[0])
    if not placed_items:
        names = ", ".join(map(str, files.files))
        faults.append(Fault(names, "", "no items", f"items in the layout {files.layout}"))
    faults += repeated_names(placed_items)
    items = [item for _, item in placed_items]
    if files.metadata is not None:
        items = list(load_reference(METADATA)(items, files.metadata, faults))
    placed = [(path, item) for (path, _), item in zip(placed_items, items, strict=True)]
    faults += polarity_faults(placed)
    faults += target_faults(placed)
    return QuestionSet(files, tuple(items)), first_faults(faults, files.files[0])


def paths_of(files: ItemFiles, faults: list[Fault]) -> list[Path]:
    """Returns the files of items, each once and those of a folder by their names."""
    ending = LAYOUTS[files.layout].ending
    paths: dict[Path, None] = {}
    for path in files.files:
        if path.is_dir():
            matches: Sequence[Path] = sorted(path.glob(f"*{ending}"))
        elif any(sign in path.name for sign in WILDCARDS):
            matches = sorted(path.parent.glob(path.name))
        else:
            matches = [path]
        if not matches:
            faults.append(Fault(str(path), "", "no files", f"files that end in {ending}"))
        paths |= dict.fromkeys(matches)
    return list(paths)


def target_faults(found: Sequence[tuple[Path, Item]]) -> Iterator[Fault]:
    """Yields categories in which no item has a person of the stereotyped groups.

    All of their items would count nowhere.
    """
    with_target = {item.category for _, item in found if not item.is_excluded}
    # Backwards, so that the first item of each category remains, for the place of the fault.
    firsts = {item.category: (path, item) for path, item in reversed(found)}
    for category, (path, item) in firsts.items():
        if category not in with_target:
            problem = (
                f"no item of {category} has a person of a stereotyped group, such as {item.group}"
            )
            expected = "groups or texts of options named as in `stereotyped_groups`"
            yield Fault(str(path), item.where, problem, expected)


def repeated_names(found: Sequence[tuple[Path, Item]]) -> Iterator[Fault]:
    """Yields ids that are used twice."""
    first: dict[str, tuple[Path, Item]] = {}
    for path, item in found:
        other_path, other = first.setdefault(item.name, (path, item))
        if other is not item:
            place = other.where if other_path == path else f"{other.where} of {other_path.name}"
            problem = f"{item.name} is already in {place}"
            yield Fault(str(path), item.where, problem, "each id once per category")


def polarity_faults(found: Sequence[tuple[Path, Item]]) -> Iterator[Fault]:
    """Yields pairs of people with one target in both polarities, and templates that lack one.

    In an older copy of BBQ's metadata the target is the group, whatever is asked.
    """
    targets: dict[tuple[str, ...], tuple[str, Item]] = {}
    for path, item in found:
        if item.target is None:
            continue
        target = item.spoken[item.target]
        people = sorted(item.spoken[place] for place in item.known)
        pair = (item.category, item.template, *people)
        targets.setdefault((*pair, item.polarity), (target, item))
        opposite = targets.get((*pair, NON_NEGATIVE if item.polarity == NEGATIVE else NEGATIVE))
        if opposite is None:
            continue
        other_target, other = opposite
        if other_target == target:
            problem = f"the target {target!r} of both polarities ({other.where})"
            expected = "the other person of the pair in the other polarity"
            yield Fault(str(path), item.where, problem, expected)
    yield from missing_polarities(found)


def missing_polarities(found: Sequence[tuple[Path, Item]]) -> Iterator[Fault]:
    """Yields templates that are asked in one polarity alone."""
    polarities: dict[tuple[str, str], set[str]] = {}
    first: dict[tuple[str, str], tuple[Path, Item]] = {}
    for path, item in found:
        template = item.category, item.template
        polarities.setdefault(template, set()).add(item.polarity)
        first.setdefault(template, (path, item))
    for template, present in polarities.items():
        path, item = first[template]
        for polarity in POLARITIES:
            if polarity not in present:
                problem = f"template {item.template} of {item.category} has no {polarity} questions"
                yield Fault(str(path), item.where, problem, "both polarities for each template")
