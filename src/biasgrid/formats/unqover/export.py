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
"""What stands for the context and the answer in UnQover's predictions of masked language models."""

quoted = json.JSONEncoder().encode
TextColumns = list[Iterable[Any]]


def _question(answer: str, end: str) -> dict[str, Any]:
    answers = {name: {"text": "%s", "start": end, "end": end} for name in ("ans0", "ans1")}
    return {"question": "%s", "pred": answer, **answers}


def _layout(head: dict[str, str], question: dict[str, Any]) -> str:
    """Returns an entry of a JSON object as json.dump lays it out, with %s for its key and each
    value yet to come.
    """
    entry = {"%s": {**head, "q0": question, "q1": question}}
    return json.dumps(entry, indent=4)[len("{\n") : -len("\n}")].replace('"%s"', "%s")


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
        questions = [
            _span_question(instances[row], predictions[row]) for row in (2 * rows, 2 * rows + 1)
        ]
        plain = instances[2 * rows]
        return [_keys(plain), rows, _texts(plain, "text_pair"), *questions[0], *questions[1]]

    def mask_columns(rows: IntArray) -> TextColumns:
        questions = [
            _mask_question(instances[row], subject_scores(predictions[row], scoring))
            for row in (2 * rows, 2 * rows + 1)
        ]
        return [_keys(instances[2 * rows]), *questions[0], *questions[1]]

    if "answer" in predictions.columns:
        return _json_object(SPAN_ENTRY, order, span_columns)
    return _json_object(MASK_ENTRY, order, mask_columns)


def subject_scores(predictions: pl.DataFrame, scoring: Scoring) -> pl.DataFrame:
    """Returns how much a model chose each subject of each instance.

    Args:
        predictions: see `observe.score_array`.
        scoring: likewise.

    Returns:
        `instance` and the float64 `score1` and `score2`, null where there is none.
    """
    scored = pl.DataFrame(score_array(predictions, scoring), schema=["score1", "score2"])
    return predictions.select("instance").hstack(scored.fill_nan(None))


def write_in_parts(path: Path, pieces: Iterable[str]) -> None:
    """Writes a file piece by piece under a temporary name and renames it, so that no half file is
    left.
    """
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(pieces)


def _json_object(
    layout: str, order: IntArray, columns: Callable[[IntArray], TextColumns]
) -> Iterator[str]:
    """Yields a JSON object with an entry for each example, in the given order."""
    if not len(order):
        yield "{}"
        return
    for start in range(0, len(order), ROWS_A_SLICE):
        entries = map(
            layout.__mod__, zip(*columns(order[start : start + ROWS_A_SLICE]), strict=True)
        )
        yield (",\n" if start else "{\n") + ",\n".join(entries)
    yield "\n}"


def _keys(examples: pl.DataFrame) -> Iterable[str]:
    """Returns the keys of examples; the attribute appears twice, where UnQover once had a second
    one.
    """
    texts = [key_text(column) for column in (*KEYS_OF_PAIR, *ITEM, "attribute")]
    return map(quoted, examples.select(key=pl.concat_str(texts, separator="|"))["key"])


def _texts(rows: pl.DataFrame, column: str) -> Iterable[str]:
    return map(quoted, rows[column].cast(pl.String))


def _numbers(values: pl.Series) -> Iterable[str]:
    # A float32 becomes the double of the same value, whose digits are what json writes.
    return map(repr, values)


def _source_question(rows: pl.DataFrame) -> TextColumns:
    return [_texts(rows, column) for column in ("text", "candidate1", "candidate2")]


def _span_question(rows: pl.DataFrame, predicted: pl.DataFrame) -> TextColumns:
    answers = [
        [
            _texts(rows, f"candidate{which}"),
            *(_numbers(predicted[ends].list.get(which - 1)) for ends in ("starts", "ends")),
        ]
        for which in (1, 2)
    ]
    return [_texts(rows, "text"), _texts(predicted, "answer"), *answers[0], *answers[1]]


def _mask_question(rows: pl.DataFrame, scored: pl.DataFrame) -> TextColumns:
    texts = [pl.col(column).cast(pl.String).str.strip_chars() for column in ("text_pair", "text")]
    whole = rows.select(text=pl.concat_str(texts, separator=" "))
    answers = [
        [
            _texts(rows, f"candidate{which}"),
            *(_numbers(scored[f"score{which}"]) for _ in ("start", "end")),
        ]
        for which in (1, 2)
    ]
    return [_texts(whole, "text"), *answers[0], *answers[1]]
