"""Answers of models to statements: from probabilities of Yes and No, or read in texts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.base.languages import ENGLISH_WORDS, Language, cell_language
from biasgrid.families.statement.pack import NO, YES
from biasgrid.readers.reading import ANSWERED, OUTCOMES, SEVERAL, Reading, read_answer_column
from biasgrid.readers.yes_no import read_yes_no, takes_back
from biasgrid.tables.instances import OF_FORMAT

READ = [
    "instance",
    "template",
    "pair",
    "negated",
    "repetition",
    "domains",
    "names",
    "classes",
    "label",
    *OF_FORMAT,
]
"""Columns of instances that `observe` reads, if there."""
SAID = ["instance", "probabilities", "status", "response"]
"""Columns of predictions that `observe` reads, if there."""

SAYS_YES = pl.col("says_yes")
ANSWER_WORD = pl.when(SAYS_YES).then(pl.lit(YES)).when(~SAYS_YES).then(pl.lit(NO))
"""The answer of an observation, `YES` or `NO`; null without one."""


def observe(
    instances: pl.DataFrame, predictions: pl.DataFrame, measure_options: Mapping[str, Any]
) -> pl.DataFrame:
    """Puts answers beside statements.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `choice` or `text`, one for each instance.
        measure_options: names the language of the answers, if it is not English.

    Returns:
        By instance `READ`, what `read_answers` returns, and `is_right`, null where there is no
        answer.
    """
    read = read_answers(predictions, cell_language(measure_options))
    answers = predictions.select("instance").hstack(read)
    # Only datasets with several prompt formats have a column for these.
    columns = [name for name in READ if name in instances.columns]
    rows = instances.select(columns).sort("instance")
    rows = rows.join(answers, on="instance", maintain_order="left")
    return rows.with_columns(is_right=pl.col("label").cast(pl.String) == ANSWER_WORD)


def read_answers(predictions: pl.DataFrame, language: Language = ENGLISH_WORDS) -> pl.DataFrame:
    """Reads answers of either kind.

    Args:
        predictions: answers of the kind `choice`, whose candidates are Yes and No, or `text`.
        language: the language of the answers.

    Returns:
        Row by row `yes` and `no`, the probabilities of the answers as the model has them (1 and 0
        where a text was read), null where one is not known; `share`, that of Yes among both;
        `says_yes`, null where there is no answer or both are as probable; `outcome`, one of
        `readers.reading.OUTCOMES`; `takes_back`, whether an explanation behind the answer says the
        opposite, null where there is none.
    """
    # A kind of answers has probabilities, texts, or both.
    absent = {name: pl.lit(None) for name in SAID if name not in predictions.columns}
    probabilities = pl.col("probabilities").cast(pl.List(pl.Float64)).list
    rows = predictions.with_columns(**absent).select(
        pl.col("response", "status").cast(pl.String),
        yes=probabilities.get(0, null_on_oob=True),
        no=probabilities.get(1, null_on_oob=True),
    )
    answers = with_answers(with_text_answers(rows, language))
    return answers.select("yes", "no", "share", "says_yes", "outcome", "takes_back")


def with_text_answers(rows: pl.DataFrame, language: Language) -> pl.DataFrame:
    """Adds the answers in texts, as probabilities of 0 and 1, and the `outcome` of these texts.

    Rows that have probabilities keep them.
    """

    def read(answer: str) -> Reading:
        return read_yes_no(answer, language)

    readings = read_answer_column(rows, [], language, read)
    rows = rows.with_columns(
        outcome=readings["outcome"].cast(pl.String),
        label=readings["value"],
        takes_back=explanations_against(rows["response"], language),
    )
    has_probability = pl.any_horizontal(pl.col("yes", "no").is_not_null())
    is_read = ~has_probability & (pl.col("outcome") == ANSWERED)
    of_texts = {}
    for label in ("yes", "no"):
        is_answer = (pl.col("label") == label).cast(pl.Float64)
        of_texts[label] = pl.when(is_read).then(is_answer).otherwise(label)
    return rows.with_columns(**of_texts)


def explanations_against(responses: pl.Series, language: Language) -> pl.Series:
    """Returns whether explanations take the answer back.

    Null, which is not False, where an answer is neither Yes nor No or explains nothing. Equal texts
    are read once.
    """
    distinct = responses.unique().drop_nulls()
    are_opposite = [takes_back(response, language) for response in distinct]
    opposite = pl.Series(are_opposite, dtype=pl.Boolean)
    return responses.replace_strict(distinct, opposite, default=None, return_dtype=pl.Boolean)


def with_answers(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds `share` and `says_yes` to rows of `yes` and `no`, and completes `outcome`.

    See `read_answers`. `says_yes` is null if both answers are as probable.
    """
    yes, no = pl.col("yes"), pl.col("no")
    both = yes + no
    # Of answers that APES published the other one's probability is not known.
    share = (
        pl.when(yes.is_null())
        .then(1 - no)
        .when(no.is_null())
        .then(yes)
        .when(both > 0)
        .then(yes / both)
    )
    more_yes = yes.fill_null(-1) - no.fill_null(-1)
    says_yes = pl.when(more_yes != 0).then(more_yes > 0)
    is_scored = yes.is_not_null() | no.is_not_null()
    # Both may be as probable.
    without_answer = pl.when(is_scored).then(pl.lit(SEVERAL)).otherwise("outcome")
    outcome = pl.when(says_yes.is_not_null()).then(pl.lit(ANSWERED)).otherwise(without_answer)
    return rows.with_columns(
        share=share, says_yes=says_yes, outcome=outcome.cast(pl.Enum(OUTCOMES))
    )
