"""Reads the files of a dataset of items, with BBQ's metadata, and checks items against each other.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.faults import Fault, one_of
from biasgrid.base.precomputed_file import first_faults
from biasgrid.base.records import Record, table_records
from biasgrid.families.multiple_choice.items import (
    LABEL,
    NAME,
    NEGATIVE,
    NON_NEGATIVE,
    POLARITIES,
    Item,
    ItemFiles,
    QuestionSet,
)
from biasgrid.families.multiple_choice.layouts import LAYOUTS

WILDCARDS = "*?["
LocatedItem = tuple[Path, Item]
"""An item and its file."""


def read(files: ItemFiles) -> tuple[QuestionSet, list[Fault]]:
    """Reads the files of a dataset.

    Returns:
        The items, and the first faults of all files. There are no items if a file of items has
        faults of its own.
    """
    faults: list[Fault] = []
    read_items = LAYOUTS[files.layout].read
    located: list[LocatedItem] = []
    for path in paths_of_items(files, faults):
        located += [(path, item) for item in read_items(path, faults)]
    if faults:
        return QuestionSet(files, ()), first_faults(faults, files.files[0])
    if not located:
        names = ", ".join(map(str, files.files))
        faults.append(Fault(names, "", "no items", f"items in the layout {files.layout}"))
    faults += repeated_names(located)
    if files.metadata is not None:
        located = with_metadata(located, files.metadata, faults)
    faults += polarity_faults(located)
    faults += target_faults(located)
    items = tuple(item for _, item in located)
    return QuestionSet(files, items), first_faults(faults, files.files[0])


def paths_of_items(files: ItemFiles, faults: list[Fault]) -> list[Path]:
    """Returns the files of items, each once; files of a folder or pattern are sorted by name."""
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


# Checks of items against each other


def repeated_names(located: Sequence[LocatedItem]) -> Iterator[Fault]:
    """Yields a fault for each item whose name was used before."""
    first: dict[str, LocatedItem] = {}
    for path, item in located:
        first_path, first_item = first.setdefault(item.name, (path, item))
        if first_item is item:
            continue
        place = first_item.where
        if first_path != path:
            place = f"{place} of {first_path.name}"
        problem = f"{item.name} is already in {place}"
        yield Fault(str(path), item.where, problem, "each id once per category")


def target_faults(located: Sequence[LocatedItem]) -> Iterator[Fault]:
    """Yields a fault for each category all of whose items would be excluded from the measures."""
    with_target = {item.category for _, item in located if not item.is_excluded}
    first: dict[str, LocatedItem] = {}
    # Backwards, so that the first item of each category remains.
    for path, item in reversed(located):
        first[item.category] = path, item
    for category, (path, item) in first.items():
        if category in with_target:
            continue
        problem = f"no item of {category} has a person of a stereotyped group, such as {item.group}"
        expected = "groups or texts of options named as in `stereotyped_groups`"
        yield Fault(str(path), item.where, problem, expected)


def polarity_faults(located: Sequence[LocatedItem]) -> Iterator[Fault]:
    """Yields pairs of people with the same target in both polarities, then `missing_polarities`.

    In an older copy of BBQ's metadata, the target is the group, whatever is asked.
    """
    targets: dict[tuple[str, ...], tuple[str, Item]] = {}
    for path, item in located:
        if item.target is None:
            continue
        target = item.spoken[item.target]
        people = sorted(item.spoken[number] for number in item.people)
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
    yield from missing_polarities(located)


def missing_polarities(located: Sequence[LocatedItem]) -> Iterator[Fault]:
    """Yields a fault for each template that is asked in one polarity only."""
    polarities: dict[tuple[str, str], set[str]] = {}
    first: dict[tuple[str, str], LocatedItem] = {}
    for path, item in located:
        template = item.category, item.template
        polarities.setdefault(template, set()).add(item.polarity)
        first.setdefault(template, (path, item))
    for template, present in polarities.items():
        path, item = first[template]
        for polarity in POLARITIES:
            if polarity not in present:
                problem = f"template {item.template} of {item.category} has no {polarity} questions"
                yield Fault(str(path), item.where, problem, "both polarities for each template")


# BBQ's `additional_metadata.csv`, which a script of the authors wrote

MISSING = "NA"
METADATA_COLUMNS = ("category", "question_index", "example_id", "target_loc", "label_type")
STEREOTYPED_GROUPS = (
    "Known_stereotyped_groups",
    "Known_stereotyped_race",
    "Known_stereotyped_var2",
)
TARGET_LOCATIONS = ("0", "1", "2")
METADATA = "additional_metadata.csv from the same version as the items"


class ItemMetadata(NamedTuple):
    """A row of the metadata, about an item.

    Attributes:
        target: the number of the option that agrees with the stereotype, None if there is none.
        label_type: `LABEL` or `NAME`.
        group: the groups that the stereotype is about, None if they are missing.
        value: the content of the stereotype, None if it is missing.
        crossed: the dimensions in which the two people differ, None if they are missing.
        where: its line.
    """

    target: int | None
    label_type: str
    group: str | None
    value: str | None
    crossed: str | None
    where: str


def with_metadata(
    located: Sequence[LocatedItem], path: Path, faults: list[Fault]
) -> list[LocatedItem]:
    """Returns items with their metadata; items without a row stay as they are.

    A row is refused if its target is no option or the option `unknown`, if its label type is not
    BBQ's, or if it contradicts an earlier row of its item. Items without a row are one fault, which
    says how many there are. Items whose row has no target are excluded from the measures.

    Args:
        located: the items.
        path: the table.
        faults: list to which faults are added.
    """
    before = len(faults)
    by_item = read_metadata(path, faults)
    if not by_item and len(faults) > before:
        # The table could not be read, so nothing is said of items that it lacks.
        return list(located)
    joined: list[LocatedItem] = []
    missing = []
    for item_path, item in located:
        metadata = by_item.get((item.name, item.template))
        if metadata is None:
            missing.append(item)
            joined.append((item_path, item))
            continue
        target = metadata.target
        if target == item.unknown:
            place = f"{metadata.where}, target_loc"
            problem = f"{target} of {item.name}, which is the option `unknown`"
            faults.append(Fault(str(path), place, problem, "an option that names somebody"))
        with_target = replace(
            item,
            target=target,
            label_type=metadata.label_type,
            crossed=metadata.crossed,
            group=metadata.group or item.group,
            value=metadata.value,
            is_excluded=target is None,
        )
        joined.append((item_path, with_target))
    if missing:
        problem = (
            f"no row of {len(missing):,} items, the first of them {missing[0].name} "
            f"of template {missing[0].template}"
        )
        faults.append(Fault(str(path), "", problem, METADATA))
    return joined


def read_metadata(path: Path, faults: list[Fault]) -> dict[tuple[str, str], ItemMetadata]:
    """Returns the metadata by name and template of items; of several rows the first one counts."""
    by_item: dict[tuple[str, str], ItemMetadata] = {}
    expected = f"{METADATA}, with the columns {', '.join(METADATA_COLUMNS)}"
    for row in table_records(path, METADATA_COLUMNS, expected, faults):
        metadata = metadata_of_row(row)
        name = f"{row.optional('category') or ''} {row.optional('example_id') or ''}"
        key = name, row.optional("question_index") or ""
        first = by_item.setdefault(key, metadata)
        if (first.target, first.label_type) != (metadata.target, metadata.label_type):
            problem = f"target or label type of {name} differ from those in {first.where}"
            expected_rows = "the same values in all rows of an item"
            faults.append(Fault(str(path), row.where, problem, expected_rows))
    return by_item


def metadata_of_row(row: Record) -> ItemMetadata:
    """Returns the metadata of a row; a faulty target becomes None."""
    target = checked_text(row, "target_loc", (*TARGET_LOCATIONS, "", MISSING))
    groups = [optional_text(row, column) for column in STEREOTYPED_GROUPS]
    crossed = optional_text(row, "full_cond")
    if crossed is not None:
        dimensions = [dimension.strip() for dimension in crossed.split("\n")]
        crossed = " / ".join(dimensions)
    return ItemMetadata(
        target=int(target) if target in TARGET_LOCATIONS else None,
        label_type=checked_text(row, "label_type", (LABEL, NAME)),
        group=" x ".join(filter(None, groups)) or None,
        value=optional_text(row, "Relevant_social_values"),
        crossed=crossed,
        where=row.where,
    )


def checked_text(row: Record, column: str, allowed: Sequence[str]) -> str:
    """Returns a text that must be one of several, perhaps an empty one; otherwise a fault, too."""
    text = row.optional(column) or ""
    if text not in allowed:
        row.add_fault(column, repr(text), one_of(filter(None, allowed)))
    return text


def optional_text(row: Record, column: str) -> str | None:
    """Returns a text, None if it is empty or `NA`, or the table lacks the column."""
    text = row.optional(column)
    return None if text == MISSING else text
