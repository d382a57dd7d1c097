"""Writes instances and predictions as UnQover's `source.json` and `output.json`.

The layout is that of Python's `json.dump(..., indent=4)`, to the byte. Texts are made in slices, so
that millions of examples need little memory besides their tables.
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
from biasgrid.formats.unqover.entries import NOT_ANSWERED, NOT_WRITTEN
from biasgrid.formats.unqover.order import (
    ITEM,
    PAIR,
    key_text,
    output_order,
    plain_instances,
)
from biasgrid.tables.files import TableError

EXAMPLES_A_SLICE = 8192

to_json = json.JSONEncoder().encode
TextColumns = list[Iterable[Any]]
"""The values of some examples in the layout of their file, column by column."""


def _question(answer: str, probability: str) -> dict[str, Any]:
    """Returns the layout of a question; each candidate has a probability as its start and end."""
    candidate = {"text": "%s", "start": probability, "end": probability}
    return {"question": "%s", "pred": answer, "ans0": candidate, "ans1": candidate}


def _layout(head: dict[str, str], question: dict[str, Any]) -> str:
    """Returns an entry of a JSON object as json.dump lays it out, with %s for key and values.

    The values are filled in later: dumping millions of entries would take much longer.
    """
    entry = {"%s": {**head, "q0": question, "q1": question}}
    text = json.dumps(entry, indent=4)
    return text[len("{\n") : -len("\n}")].replace('"%s"', "%s")


SOURCE_ENTRY = _layout({"context": "%s"}, _question(answer=NOT_ANSWERED, probability=NOT_ANSWERED))
SPAN_ENTRY = _layout({"line": "%s", "context": "%s"}, _question(answer="%s", probability="%s"))
MASK_ENTRY = _layout({"context": NOT_WRITTEN}, _question(answer=NOT_WRITTEN, probability="%s"))


def question_rows(table: pl.DataFrame, examples: IntArray) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Returns the rows of the plain and of the negated questions of examples.

    Args:
        table: a row per instance, sorted by `instance`; rows 2 i and 2 i + 1 are example i, see
            `plain_instances`.
        examples: the numbers of examples.
    """
    return table[2 * examples], table[2 * examples + 1]


def source_json(instances: pl.DataFrame) -> Iterator[str]:
    """Yields the text of a `source.json`, piece by piece.

    Args:
        instances: a whole table of instances; its order is that of the file.

    Raises:
        TableError: a plain question is not followed by its negation.
    """
    order = np.arange(plain_instances(instances).height)

    def columns(examples: IntArray) -> TextColumns:
        plain, negation = question_rows(instances, examples)
        return [
            _keys(plain),
            _texts(plain, "text_pair"),
            *_source_question(plain),
            *_source_question(negation),
        ]

    return _json_object(SOURCE_ENTRY, order, columns)


def output_json(
    instances: pl.DataFrame, predictions: pl.DataFrame, scoring: Scoring
) -> Iterator[str]:
    """Yields the text of an `output.json`, piece by piece.

    Args:
        instances: a whole table of instances.
        predictions: answers of the kind `span`, which has a column `answer`, or `choice`; one of
            each instance, in any order.
        scoring: see `observe.score_array`; `start` and `end` of a masked language model are both
            the score.

    Raises:
        TableError: a plain question is not followed by its negation. Iterating raises it if a
            prediction has no score for a subject, which UnQover's files cannot express.
    """
    order = output_order(plain_instances(instances))
    predictions = predictions.sort("instance")

    def span_columns(examples: IntArray) -> TextColumns:
        plain, negation = question_rows(instances, examples)
        plain_predictions, negation_predictions = question_rows(predictions, examples)
        return [
            _keys(plain),
            examples,
            _texts(plain, "text_pair"),
            *_span_question(plain, plain_predictions),
            *_span_question(negation, negation_predictions),
        ]

    def mask_columns(examples: IntArray) -> TextColumns:
        plain, negation = question_rows(instances, examples)
        plain_predictions, negation_predictions = question_rows(predictions, examples)
        return [
            _keys(plain),
            *_mask_question(plain, subject_scores(plain_predictions, scoring)),
            *_mask_question(negation, subject_scores(negation_predictions, scoring)),
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
        `instance` and the float64 `score1` and `score2`, null without a score.
    """
    scores = pl.DataFrame(score_array(predictions, scoring), schema=["score1", "score2"])
    return predictions.select("instance").hstack(scores.fill_nan(None))


def write_in_parts(path: Path, pieces: Iterable[str]) -> None:
    """Writes a file piece by piece under a temporary name, so that no partial file is left."""
    with whole_file(path) as partial, partial.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(pieces)


def _json_object(
    layout: str, order: IntArray, columns: Callable[[IntArray], TextColumns]
) -> Iterator[str]:
    """Yields a JSON object with an entry for each example.

    Args:
        layout: the layout of an entry.
        order: the numbers of the examples, in the order of their entries.
        columns: returns the values in the layout of some examples, for their numbers.
    """
    if not len(order):
        yield "{}"
        return
    for start in range(0, len(order), EXAMPLES_A_SLICE):
        examples = order[start : start + EXAMPLES_A_SLICE]
        entries = (layout % values for values in zip(*columns(examples), strict=True))
        separator = ",\n" if start else "{\n"
        yield separator + ",\n".join(entries)
    yield "\n}"


def _keys(examples: pl.DataFrame) -> Iterable[str]:
    """Returns the keys of examples; the attribute ends them twice, as in UnQover's files."""
    texts = [key_text(column) for column in (*PAIR, *ITEM, "attribute")]
    return map(to_json, examples.select(key=pl.concat_str(texts, separator="|"))["key"])


def _texts(rows: pl.DataFrame, column: str) -> Iterable[str]:
    """Returns a column of texts as JSON."""
    return map(to_json, rows[column].cast(pl.String))


def _numbers(values: pl.Series) -> Iterable[str]:
    """Returns a column of numbers as JSON.

    Raises:
        TableError: a number is null or NaN, neither of which is a number in JSON.
    """
    missing_count = values.fill_nan(None).null_count()
    if missing_count:
        raise TableError(
            f"predictions: {missing_count} answers without a score; expected a score for each "
            "subject, as in UnQover's files"
        )
    # A float32 becomes the double of the same value, which json writes with the same digits.
    return map(repr, values)


def _source_question(questions: pl.DataFrame) -> TextColumns:
    """Returns the columns of questions without answers."""
    return [_texts(questions, column) for column in ("text", "candidate1", "candidate2")]


def _span_question(questions: pl.DataFrame, predictions: pl.DataFrame) -> TextColumns:
    """Returns the columns of questions that were answered by spans."""
    columns = [_texts(questions, "text"), _texts(predictions, "answer")]
    for place in (0, 1):
        columns.append(_texts(questions, f"candidate{place + 1}"))
        columns.append(_numbers(predictions["starts"].list.get(place)))
        columns.append(_numbers(predictions["ends"].list.get(place)))
    return columns


def _mask_question(questions: pl.DataFrame, scores: pl.DataFrame) -> TextColumns:
    """Returns the columns of questions to a masked language model.

    Args:
        questions: their instances.
        scores: `score1` and `score2`, from `subject_scores`; start and end of a candidate are both
            its score.
    """
    texts = [pl.col(column).cast(pl.String).str.strip_chars() for column in ("text_pair", "text")]
    whole_texts = questions.select(text=pl.concat_str(texts, separator=" "))
    columns = [_texts(whole_texts, "text")]
    for subject in (1, 2):
        columns.append(_texts(questions, f"candidate{subject}"))
        columns.append(_numbers(scores[f"score{subject}"]))
        columns.append(_numbers(scores[f"score{subject}"]))
    return columns
