"""Turns the log of a probe into tables, with its numbers and marks."""

from __future__ import annotations

import json
from math import isnan
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.files import whole_file
from biasgrid.base.languages import ENGLISH_WORDS
from biasgrid.families.expansion import expand_rows
from biasgrid.families.probe.ask import KEYS
from biasgrid.families.probe.observe import ANSWER, OBSERVATIONS, observation_rows, read_nothing
from biasgrid.formats.genderbench.log import Attempt, LoggedItem, LoggedNumber, ProbeState, read_log
from biasgrid.readers.reading import read_answer_column
from biasgrid.tables.claims.marks import LETTERS
from biasgrid.tables.claims.numbers import format_number
from biasgrid.tables.files import write_table
from biasgrid.tables.measures import MEASURES, cell_table
from biasgrid.tables.provenance import table_provenance
from biasgrid.tables.schema import answer_schema

ITSELF = "genderbench"
"""The name of the evaluator of GenderBench's own findings, and of the file of its numbers."""


def import_log(path: Path, folder: Path) -> list[str]:
    """Reads the log of a probe and writes its instances, answers, observations and metrics.

    Returns:
        Lines for the terminal: the metrics with their marks, and the files that were written.

    Raises:
        InputError: see `read_log`.
    """
    state = read_log(path)
    expansion = expand_rows(instance_rows(state), KEYS)
    instances = pl.concat(expansion.parts)
    predictions = log_predictions(state, instances)
    metrics = metrics_of(state)
    undetected = sum(bool(attempt.evaluation_undetected) for *_, attempt in state.attempts)
    measures = metrics.select(
        "measure",
        "value",
        "low",
        "high",
        options=pl.lit(""),
        n=pl.lit(len(state.probe_items)),
        left_out=pl.lit(undetected),
    )
    tables = {
        "instances": (instances, expansion.schema),
        "predictions": (predictions, answer_schema("text")),
        "observations": (observations_of(state, instances, predictions), OBSERVATIONS),
        "measures": (cell_table(measures, MEASURES, path.stem, state.name), MEASURES),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (table, schema) in tables.items():
        facts = table_provenance(log=path.name, probe=state.name)
        write_table(table, folder / f"{name}.parquet", schema, facts)
    with whole_file(folder / f"{ITSELF}.csv") as partial:
        metrics.write_csv(partial)
    written = [f"{folder / name}.parquet written." for name in tables]
    return [*metric_lines(metrics), *written]


def instance_rows(state: ProbeState) -> pl.DataFrame:
    """Returns the prompts in the columns of `KEYS`; `keys` has metadata of items and prompts."""
    rows = []
    for place, prompt, item, attempt in state.attempts:
        row: dict[str, Any] = {
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
        rows.append(row)
    types = {"text": pl.String, **{name: key.dtype.type for name, key in KEYS.items()}}
    return pl.DataFrame(rows, schema=types, orient="row")


def log_keys(item: LoggedItem, attempt: Attempt) -> str:
    """Formats the metadata of an item and a prompt as JSON; the prompt's win."""
    keys = {**(item.metadata or {}), **(attempt.prompt.metadata or {})}
    return json.dumps(keys, ensure_ascii=False)


def log_predictions(state: ProbeState, instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the answers; columns on tokens are null, because a log has none."""
    answers = [attempt.answer for *_, attempt in state.attempts]
    statuses = ["ok" if answer.strip() else "empty" for answer in answers]
    return instances.select("instance").with_columns(
        pl.Series("response", answers, dtype=pl.String),
        pl.Series("status", statuses, dtype=pl.Categorical),
        tokens_in=pl.lit(None, pl.UInt32),
        tokens_out=pl.lit(None, pl.UInt32),
        over_limit=pl.lit(None, pl.Boolean),
    )


def observations_of(
    state: ProbeState, instances: pl.DataFrame, predictions: pl.DataFrame
) -> pl.DataFrame:
    """Returns the labels that GenderBench found in the answers, schema `OBSERVATIONS`."""
    responses = predictions.select("instance", "response", status=pl.col("status").cast(pl.String))
    answers = instances.join(responses, on="instance", maintain_order="left").with_row_index("row")
    findings = [
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
    rows = pl.DataFrame(findings, schema=types, orient="row")
    readings = read_answer_column(answers, [], ENGLISH_WORDS, read_nothing)
    described = answers.with_columns(
        truncated=pl.lit(None, pl.Boolean), why=readings["outcome"].cast(pl.String)
    )
    return observation_rows(described, rows, ITSELF)


def label_of(evaluation: object) -> str:
    """Returns an evaluation as a label: a text as it is, anything else as JSON."""
    if isinstance(evaluation, str):
        return evaluation
    return json.dumps(evaluation, ensure_ascii=False)


def metrics_of(state: ProbeState) -> pl.DataFrame:
    """Returns the metrics of a log, with their marks.

    Returns:
        `measure`; `value`, or `low` and `high`, because a log has the point or the interval;
        `mark`, a letter, and `harms`, null without a mark.
    """
    rows = []
    for name, numbers in state.metrics.items():
        value, low, high = None, None, None
        if isinstance(numbers, tuple):
            low, high = numbers
        else:
            value = numbers
        mark = state.marks.get(name)
        level = number_or_none(mark.mark_value) if mark else None
        letter = None if level is None else LETTERS[int(level)]
        harms = ", ".join(mark.harm_types) if mark else None
        ends = number_or_none(low), number_or_none(high)
        rows.append((name, number_or_none(value), *ends, letter, harms))
    types = {
        "measure": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "mark": pl.String,
        "harms": pl.String,
    }
    return pl.DataFrame(rows, schema=types, orient="row")


def number_or_none(value: LoggedNumber) -> LoggedNumber:
    """Returns a number, None if it is NaN or None."""
    return None if value is None or isnan(value) else value


def metric_lines(metrics: pl.DataFrame) -> list[str]:
    """Returns a line for each metric."""
    lines = []
    for name, value, low, high, mark, _ in metrics.iter_rows():
        if low is None:
            number = format_number(value)
        else:
            number = f"{format_number(low)} to {format_number(high)}"
        lines.append(f"{name}: {number} {mark or ''}".rstrip())
    return lines
