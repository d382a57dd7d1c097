"""Answers that others published beside the items, such as UnifiedQA's `preds_Age.jsonl`, as
precomputed responses for `answers:` of a model.
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
from biasgrid.formats.bbq.logits import most_likely_options

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
    """Writes published answers to questions with options as precomputed responses."""
    place = " and ".join(map(str, files))
    all_responses: list[PrecomputedResponse] = []
    for file in files:
        all_responses += read_responses(file, column, items)
    responses = unique_responses(all_responses, place)
    if not responses:
        raise InputError([Fault(place, "", "no items", "items with answers")])
    write_precomputed(out, responses)
    return [f"{out}: {len(responses):,} answers"]


def read_responses(file: Path, column: str, items: Path | None = None) -> list[PrecomputedResponse]:
    """Reads the answers of a file.

    Args:
        file: the file; its ending decides the format, see `import_file`.
        column: the field with the answers; for logits the name of the model.
        items: the folder of the items, which only logits need.

    Returns:
        A response per line: `prompt` is the name of the item, `group` its category. An item may
        occur several times.

    Raises:
        InputError: the file cannot be read, a line has no id or no answer, or logits come without
            items.
    """
    if file.suffix == LOGITS:
        return read_logit_responses(file, column, items)
    faults: list[Fault] = []
    responses = []
    for record in item_records(file, faults):
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


def item_records(file: Path, faults: list[Fault]) -> Iterator[Record]:
    """Yields the rows of a table of KoBBQ (.tsv), or the lines of any other file as JSON.

    Args:
        file: the file.
        faults: the faults of the file. Those of its lines are appended.
    """
    if file.suffix == ".tsv":
        return kobbq_records(file, faults)
    return json_line_records(file, JSON_LINE, faults)


def read_logit_responses(file: Path, model: str, items: Path | None) -> list[PrecomputedResponse]:
    """Returns the option with the largest logit as the response to each item.

    The response is empty if several options share the largest logit.

    Raises:
        InputError: `items` is None, or see `most_likely_options`.
    """
    if items is None:
        problem = "logits, which do not contain the texts of the options"
        expected = "`--items` with the folder of the items"
        raise InputError([Fault(str(file), "", problem, expected)])
    responses = []
    for item, option in most_likely_options(file, model, items):
        responses.append(PrecomputedResponse(item.name, item.category, 0, option or "", file.name))
    return responses
