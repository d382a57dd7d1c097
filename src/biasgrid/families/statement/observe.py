"""What models answered to statements: by probabilities of Yes and No, or in a text in which the
answer is looked for.

There is a row per instance, or one for each class that an instance is about.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.base.languages import ENGLISH_WORDS, Language, language_of
from biasgrid.families.statement.expand import ANSWER_OPTIONS
from biasgrid.readers.reading import ANSWERED, OUTCOMES, SEVERAL, Reading, readings_of
from biasgrid.readers.yes_no import read_yes_no, takes_back
from biasgrid.tables.instances import OF_FORMAT

YES, NO = ANSWER_OPTIONS


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
    columns = predictions.columns
    probabilities = (
        [
            pl.col("probabilities").list.get(place, null_on_oob=True).cast(pl.Float64)
            for place in range(len(ANSWER_OPTIONS))
        ]
        if "probabilities" in columns
        else [pl.lit(None, pl.Float64)] * len(ANSWER_OPTIONS)
    )
    texts = {
        name: pl.col(name) if name in columns else pl.lit(None, pl.String)
        for name in ("response", "status")
    }
    rows = predictions.select(
        yes=probabilities[0],
        no=probabilities[1],
        response=texts["response"].cast(pl.String),
        status=texts["status"].cast(pl.String),
    )
    return with_answers(with_text_answers(rows, language)).select(
        "yes", "no", "share", "says_yes", "outcome", "takes_back"
    )


def with_text_answers(rows: pl.DataFrame, language: Language) -> pl.DataFrame:
    """Adds the answers in texts, as probabilities, where there are no others, and the `outcome` of
    these texts.
    """

    def read(answer: str) -> Reading:
        return read_yes_no(answer, language)

    readings = readings_of(rows, [], language, read)
    rows = rows.with_columns(
        outcome=readings["outcome"].cast(pl.String),
        label=readings["value"],
        takes_back=explanations_against(rows["response"], language),
    )
    is_read = pl.all_horizontal(pl.col("yes", "no").is_null()) & (pl.col("outcome") == ANSWERED)
    return rows.with_columns(
        pl.when(is_read)
        .then((pl.col("label") == label).cast(pl.Float64))
        .otherwise(label)
        .alias(label)
        for label in ("yes", "no")
    )


def explanations_against(responses: pl.Series, language: Language) -> pl.Series:
    """Returns whether explanations take the answer back, null where there is none; equal texts are
    read once.
    """
    distinct = responses.unique().drop_nulls()
    opposite = pl.Series(
        [takes_back(response, language) for response in distinct], dtype=pl.Boolean
    )
    return responses.replace_strict(distinct, opposite, default=None, return_dtype=pl.Boolean)


def with_answers(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds the answer, and whether there is one."""
    yes, no = pl.col("yes"), pl.col("no")
    # Of answers that APES published the other one's probability is not known.
    share = (
        pl.when(yes.is_null())
        .then(1 - no)
        .when(no.is_null())
        .then(yes)
        .when(yes + no > 0)
        .then(yes / (yes + no))
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
"""The columns of instances that are observed."""
SAID = ["instance", "probabilities", "status", "response"]
"""The columns of predictions that are observed, of those that the kind has."""


def observe(
    instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]
) -> pl.DataFrame:
    """Puts answers beside what was asked.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `choice` or `text`, one for each instance.
        options: see `measure.measure`.

    Returns:
        By instance `READ`, what `read_answers` returns, and `is_right`, null where there is no
        answer.
    """
    answers = predictions.select("instance").hstack(read_answers(predictions, language_of(options)))
    read = [name for name in READ if name in instances.columns]
    rows = (
        instances.select(read).sort("instance").join(answers, on="instance", maintain_order="left")
    )
    label = pl.col("label").cast(pl.String)
    answer = pl.when("says_yes").then(pl.lit(YES)).otherwise(pl.lit(NO))
    return rows.with_columns(
        is_right=pl.when(pl.col("says_yes").is_not_null()).then(answer == label)
    )


def by_class(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns a row for each value that an instance is about.

    Returns:
        The observations with `bias_type`, the value's domain, and its parameter where a template
        has several of the domain; `group`, its class; `subject`, the value; and `place`, the
        parameter's place.
    """
    tables = [
        observations.join(roles, on="template", maintain_order="left").with_columns(
            place=pl.lit(place, pl.UInt8),
            **{
                name: pl.col(lists).list.get(place).cast(pl.String)
                for name, lists in (("group", "classes"), ("subject", "names"))
            },
        )
        for place, roles in roles_of(observations).items()
    ]
    if not tables:
        nothing = dict.fromkeys(("bias_type", "group", "subject"), pl.lit(None, pl.String))
        return observations.head(0).with_columns(**nothing, place=pl.lit(None, pl.UInt8))
    return pl.concat(tables)


def roles_of(observations: pl.DataFrame) -> dict[int, pl.DataFrame]:
    """Returns `template` and `bias_type` of the templates that have a parameter, by its place."""
    rows: dict[int, list[tuple[int, str]]] = {}
    for template, domains in (
        observations.select("template", "domains").unique("template", maintain_order=True).rows()
    ):
        for place, domain in enumerate(domains):
            if domain:
                role = domain if domains.count(domain) == 1 else f"{domain} #{place + 1}"
                rows.setdefault(place, []).append((template, role))
    schema = {"template": pl.UInt16, "bias_type": pl.String}
    return {place: pl.DataFrame(rows[place], schema=schema, orient="row") for place in sorted(rows)}
