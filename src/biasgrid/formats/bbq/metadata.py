"""BBQ's `additional_metadata.csv`: which option agrees with the stereotype, as the authors' script
wrote it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.rows import explain_csv
from biasgrid.base.text import read_text
from biasgrid.families.multiple_choice.items import LABEL, NAME, Item

MISSING = ("", "NA")
"""What stands where there is nothing."""
COLUMNS = ("category", "question_index", "example_id", "target_loc", "label_type")
GROUPS = ("Known_stereotyped_groups", "Known_stereotyped_race", "Known_stereotyped_var2")
PLACES = ("0", "1", "2", *MISSING)
RIGHT = "additional_metadata.csv from the same version as the items"


class ItemMetadata(NamedTuple):
    """What the table says of an item.

    Attributes:
        target: the option that agrees with the stereotype, None where there is none.
        label_type: `label` or `name`.
        group: the groups that the stereotype is about.
        value: what the stereotype says.
        crossed: in which dimensions the two people differ.
        where: its line.
    """

    target: int | None
    label_type: str
    group: str | None
    value: str | None
    crossed: str | None
    where: str


def read_metadata(path: Path, faults: list[Fault]) -> dict[tuple[str, str], ItemMetadata]:
    """Reads the table, by the name and the template of items; rows that say the same of an item
    count once.

    Raises:
        InputError: it cannot be read, or lacks a column.
    """
    reader = csv.DictReader(read_text(path, RIGHT).splitlines(keepends=True))
    found: dict[tuple[str, str], ItemMetadata] = {}
    with explain_csv(path, reader, RIGHT):
        names = reader.fieldnames or ()
        if missing := [name for name in COLUMNS if name not in names]:
            raise InputError(
                Fault(
                    str(path),
                    "line 1",
                    f"no column {name!r}{nearest_name(name, names)}",
                    one_of(COLUMNS),
                )
                for name in missing
            )
        for row in reader:
            where = f"line {reader.line_num}"
            values = {name: (value or "").strip() for name, value in row.items() if name}
            faults += row_faults(path, where, values)
            one = metadata_of_row(values, where)
            key = f"{values['category']} {values['example_id']}", values["question_index"]
            first = found.setdefault(key, one)
            if (first.target, first.label_type) != (one.target, one.label_type):
                problem = f"target or label type of {key[0]} differ from those in {first.where}"
                faults.append(
                    Fault(str(path), where, problem, "the same values in all rows of an item")
                )
    return found


def metadata_of_row(values: Mapping[str, str], where: str) -> ItemMetadata:
    """Returns what a row says of its item."""
    group = " x ".join(values[name] for name in GROUPS if values.get(name, "") not in MISSING)
    value, crossed = (values.get(name, "") for name in ("Relevant_social_values", "full_cond"))
    return ItemMetadata(
        int(values["target_loc"]) if values["target_loc"] in PLACES[:3] else None,
        values["label_type"],
        group or None,
        None if value in MISSING else value,
        None if crossed in MISSING else " / ".join(part.strip() for part in crossed.split("\n")),
        where,
    )


def row_faults(path: Path, where: str, values: Mapping[str, str]) -> Iterator[Fault]:
    """Yields what is wrong with a row."""
    for name, allowed in (("target_loc", PLACES), ("label_type", (LABEL, NAME))):
        if values[name] not in allowed:
            yield Fault(
                str(path), f"{where}, {name}", repr(values[name]), one_of(filter(None, allowed))
            )


def with_metadata(items: Iterable[Item], path: Path, faults: list[Fault]) -> Iterator[Item]:
    """Yields items with what the table says of them.

    Args:
        items: those that were read.
        path: the table.
        faults: takes what is wrong with it, and items that it lacks.
    """
    try:
        found = read_metadata(path, faults)
    except InputError as error:
        faults += error.faults
        yield from items
        return
    missing = list[Item]()
    for item in items:
        said = found.get((item.name, item.template))
        if said is None:
            missing.append(item)
            yield item
            continue
        if said.target == item.unknown:
            problem = f"{said.target} of {item.name}, which is the option `unknown`"
            faults.append(
                Fault(
                    str(path), f"{said.where}, target_loc", problem, "an option that names somebody"
                )
            )
        yield replace(
            item,
            target=said.target,
            label_type=said.label_type,
            crossed=said.crossed,
            group=said.group or item.group,
            value=said.value,
            is_excluded=said.target is None,
        )
    if missing:
        problem = (
            f"no row of {len(missing):,} items, the first of them {missing[0].name} "
            f"of template {missing[0].template}"
        )
        faults.append(Fault(str(path), "", problem, RIGHT))
