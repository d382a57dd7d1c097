"""Answers that others published beside the items, such as UnifiedQA's `preds_Age.jsonl`, for `answers:` of a model."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.files import write_text
from biasgrid.base.text import read_text
from biasgrid.families.multiple_choice.layouts.bbq import category_name

IDENTIFIERS = ("sample_id", "example_id", "instance_id")
"""The fields with an item's id: of KoBBQ, where it says all, of BBQ and of EsBBQ."""


def import_file(
    files: Annotated[list[Path], typer.Argument(help="files of items with answers: .jsonl, or .tsv of KoBBQ")],
    column: Annotated[str, typer.Option(help="the field with the answers, such as unifiedqa-t5-11b_pred_arc")],
    out: Annotated[Path, typer.Option(help="the file to write, .jsonl, for the key `answers` of a model")],
) -> list[str]:
    """Writes published answers to questions with options in the form of precomputed responses."""
    rows = [row for file in files for row in responses_of(file, column)]
    write_text(out, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    return [f"{out}: {len(rows):,} answers"]


def responses_of(file: Path, column: str) -> Iterator[dict[str, Any]]:
    """Yields precomputed responses, whose prompt is the name of an item as `items.Item` has it.

    Raises:
        InputError: the file cannot be read, or a line has no id or no answer.
    """
    faults: list[Fault] = []
    for number, values in numbered_objects(file):
        identifier = next((name for name in IDENTIFIERS if name in values), None)
        if identifier is None:
            faults.append(Fault(str(file), f"line {number}", "no id of an item", one_of(IDENTIFIERS)))
        elif not isinstance(values.get(column), str):
            found = f"no text in {column!r}{nearest_name(column, values)}"
            faults.append(Fault(str(file), f"line {number}", found, "the field with the answers"))
        elif not faults:
            named = values.get("category") or str(values[identifier]).partition("-")[0]
            category = category_name(named, str(file))
            name = str(values[identifier]) if identifier == IDENTIFIERS[0] else f"{category} {values[identifier]}"
            yield {"prompt": name, "group": category, "repetition": 0, "response": values[column]}
    if faults:
        raise InputError(faults[:20])


def numbered_objects(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the rows of a file with the numbers of their lines.

    Raises:
        InputError: the file cannot be read, or a line is not JSON.
    """
    lines = read_text(file, "items with answers").splitlines(keepends=True)
    if file.suffix == ".tsv":
        reader = csv.DictReader(lines, delimiter="\t")
        for row in reader:
            yield reader.line_num, row
        return
    for number, line in enumerate(lines, start=1):
        try:
            yield number, json.loads(line)
        except ValueError as error:
            raise InputError([Fault(str(file), f"line {number}", f"not JSON ({error})", "an object a line")]) from None
