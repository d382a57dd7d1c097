"""The kinds of answers that a file may have: what each needs of a row, and the columns of
predictions it becomes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.base.faults import Fault, first_few
from biasgrid.base.precomputed_file import (
    NUMERIC_ANSWER_COLUMNS,
    PROBABILITY_ROUNDING,
    NumbersByOption,
    PrecomputedResponse,
)
from biasgrid.inference.engine.back_end import columns_with_prefix, to_list_column
from biasgrid.inference.engine.settings import InferenceSettings
from biasgrid.inference.scorings import ANSWER_KIND as LIKELIHOOD

IMPORTED = "imported"
"""How options of a generative model were scored: by another project, whose log has their
log-likelihoods.
"""
WRITING_TASK = "text-generation"
SMALLEST_PROBABILITY = float(np.finfo(np.float32).tiny)
OR_WRITTEN = "`answers: written` in the dataset"
NOUNS = {
    "scores": "log-likelihoods of options",
    "probabilities": "probabilities of options",
    "starts": "probabilities of starts",
    "ends": "probabilities of ends",
    "probability": "probabilities of spans",
    "score": "scores",
    "vector": "vectors",
}
"""The columns of numbers, for messages."""
Options = Sequence[Sequence[str | None]]
"""By instance the texts of its options, in the order of the columns; None where it has fewer."""


class Answered(NamedTuple):
    """Instances and their answers.

    Attributes:
        answers: the answers, in the order of the instances.
        options: the options of each.
        settings: how the dataset asks.
    """

    answers: Sequence[PrecomputedResponse]
    options: Options
    settings: InferenceSettings


class AnswerKind(ABC):
    """A kind of answers.

    Attributes:
        columns: the columns of the file, of which a row needs all.
        expected: what a row should have, for messages.
    """

    columns: ClassVar[tuple[str, ...]]
    expected: ClassVar[str]

    def options(self, instances: pl.DataFrame, classes: Sequence[str]) -> Options:
        """Returns what each answer must have a number of: nothing, or a kind says what."""
        return [()] * len(instances)

    def faults(
        self, path: Path, answers: Sequence[PrecomputedResponse], options: Options
    ) -> Iterator[Fault]:
        """Yields the first answer of another kind, or without a number for one of its options.

        Args:
            path: the file of the answers.
            answers: those that were found, by instance.
            options: the options of each instance.
        """
        for one, texts in zip(answers, options, strict=True):
            fault = next(
                self.faults_of_answer(one, [text for text in texts if text is not None]), None
            )
            if fault:
                column, problem, expected = fault
                yield Fault(str(path), f"{one.where}, {column}", problem, expected)
                return

    def faults_of_answer(
        self, one: PrecomputedResponse, options: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yields column, problem and what is expected of what is wrong with an answer."""
        for name in self.columns:
            values = getattr(one, name)
            if values is None:
                yield name, f"no {NOUNS[name]}, which the dataset needs", self.expected
            elif isinstance(values, Mapping):
                yield from missing_options(name, values, options)

    @abstractmethod
    def table(self, answered: Answered) -> pl.DataFrame:
        """Returns the columns of the predictions."""


class ChoiceKind(AnswerKind):
    """Probabilities of options or classes, as they are or as log-likelihoods."""

    columns = ("probabilities",)
    expected = f"a probability or a log-likelihood (`scores`) for each option, or {OR_WRITTEN}"

    def options(self, instances: pl.DataFrame, classes: Sequence[str]) -> Options:
        """Returns the candidates of each instance, or the classes."""
        names = columns_with_prefix(instances, "candidate")
        return (
            instances.select(pl.col(names).cast(pl.String)).rows()
            if names
            else [classes] * len(instances)
        )

    def faults_of_answer(
        self, one: PrecomputedResponse, options: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yields what is wrong with an answer."""
        if one.scores and one.probabilities:
            yield "scores", "both `scores` and `probabilities`", "one of them"
        elif one.scores:
            yield from missing_options("scores", one.scores, options)
        else:
            yield from super().faults_of_answer(one, options)

    def sum_faults(
        self, path: Path, answers: Sequence[PrecomputedResponse], options: Options
    ) -> Iterator[Fault]:
        """Yields the first answer whose options have more than 1 together; see `faults`."""
        for one, texts in zip(answers, options, strict=True):
            total = sum(
                (one.probabilities or {}).get(text or "", 0.0) for text in dict.fromkeys(texts)
            )
            if total > 1 + PROBABILITY_ROUNDING:
                problem = f"those of the options add up to {total:.6g}"
                yield Fault(str(path), f"{one.where}, probabilities", problem, "at most 1 together")
                return

    def table(self, answered: Answered) -> pl.DataFrame:
        """Returns the probabilities of candidates.

        Long options have smaller likelihoods than a column of probabilities can hold. Where the
        largest is smaller, all are divided by it: what is made of answers are the shares of their
        candidates.
        """
        known = are_known(answered.options)
        given = numbers_by_option(
            answered.options, [one.probabilities or {} for one in answered.answers]
        )
        logs = numbers_by_option(
            answered.options, [one.scores or {} for one in answered.answers], -np.inf
        )
        has_logs = np.array([one.scores is not None for one in answered.answers], dtype=np.bool_)[
            :, None
        ]
        largest = logs.max(axis=1, initial=-np.inf, keepdims=True)
        shift = np.where(
            np.isfinite(largest) & (largest < np.log(SMALLEST_PROBABILITY)), largest, 0
        )
        columns = [
            to_list_column(
                "probabilities", np.where(has_logs, np.exp(logs - shift), given), known, pl.Float32
            )
        ]
        if answered.settings.task == WRITING_TASK:
            mass = np.where(has_logs, np.exp(logs), given).sum(axis=1).clip(max=1)
            scored_by = pl.repeat(IMPORTED, len(known), eager=True).cast(pl.Categorical)
            columns += [pl.Series("mass", mass, dtype=pl.Float32), scored_by.alias("scored_by")]
        return pl.DataFrame(columns)


class SpanKind(AnswerKind):
    """The most probable span, and how probable each candidate is as its start and its end."""

    columns = ("starts", "ends")
    expected = (
        "`starts` and `ends` with a probability for each candidate, and the most probable "
        "span as `response`"
    )

    def options(self, instances: pl.DataFrame, classes: Sequence[str]) -> Options:
        """Returns the candidates that have a place in the text."""
        positions = columns_with_prefix(instances, "position")
        if not positions:
            return super().options(instances, classes)
        candidates = columns_with_prefix(instances, "candidate")[: len(positions)]
        texts = []
        for candidate, position in zip(candidates, positions, strict=True):
            text = pl.col(candidate).cast(pl.String)
            texts.append(pl.when(pl.col(position).is_not_null()).then(text).alias(position))
        return instances.select(texts).rows()

    def faults_of_answer(
        self, one: PrecomputedResponse, options: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yields what is wrong with an answer; where there are no candidates, the span is all that
        it needs.
        """
        if options:
            yield from super().faults_of_answer(one, options)
        elif not one.response and one.starts is None and number_columns(one):
            yield (
                "response",
                "no span, which the dataset needs",
                "the most probable span as `response`",
            )

    def table(self, answered: Answered) -> pl.DataFrame:
        """Returns starts and ends of the candidates, and the span."""
        answers = answered.answers
        known = are_known(answered.options)
        columns = []
        for name in self.columns:
            values = [getattr(answer, name) for answer in answers]
            numbers = numbers_by_option(answered.options, values)
            columns.append(to_list_column(name, numbers, known, pl.Float32))
        spans = [answer.response for answer in answers]
        probabilities = [answer.probability for answer in answers]
        return pl.DataFrame(
            [
                *columns,
                pl.Series("answer", spans, dtype=pl.Categorical),
                pl.Series("probability", probabilities, dtype=pl.Float32),
            ]
        )


class TextKind(AnswerKind):
    """Texts that a model wrote."""

    columns = ("response",)
    expected = "a `response`, or `answers: scored` in the dataset"

    def faults_of_answer(
        self, one: PrecomputedResponse, options: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yields that an answer has numbers and no text."""
        numbers = number_columns(one)
        if numbers and not one.response:
            yield (
                numbers[0],
                f"{NOUNS[numbers[0]]}, but the dataset needs written answers",
                self.expected,
            )

    def table(self, answered: Answered) -> pl.DataFrame:
        """Returns the texts, and which of them are empty."""
        responses = pl.Series(
            "response", [one.response for one in answered.answers], dtype=pl.String
        )
        is_empty = responses.str.strip_chars() == ""
        status = pl.select(status=pl.when(is_empty).then(pl.lit("empty")).otherwise(pl.lit("ok")))
        return pl.DataFrame([responses, status["status"].cast(pl.Categorical)])


class TextScoreKind(AnswerKind):
    """A score of each text."""

    columns = ("score",)
    expected = "a number for each text"

    def table(self, answered: Answered) -> pl.DataFrame:
        """Returns the scores."""
        return pl.DataFrame([numbers_of_texts(answered, pl.Float32), whole_texts(answered)])


class LikelihoodKind(AnswerKind):
    """A score of each sentence: a larger one means more likely. It is null where it could not be
    computed.
    """

    columns = ("score",)
    expected = "a number for each sentence"

    def faults(
        self, path: Path, answers: Sequence[PrecomputedResponse], options: Options
    ) -> Iterator[Fault]:
        """Yields that no sentence has a score; some may have none."""
        if all(one.score is None for one in answers):
            yield from super().faults(path, answers, options)

    def table(self, answered: Answered) -> pl.DataFrame:
        """Returns the scores, and by which formula."""
        scoring = pl.repeat(answered.settings.choices["scoring"], len(answered.answers), eager=True)
        named = scoring.cast(pl.Categorical).alias("scoring")
        return pl.DataFrame([numbers_of_texts(answered, pl.Float64), whole_texts(answered), named])


class VectorKind(AnswerKind):
    """A vector for each text, all of one length."""

    columns = ("vector",)
    expected = "a vector for each text"

    def faults(
        self, path: Path, answers: Sequence[PrecomputedResponse], options: Options
    ) -> Iterator[Fault]:
        """Yields the first answer without a vector, or with another length than the first one."""
        missing = [*super().faults(path, answers, options)]
        if missing:
            yield from missing
            return
        lengths = [len(answer.vector or ()) for answer in answers]
        for answer, length in zip(answers, lengths, strict=True):
            if length != lengths[0]:
                place = f"{answer.where}, vector"
                expected = f"{lengths[0]} numbers, as in {answers[0].where}"
                yield Fault(str(path), place, f"{length} numbers", expected)
                return

    def table(self, answered: Answered) -> pl.DataFrame:
        """Returns the vectors, scaled to length 1."""
        vectors: FloatArray = np.array([one.vector for one in answered.answers], dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # What has length 1 but for rounding stays as it is.
        scaled = np.where(np.abs(lengths - 1) <= PROBABILITY_ROUNDING, vectors, vectors / lengths)
        column = pl.Series("vector", scaled.astype(np.float32)).cast(pl.List(pl.Float32))
        return pl.DataFrame([column, whole_texts(answered)])


KINDS: Mapping[str, AnswerKind] = {
    "choice": ChoiceKind(),
    "span": SpanKind(),
    "text": TextKind(),
    "score": TextScoreKind(),
    LIKELIHOOD: LikelihoodKind(),
    "vector": VectorKind(),
}
"""All kinds by name: the modules of `tables.answers`."""


def number_columns(one: PrecomputedResponse) -> list[str]:
    """Returns the columns of numbers that an answer has."""
    return [name for name in NUMERIC_ANSWER_COLUMNS if getattr(one, name) is not None]


def missing_options(
    column: str, values: NumbersByOption, options: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yields the first option without a number; see `AnswerKind.faults_of_answer`."""
    lacking = [text for text in options if text not in values]
    if lacking:
        expected = f"the options of the dataset; it has {first_few([*map(repr, values)])}"
        noun = "log-likelihood" if column == "scores" else "probability"
        yield column, f"no {noun} of the option {lacking[0]!r}", expected


def are_known(options: Options) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Returns which options there are, shape (instances, options)."""
    is_known = [text is not None for text in chain.from_iterable(options)]
    return np.array(is_known, dtype=np.bool_).reshape(shape_of(options))


def shape_of(options: Options) -> tuple[int, int]:
    """Returns how many instances there are, and how many options each has at most."""
    return len(options), len(options[0]) if options else 0


def numbers_by_option(
    options: Options, values: Sequence[NumbersByOption], otherwise: float = 0.0
) -> FloatArray:
    """Returns the numbers of options, shape (instances, options).

    Args:
        options: the options of each instance.
        values: the numbers of each instance by option.
        otherwise: the number of an option that has none, or is not there.
    """
    rows = []
    for texts, number_of in zip(options, values, strict=True):
        # No option is called "": one that is not there is looked up under that name.
        rows.append([number_of.get(text or "", otherwise) for text in texts])
    numbers: FloatArray = np.array(rows, dtype=np.float64).reshape(shape_of(options))
    return numbers


def numbers_of_texts(answered: Answered, kind: type[pl.DataType]) -> pl.Series:
    """Returns the score of each text."""
    return pl.Series("score", [one.score for one in answered.answers], dtype=kind)


def whole_texts(answered: Answered) -> pl.Series:
    """Returns the column `truncated`: nobody says that a text was."""
    return pl.repeat(False, len(answered.answers), eager=True).alias("truncated")
