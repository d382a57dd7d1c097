"""Observations of the answers to a probe: by its evaluator, or by the probabilities of its options.

An evaluator has a reader, which finds one label in an answer or says why there is none, or a
finder. Each finder is given a table with `row`, `response` (the answer), `text_score` (that of the
probe's scorer, if any), `label` (from its reader), `status`, and `READ` of the instance. It returns
a table of `FOUND_SCHEMA`: rows of labels or numbers, none of answers in which nothing was found.
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
from biasgrid.base.languages import cell_language
from biasgrid.families.probe.ask import KEYS, parse_keys
from biasgrid.families.probe.definitions import (
    REFUSALS,
    FirstName,
    Phrases,
    Probe,
    WordCounts,
    fill_keys,
)
from biasgrid.families.probe.family import ProbeMode
from biasgrid.families.probe.read import load_probe
from biasgrid.families.responses import sentiment_of
from biasgrid.inference.surface_forms import option_letter
from biasgrid.readers.choices import read_choice
from biasgrid.readers.menu import ALPHABET, Menu
from biasgrid.readers.protagonists import read_protagonist
from biasgrid.readers.reading import (
    ANSWERED,
    NO_OPTION,
    OUTCOMES,
    REFUSAL_STATUSES,
    Reader,
    Reading,
    no_value,
    read_answer_column,
)
from biasgrid.readers.refusals import refusal_column
from biasgrid.readers.yes_no import read_yes_no
from biasgrid.tables.schema import NeverNaN, column, table

READ = ["instance", "text", *KEYS]
"""The columns of instances that are observed."""
SAID = ["instance", "probabilities", "status", "response"]
"""The columns of predictions that are observed, if the kind of the answers has them."""
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


def read_cell_probe(measure_options: Mapping[str, Any]) -> Probe:
    """Reads the probe of a cell.

    Args:
        measure_options: `probe`, its file, and `language` of its texts if it is not English.

    Raises:
        InputError: the file cannot be used.
    """
    probe_file = load_probe(Path(measure_options["probe"]))
    if probe_file.probe is None or probe_file.faults:
        raise InputError(probe_file.faults)
    return replace(probe_file.probe, language=cell_language(measure_options))


def observe(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    measure_options: Mapping[str, Any],
    scorer_predictions: Mapping[str, pl.DataFrame] | None = None,
) -> pl.DataFrame:
    """Observes each answer: the labels or numbers that it contains.

    Args:
        instances: the family's instances.
        predictions: answers of the kind `choice` or `text`, one for each instance.
        measure_options: see `read_cell_probe`, and `mode`.
        scorer_predictions: the answers of the model that its evaluator names.

    Returns:
        Rows of `OBSERVATIONS`: of each instance one for all that was found, or one that says that
        nothing was.
    """
    probe = read_cell_probe(measure_options)
    evaluator = probe.head.evaluator.name
    answers_with_scores = normalised_answers(predictions)
    scores = text_scores(probe, scorer_predictions or {})
    answers_with_scores = answers_with_scores.join(
        scores, on="response", how="left", maintain_order="left"
    )
    rows = instances.select(READ).sort("instance")
    rows = rows.join(answers_with_scores, on="instance", maintain_order="left").with_row_index(
        "row"
    )
    answers = with_readings(rows, probe)

    is_scored = pl.col("probabilities").list.sum().fill_null(0) > 0
    shares = option_shares(answers.filter(is_scored), probe)
    texts = answers.filter(~is_scored, pl.col("response").str.strip_chars() != "")
    findings = find_in_answers(texts, probe, ProbeMode.of(measure_options["mode"]))
    findings_of_all = [
        shares.with_columns(evaluator=pl.lit(PROBABILITIES)),
        findings.with_columns(evaluator=pl.lit(evaluator)),
    ]
    return observation_rows(answers.drop("label"), pl.concat(findings_of_all), evaluator)


def normalised_answers(predictions: pl.DataFrame) -> pl.DataFrame:
    """Returns `SAID` of predictions; columns that their kind of answers lacks are null."""
    columns = {"probabilities": pl.lit(None, pl.List(pl.Float32))}
    if "probabilities" in predictions.columns:
        columns["probabilities"] = pl.col("probabilities")
    for name in ("status", "response"):
        is_present = name in predictions.columns
        columns[name] = (pl.col(name) if is_present else pl.lit(None)).cast(pl.String)
    return predictions.select("instance", **columns)


def text_scores(probe: Probe, scorer_predictions: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Returns the score of each `response`, and whether the scorer read only its beginning.

    There are no rows if the evaluator of the probe is no scorer.
    """
    scorer = probe.head.evaluator.scorer
    if scorer is None:
        types = {"truncated": pl.Boolean, "response": pl.String, "text_score": pl.Float32}
        return pl.DataFrame(schema=types)
    return scorer_predictions[scorer].select("truncated", response="text", text_score="score")


def option_shares(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Returns the share of each option in the probabilities of an answer."""
    labels = pl.col("options").cast(pl.List(pl.String))
    if not probe.head.evaluator.OF_OPTIONS:
        # The labels are the same for all prompts.
        series = pl.Series([list(probe.labels)], dtype=pl.List(pl.String))
        labels = pl.lit(series).first()
    rows = answers.select("row", label=labels, value="probabilities").explode("label", "value")
    share = pl.col("value") / pl.col("value").sum().over("row")
    return typed_findings(rows.with_columns(share, score=pl.lit(ANSWER)))


def observation_rows(answers: pl.DataFrame, findings: pl.DataFrame, evaluator: str) -> pl.DataFrame:
    """Puts findings beside answers; answers without any get the reason.

    Args:
        answers: with `row`, the family's keys, `why` there is no answer if there is none, and
            `truncated`.
        findings: with `row`, `evaluator`, `score`, `label` and `value`.
        evaluator: the evaluator of answers in which nothing was found.

    Returns:
        Rows of `OBSERVATIONS`.
    """
    rows = answers.join(findings, on="row", how="left", maintain_order="left_right")
    is_undetected = pl.col("value").is_null()
    # GenderBench's evaluators may find nothing where biasgrid reads an answer.
    why = pl.when(pl.col("why") == ANSWERED).then(pl.lit(NO_OPTION)).otherwise("why")
    rows = rows.with_columns(
        pl.col("evaluator").fill_null(evaluator),
        pl.col("score").fill_null(ANSWER),
        other_instance=pl.lit(None, pl.UInt32),
        undetected=is_undetected,
        outcome=pl.when(is_undetected).then(why).otherwise(pl.lit(ANSWERED)),
    )
    types = pl.Schema({name: column.dtype.type for name, column in OBSERVATIONS.columns.items()})
    return rows.select(types.names()).cast(types)


# Readers: the values of some columns of an instance help to read its answer

AnswerReader = tuple[Sequence[str], Reader]
"""The columns of instances that a reader needs, and the reader, which takes an answer and the
values of these columns.
"""


def with_readings(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Adds the `label` that an evaluator reads in answers, and `why` there is none.

    Args:
        answers: with `response`, `status` and the family's keys.
        probe: the probe; evaluators without a reader have no label here.
    """
    make = READERS.get(probe.head.evaluator.name)
    keys, reader = make(probe) if make else ((), read_nothing)
    texts = [pl.col(name).cast(pl.String) for name in ("keys", "text") if name in keys]
    readings = read_answer_column(answers.with_columns(texts), keys, probe.language, reader)
    return answers.with_columns(label=readings["value"], why=readings["outcome"].cast(pl.String))


def read_nothing(_answer: str) -> Reading:
    """Returns a reading without a value, if only the reason for no answer is asked."""
    return no_value()


def option_reader(probe: Probe) -> AnswerReader:
    """Reads the option that an answer chooses, by its letter or its text."""

    def read(answer: str, options: Sequence[str], keys: str) -> Reading:
        values = parse_keys(keys)
        texts = tuple(fill_keys(probe.head.options[option], values) for option in options)
        choice = read_choice(answer, Menu(texts, letters=True), probe.language)
        return with_label(choice, options)

    return ("options", "keys"), read


def meaning_reader(probe: Probe) -> AnswerReader:
    """Reads the label for which the letter of an answer stands.

    The keys `a`, `b`, ... of the prompt give these labels.
    """

    def read(answer: str, keys: str) -> Reading:
        values = parse_keys(keys)
        # The first letter without a key ends the menu; the dash stands behind the alphabet.
        count = next(place for place, letter in enumerate(f"{ALPHABET}-") if letter not in values)
        meanings = [str(values[option_letter(place)]) for place in range(count)]
        letters_alone = Menu(("",) * count, letters=True)
        return with_label(read_choice(answer, letters_alone, probe.language), meanings)

    return ("keys",), read


def word_reader(probe: Probe) -> AnswerReader:
    """Reads which of several words an answer chooses."""
    menu = Menu(tuple(probe.labels))

    def read(answer: str) -> Reading:
        return with_label(read_choice(answer, menu, probe.language), probe.labels)

    return (), read


def yes_no_reader(probe: Probe) -> AnswerReader:
    """Reads Yes or No; an answer may repeat the words of the prompt."""

    def read(answer: str, prompt: str) -> Reading:
        return read_yes_no(answer, probe.language, prompt)

    return ("text",), read


def pronoun_reader(probe: Probe) -> AnswerReader:
    """Reads the gender with more pronouns in a text."""

    def read(answer: str) -> Reading:
        return read_protagonist(answer, probe.language)

    return (), read


def with_label(reading: Reading, labels: Sequence[str]) -> Reading:
    """Returns a reading of an option with its label in place of its number."""
    if reading.value is None:
        return reading
    return reading._replace(value=labels[int(reading.value)])


READERS: Mapping[str, Callable[[Probe], AnswerReader]] = {
    "option-letter": option_reader,
    "lettered": meaning_reader,
    "one-of": word_reader,
    "yes-no": yes_no_reader,
    "pronouns": pronoun_reader,
}
"""The readers of evaluators, by the names of these."""

# Finders

ANSWER = "answer"
"""The value of the column `score` for labels of whole answers."""
FOUND_SCHEMA = pl.Schema(
    {"row": pl.UInt32, "score": pl.String, "label": pl.String, "value": pl.Float64}
)


def typed_findings(findings: pl.DataFrame) -> pl.DataFrame:
    """Returns findings with the types of `FOUND_SCHEMA`."""
    return findings.select(FOUND_SCHEMA.names()).cast(FOUND_SCHEMA)


def label_findings(answers: pl.DataFrame, label: pl.Expr) -> pl.DataFrame:
    """Returns the labels of answers that have one; each counts once."""
    rows = answers.select("row", label=label.cast(pl.String)).drop_nulls("label")
    return typed_findings(rows.with_columns(score=pl.lit(ANSWER), value=pl.lit(1.0)))


LOWER_RESPONSE = pl.col("response").str.to_lowercase()
WORD_OF_NAME = re.compile(r"[^\W_]+")
NO_LETTER_OR_DIGIT = r"[^\p{L}\p{N}]"
NO_LETTERS = f"{NO_LETTER_OR_DIGIT}+"


def find_phrase(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the first label with a phrase in the answer."""
    evaluator = probe.head.evaluator
    assert isinstance(evaluator, Phrases)
    labels = []
    for label, phrases in evaluator.phrases.items():
        has_phrase = LOWER_RESPONSE.str.contains_any([phrase.lower() for phrase in phrases])
        labels.append(pl.when(has_phrase).then(pl.lit(label)))
    return label_findings(answers, pl.coalesce(labels))


def find_refusal(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds whether the model declined."""
    refusal_label, answer_label = REFUSALS
    in_words = pl.lit(refusal_column(answers["response"], probe.language))
    is_refused = pl.col("status").is_in(REFUSAL_STATUSES) | in_words
    label = pl.when(is_refused).then(pl.lit(refusal_label)).otherwise(pl.lit(answer_label))
    return label_findings(answers, label)


def find_first_name(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Finds the label of the name that comes first, as words of its own.

    If several names begin there, the longest counts.
    """
    return find_first_spelled_name(answers, probe, name_words, first_whole_name)


def first_whole_name(spellings: Sequence[str]) -> pl.Expr:
    """Returns the name that a `text` has first as words of its own.

    If several names begin there, the longest counts.

    Args:
        spellings: from `name_words`, the longest first.
    """
    alternatives = "|".join(NO_LETTERS.join(map(re.escape, name.split())) for name in spellings)
    whole = f"(?:^|{NO_LETTER_OR_DIGIT})({alternatives})(?:{NO_LETTER_OR_DIGIT}|$)"
    return pl.col("text").str.extract(whole).str.replace_all(NO_LETTERS, " ")


def find_first_spelled_name(
    answers: pl.DataFrame,
    probe: Probe,
    spelling: Callable[[str], str],
    first_spelling: Callable[[Sequence[str]], pl.Expr],
) -> pl.DataFrame:
    """Finds the label of the name that comes first.

    Args:
        answers: see `find_in_answers`.
        probe: the probe.
        spelling: returns the spelling of a name that is looked for.
        first_spelling: takes spellings, the longest first, and returns the one that comes first in
            a `text` in lower case.
    """
    tables = [answers.head(0).select("row", label=pl.lit(None, pl.String))]
    # Names may contain keys of prompts, so they are filled for each prompt.
    for (keys,), part in answers.cast({"keys": pl.String}).group_by("keys", maintain_order=True):
        labels = spelling_labels(probe, str(keys), spelling)
        spellings = sorted(labels, key=len, reverse=True)
        label = first_spelling(spellings).replace_strict(
            labels, default=None, return_dtype=pl.String
        )
        tables.append(part.select("row", text=LOWER_RESPONSE).select("row", label=label))
    return label_findings(pl.concat(tables).sort("row"), pl.col("label"))


def spelling_labels(probe: Probe, keys: str, spelling: Callable[[str], str]) -> dict[str, str]:
    """Returns the label of each name that is looked for in answers to a prompt.

    Args:
        probe: the probe.
        keys: the keys of the prompt, as JSON.
        spelling: see `find_first_spelled_name`; a name that becomes empty is left out.
    """
    evaluator = probe.head.evaluator
    assert isinstance(evaluator, FirstName | WordCounts)
    values = parse_keys(keys)
    pairs = [(label, name) for label, names in evaluator.names.items() for name in names]
    labels = {}
    # Backwards, so that a name of two labels belongs to the first one.
    for label, name in reversed(pairs):
        labels[spelling(fill_keys(name, values))] = label
    labels.pop("", None)
    return labels


def name_words(name: str) -> str:
    """Returns the words of a name in lower case, with a blank between two."""
    return " ".join(WORD_OF_NAME.findall(name.lower()))


WORD_PATTERN = r"[\p{L}\p{N}]+(?:[-'][\p{L}\p{N}]+)*"
CONTRACTED = r"'(?:s|d|ll|re|ve)$"
"""The end of a contraction, which is not part of the word: `'s` in `he's`."""


def find_words(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Counts the words of lists: a row for each that has some, or for that which has most."""
    evaluator = probe.head.evaluator
    assert isinstance(evaluator, WordCounts)
    if evaluator.names:
        return count_words_by_name(answers, probe)
    if evaluator.count == "most":
        return find_most_frequent_list(answers, probe.words)
    word_counts = count_words(answers, probe.words)
    return typed_findings(word_counts.select("row", "label", score="label", value="count"))


def count_words_by_name(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Counts the words of lists by the name that stands first in their line.

    Commas end lines, too.
    """
    lines = pl.col("response").str.split("\n")
    pieces = lines.list.eval(pl.element().str.split(",").explode())
    rows = answers.rename({"row": "answer"}).with_columns(pieces)
    rows = rows.explode("response").with_row_index("row")
    names = find_first_name(rows, probe).select("row", name="label")
    word_counts = count_words(rows, probe.words).join(names, on="row")
    word_counts = word_counts.join(rows.select("row", "answer"), on="row")
    label = pl.format("{} {}", "name", "label").alias("label")
    groups = word_counts.group_by(label, row="answer", maintain_order=True)
    counts = groups.agg(value=pl.col("count").sum())
    return typed_findings(counts.with_columns(score="label"))


def find_most_frequent_list(
    answers: pl.DataFrame, lists: Mapping[str, Sequence[str]]
) -> pl.DataFrame:
    """Finds the list with more words in the answer than any other."""
    word_counts = count_words(answers, lists)
    is_most = pl.col("count") == pl.col("count").max().over("row")
    # Of two lists with as many words, neither has most.
    first = word_counts.filter(is_most).filter(pl.len().over("row") == 1)
    return label_findings(first, pl.col("label"))


def count_words(answers: pl.DataFrame, lists: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """Counts the words of lists in answers.

    Returns:
        `row`, `label` (the list) and `count` of all that is not 0, by row and in the order of the
        lists.
    """
    members = [(word, number) for number, words in enumerate(lists.values()) for word in words]
    table = pl.DataFrame(members, schema={"word": pl.String, "list": pl.UInt16}, orient="row")
    words = LOWER_RESPONSE.str.extract_all(WORD_PATTERN)
    tokens = answers.select("row", word=words).explode("word")
    tokens = tokens.with_columns(pl.col("word").str.replace(CONTRACTED, ""))
    counts = tokens.join(table, on="word").group_by("row", "list").agg(count=pl.len())
    labels = dict(enumerate(lists))
    label = pl.col("list").replace_strict(labels, return_dtype=pl.String)
    return counts.sort("row", "list").select("row", "count", label=label)


logger = logging.getLogger(__name__)
LOGGED_CHARACTERS = 200
"""How many characters of an answer are shown."""


def find_sentiment(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Returns the compound score of VADER, from -1 to 1."""
    scores = answers.select(
        "row",
        score=pl.lit("compound"),
        label=pl.lit(None, pl.String),
        value=sentiment_of(answers["response"])["compound"],
    )
    return typed_findings(scores)


def find_score(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Returns the scores that a classifier of the config gave to answers."""
    scorer = pl.lit(probe.head.evaluator.scorer)
    scores = answers.select("row", score=scorer, label=pl.lit(None), value="text_score")
    return typed_findings(scores.drop_nulls("value"))


def find_by_class(answers: pl.DataFrame, probe: Probe) -> pl.DataFrame:
    """Asks the method `observe` of the probe's class.

    An answer at which it fails is logged and left out.
    """
    assert probe.own is not None
    findings: list[tuple[int, str, str | None, float]] = []
    rows = answers.select("row", "response", pl.col("keys").cast(pl.String), "item")
    for row, response, keys, item in rows.iter_rows():
        try:
            value = probe.own.observe(response, parse_keys(keys))
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
        if isinstance(value, str):
            findings.append((row, ANSWER, value, 1.0))
        elif value is not None:
            findings.append((row, ANSWER, None, float(value)))
    return pl.DataFrame(findings, schema=FOUND_SCHEMA, orient="row")


FINDERS: Mapping[str, Callable[[pl.DataFrame, Probe], pl.DataFrame]] = {
    "phrases": find_phrase,
    "words": find_words,
    "first-name": find_first_name,
    "refusal": find_refusal,
    "sentiment": find_sentiment,
    "scorer": find_score,
    "own": find_by_class,
}
"""The evaluators that look for something in answers, by their names; `READERS` has the others."""


def find_in_answers(answers: pl.DataFrame, probe: Probe, mode: ProbeMode) -> pl.DataFrame:
    """Returns the findings of the probe's evaluator in written answers.

    Args:
        answers: see the head of this module.
        probe: the probe.
        mode: its finders replace ours.
    """
    name = probe.head.evaluator.name
    finder = mode.finders().get(name) or FINDERS.get(name)
    if finder is None:
        # A reader has found the label already.
        return label_findings(answers, pl.col("label"))
    return finder(answers, probe)
