"""Answers that others published beside the items, such as UnifiedQA's `preds_Age.jsonl`, for
`answers:` of a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.precomputed_file import (
    PrecomputedResponse,
    first_faults,
    unique_responses,
    write_precomputed,
)
from biasgrid.base.records import JSON_LINE, Record, json_line_records
from biasgrid.families.multiple_choice.layouts import (
    IDENTIFIERS,
    kobbq_records,
    name_of_item,
)
from biasgrid.formats.bbq.logits import answers_of_logits

LOGITS = ".csv"
"""The ending of the names of tables of logits."""


def import_file(
    files: Annotated[
        list[Path],
        typer.Argument(
            help=(
                "files of items with answers: .jsonl, or .tsv of KoBBQ; or BBQ's table "
                "of logits, .csv"
            )
        ),
    ],
    column: Annotated[
        str,
        typer.Option(
            help=(
                "field with the answers, such as unifiedqa-t5-11b_pred_arc; for logits, name of "
                "the model"
            )
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="JSONL file to write, for the key `answers` of a model")
    ],
    items: Annotated[
        Path | None, typer.Option(help="for logits: folder with the items that they are about")
    ] = None,
) -> list[str]:
    """Writes published answers to questions with options in the form of precomputed responses."""
    place = " and ".join(map(str, files))
    rows = unique_responses(
        (row for file in files for row in responses_of(file, column, items)), place
    )
    if not rows:
        raise InputError([Fault(place, "", "no items", "items with answers")])
    write_precomputed(out, rows)
    return [f"{out}: {len(rows):,} answers"]


def responses_of(file: Path, column: str, items: Path | None = None) -> list[PrecomputedResponse]:
    """Returns the answers of a file; the prompt of each is the name of an item.

    Args:
        file: the file.
        column: the field with the answers; for logits the name of the model.
        items: for logits, the folder of the items.

    Raises:
        InputError: the file cannot be read, a line has no id or no answer, or logits come without
            items.
    """
    if file.suffix == LOGITS:
        return responses_of_logits(file, column, items)
    faults: list[Fault] = []
    responses = []
    for record in answered_items(file, faults):
        item = name_of_item(record.values, str(file))
        answer = record.values.get(column)
        if item is None:
            problem = "no item id or no category"
            faults.append(Fault(str(file), record.where, problem, one_of(IDENTIFIERS)))
        elif not isinstance(answer, str):
            near = "" if column in record.values else nearest_name(column, record.values)
            problem = f"no text in {column!r}{near}"
            faults.append(Fault(str(file), record.where, problem, "the field with the answers"))
        else:
            source = f"{file.name}, {record.where}"
            responses.append(PrecomputedResponse(*item, 0, answer, source))
    if faults:
        raise InputError(first_faults(faults, file))
    return responses


def answered_items(file: Path, faults: list[Fault]) -> Iterator[Record]:
    """Yields the rows of a table of KoBBQ (.tsv) or the lines of any other file."""
    if file.suffix == ".tsv":
        return kobbq_records(file, faults)
    return json_line_records(file, JSON_LINE, faults)


def responses_of_logits(file: Path, model: str, items: Path | None) -> list[PrecomputedResponse]:
    """Returns the options with the largest logits as answers, empty if several have it.

    Raises:
        InputError: there are no items; or see `answers_of_logits`.
    """
    if items is None:
        problem = "logits, which do not contain the texts of the options"
        expected = "`--items` with the folder of the items"
        raise InputError([Fault(str(file), "", problem, expected)])
    responses = []
    for item, text in answers_of_logits(file, model, items):
        responses.append(PrecomputedResponse(item.name, item.category, 0, text or "", file.name))
    return responses
