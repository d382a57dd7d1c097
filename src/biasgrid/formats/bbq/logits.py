"""BBQ's `df_bbq.csv`: logits of encoders with a head for multiple choice, of the three options."""

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


def answers_of_logits(file: Path, model: str, folder: Path) -> Iterator[tuple[Item, str | None]]:
    """Yields the items of a table with the text of the option that has the largest logit.

    The text is None if several options have it.

    Args:
        file: the table.
        model: the model of the table whose answers are taken.
        folder: the items, in the files of BBQ.

    Raises:
        InputError: a file cannot be read, or the table has other items or other models.
    """
    faults: list[Fault] = []
    models: dict[str, None] = {}
    items = items_of_folder(folder)
    answered: dict[str, str] = {}
    for row in read_file_rows(file, Columns(COLUMNS), EXPECTED):
        models[str(row.values["model"])] = None
        if row.values["model"] != model:
            continue
        logits = logits_of(file, row, faults)
        name = f"{row.values['cat']} {row.values['index']}"
        if name not in items:
            problem = f"there is no item {name}"
            faults.append(Fault(str(file), row.where, problem, f"items of {folder}"))
        elif name in answered:
            problem = f"the answer of {model} to {name} is already in {answered[name]}"
            faults.append(Fault(str(file), row.where, problem, "each item once per model"))
        else:
            answered[name] = row.where
            item = items[name]
            largest = max(logits)
            is_unique = logits.count(largest) == 1
            yield item, item.options[logits.index(largest)] if is_unique else None
    if model not in models:
        problem = f"there is no model {model!r}{nearest_name(model, models)}"
        faults.append(Fault(str(file), "", problem, f"`--column` to be {one_of(models)}"))
    if faults:
        raise InputError(first_faults(faults, file))


def logits_of(file: Path, row: FileRow, faults: list[Fault]) -> list[float]:
    """Returns the logits of a row; 0, and a fault, for a value that is no finite number."""
    logits = []
    for name in SCORES:
        logit = number_of(row.values[name])
        if logit is None:
            place = f"{row.where}, {name}"
            written = value_text(row.values[name])
            faults.append(Fault(str(file), place, written, "a finite number"))
        logits.append(logit or 0.0)
    return logits


def number_of(value: Any) -> float | None:
    """Converts a value to a finite number, None if it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


def items_of_folder(folder: Path) -> Mapping[str, Item]:
    """Returns the items of a folder, or of a file, by their names.

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
