"""Turns the log of a probe into tables, with the numbers and marks that stand in it."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.files import whole_file
from biasgrid.base.languages import ENGLISH_WORDS
from biasgrid.families.expansion import expand_rows
from biasgrid.families.probe.keys import KEYS
from biasgrid.families.probe.observe import ANSWER, OBSERVATIONS, read_nothing, with_outcomes
from biasgrid.formats.genderbench.log import Attempt, LoggedItem, LoggedNumber, ProbeState, read_log
from biasgrid.readers.reading import readings_of
from biasgrid.tables.claims.marks import LETTERS
from biasgrid.tables.claims.numbers import format_number
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import MEASURES, table_of_cell
from biasgrid.tables.provenance import table_provenance
from biasgrid.tables.schema import answer_schema

ITSELF = "genderbench"
"""What is called the evaluator of what GenderBench found, and the file of its numbers."""


def import_log(path: Path, folder: Path) -> list[str]:
    """Reads the log of a probe and writes its tables: what was asked, answered and observed, and
    its metrics.

    Returns:
        Lines that tell the metrics with their marks, and the files that were written.

    Raises:
        InputError: see `read_log`.
    """
    state = read_log(path)
    expansion = expand_rows(instance_rows(state), KEYS)
    instances = pl.concat(expansion.parts)
    predictions = log_predictions(state, instances)
    metrics = metrics_of(state)
    rows = metrics.select(
        "measure", "value", "low", "high", options=pl.lit(""), n=pl.lit(len(state.probe_items))
    )
    undetected = sum(bool(attempt.evaluation_undetected) for *_, attempt in state.attempts)
    measures = table_of_cell(
        rows.with_columns(left_out=pl.lit(undetected)), MEASURES, path.stem, state.name
    )
    tables = {
        "instances": (instances, expansion.schema),
        "predictions": (predictions, answer_schema("text")),
        "observations": (observations_of(state, instances, predictions), OBSERVATIONS),
        "measures": (measures, MEASURES),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (table, schema) in tables.items():
        write_table(
            table,
            folder / f"{name}.parquet",
            schema,
            table_provenance(log=path.name, probe=state.name),
        )
    with whole_file(folder / f"{ITSELF}.csv") as partial:
        metrics.write_csv(partial)
    return [*metric_lines(metrics), *(f"{folder / name}.parquet written." for name in tables)]


def instance_rows(state: ProbeState) -> pl.DataFrame:
    """Returns what was asked, in the columns of `KEYS`; what is known of items and prompts stands
    in `keys`.
    """
    rows: list[dict[str, Any]] = [
        {
            "text": attempt.prompt.text,
            "item": place,
            "prompt": prompt,
            "order": 0,
            "repetition": attempt.repetition_id,
            "group": None,
            "expected": None,
            "options": [],
            "keys": log_keys(item, attempt),
        }
        for place, prompt, item, attempt in state.attempts
    ]
    types = {"text": pl.String, **{name: key.dtype.type for name, key in KEYS.items()}}
    return pl.DataFrame(rows, schema=types, orient="row")


def log_keys(item: LoggedItem, attempt: Attempt) -> str:
    """Writes the keys of an item and a prompt."""
    return json.dumps(
        {**(item.metadata or {}), **(attempt.prompt.metadata or {})}, ensure_ascii=False
    )


def log_predictions(state: ProbeState, instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the answers; how a text ended is not in a log."""
    answers = [attempt.answer for *_, attempt in state.attempts]
    nothing = pl.lit(None, pl.UInt32)
    return instances.select("instance").with_columns(
        pl.Series("response", answers, dtype=pl.String),
        pl.Series(
            "status",
            ["ok" if answer.strip() else "empty" for answer in answers],
            dtype=pl.Categorical,
        ),
        tokens_in=nothing,
        tokens_out=nothing,
        over_limit=pl.lit(None, pl.Boolean),
    )


def observations_of(
    state: ProbeState, instances: pl.DataFrame, predictions: pl.DataFrame
) -> pl.DataFrame:
    """Returns what GenderBench found in the answers."""
    said = predictions.select("instance", "response", status=pl.col("status").cast(pl.String))
    answers = instances.join(said, on="instance", maintain_order="left").with_row_index("row")
    found = [
        (row, ITSELF, ANSWER, label_of(attempt.evaluation), 1.0)
        for row, (*_, attempt) in enumerate(state.attempts)
        if attempt.evaluation_undetected is False
    ]
    types = {
        "row": pl.UInt32,
        "evaluator": pl.String,
        "score": pl.String,
        "label": pl.String,
        "value": pl.Float64,
    }
    rows = pl.DataFrame(found, schema=types, orient="row")
    readings = readings_of(answers, [], ENGLISH_WORDS, read_nothing)
    described = answers.with_columns(
        truncated=pl.lit(None, pl.Boolean), why=readings["outcome"].cast(pl.String)
    )
    return with_outcomes(described, rows, ITSELF)


def label_of(evaluation: object) -> str:
    """Returns what was found as a label: a text as it is, all else as JSON."""
    return evaluation if isinstance(evaluation, str) else json.dumps(evaluation, ensure_ascii=False)


def metrics_of(state: ProbeState) -> pl.DataFrame:
    """Returns `measure`, `value` or `low` and `high`, `mark` and `harms`: a log has the point or
    the interval.
    """
    rows = []
    for name, told_of in state.metrics.items():
        value, low, high = (None, *told_of) if isinstance(told_of, tuple) else (told_of, None, None)
        mark = state.marks.get(name)
        place = number_or_none(mark.mark_value) if mark else None
        letter = None if place is None else LETTERS[int(place)]
        rows.append(
            (
                name,
                number_or_none(value),
                number_or_none(low),
                number_or_none(high),
                letter,
                ", ".join(mark.harm_types) if mark else None,
            )
        )
    numbers = dict.fromkeys(("value", "low", "high"), pl.Float64)
    types = {"measure": pl.String, **numbers, "mark": pl.String, "harms": pl.String}
    return pl.DataFrame(rows, schema=types, orient="row")


def number_or_none(value: LoggedNumber) -> LoggedNumber:
    """Returns a number, None of NaN."""
    return None if value is None or isnan(value) else value


def metric_lines(metrics: pl.DataFrame) -> list[str]:
    """Returns a line for each metric."""
    lines = []
    for name, value, low, high, mark, _ in metrics.iter_rows():
        number = (
            format_number(value)
            if low is None
            else f"{format_number(low)} to {format_number(high)}"
        )
        lines.append(f"{name}: {number} {mark or ''}".rstrip())
    return lines
