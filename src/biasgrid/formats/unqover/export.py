"""Writes instances and predictions in the layout of UnQover's `source.json` and `output.json`.

The layout is that of Python's `json.dump(..., indent=4)`, to the byte. Texts are made in slices, so
that millions of rows need little memory beside their tables.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.base.files import whole_file
from biasgrid.base.sections import Scoring
from biasgrid.families.underspecified.observe import score_array
from biasgrid.formats.unqover.order import (
    ITEM,
    KEYS_OF_PAIR,
    key_text,
    output_order,
    plain_instances,
)

ROWS_A_SLICE = 8192
NOT_WRITTEN = "NA"
"""Context and answer in UnQover's predictions of masked language models."""

quoted = json.JSONEncoder().encode
TextColumns = list[Iterable[Any]]


def _question(answer: str, end: str) -> dict[str, Any]:
    """Returns the layout of a question, with an answer and both ends of each candidate as given."""
    candidate = {"text": "%s", "start": end, "end": end}
    return {"question": "%s", "pred": answer, "ans0": candidate, "ans1": candidate}


def _layout(head: dict[str, str], question: dict[str, Any]) -> str:
    """Returns an entry of a JSON object as json.dump lays it out, with %s for key and values.

    The values come later: dumping millions of entries one by one would take much longer.
    """
    entry = {"%s": {**head, "q0": question, "q1": question}}
    text = json.dumps(entry, indent=4)
    return text[len("{\n") : -len("\n}")].replace('"%s"', "%s")


SOURCE_ENTRY = _layout({"context": "%s"}, _question(answer="", end=""))
SPAN_ENTRY = _layout({"line": "%s", "context": "%s"}, _question(answer="%s", end="%s"))
MASK_ENTRY = _layout({"context": NOT_WRITTEN}, _question(answer=NOT_WRITTEN, end="%s"))


def source_json(instances: pl.DataFrame) -> Iterator[str]:
    """Yields the text of a `source.json`, piece by piece.

    Args:
        instances: a whole table of instances; its order is that of the file.

    Raises:
        TableError: a plain question is not followed by its negation.
    """
    order = np.arange(plain_instances(instances).height)

    def columns(rows: IntArray) -> TextColumns:
        plain, negated = instances[2 * rows], instances[2 * rows + 1]
        return [
            _keys(plain),
            _texts(plain, "text_pair"),
            *_source_question(plain),
            *_source_question(negated),
        ]

    return _json_object(SOURCE_ENTRY, order, columns)


def output_json(
    instances: pl.DataFrame, predictions: pl.DataFrame, scoring: Scoring
) -> Iterator[str]:
    """Yields the text of an `output.json`, piece by piece.

    Args:
        instances: a whole table of instances.
        predictions: answers of the kind `span` or `choice`, distinguishable by their columns, one
            of each instance in any order.
        scoring: see `observe.score_array`; `start` and `end` of a masked language model are both
            the score.

    Raises:
        TableError: a plain question is not followed by its negation.
    """
    order = output_order(plain_instances(instances))
    predictions = predictions.sort("instance")

    def span_columns(rows: IntArray) -> TextColumns:
        plain, negated = 2 * rows, 2 * rows + 1
        return [
            _keys(instances[plain]),
            rows,
            _texts(instances[plain], "text_pair"),
            *_span_question(instances[plain], predictions[plain]),
            *_span_question(instances[negated], predictions[negated]),
        ]

    def mask_columns(rows: IntArray) -> TextColumns:
        plain, negated = 2 * rows, 2 * rows + 1
        return [
            _keys(instances[plain]),
            *_mask_question(instances[plain], subject_scores(predictions[plain], scoring)),
            *_mask_question(instances[negated], subject_scores(predictions[negated], scoring)),
        ]

    if "answer" in predictions.columns:
        return _json_object(SPAN_ENTRY, order, span_columns)
    return _json_object(MASK_ENTRY, order, mask_columns)


def subject_scores(predictions: pl.DataFrame, scoring: Scoring) -> pl.DataFrame:
    """Returns the score that a model gave to each subject of each instance.

    Args:
        predictions: see `observe.score_array`.
        scoring: likewise.

    Returns:
        `instance` and the float64 `score1` and `score2`, null if there is none.
    """
    scores = pl.DataFrame(score_array(predictions, scoring), schema=["score1", "score2"])
    return predictions.select("instance").hstack(scores.fill_nan(None))


def write_in_parts(path: Path, pieces: Iterable[str]) -> None:
    """Writes a file piece by piece under a temporary name, so that no half file is left."""
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(pieces)


def _json_object(
    layout: str, order: IntArray, columns: Callable[[IntArray], TextColumns]
) -> Iterator[str]:
    """Yields a JSON object with an entry for each example.

    Args:
        layout: the layout of an entry.
        order: the numbers of the examples, in the order of their entries.
        columns: returns the values in the layout, column by column, for numbers of examples.
    """
    if not len(order):
        yield "{}"
        return
    for start in range(0, len(order), ROWS_A_SLICE):
        rows = zip(*columns(order[start : start + ROWS_A_SLICE]), strict=True)
        beginning = ",\n" if start else "{\n"
        yield beginning + ",\n".join(layout % row for row in rows)
    yield "\n}"


def _keys(examples: pl.DataFrame) -> Iterable[str]:
    """Returns the keys of examples; the attribute ends them twice, as in UnQover's files."""
    texts = [key_text(column) for column in (*KEYS_OF_PAIR, *ITEM, "attribute")]
    return map(quoted, examples.select(key=pl.concat_str(texts, separator="|"))["key"])


def _texts(rows: pl.DataFrame, column: str) -> Iterable[str]:
    """Returns a column of texts as JSON."""
    return map(quoted, rows[column].cast(pl.String))


def _numbers(values: pl.Series) -> Iterable[str]:
    """Returns a column of numbers as JSON."""
    # A float32 becomes the double of the same value, whose digits are the ones that json writes.
    return map(repr, values)


def _source_question(rows: pl.DataFrame) -> TextColumns:
    """Returns the columns of a question without answers."""
    return [_texts(rows, column) for column in ("text", "candidate1", "candidate2")]


def _span_question(rows: pl.DataFrame, predicted: pl.DataFrame) -> TextColumns:
    """Returns the columns of a question that was answered by spans."""
    columns = [_texts(rows, "text"), _texts(predicted, "answer")]
    for place in (0, 1):
        columns.append(_texts(rows, f"candidate{place + 1}"))
        columns.append(_numbers(predicted["starts"].list.get(place)))
        columns.append(_numbers(predicted["ends"].list.get(place)))
    return columns


def _mask_question(rows: pl.DataFrame, scored: pl.DataFrame) -> TextColumns:
    """Returns the columns of a question to a masked language model; both ends are the score."""
    texts = [pl.col(column).cast(pl.String).str.strip_chars() for column in ("text_pair", "text")]
    whole = rows.select(text=pl.concat_str(texts, separator=" "))
    columns = [_texts(whole, "text")]
    for number in (1, 2):
        columns.append(_texts(rows, f"candidate{number}"))
        columns.append(_numbers(scored[f"score{number}"]))
        columns.append(_numbers(scored[f"score{number}"]))
    return columns
