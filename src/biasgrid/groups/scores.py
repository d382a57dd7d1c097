"""The scores that groups are compared by, each declared once: what it is of, what it takes, how it
is computed.

Called phi in Czarnowska et al. (TACL 2021). A scalar score makes one number of a pool of records, a
set score keeps one of each record.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any, Literal

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, divide
from biasgrid.base.faults import UserError
from biasgrid.base.languages import ENGLISH_WORDS
from biasgrid.groups.confusion import (
    AVERAGES,
    RATES,
    Rate,
    average_rate,
    false_negatives,
    false_positives,
    is_predicted,
    wrongly_omitted,
    wrongly_predicted,
)
from biasgrid.groups.records import (
    AnswerOutputs,
    ClassOutputs,
    Pools,
    Records,
    Sort,
    SubjectOutputs,
    TargetOutputs,
    probability_column,
)

ScoreType = Literal["scalar", "set"]
Argument = str | int | None
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


Articles = tuple[str, ...]
OF_ENGLISH: Articles = ENGLISH_WORDS.articles


@cache
def whole_words(words: Articles) -> re.Pattern[str]:
    """Returns a pattern of some words, none of which is a part of another word."""
    return re.compile(rf"\b(?:{'|'.join(words)})\b") if words else re.compile(r"(?!)")


def normalize_answer(text: str, articles: Articles = OF_ENGLISH) -> str:
    """Returns a text in lower case, without ASCII punctuation, articles and superfluous white
    space.
    """
    return " ".join(whole_words(articles).sub(" ", text.lower().translate(NO_PUNCTUATION)).split())


def exact_match(answer: str, gold: str, articles: Articles = OF_ENGLISH) -> float:
    """Returns 1 where both texts are the same once normalized, else 0."""
    return float(normalize_answer(answer, articles) == normalize_answer(gold, articles))


def token_f1(answer: str, gold: str, articles: Articles = OF_ENGLISH) -> float:
    """Returns the harmonic mean of the shares of words that are in the other text too, counted with
    repetitions.

    Where a text has no words the result is that of `exact_match`.
    """
    words, gold_words = (normalize_answer(text, articles).split() for text in (answer, gold))
    if not words or not gold_words:
        return float(words == gold_words)
    shared = (Counter(words) & Counter(gold_words)).total()
    return 2 * shared / (len(words) + len(gold_words))


def each_answer(score: Callable[[str, str, Articles], float], outputs: AnswerOutputs) -> FloatArray:
    """Scores all answers, each distinct pair of texts once.

    Returns:
        Shape (records,).
    """
    pairs = list(zip(outputs.answers, outputs.gold, strict=True))
    found = {pair: score(*pair, outputs.articles) for pair in set(pairs)}
    return np.array([found[pair] for pair in pairs], dtype=np.float64)


@dataclass(frozen=True)
class Parameter:
    """What a score may take beside the records.

    Attributes:
        name: what the argument is.
        choices: the words it may be; where there are none it is an index from 0, or None.
        without: what None stands for; where that is nothing, an index must be given.
    """

    name: str
    choices: tuple[str, ...] = ()
    without: str = ""

    def accepts(self, argument: Argument) -> bool:
        """Says whether an argument is of the right sort; whether there is such an index shows in
        the records.
        """
        if self.choices:
            return argument in self.choices
        if argument is None:
            return bool(self.without)
        return type(argument) is int and argument >= 0

    @property
    def expected(self) -> str:
        """What it may be, in words."""
        if self.choices:
            return f"the {self.name}: one of {', '.join(self.choices)}"
        index = f"the {self.name}: its index from 0"
        return f"{index}, or nothing for {self.without}" if self.without else index


@dataclass(frozen=True)
class Score:
    """How a score is computed.

    Attributes:
        of: what it can be computed of.
        reference: where its formula is from.
        per_record: makes of the outputs and the argument an array of shape (records,) or
            (records, numbers), NaN where a record has no such value.
        reduce: makes of that, of the argument and of pools one number per pool, NaN where it is
            empty; None for a set score.
        parameter: what it takes; None where it takes nothing.
    """

    of: tuple[Sort, ...]
    reference: str
    per_record: Callable[[Any, Any], FloatArray]
    reduce: Callable[[FloatArray, Any, Pools], FloatArray] | None = None
    parameter: Parameter | None = None

    @property
    def kind(self) -> ScoreType:
        """Whether it makes one number of a pool or keeps the set."""
        return "set" if self.reduce is None else "scalar"


@dataclass(frozen=True)
class ScoredRecords:
    """Records with their values of a score, from which pools are scored.

    Attributes:
        records: the records.
        score: the score's name.
        argument: its argument.
        values: shape (records,) or (records, numbers), NaN where a record has no value.
    """

    records: Records
    score: str
    argument: Argument
    values: FloatArray

    @cached_property
    def defined(self) -> BoolArray:
        """Shape (records,), whether a record has a value."""
        missing = np.isnan(self.values)
        return np.asarray(~(missing if missing.ndim == 1 else missing.any(axis=1)))

    @cached_property
    def known(self) -> FloatArray:
        """The values of the records that have one, shape (defined records,) or (defined records,
        numbers).
        """
        return self.values if self.defined.all() else self.values[self.defined]

    def of_pools(self, pools: Pools) -> FloatArray:
        """Returns the score of pools of the records that have a value, shape (pools,), NaN where
        one is empty.

        Raises:
            ValueError: the score is a set score.
        """
        reduce = SCORES[self.score].reduce
        if reduce is None:
            raise ValueError(
                f"{self.score} gives no single number for a pool; expected a scalar score"
            )
        return reduce(self.known, self.argument, pools)


def score_records(records: Records, score: str, argument: Argument = None) -> ScoredRecords:
    """Computes a score of every record.

    Args:
        records: the records.
        score: a key of `SCORES`.
        argument: what the score takes; see its `parameter`.

    Raises:
        UserError: the score cannot be computed of such outputs or does not take such an argument,
            or the records have no such class or target, or more than two classes for the average
            "binary".
    """
    chosen = SCORES[score]
    if records.outputs.sort not in chosen.of:
        raise UserError(
            f"{score} is a score of {' or '.join(chosen.of)}; expected "
            f"one of {records.outputs.sort}"
        )
    if not takes(chosen, argument):
        raise UserError(f"{score} {misfit(argument)}; expected {expected_argument(chosen)}")
    return ScoredRecords(records, score, argument, chosen.per_record(records.outputs, argument))


def takes(score: Score, argument: Argument) -> bool:
    """Says whether a score takes an argument of this sort."""
    return argument is None if score.parameter is None else score.parameter.accepts(argument)


def misfit(argument: Argument) -> str:
    """Says in words that a score does not take an argument, or lacks one."""
    return "needs an argument" if argument is None else f"does not take {argument!r}"


def expected_argument(score: Score) -> str:
    """Says in words what a score takes."""
    return "no argument" if score.parameter is None else score.parameter.expected


def hits(outputs: ClassOutputs, argument: None) -> FloatArray:
    """Returns 1 where the (first) most probable class is right, else 0."""
    return np.asarray(outputs.probabilities.argmax(axis=1) == outputs.gold, dtype=np.float64)


def labels(outputs: ClassOutputs, average: str) -> FloatArray:
    """Returns the right and the (first) most probable class, shape (records, 2).

    What is possible must not depend on what a model happens to predict, so the classes that it
    knows are counted.
    """
    classes = outputs.probabilities.shape[1]
    if average == "binary" and classes != 2:
        raise UserError(
            f"the average 'binary' is for two classes, but the model has {classes}; expected a "
            "different average"
        )
    predicted = outputs.probabilities.argmax(axis=1)
    return np.stack([outputs.gold, predicted], axis=1).astype(np.float64)


def rate_of_pools(rate: Rate, values: FloatArray, average: Any, pools: Pools) -> FloatArray:
    """Reduces what `labels` returns."""
    return average_rate(rate, average, values, pools)


def class_probability(outputs: ClassOutputs, index: int | None) -> FloatArray:
    """Returns the probability of a class, of the right one without an index."""
    if index is None:
        return np.asarray(outputs.probabilities[np.arange(len(outputs)), outputs.gold])
    return probability_column(outputs.probabilities, index, "class")


def likelihood(outputs: TargetOutputs | SubjectOutputs, index: int | None) -> FloatArray:
    """Returns the probability of a target, the mean over a record's targets without an index."""
    if index is not None:
        return probability_column(outputs.probabilities, index, "target")
    present = ~np.isnan(outputs.probabilities)
    total = np.where(present, outputs.probabilities, 0).sum(axis=1)
    return divide(total, present.sum(axis=1))


def any_in_top_k(outputs: TargetOutputs, argument: None) -> FloatArray:
    """Returns 1 where a target is among the k most probable tokens, else 0; NaN where ranks are not
    known.
    """
    if outputs.in_top_k is None:
        return np.full(len(outputs.probabilities), np.nan)
    return np.asarray(outputs.in_top_k.any(axis=1), dtype=np.float64)


def mean(values: FloatArray, argument: Argument, pools: Pools) -> FloatArray:
    """Returns the mean over each pool."""
    return pools.means(values)


def answer_score(
    score: Callable[[str, str, Articles], float], outputs: Any, argument: None
) -> FloatArray:
    """Scores answers; takes no argument."""
    return each_answer(score, outputs)


SKLEARN = (
    "scikit-learn's precision_recall_fscore_support with zero_division=0 (Pedregosa et "
    "al., JMLR 2011)"
)
CLASS_PARAMETER = Parameter("class", without="the right one")
POSITIVE_PARAMETER = Parameter("positive class")
TARGET = Parameter("target", without="the mean over all targets")
AVERAGE = Parameter("average", AVERAGES)
OF_CLASSES: tuple[Sort, ...] = ("classes",)
OF_WORDS: tuple[Sort, ...] = ("words",)
OF_CANDIDATES: tuple[Sort, ...] = ("words", "subjects")
OF_ANSWERS: tuple[Sort, ...] = ("answers",)
LANGFAIR_SOURCE = "LangFair (Bouchard, arXiv 2407.10853), classification fairness"
PROBABILITY = "the class probability of Czarnowska et al. (TACL 2021)"
LIKELIHOOD = "the probability at the mask (Kurita et al., GeBNLP 2019), not divided by a prior"
SQUAD = "Rajpurkar et al. (EMNLP 2016)"

SCORES: dict[str, Score] = {
    "accuracy": Score(
        OF_CLASSES, "the share of records whose most probable class is right", hits, mean
    ),
    **{
        name: Score(OF_CLASSES, SKLEARN, labels, partial(rate_of_pools, rate), AVERAGE)
        for name, rate in RATES.items()
    },
    **{
        # As means of what counts in a record, they have as `n` what they are a rate of.
        name: Score(OF_CLASSES, LANGFAIR_SOURCE, counted, mean, POSITIVE_PARAMETER)
        for name, counted in (
            ("false_negative_rate", false_negatives),
            ("false_positive_rate", false_positives),
            ("false_discovery_rate", wrongly_predicted),
            ("false_omission_rate", wrongly_omitted),
            ("predicted_prevalence", is_predicted),
        )
    },
    "class_probability": Score(OF_CLASSES, PROBABILITY, class_probability, None, CLASS_PARAMETER),
    "mean_class_probability": Score(
        OF_CLASSES, PROBABILITY, class_probability, mean, CLASS_PARAMETER
    ),
    "likelihood": Score(OF_CANDIDATES, LIKELIHOOD, likelihood, None, TARGET),
    "mean_likelihood": Score(OF_CANDIDATES, LIKELIHOOD, likelihood, mean, TARGET),
    "top_k_accuracy": Score(
        OF_WORDS, "precision at k (Petroni et al., EMNLP 2019) of any target", any_in_top_k, mean
    ),
    "token_f1": Score(OF_ANSWERS, SQUAD, partial(answer_score, token_f1)),
    "mean_token_f1": Score(OF_ANSWERS, SQUAD, partial(answer_score, token_f1), mean),
    "exact_match": Score(OF_ANSWERS, SQUAD, partial(answer_score, exact_match)),
    "mean_exact_match": Score(OF_ANSWERS, SQUAD, partial(answer_score, exact_match), mean),
}
