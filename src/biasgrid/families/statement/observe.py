"""What models answered to statements: by probabilities of Yes and No, or in a text in which the answer is looked for.

There is a row per instance, or one for each class that an instance is about.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.base.languages import ENGLISH_WORDS, Language, language_of
from biasgrid.families.responses import is_refusal, plain_apostrophes
from biasgrid.families.statement.expand import ANSWER_OPTIONS
from biasgrid.tables.instances import OF_FORMAT

STATEMENT_OUTCOMES = ("answered", "refused", "length", "unclear")
"""Whether there is an answer, and why not: the model declined, its text was cut off, or it says something else."""
YES, NO = ANSWER_OPTIONS
NO_LETTER = r"[^\p{L}]"


def answer_at_start(language: Language) -> str:
    """Returns a pattern of Yes or No that begins a text: `No one is ...` is not the answer No, `Yes or No` none."""
    goes_on = rf"|\s+(?:{'|'.join(language.answer_goes_on)})\b" if language.answer_goes_on else ""
    return rf"(?i)^{answer_after_lead(language)}(?:\s*(?:[^\p{{L}}\s/]|$){goes_on})"


def answer_at_end(language: Language) -> str:
    """Returns a pattern of Yes or No that is the last sentence of a text."""
    return rf"(?i)[\n.:!?]{answer_after_lead(language)}{NO_LETTER}*$"


def answer_after_lead(language: Language) -> str:
    """Returns a pattern of Yes or No, whether or not `the answer is` stands before it."""
    words = "|".join(re.escape(word) for words in language.yes_and_no.values() for word in words)
    return rf"{NO_LETTER}*(?:{language.answer_is}{NO_LETTER}*)?({words})"


def read_answers(predictions: pl.DataFrame, language: Language = ENGLISH_WORDS) -> pl.DataFrame:
    """Reads answers of either kind.

    Args:
        predictions: answers of the kind `choice`, whose candidates are Yes and No, or `text`.
        language: the language of the answers.

    Returns:
        Row by row `yes` and `no`, the probabilities of the answers as the model has them (1 and 0 where a text was
        read), null where one is not known; `share`, that of Yes among both; `says_yes`, null where there is no answer
        or both are as probable; `outcome`, one of `STATEMENT_OUTCOMES`.
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
    texts = {name: pl.col(name) if name in columns else pl.lit(None, pl.String) for name in ("response", "status")}
    rows = predictions.select(
        yes=probabilities[0],
        no=probabilities[1],
        response=plain_apostrophes(texts["response"]),
        status=texts["status"].cast(pl.String),
    )
    return with_answers(with_text_answers(rows, language), language).select("yes", "no", "share", "says_yes", "outcome")


def with_text_answers(rows: pl.DataFrame, language: Language) -> pl.DataFrame:
    """Adds the answers in texts, as probabilities, where there are no others."""
    response, whole = pl.col("response"), pl.col("status").ne_missing("length")
    at_start, at_end = (response.str.extract(of(language)) for of in (answer_at_start, answer_at_end))
    answer = pl.coalesce(at_start, pl.when(whole).then(at_end))
    is_read = pl.all_horizontal(pl.col("yes", "no").is_null()) & answer.is_not_null()
    chosen = {
        name: answer.str.to_lowercase().is_in([word.lower() for word in words])
        for name, words in language.yes_and_no.items()
    }
    return rows.with_columns(
        pl.when(is_read).then(is_answer.cast(pl.Float64)).otherwise(name).alias(name)
        for name, is_answer in chosen.items()
    )


def with_answers(rows: pl.DataFrame, language: Language) -> pl.DataFrame:
    """Adds the answer, and whether there is one."""
    yes, no = pl.col("yes"), pl.col("no")
    # Of answers that APES published the other one's probability is not known.
    share = pl.when(yes.is_null()).then(1 - no).when(no.is_null()).then(yes).when(yes + no > 0).then(yes / (yes + no))
    more_yes = yes.fill_null(-1) - no.fill_null(-1)
    says_yes = pl.when(more_yes != 0).then(more_yes > 0)
    outcome = (
        pl.when(says_yes.is_not_null())
        .then(pl.lit("answered"))
        .when(pl.col("status") == "length")
        .then(pl.lit("length"))
        .when(is_refusal(pl.col("status"), pl.col("response"), language))
        .then(pl.lit("refused"))
        .otherwise(pl.lit("unclear"))
    )
    return rows.with_columns(share=share, says_yes=says_yes, outcome=outcome.cast(pl.Enum(STATEMENT_OUTCOMES)))


READ = ["instance", "template", "pair", "negated", "repetition", "domains", "names", "classes", "label", *OF_FORMAT]
"""The columns of instances that are observed."""
SAID = ["instance", "probabilities", "status", "response"]
"""The columns of predictions that are observed, of those that the kind has."""


def observe(instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Puts answers beside what was asked.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `choice` or `text`, one for each instance.
        options: see `measure.measure`.

    Returns:
        By instance `READ`, what `read_answers` returns, and `is_right`, null where there is no answer.
    """
    answers = predictions.select("instance").hstack(read_answers(predictions, language_of(options)))
    read = [name for name in READ if name in instances.columns]
    rows = instances.select(read).sort("instance").join(answers, on="instance", maintain_order="left")
    label = pl.col("label").cast(pl.String)
    answer = pl.when("says_yes").then(pl.lit(YES)).otherwise(pl.lit(NO))
    return rows.with_columns(is_right=pl.when(pl.col("says_yes").is_not_null()).then(answer == label))


def by_class(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns a row for each value that an instance is about.

    Returns:
        The observations with `bias_type`, the value's domain, and its parameter where a template has several of the
        domain; `group`, its class; `subject`, the value; and `place`, the parameter's place.
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
    for template, domains in observations.select("template", "domains").unique("template", maintain_order=True).rows():
        for place, domain in enumerate(domains):
            if domain:
                role = domain if domains.count(domain) == 1 else f"{domain} #{place + 1}"
                rows.setdefault(place, []).append((template, role))
    schema = {"template": pl.UInt16, "bias_type": pl.String}
    return {place: pl.DataFrame(rows[place], schema=schema, orient="row") for place in sorted(rows)}
