"""Answers that others published beside the items, such as UnifiedQA's `preds_Age.jsonl`, for
`answers:` of a model.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.precomputed_file import (
    PrecomputedResponse,
    first_faults,
    unique_responses,
    write_precomputed,
)
from biasgrid.families.multiple_choice.items import json_records
from biasgrid.formats.bbq.bbq import category_name
from biasgrid.formats.bbq.kobbq import tsv_records
from biasgrid.formats.bbq.logits import answers_of_logits

LOGITS = ".csv"
"""How the names of tables of logits end."""
IDENTIFIERS = ("sample_id", "example_id", "instance_id")
"""The fields with an item's id: of KoBBQ, where it is the whole name, of BBQ and of EsBBQ."""


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
    """Returns precomputed responses, whose prompt is the name of an item as `items.Item` has it.

    Args:
        file: the file with the answers.
        column: the field with the answers, or of logits the model.
        items: the folder of items, which logits need.

    Raises:
        InputError: the file cannot be read, a line has no id or no answer, or logits come without
            items.
    """
    if file.suffix == LOGITS:
        if items is None:
            problem = "logits, which do not contain the texts of the options"
            expected = "`--items` with the folder of the items"
            raise InputError([Fault(str(file), "", problem, expected)])
        answers = answers_of_logits(file, column, items)
        return [
            PrecomputedResponse(item.name, item.category, 0, text or "", file.name)
            for item, text in answers
        ]
    faults: list[Fault] = []
    responses = []
    read_records = tsv_records if file.suffix == ".tsv" else json_records
    for record in read_records(file, faults):
        where = f"line {record.line}"
        item = name_of_item(record.values, str(file))
        answer = record.values.get(column)
        if item is None:
            faults.append(Fault(str(file), where, "no item id or no category", one_of(IDENTIFIERS)))
        elif not isinstance(answer, str):
            near = "" if column in record.values else nearest_name(column, record.values)
            problem = f"no text in {column!r}{near}"
            faults.append(Fault(str(file), where, problem, "the field with the answers"))
        else:
            source = f"{file.name}, {where}"
            responses.append(PrecomputedResponse(*item, 0, answer, source))
    if faults:
        raise InputError(first_faults(faults, file))
    return responses


def name_of_item(fields: Mapping[str, Any], file: str) -> tuple[str, str] | None:
    """Returns an item's name, as `items.Item` has it, and its category.

    Args:
        fields: the item's fields, as the benchmark or the log of a harness has them.
        file: the file's name, which may say that items are controls.

    Returns:
        None if the id or the category is missing.
    """
    texts = {
        name: str(value).strip() for name, value in fields.items() if type(value) in (str, int)
    }
    field = next((name for name in IDENTIFIERS if texts.get(name)), None)
    if field is None:
        return None
    identifier = texts[field]
    # KoBBQ's ids begin with the category and are unique in the benchmark; those of the others are
    # unique within a category.
    is_whole_name = field == IDENTIFIERS[0]
    category = texts.get("category", "")
    if not category and is_whole_name:
        category = identifier.partition("-")[0]
    if not category:
        return None
    category = category_name(category, file)
    name = identifier if is_whole_name else f"{category} {identifier}"
    return name, category
