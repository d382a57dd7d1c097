"""Converts the log of a probe to tables, with its metrics and marks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

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

GENDERBENCH_EVALUATOR = "genderbench"
"""The evaluator of GenderBench's own labels, and the name of the file of its metrics."""


class MarkedMetric(NamedTuple):
    """A metric in a log, with its mark.

    Attributes:
        name: its name.
        value: its value; None if it is undefined or has an interval, as logs have either.
        interval: its ends, an undefined one None; None without an interval, or if both are
            undefined.
        mark: the letter of its mark, None without one.
        harms: the harms that it warns of, None for a metric without a mark entry.
    """

    name: str
    value: float | None
    interval: tuple[float | None, float | None] | None
    mark: str | None
    harms: str | None


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
    metrics = read_metrics(state)
    table = metric_table(metrics)
    left_out = sum(bool(answer.attempt.evaluation_undetected) for answer in state.answers)
    measures = table.select(
        "measure",
        "value",
        "low",
        "high",
        options=pl.lit(""),
        n=pl.lit(len(state.probe_items)),
        left_out=pl.lit(left_out),
    )
    tables = {
        "instances": (instances, expansion.schema),
        "predictions": (predictions, answer_schema("text")),
        "observations": (log_observations(state, instances, predictions), OBSERVATIONS),
        "measures": (cell_table(measures, MEASURES, path.stem, state.name), MEASURES),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, (rows, schema) in tables.items():
        facts = table_provenance(log=path.name, probe=state.name)
        write_table(rows, folder / f"{name}.parquet", schema, facts)
    with whole_file(folder / f"{GENDERBENCH_EVALUATOR}.csv") as partial:
        table.write_csv(partial)
    file_lines = [f"{folder / name}.parquet written." for name in tables]
    return [*metric_lines(metrics), *file_lines]


def instance_rows(state: ProbeState) -> pl.DataFrame:
    """Returns a row per answer in the columns of `KEYS`; `keys` has the metadata as JSON."""
    rows = []
    for item_position, prompt_position, item, attempt in state.answers:
        row: dict[str, Any] = {
            "text": attempt.prompt.text,
            "item": item_position,
            "prompt": prompt_position,
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
    """Formats the metadata of an item and a prompt as JSON; those of the prompt have precedence."""
    keys = {**(item.metadata or {}), **(attempt.prompt.metadata or {})}
    return json.dumps(keys, ensure_ascii=False)


def log_predictions(state: ProbeState, instances: pl.DataFrame) -> pl.DataFrame:
    """Returns the answers, in the order of instances. Columns about tokens are null."""
    responses = [answer.attempt.answer for answer in state.answers]
    statuses = ["ok" if response.strip() else "empty" for response in responses]
    return instances.select("instance").with_columns(
        pl.Series("response", responses, dtype=pl.String),
        pl.Series("status", statuses, dtype=pl.Categorical),
        tokens_in=pl.lit(None, pl.UInt32),
        tokens_out=pl.lit(None, pl.UInt32),
        over_limit=pl.lit(None, pl.Boolean),
    )


def log_observations(
    state: ProbeState, instances: pl.DataFrame, predictions: pl.DataFrame
) -> pl.DataFrame:
    """Returns the labels that GenderBench found in the answers, schema `OBSERVATIONS`.

    Args:
        state: the state of the probe.
        instances: a row per answer, in the order of `state.answers`.
        predictions: from `log_predictions`.
    """
    responses = predictions.select("instance", "response", status=pl.col("status").cast(pl.String))
    answers = instances.join(responses, on="instance", maintain_order="left").with_row_index("row")
    findings = [
        (row, GENDERBENCH_EVALUATOR, ANSWER, evaluation_label(answer.attempt.evaluation), 1.0)
        for row, answer in enumerate(state.answers)
        if answer.attempt.evaluation_undetected is False
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
    answer_rows = answers.with_columns(
        truncated=pl.lit(None, pl.Boolean), why=readings["outcome"].cast(pl.String)
    )
    return observation_rows(answer_rows, rows, GENDERBENCH_EVALUATOR)


def evaluation_label(evaluation: object) -> str:
    """Returns an evaluation as a label: a text as it is, anything else as JSON."""
    if isinstance(evaluation, str):
        return evaluation
    return json.dumps(evaluation, ensure_ascii=False)


def read_metrics(state: ProbeState) -> list[MarkedMetric]:
    """Returns the metrics of a log with their marks, in the order of the log."""
    metrics = []
    for name, number in state.metrics.items():
        value, interval = None, None
        if isinstance(number, tuple):
            low, high = number
            ends = number_or_none(low), number_or_none(high)
            interval = None if ends == (None, None) else ends
        else:
            value = number_or_none(number)
        mark = state.marks.get(name)
        level = number_or_none(mark.mark_value) if mark else None
        letter = None if level is None else LETTERS[int(level)]
        harms = ", ".join(mark.harm_types) if mark else None
        metrics.append(MarkedMetric(name, value, interval, letter, harms))
    return metrics


def metric_table(metrics: Iterable[MarkedMetric]) -> pl.DataFrame:
    """Returns metrics as a table: `measure`, `value`, `low`, `high`, `mark` and `harms`."""
    rows = []
    for metric in metrics:
        low, high = metric.interval or (None, None)
        rows.append((metric.name, metric.value, low, high, metric.mark, metric.harms))
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
    """Returns a number; None if it is NaN or None."""
    return None if value is None or isnan(value) else value


def metric_lines(metrics: Iterable[MarkedMetric]) -> list[str]:
    """Returns a line for each metric: its value or interval, and its mark; `-` for None."""
    lines = []
    for metric in metrics:
        if metric.interval is None:
            number = format_number(metric.value)
        else:
            low, high = metric.interval
            number = f"{format_number(low)} to {format_number(high)}"
        lines.append(f"{metric.name}: {number} {metric.mark or ''}".rstrip())
    return lines
