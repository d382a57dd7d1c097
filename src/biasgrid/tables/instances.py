"""The requests to models: columns that models read, the same in all families, and the keys of a
family, which no model reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandera.polars as pa
import polars as pl

from biasgrid.tables.files import read_column_types, read_table
from biasgrid.tables.schema import Unique, column, table

FamilyKeys = Mapping[str, pa.Column]
"""The columns of a family by name. No model reads them."""

ASKED_BEFORE = "asked_before"
"""The column that distinguishes instances that ask the same. It is part of an instance's key, see
`tables.keys`.
"""
REQUEST_COLUMNS = {
    "instance": column(pl.UInt32, description="the instance, numbered from 0", checks=Unique),
    ASKED_BEFORE: column(
        pl.UInt32,
        description=(
            "number of earlier instances that ask the same: 0 unless something is asked repeatedly"
        ),
    ),
    "system": column(
        pl.Categorical, description="generative models: the system text, if any", nullable=True
    ),
    "text": column(
        pl.Categorical,
        description=(
            "what the model is asked: the text to classify, the question, or the text with the mask"
        ),
    ),
    "text_pair": column(
        pl.Categorical,
        description="the second text, if any: hypothesis or context",
        nullable=True,
    ),
}
TEXTS = ("text", "text_pair")
PAIR_PLACE = "pair_place"
OPTIONAL = {
    PAIR_PLACE: column(
        pl.UInt8,
        description=(
            "if the order of two compared sentences matters: 0 if `text` is the first of them, 1 "
            "if it is the second; null if `text_pair` is not a sentence to compare with"
        ),
        nullable=True,
    )
}
"""Columns that models read if a family writes them."""
NUMBERED = {
    "candidate": column(
        pl.Categorical,
        description=(
            "text whose probability is read, if any: a subject as in `text_pair`, its pronoun, or "
            "a target word"
        ),
        nullable=True,
    ),
    "position": column(
        pl.UInt16,
        description="its position in `text_pair`, in characters, if that matters",
        nullable=True,
    ),
}
"""Columns that are repeated as often as a dataset needs: `candidate1`, `candidate2`, ... and
`position1`, ...
"""
PROMPT_FORMAT = "prompt_format"
OF_FORMAT = {
    PROMPT_FORMAT: column(
        pl.UInt8,
        description="the prompt format, numbered from 0; only if the dataset has several",
        required=False,
    )
}
"""A key of families whose datasets may be asked in several prompt formats."""
NUMBERED_NAME = re.compile(r"(candidate|position)([1-9]\d*)")


def instances_schema(keys: FamilyKeys, columns: Mapping[str, Any]) -> pa.DataFrameSchema:
    """Returns the schema of a dataset's instances.

    Args:
        keys: the columns of its family.
        columns: the types of the file's columns by name.

    Returns:
        The columns that all instances have, and those of `columns` that are optional: repeated
        columns, `OPTIONAL`, and keys that are not required. `text` and `text_pair` are `String` if
        they are so in `columns`, else `Categorical`.
    """
    # Making categories takes longer than all else if few texts are equal, so a family may write
    # texts as strings.
    string_texts = {}
    for name in TEXTS:
        if columns.get(name) == pl.String:
            text = REQUEST_COLUMNS[name]
            string_texts[name] = column(
                pl.String, description=text.description, nullable=text.nullable
            )
    optional = {name: kind for name, kind in OPTIONAL.items() if name in columns}
    present = {name: key for name, key in keys.items() if key.required or name in columns}
    repeated_columns = numbered_columns(columns)
    return table(
        "instances", {**REQUEST_COLUMNS, **string_texts, **optional, **repeated_columns, **present}
    )


def numbered_columns(columns: Iterable[str]) -> dict[str, pa.Column]:
    """Returns the candidates and positions among some names of columns, numbered from 1.

    A number implies all smaller ones: `candidate3` alone gives three candidates.
    """
    counts = dict.fromkeys(NUMBERED, 0)
    for name in columns:
        match = NUMBERED_NAME.fullmatch(name)
        if match:
            kind, number = match[1], int(match[2])
            counts[kind] = max(counts[kind], number)
    repeated_columns = {}
    for kind, count in counts.items():
        for number in range(1, count + 1):
            repeated_columns[f"{kind}{number}"] = NUMBERED[kind]
    return repeated_columns


def request_columns(columns: Iterable[str]) -> list[str]:
    """Returns the columns that decide what an instance asks, in their order."""
    read_by_models = ("system", *TEXTS, *OPTIONAL)
    return [name for name in columns if name in read_by_models or NUMBERED_NAME.fullmatch(name)]


def read_instances(
    path: str | Path, keys: FamilyKeys, columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """Reads the instances of a family, or some of their columns.

    Args:
        path: the table.
        keys: the columns of the family.
        columns: the columns to read, all by default. Keys that the file lacks are left out if they
            are not required.

    Raises:
        TableError: see `read_table`.
    """
    schema = instances_schema(keys, read_column_types(path, "instances"))
    missing = keys.keys() - schema.columns.keys()
    if columns is not None:
        columns = [name for name in columns if name not in missing]
    return read_table(path, schema, columns)


def read_requests(
    path: str | Path, also: Sequence[str] = (), rows: range | None = None
) -> pl.DataFrame:
    """Reads the columns of instances that models read; all texts are categorical.

    Args:
        path: the table.
        also: columns of families that are read as well, if the table has them.
        rows: positions of consecutive rows, all by default.

    Raises:
        TableError: see `read_table`.
    """
    types = read_column_types(path, "instances")
    keys = {}
    for name in also:
        if name in types:
            keys[name] = column(types[name], description="", nullable=True)
    schema = instances_schema(keys, types)
    requests = read_table(path, schema, list(schema.columns), rows=rows)
    return requests.cast({pl.String: pl.Categorical})
