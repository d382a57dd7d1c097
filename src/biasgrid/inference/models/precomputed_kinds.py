"""The kinds of answers that a file may have: their columns in the file and in predictions."""

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

SCORED_BY_IMPORT = "imported"
"""`scored_by` of options whose log-likelihoods come from the log of another project."""
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
"""The columns of numbers, as messages call them."""
Options = Sequence[Sequence[str | None]]
"""For each instance the texts of its options in the order of the columns, all of one length; None
for an option that is not there, and () if the kind has no options.
"""


class MatchedAnswers(NamedTuple):
    """The answers to some instances.

    Attributes:
        answers: one answer per instance, in their order.
        options: the options of each instance, from `AnswerKind.options`.
        settings: the settings of the shard.
    """

    answers: Sequence[PrecomputedResponse]
    options: Options
    settings: InferenceSettings


class AnswerKind(ABC):
    """A kind of answers.

    Attributes:
        columns: the columns of the file; a row needs all of them.
        expected: the columns in words, for messages.
    """

    columns: ClassVar[tuple[str, ...]]
    expected: ClassVar[str]

    def options(self, instances: pl.DataFrame, classes: Sequence[str]) -> Options:
        """Returns, for each answer, the options that it needs a number for; by default none.

        Args:
            instances: the instances.
            classes: the names of a classifier's classes; empty for other models.
        """
        return [()] * len(instances)

    def faults(
        self, path: Path, answers: Sequence[PrecomputedResponse], options: Options
    ) -> Iterator[Fault]:
        """Yields the fault of the first answer that is of another kind or lacks a number.

        Args:
            path: the file of the answers.
            answers: one answer per instance.
            options: the options of each instance; None is an option that it does not have.
        """
        for response, texts in zip(answers, options, strict=True):
            fault = next(
                self.answer_faults(response, [text for text in texts if text is not None]), None
            )
            if fault:
                column, problem, expected = fault
                yield Fault(str(path), f"{response.where}, {column}", problem, expected)
                return

    def answer_faults(
        self, response: PrecomputedResponse, options: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yields the faults of an answer, each as column, problem and expectation.

        Args:
            response: the answer.
            options: the options of its instance that are there.
        """
        for name in self.columns:
            values = getattr(response, name)
            if values is None:
                yield name, f"no {NOUNS[name]}, which the dataset needs", self.expected
            elif isinstance(values, Mapping):
                yield from missing_options(name, values, options)

    @abstractmethod
    def table(self, matched: MatchedAnswers) -> pl.DataFrame:
        """Returns columns of the predictions, one row per instance."""


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

    def answer_faults(
        self, response: PrecomputedResponse, options: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yields the faults of an answer; see `AnswerKind.answer_faults`."""
        if response.scores and response.probabilities:
            yield "scores", "both `scores` and `probabilities`", "one of them"
        elif response.scores:
            yield from missing_options("scores", response.scores, options)
        else:
            yield from super().answer_faults(response, options)

    def sum_faults(
        self, path: Path, answers: Sequence[PrecomputedResponse], options: Options
    ) -> Iterator[Fault]:
        """Yields the first answer whose options have a sum above 1; see `faults`."""
        for response, texts in zip(answers, options, strict=True):
            total = sum(
                (response.probabilities or {}).get(text or "", 0.0) for text in dict.fromkeys(texts)
            )
            if total > 1 + PROBABILITY_ROUNDING:
                problem = f"those of the options add up to {total:.6g}"
                place = f"{response.where}, probabilities"
                yield Fault(str(path), place, problem, "at most 1 together")
                return

    def table(self, matched: MatchedAnswers) -> pl.DataFrame:
        """Returns the probabilities of candidates and, for generative models, their sum.

        Long options have smaller likelihoods than float32 can hold. If even the largest does, all
        are divided by it: measures use only the shares of candidates.
        """
        known = option_mask(matched.options)
        given = numbers_by_option(
            matched.options, [response.probabilities or {} for response in matched.answers]
        )
        logs = numbers_by_option(
            matched.options, [response.scores or {} for response in matched.answers], -np.inf
        )
        has_scores = [response.scores is not None for response in matched.answers]
        has_logs = np.array(has_scores, dtype=np.bool_)[:, None]
        largest = logs.max(axis=1, initial=-np.inf, keepdims=True)
        shift = np.where(
            np.isfinite(largest) & (largest < np.log(SMALLEST_PROBABILITY)), largest, 0
        )
        columns = [
            to_list_column(
                "probabilities", np.where(has_logs, np.exp(logs - shift), given), known, pl.Float32
            )
        ]
        if matched.settings.task == WRITING_TASK:
            mass = np.where(has_logs, np.exp(logs), given).sum(axis=1).clip(max=1)
            scored_by = pl.repeat(SCORED_BY_IMPORT, len(known), eager=True).cast(pl.Categorical)
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
        """Returns the candidates that occur in the text, None for the others."""
        positions = columns_with_prefix(instances, "position")
        if not positions:
            return super().options(instances, classes)
        candidates = columns_with_prefix(instances, "candidate")[: len(positions)]
        texts = []
        for candidate, position in zip(candidates, positions, strict=True):
            text = pl.col(candidate).cast(pl.String)
            texts.append(pl.when(pl.col(position).is_not_null()).then(text).alias(position))
        return instances.select(texts).rows()

    def answer_faults(
        self, response: PrecomputedResponse, options: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yields the faults of an answer; without candidates it needs only the span."""
        if options:
            yield from super().answer_faults(response, options)
        elif not response.response and response.starts is None and numeric_columns(response):
            yield (
                "response",
                "no span, which the dataset needs",
                "the most probable span as `response`",
            )

    def table(self, matched: MatchedAnswers) -> pl.DataFrame:
        """Returns starts and ends of the candidates, and the span."""
        answers = matched.answers
        known = option_mask(matched.options)
        columns = []
        for name in self.columns:
            values = [getattr(answer, name) for answer in answers]
            numbers = numbers_by_option(matched.options, values)
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

    def answer_faults(
        self, response: PrecomputedResponse, options: Sequence[str]
    ) -> Iterator[tuple[str, str, str]]:
        """Yields a fault if an answer has numbers and no text."""
        numbers = numeric_columns(response)
        if numbers and not response.response:
            yield (
                numbers[0],
                f"{NOUNS[numbers[0]]}, but the dataset needs written answers",
                self.expected,
            )

    def table(self, matched: MatchedAnswers) -> pl.DataFrame:
        """Returns the texts, and the status `empty` or `ok` of each."""
        responses = pl.Series(
            "response", [response.response for response in matched.answers], dtype=pl.String
        )
        is_empty = responses.str.strip_chars() == ""
        status = pl.select(status=pl.when(is_empty).then(pl.lit("empty")).otherwise(pl.lit("ok")))
        return pl.DataFrame([responses, status["status"].cast(pl.Categorical)])


class TextScoreKind(AnswerKind):
    """A score of each text."""

    columns = ("score",)
    expected = "a number for each text"

    def table(self, matched: MatchedAnswers) -> pl.DataFrame:
        """Returns the scores."""
        return pl.DataFrame([score_column(matched, pl.Float32), truncated_column(matched)])


class LikelihoodKind(AnswerKind):
    """A score of each sentence: a larger one means more likely. None if it was not computable."""

    columns = ("score",)
    expected = "a number for each sentence"

    def faults(
        self, path: Path, answers: Sequence[PrecomputedResponse], options: Options
    ) -> Iterator[Fault]:
        """Yields a fault if no sentence has a score; single sentences may have none."""
        if all(response.score is None for response in answers):
            yield from super().faults(path, answers, options)

    def table(self, matched: MatchedAnswers) -> pl.DataFrame:
        """Returns the scores and their formula."""
        scoring = pl.repeat(matched.settings.choices["scoring"], len(matched.answers), eager=True)
        formula = scoring.cast(pl.Categorical).alias("scoring")
        return pl.DataFrame([score_column(matched, pl.Float64), truncated_column(matched), formula])


class VectorKind(AnswerKind):
    """A vector for each text, all of one length."""

    columns = ("vector",)
    expected = "a vector for each text"

    def faults(
        self, path: Path, answers: Sequence[PrecomputedResponse], options: Options
    ) -> Iterator[Fault]:
        """Yields the first answer without a vector, or of another length than the first vector."""
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

    def table(self, matched: MatchedAnswers) -> pl.DataFrame:
        """Returns the vectors, scaled to length 1."""
        rows = [response.vector for response in matched.answers]
        vectors: FloatArray = np.array(rows, dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        # A division would change the last digits of a vector that already has length 1.
        is_unit = np.abs(lengths - 1) <= PROBABILITY_ROUNDING
        unit_vectors = np.where(is_unit, vectors, vectors / lengths)
        column = pl.Series("vector", unit_vectors.astype(np.float32)).cast(pl.List(pl.Float32))
        return pl.DataFrame([column, truncated_column(matched)])


KINDS: Mapping[str, AnswerKind] = {
    "choice": ChoiceKind(),
    "span": SpanKind(),
    "text": TextKind(),
    "score": TextScoreKind(),
    LIKELIHOOD: LikelihoodKind(),
    "vector": VectorKind(),
}
"""All kinds by name: the modules of `tables.answers`."""


def numeric_columns(response: PrecomputedResponse) -> list[str]:
    """Returns the columns of numbers that an answer has."""
    return [name for name in NUMERIC_ANSWER_COLUMNS if getattr(response, name) is not None]


def missing_options(
    column: str, values: NumbersByOption, options: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Yields the first option without a number; see `AnswerKind.answer_faults`."""
    lacking = [text for text in options if text not in values]
    if lacking:
        expected = f"the options of the dataset; it has {first_few([*map(repr, values)])}"
        noun = "log-likelihood" if column == "scores" else "probability"
        yield column, f"no {noun} of the option {lacking[0]!r}", expected


def option_mask(options: Options) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Returns whether each option is there, shape (instances, options)."""
    is_known = [text is not None for text in chain.from_iterable(options)]
    return np.array(is_known, dtype=np.bool_).reshape(options_shape(options))


def options_shape(options: Options) -> tuple[int, int]:
    """Returns the number of instances, and of options of each, absent ones included."""
    return len(options), len(options[0]) if options else 0


def numbers_by_option(
    options: Options, values: Sequence[NumbersByOption], otherwise: float = 0.0
) -> FloatArray:
    """Returns the numbers of options, shape (instances, options).

    Args:
        options: the options of each instance.
        values: for each instance its numbers by option.
        otherwise: stands for an option that has no number, or is not there.
    """
    rows = []
    for texts, number_of in zip(options, values, strict=True):
        # No option is "", so that an option that is not there has no number.
        rows.append([number_of.get(text or "", otherwise) for text in texts])
    numbers: FloatArray = np.array(rows, dtype=np.float64).reshape(options_shape(options))
    return numbers


def score_column(matched: MatchedAnswers, kind: type[pl.DataType]) -> pl.Series:
    """Returns the score of each text."""
    return pl.Series("score", [response.score for response in matched.answers], dtype=kind)


def truncated_column(matched: MatchedAnswers) -> pl.Series:
    """Returns the column `truncated`, all False: a file does not say that a text was cut."""
    return pl.repeat(False, len(matched.answers), eager=True).alias("truncated")
