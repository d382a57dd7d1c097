"""The result of reading an answer, and the reason why an answer cannot be read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from biasgrid.base.languages import Language
from biasgrid.readers.refusals import is_question_back, is_refusal

ANSWERED, EMPTY, CUT, REFUSED, ASKS_BACK = "answered", "empty", "cut", "refused", "asks back"
CONTRADICTION, SEVERAL, NO_OPTION = "contradiction", "several", "none of the options"
WITHOUT_VALUE = (EMPTY, CUT, REFUSED, ASKS_BACK, CONTRADICTION, SEVERAL, NO_OPTION)
"""Why an answer was not read.

`empty`: there is no text. `cut`: the limit of tokens was reached before the text committed to
anything, so that more tokens may help. `refused`: the model declines the task. `asks back`: it asks
a question in place of an answer. `contradiction`: a letter and the text beside it are different
options. `several`: several options are named and none is chosen. `none of the options`: the text
says something else.
"""
OUTCOMES = (ANSWERED, *WITHOUT_VALUE)
REFUSAL_STATUSES = ("refused", "filtered")
"""The status of an answer that a server reports as refused."""
CUT_STATUS = "length"
"""The status of an answer that reached the limit of tokens."""


class Reading(NamedTuple):
    """What an answer commits to.

    Attributes:
        value: the label, or the number of the option in the order shown; None unless `outcome` is
            `answered`.
        outcome: one of `OUTCOMES`.
        rule: the name of the rule that applied, "" if none did.
        start: the character of the answer at which the words begin that were read.
        end: the character behind these words; equal to `start` if no words were read.
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
    """Returns a reading that says why there is no value, where there is none.

    Args:
        reading: from a reader.
        answer: the text that was read; None where there is none.
        status: how the answer ended; None where that is not known.
        language: the language in which the model was asked.
    """
    is_cut = status == CUT_STATUS and ends_text(reading, answer or "")
    if reading.outcome == CONTRADICTION or (reading.value is not None and not is_cut):
        return reading
    if is_cut:
        return no_value(CUT)
    return reading._replace(outcome=reason(reading.outcome, answer, status, language))


def reason(outcome: str, answer: str | None, status: str | None, language: Language) -> str:
    """Returns why an answer has no value: `outcome`, unless something else explains it better."""
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


def ends_text(reading: Reading, answer: str) -> bool:
    """Whether the words that were read end an answer that begins with others.

    Cut answers may go on behind them.
    """
    text = answer.rstrip()
    if reading.value is None or reading.end < len(text):
        return False
    return any(map(str.isalnum, text[: reading.start]))


Reader = Callable[..., Reading]
READING_TYPES: dict[str, pl.DataType | type[pl.DataType]] = {
    "value": pl.String,
    "outcome": pl.Enum(OUTCOMES),
    "rule": pl.String,
    "start": pl.UInt32,
    "end": pl.UInt32,
}


def readings_of(
    answers: pl.DataFrame, keys: Sequence[str], language: Language, read: Reader
) -> pl.DataFrame:
    """Reads the answers of a table, equal ones once.

    Args:
        answers: with `response` and `status`, strings with nulls, and the `keys`.
        keys: columns that the reader needs beside the answer.
        language: the language in which the model was asked.
        read: takes an answer and the values of the keys.

    Returns:
        Row by row the fields of `Reading`, in `READING_TYPES`; a number of an option stands as
        text.
    """
    asked = answers.select(pl.col("response", "status").cast(pl.String), *keys)
    known: dict[tuple[object, ...], Reading] = {}
    readings = []
    for response, status, *values in asked.iter_rows():
        key = (response, status, *map(_hashable, values))
        if key not in known:
            reading = with_reason(read(response or "", *values), response, status, language)
            value = None if reading.value is None else str(reading.value)
            known[key] = reading._replace(value=value)
        readings.append(known[key])
    return pl.DataFrame(readings, schema=READING_TYPES, orient="row")


def _hashable(value: object) -> object:
    """Returns a list as a tuple, and anything else as it is."""
    return tuple(value) if isinstance(value, list) else value
