"""Answers that others published beside the items, such as UnifiedQA's `preds_Age.jsonl`, for `answers:` of a model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of
from biasgrid.base.files import write_text
from biasgrid.base.precomputed_file import first_faults
from biasgrid.families.multiple_choice.items import json_records
from biasgrid.formats.bbq.bbq import category_name
from biasgrid.formats.bbq.kobbq import tsv_records
from biasgrid.formats.bbq.logits import answers_of_logits

LOGITS = ".csv"
"""How the names of tables of logits end."""
IDENTIFIERS = ("sample_id", "example_id", "instance_id")
"""The fields with an item's id: of KoBBQ, where it says all, of BBQ and of EsBBQ."""


def import_file(
    files: Annotated[
        list[Path],
        typer.Argument(help="files of items with answers: .jsonl, or .tsv of KoBBQ; or BBQ's table of logits, .csv"),
    ],
    column: Annotated[
        str,
        typer.Option(help="field with the answers, such as unifiedqa-t5-11b_pred_arc; for logits, name of the model"),
    ],
    out: Annotated[Path, typer.Option(help="JSONL file to write, for the key `answers` of a model")],
    items: Annotated[Path | None, typer.Option(help="for logits: folder with the items that they are about")] = None,
) -> list[str]:
    """Writes published answers to questions with options in the form of precomputed responses."""
    rows = [row for file in files for row in responses_of(file, column, items)]
    write_text(out, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    return [f"{out}: {len(rows):,} answers"]


def responses_of(file: Path, column: str, items: Path | None = None) -> list[dict[str, Any]]:
    """Returns precomputed responses, whose prompt is the name of an item as `items.Item` has it.

    Args:
        file: the file with the answers.
        column: the field with the answers, or of logits the model.
        items: the folder of items, which logits need.

    Raises:
        InputError: the file cannot be read, a line has no id or no answer, or logits come without items.
    """
    if file.suffix == LOGITS:
        if items is None:
            problem = "logits, which do not contain the texts of the options"
            raise InputError([Fault(str(file), "", problem, "`--items` with the folder of the items")])
        return [response(item.name, item.category, text) for item, text in answers_of_logits(file, column, items)]
    faults, rows = list[Fault](), list[dict[str, Any]]()
    for record in (tsv_records if file.suffix == ".tsv" else json_records)(file, faults):
        named = name_of_item(record.values, str(file))
        said = record.values.get(column)
        if named is None:
            faults.append(Fault(str(file), f"line {record.line}", "no item id", one_of(IDENTIFIERS)))
        elif not isinstance(said, str):
            problem = f"no text in {column!r}{nearest_name(column, record.values)}"
            faults.append(Fault(str(file), f"line {record.line}", problem, "the field with the answers"))
        else:
            rows.append(response(*named, said))
    if faults:
        raise InputError(first_faults(faults, file))
    return rows


def response(item: str, category: str, text: str | None) -> dict[str, Any]:
    """Returns a precomputed response to an item."""
    return {"prompt": item, "group": category, "repetition": 0, "response": text}


def name_of_item(fields: Mapping[str, Any], file: str) -> tuple[str, str] | None:
    """Returns the name of an item, as `items.Item` has it, and its category; None of what has no id of one.

    Args:
        fields: the item's fields, as the benchmark or the log of a harness has them.
        file: the file's name, which may say that items are controls.
    """
    identifier = next((name for name in IDENTIFIERS if fields.get(name) not in (None, "")), None)
    if identifier is None:
        return None
    name = str(fields[identifier])
    category = category_name(str(fields.get("category") or name.partition("-")[0]), file)
    return (name if identifier == IDENTIFIERS[0] else f"{category} {name}"), category
