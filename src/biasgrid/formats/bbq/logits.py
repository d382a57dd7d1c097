"""Reads BBQ's `df_bbq.csv`: logits of the three options, from encoders for multiple choice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.precomputed_file import first_faults
from biasgrid.base.rows import Columns, FileRow, read_file_rows
from biasgrid.families.multiple_choice.items import OPTIONS, Item
from biasgrid.families.multiple_choice.layouts import read_bbq

SCORES = tuple(f"ans{place}" for place in range(OPTIONS))
COLUMNS = ("index", "cat", "model", *SCORES)
EXPECTED = f"a table of logits with the columns {', '.join(COLUMNS)}"


def most_likely_options(file: Path, model: str, folder: Path) -> Iterator[tuple[Item, str | None]]:
    """Yields each item of a model with the text of the option that has the largest logit.

    The text is None if several options share the largest logit. Faults are raised after the last
    item, so read all of them before you use any.

    Args:
        file: the table.
        model: the name of a model in the table; rows of other models are skipped.
        folder: the folder with the files of BBQ's items, or one such file.

    Raises:
        InputError: a file cannot be read, a logit is not a finite number, an item is unknown or
            has two rows, or the table does not have the model.
    """
    faults: list[Fault] = []
    models: dict[str, None] = {}
    items = read_items(folder)
    place_of_item: dict[str, str] = {}
    for row in read_file_rows(file, Columns(COLUMNS), EXPECTED):
        models[str(row.values["model"])] = None
        if row.values["model"] != model:
            continue
        logits = read_logits(file, row, faults)
        name = f"{row.values['cat']} {row.values['index']}"
        if name not in items:
            problem = f"there is no item {name}"
            faults.append(Fault(str(file), row.where, problem, f"items of {folder}"))
        elif name in place_of_item:
            problem = f"the answer of {model} to {name} is already in {place_of_item[name]}"
            faults.append(Fault(str(file), row.where, problem, "each item once per model"))
        else:
            place_of_item[name] = row.where
            if logits is None:
                continue
            item = items[name]
            largest = max(logits)
            is_unique = logits.count(largest) == 1
            yield item, item.options[logits.index(largest)] if is_unique else None
    if model not in models:
        problem = f"there is no model {model!r}{nearest_name(model, models)}"
        faults.append(Fault(str(file), "", problem, f"`--column` to be {one_of(models)}"))
    if faults:
        raise InputError(first_faults(faults, file))


def read_logits(file: Path, row: FileRow, faults: list[Fault]) -> list[float] | None:
    """Returns the logits of a row by option.

    Args:
        file: the table, for messages.
        row: the row.
        faults: the faults of the table. Those of the row are appended.

    Returns:
        The logits, None if one is not a finite number.
    """
    logits = []
    for name in SCORES:
        logit = finite_number(row.values[name])
        if logit is None:
            place = f"{row.where}, {name}"
            faults.append(Fault(str(file), place, value_text(row.values[name]), "a finite number"))
        else:
            logits.append(logit)
    return logits if len(logits) == len(SCORES) else None


def finite_number(value: Any) -> float | None:
    """Converts a value to a number; None if that is not possible, or not finite."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def read_items(folder: Path) -> Mapping[str, Item]:
    """Reads BBQ's items from a folder, or from one file, by their names.

    Raises:
        InputError: a file cannot be read or has faults, or there is none.
    """
    faults: list[Fault] = []
    items: dict[str, Item] = {}
    paths = sorted(folder.glob("*.jsonl")) if folder.is_dir() else [folder]
    for path in paths:
        items |= {item.name: item for item in read_bbq(path, faults)}
    if not items and not faults:
        faults.append(Fault(str(folder), "", "no items", "files of BBQ's items, .jsonl"))
    if faults:
        raise InputError(first_faults(faults, folder))
    return items
