"""The result of reading an answer, and the reason why an answer cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import polars as pl

from biasgrid.base.languages import Language
from biasgrid.readers.refusals import is_question_back, is_refusal

ANSWERED, EMPTY, CUT, REFUSED, ASKS_BACK = "answered", "empty", "cut", "refused", "asks back"
CONTRADICTION: Final = "contradiction"
SEVERAL: Final = "several"
NO_OPTION = "none of the options"
WITHOUT_VALUE = (EMPTY, CUT, REFUSED, ASKS_BACK, CONTRADICTION, SEVERAL, NO_OPTION)
"""Reasons why an answer has no value.

`empty`: there is no text. `cut`: the limit of tokens was reached before the text committed to
anything, so more tokens may help. `refused`: the model declines the task. `asks back`: it asks a
question instead of answering. `contradiction`: a letter and the text next to it are different
options. `several`: several options are named and none is chosen. `none of the options`: anything
else.
"""
OUTCOMES = (ANSWERED, *WITHOUT_VALUE)
REFUSAL_STATUSES = ("refused", "filtered")
"""The status of an answer that a server reports as refused."""
CUT_STATUS = "length"
"""The status of an answer that reached the limit of tokens."""


class Reading(NamedTuple):
    """The choice to which an answer commits.

    Attributes:
        value: the label, or the position of the option in the order shown, from 0; None unless
            `outcome` is `answered`.
        outcome: one of `OUTCOMES`.
        rule: the name of the rule that applied, "" if none did.
        start: the character of the answer at which the decisive words begin.
        end: the character after these words; equal to `start` if there are none.
    """

    value: int | str | None
    outcome: str
    rule: str = ""
    start: int = 0
    end: int = 0


def no_value(outcome: str = NO_OPTION, rule: str = "", start: int = 0, end: int = 0) -> Reading:
    """Returns a reading without a value."""
    return Reading(None, outcome, rule, start, end)


def with_reason(
    reading: Reading, answer: str | None, status: str | None, language: Language
) -> Reading:
    """Completes the reading of an answer by how the answer ended.

    A reading without value gets the best reason for that. A value is dropped if the limit of tokens
    may have cut off its continuation.

    Args:
        reading: the result of a reader.
        answer: the text that was read, None if there is none.
        status: how the answer ended, None if that is not known.
        language: the language in which the model was asked.
    """
    if reading.outcome == CONTRADICTION:
        return reading
    if reading.value is None:
        return reading._replace(outcome=why_no_value(reading.outcome, answer, status, language))
    if status == CUT_STATUS and may_go_on(reading, answer or ""):
        return no_value(CUT)
    return reading


def why_no_value(outcome: str, answer: str | None, status: str | None, language: Language) -> str:
    """Returns why an answer has no value: `outcome`, unless another outcome is a better reason."""
    text = answer or ""
    if status in REFUSAL_STATUSES or is_refusal(text, language):
        return REFUSED
    if status == CUT_STATUS:
        return CUT
    if not text.strip():
        return EMPTY
    if outcome == NO_OPTION and is_question_back(text, language):
        return ASKS_BACK
    return outcome


def may_go_on(reading: Reading, answer: str) -> bool:
    """Whether the decisive words, had the answer not been cut off, might have continued.

    That is so if they are its last words but not its first: "I would say the grandson" may become
    "the grandson's friend". A model that begins with its choice has made it.

    Args:
        reading: a reading with a value.
        answer: the text that was read.
    """
    text = answer.rstrip()
    if reading.end < len(text):
        return False
    return any(map(str.isalnum, text[: reading.start]))


Reader = Callable[..., Reading]
"""Reads an answer, its first argument. The others are the values of the key columns, in the order
in which the caller of `read_answer_column` names them.
"""
READING_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "value": pl.String,
    "outcome": pl.Enum(OUTCOMES),
    "rule": pl.String,
    "start": pl.UInt32,
    "end": pl.UInt32,
}


def read_answer_column(
    answers: pl.DataFrame, keys: Sequence[str], language: Language, read: Reader
) -> pl.DataFrame:
    """Reads the answers of a table; rows with equal answers and keys are read once.

    Args:
        answers: `response` and `status`, strings that may be null, and the `keys`.
        keys: columns that the reader needs in addition to the answer.
        language: the language in which the model was asked.
        read: is called with the answer, "" if it is null, and the values of `keys` in their order.

    Returns:
        One row per answer, in the same order, with the fields of `Reading` in `READING_TYPES`. The
        position of an option is text.
    """
    columns = answers.select(pl.col("response", "status").cast(pl.String), *keys)
    cache: dict[tuple[object, ...], Reading] = {}
    readings = []
    for response, status, *values in columns.iter_rows():
        key = (response, status, *map(_hashable, values))
        if key not in cache:
            reading = with_reason(read(response or "", *values), response, status, language)
            value = None if reading.value is None else str(reading.value)
            cache[key] = reading._replace(value=value)
        readings.append(cache[key])
    return pl.DataFrame(readings, schema=READING_TYPES, orient="row")


def _hashable(value: object) -> object:
    """Turns a list into a tuple; other values are not changed."""
    return tuple(value) if isinstance(value, list) else value
