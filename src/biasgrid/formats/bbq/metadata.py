"""Reads BBQ's `additional_metadata.csv`: which option agrees with the stereotype.

The table was written by a script of the authors.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.rows import explain_csv
from biasgrid.base.text import read_text
from biasgrid.families.multiple_choice.items import LABEL, NAME, Item

MISSING = ("", "NA")
"""Values that mean that there is none."""
COLUMNS = ("category", "question_index", "example_id", "target_loc", "label_type")
GROUPS = ("Known_stereotyped_groups", "Known_stereotyped_race", "Known_stereotyped_var2")
PLACES = ("0", "1", "2", *MISSING)
RIGHT = "additional_metadata.csv from the same version as the items"


class ItemMetadata(NamedTuple):
    """A row of the table, about an item.

    Attributes:
        target: the option that agrees with the stereotype, None if there is none.
        label_type: `label` or `name`.
        group: the groups that the stereotype is about, None if they are missing.
        value: the trait in the stereotype, None if it is missing.
        crossed: the dimensions in which the two people differ, None if they are missing.
        where: its line.
    """

    target: int | None
    label_type: str
    group: str | None
    value: str | None
    crossed: str | None
    where: str


def read_metadata(path: Path, faults: list[Fault]) -> dict[tuple[str, str], ItemMetadata]:
    """Reads the table; the first row of an item counts, and later ones must agree with it.

    Returns:
        Metadata by the name and the template of items.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    reader = csv.DictReader(read_text(path, RIGHT).splitlines(keepends=True))
    by_item: dict[tuple[str, str], ItemMetadata] = {}
    with explain_csv(path, reader, RIGHT):
        check_columns(path, reader.fieldnames or ())
        for row in reader:
            where = f"line {reader.line_num}"
            values = {name: (value or "").strip() for name, value in row.items() if name}
            faults += row_faults(path, where, values)
            metadata = metadata_of_row(values, where)
            name = f"{values['category']} {values['example_id']}"
            first = by_item.setdefault((name, values["question_index"]), metadata)
            if (first.target, first.label_type) != (metadata.target, metadata.label_type):
                problem = f"target or label type of {name} differ from those in {first.where}"
                expected = "the same values in all rows of an item"
                faults.append(Fault(str(path), where, problem, expected))
    return by_item


def check_columns(path: Path, names: Sequence[str]) -> None:
    """Refuses a table that lacks a column; raises InputError with a fault for each."""
    missing = [name for name in COLUMNS if name not in names]
    if missing:
        raise InputError(
            Fault(
                str(path),
                "line 1",
                f"no column {name!r}{nearest_name(name, names)}",
                one_of(COLUMNS),
            )
            for name in missing
        )


def metadata_of_row(values: Mapping[str, str], where: str) -> ItemMetadata:
    """Converts the values of a row, by their columns, to metadata."""
    groups = [values.get(name, "") for name in GROUPS]
    target = values["target_loc"]
    value = values.get("Relevant_social_values", "")
    crossed = values.get("full_cond", "")
    dimensions = [part.strip() for part in crossed.split("\n")]
    return ItemMetadata(
        target=None if target not in PLACES or target in MISSING else int(target),
        label_type=values["label_type"],
        group=" x ".join(group for group in groups if group not in MISSING) or None,
        value=None if value in MISSING else value,
        crossed=None if crossed in MISSING else " / ".join(dimensions),
        where=where,
    )


def row_faults(path: Path, where: str, values: Mapping[str, str]) -> Iterator[Fault]:
    """Yields the faults of a row."""
    for name, allowed in (("target_loc", PLACES), ("label_type", (LABEL, NAME))):
        if values[name] not in allowed:
            expected = one_of(filter(None, allowed))
            yield Fault(str(path), f"{where}, {name}", repr(values[name]), expected)


def with_metadata(items: Iterable[Item], path: Path, faults: list[Fault]) -> Iterator[Item]:
    """Yields items with the metadata of the table.

    Args:
        items: the items. One that the table lacks is yielded as it is.
        path: the table.
        faults: list to which the faults of the table, and items that it lacks, are added.
    """
    try:
        by_item = read_metadata(path, faults)
    except InputError as error:
        faults += error.faults
        yield from items
        return
    missing = []
    for item in items:
        metadata = by_item.get((item.name, item.template))
        if metadata is None:
            missing.append(item)
            yield item
            continue
        target = metadata.target
        if target == item.unknown:
            place = f"{metadata.where}, target_loc"
            problem = f"{target} of {item.name}, which is the option `unknown`"
            faults.append(Fault(str(path), place, problem, "an option that names somebody"))
        yield replace(
            item,
            target=target,
            label_type=metadata.label_type,
            crossed=metadata.crossed,
            group=metadata.group or item.group,
            value=metadata.value,
            is_excluded=target is None,
        )
    if missing:
        problem = (
            f"no row of {len(missing):,} items, the first of them {missing[0].name} "
            f"of template {missing[0].template}"
        )
        faults.append(Fault(str(path), "", problem, RIGHT))
