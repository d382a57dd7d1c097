"""Reads the items of a dataset, in whatever layout, and says what is wrong with them."""

from __future__ import annotations

from collections import defaultdict
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
    """Reads the files of a dataset and returns its items with every fault that is in them."""
    faults: list[Fault] = []
    layout = load(LAYOUTS[files.layout].path)
    found = [
        (path, item) for path in paths_of(files, faults) for item in layout.items_of(path, faults)
    ]
    if not faults:
        if not found:
            faults.append(
                Fault(
                    ", ".join(map(str, files.files)),
                    "",
                    "no items",
                    f"items in the layout {files.layout}",
                )
            )
        faults += repeated_names(found)
        items = [item for _, item in found]
        if files.metadata is not None:
            items = list(load_reference(METADATA)(items, files.metadata, faults))
        placed = [(path, item) for (path, _), item in zip(found, items, strict=True)]
        faults += [*polarity_faults(placed), *target_faults(placed)]
        return QuestionSet(files, tuple(items)), first_faults(faults, files.files[0])
    return QuestionSet(files, ()), first_faults(faults, files.files[0])


def paths_of(files: ItemFiles, faults: list[Fault]) -> list[Path]:
    """Returns the files of items, each once and those of a folder by their names."""
    ending, found = LAYOUTS[files.layout].ending, dict[Path, None]()
    for path in files.files:
        if path.is_dir():
            matches: Sequence[Path] = sorted(path.glob(f"*{ending}"))
        elif any(sign in path.name for sign in WILDCARDS):
            matches = sorted(path.parent.glob(path.name))
        else:
            matches = [path]
        if not matches:
            faults.append(Fault(str(path), "", "no files", f"files that end in {ending}"))
        found |= dict.fromkeys(matches)
    return list(found)


def target_faults(found: Sequence[tuple[Path, Item]]) -> Iterator[Fault]:
    """Yields categories without any item of which one person is of the stereotyped groups: all
    would count nowhere.
    """
    with_target = {item.category for _, item in found if not item.is_excluded}
    for path, item in {item.category: (path, item) for path, item in reversed(found)}.values():
        if item.category not in with_target:
            problem = (
                f"no item of {item.category} has a person of a stereotyped group, "
                f"such as {item.group}"
            )
            yield Fault(
                str(path),
                item.where,
                problem,
                "groups or texts of options named as in `stereotyped_groups`",
            )


def repeated_names(found: Sequence[tuple[Path, Item]]) -> Iterator[Fault]:
    """Yields ids that are used twice."""
    first: dict[str, tuple[Path, Item]] = {}
    for path, item in found:
        other_path, other = first.setdefault(item.name, (path, item))
        if other is not item:
            place = other.where if other_path == path else f"{other.where} of {other_path.name}"
            yield Fault(
                str(path),
                item.where,
                f"{item.name} is already in {place}",
                "each id once per category",
            )


def polarity_faults(found: Sequence[tuple[Path, Item]]) -> Iterator[Fault]:
    """Yields templates that are asked in one polarity alone, and pairs of options with one target
    in both.

    In an older copy of BBQ's metadata the target is the group, whatever is asked.
    """
    met, targets = (
        defaultdict[tuple[str, str], set[str]](set),
        dict[tuple[str, ...], tuple[str, Item]](),
    )
    first: dict[tuple[str, str], tuple[Path, Item]] = {}
    for path, item in found:
        template = item.category, item.template
        met[template].add(item.polarity)
        first.setdefault(template, (path, item))
        if item.target is None:
            continue
        pair = sorted(item.spoken[place] for place in item.known)
        targets.setdefault((*template, *pair, item.polarity), (item.spoken[item.target], item))
        other = targets.get(
            (*template, *pair, NON_NEGATIVE if item.polarity == NEGATIVE else NEGATIVE)
        )
        if other and other[0] == item.spoken[item.target]:
            problem = (
                f"the target {item.spoken[item.target]!r} of both polarities ({other[1].where})"
            )
            yield Fault(
                str(path), item.where, problem, "the other person of the pair in the other polarity"
            )
    for template, polarities in met.items():
        path, item = first[template]
        for polarity in POLARITIES:
            if polarity not in polarities:
                problem = f"template {item.template} of {item.category} has no {polarity} questions"
                yield Fault(str(path), item.where, problem, "both polarities for each template")
