"""The scores that groups are compared by, each declared once: output types, argument, computation.

Scores are called phi in Czarnowska et al. (TACL 2021). A scalar score reduces a pool of records to
one number; a set score keeps a number of each record.
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
    class_predictions,
    confusion_columns,
    false_discoveries,
    false_negatives,
    false_omissions,
    false_positives,
    pool_rates,
)
from biasgrid.groups.records import (
    AnswerOutputs,
    ClassOutputs,
    OutputType,
    Pools,
    Records,
    SubjectOutputs,
    TargetOutputs,
    probability_column,
)

ScoreType = Literal["scalar", "set"]
Argument = str | int | None
"""An average by its name, or a class or target by its index from 0; None for the default of the
score, or if it takes no argument.
"""
NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
Articles = tuple[str, ...]
ENGLISH_ARTICLES: Articles = ENGLISH_WORDS.articles


@cache
def whole_words(words: Articles) -> re.Pattern[str]:
    """Returns a pattern that matches each of some words, but not inside another word."""
    if not words:
        # An empty alternative would match at every boundary of a word.
        return re.compile(r"(?!)")
    return re.compile(rf"\b(?:{'|'.join(words)})\b")


def normalize_answer(text: str, articles: Articles = ENGLISH_ARTICLES) -> str:
    """Returns a text in lower case, without ASCII punctuation, articles and superfluous white
    space.
    """
    plain = text.lower().translate(NO_PUNCTUATION)
    without_articles = whole_words(articles).sub(" ", plain)
    return " ".join(without_articles.split())


def exact_match(answer: str, gold: str, articles: Articles = ENGLISH_ARTICLES) -> float:
    """Returns 1 if both texts are equal after `normalize_answer`, else 0."""
    return float(normalize_answer(answer, articles) == normalize_answer(gold, articles))


def token_f1(answer: str, gold: str, articles: Articles = ENGLISH_ARTICLES) -> float:
    """Returns the harmonic mean of precision and recall of the words of an answer.

    Words are counted with repetitions. If one of the texts has no words the result is that of
    `exact_match`.
    """
    words = normalize_answer(answer, articles).split()
    gold_words = normalize_answer(gold, articles).split()
    if not words or not gold_words:
        return float(words == gold_words)
    hits = (Counter(words) & Counter(gold_words)).total()
    return 2 * hits / (len(words) + len(gold_words))


def answer_scores(
    score: Callable[[str, str, Articles], float], outputs: AnswerOutputs, argument: None
) -> FloatArray:
    """Scores all answers, shape (records,); each distinct pair of texts is scored once."""
    pairs = list(zip(outputs.answers, outputs.gold, strict=True))
    score_by_pair = {pair: score(*pair, outputs.articles) for pair in set(pairs)}
    return np.array([score_by_pair[pair] for pair in pairs], dtype=np.float64)


@dataclass(frozen=True)
class Parameter:
    """The argument of a score.

    Attributes:
        name: a noun for the argument.
        choices: the possible arguments; empty if the argument is an index.
        default: the meaning of None in place of an index, in words; empty if an index is required.
    """

    name: str
    choices: tuple[str, ...] = ()
    default: str = ""

    def accepts(self, argument: Argument) -> bool:
        """Whether an argument is a choice or an index; the records decide whether there is such an
        index.
        """
        if self.choices:
            return argument in self.choices
        if argument is None:
            return bool(self.default)
        # `bool` is a subclass of `int`.
        return type(argument) is int and argument >= 0

    @property
    def expected(self) -> str:
        """The possible arguments, in words."""
        if self.choices:
            return f"the {self.name}: one of {', '.join(self.choices)}"
        index = f"the {self.name}: its index from 0"
        return f"{index}, or nothing for {self.default}" if self.default else index


@dataclass(frozen=True)
class Score:
    """A score: its computation, and the records and arguments that it is for.

    Attributes:
        output_types: the outputs that it can be computed from.
        reference: the source of its formula.
        per_record: computes from the outputs and the argument an array of shape (records,), NaN
            where a record has no value, or for a rate of `RATES` its `confusion_columns`.
        reduce: reduces that array, with the argument and pools, to one number per pool, NaN where
            the pool is empty; None for a set score.
        parameter: its argument; None if it takes none.
    """

    output_types: tuple[OutputType, ...]
    reference: str
    per_record: Callable[[Any, Any], FloatArray]
    reduce: Callable[[FloatArray, Any, Pools], FloatArray] | None = None
    parameter: Parameter | None = None

    @property
    def kind(self) -> ScoreType:
        """Whether it reduces a pool to one number or keeps a set of numbers."""
        return "set" if self.reduce is None else "scalar"


@dataclass(frozen=True)
class ScoredRecords:
    """Records with their values of a score, from which pools are scored.

    Attributes:
        records: the records.
        score: the name of the score, a key of `SCORES`.
        argument: its argument.
        values: shape (records,), NaN where a record has no value; for a rate of `RATES`
            `confusion_columns`, which have no NaN.
    """

    records: Records
    score: str
    argument: Argument
    values: FloatArray

    @cached_property
    def is_defined(self) -> BoolArray:
        """Whether a record has a value, shape (records,)."""
        has_value = ~np.isnan(self.values)
        return np.asarray(has_value if has_value.ndim == 1 else has_value.all(axis=1))

    @cached_property
    def defined_values(self) -> FloatArray:
        """`values` of the records that have one, in their order."""
        return self.values if self.is_defined.all() else self.values[self.is_defined]

    def pool_scores(self, pools: Pools) -> FloatArray:
        """Returns the score of pools, shape (pools,), NaN where one is empty.

        Args:
            pools: pools of the records that have a value (`is_defined`), not of all.

        Raises:
            ValueError: the score is a set score.
        """
        reduce = SCORES[self.score].reduce
        if reduce is None:
            raise ValueError(
                f"{self.score} gives no single number for a pool; expected a scalar score"
            )
        return reduce(self.defined_values, self.argument, pools)


def score_records(records: Records, score: str, argument: Argument = None) -> ScoredRecords:
    """Computes a score of every record.

    Args:
        records: the records.
        score: a key of `SCORES`.
        argument: see `Score.parameter`.

    Returns:
        The records with their values, shape (records,), NaN where a record has none; of a rate of
        `RATES` the `confusion_columns`, shape (records, 3 * classes).

    Raises:
        UserError: the score cannot be computed from such outputs or does not take such an argument,
            or the records have no such class or target, or more than two classes for the average
            "binary".
    """
    definition = SCORES[score]
    output_types, output_type = definition.output_types, records.outputs.output_type
    if output_type not in output_types:
        raise UserError(
            f"{score} is a score of {' or '.join(output_types)}; expected one of {output_type}"
        )
    if not accepts_argument(definition, argument):
        raise UserError(
            f"{score} {argument_problem(argument)}; expected {expected_argument(definition)}"
        )
    values = definition.per_record(records.outputs, argument)
    return ScoredRecords(records, score, argument, values)


def accepts_argument(score: Score, argument: Argument) -> bool:
    """Whether a score takes an argument of this type; see `Parameter.accepts`."""
    return argument is None if score.parameter is None else score.parameter.accepts(argument)


def argument_problem(argument: Argument) -> str:
    """Words that a score does not take an argument, or needs one, without the subject."""
    return "needs an argument" if argument is None else f"does not take {argument!r}"


def expected_argument(score: Score) -> str:
    """Words the possible arguments of a score."""
    return "no argument" if score.parameter is None else score.parameter.expected


def hits(outputs: ClassOutputs, argument: None) -> FloatArray:
    """Returns 1 where the (first) most probable class is right, else 0."""
    return np.asarray(outputs.probabilities.argmax(axis=1) == outputs.gold, dtype=np.float64)


def class_confusion(outputs: ClassOutputs, average: str) -> FloatArray:
    """Returns `confusion_columns` of the right and the (first) most probable class.

    Raises:
        UserError: the average is "binary", and there are not two classes.
    """
    # Whether the average is possible must not depend on the classes that a model happens to
    # predict, so all classes of the model count.
    classes = outputs.probabilities.shape[1]
    if average == "binary" and classes != 2:
        raise UserError(
            f"the average 'binary' is for two classes, but the model has {classes}; expected a "
            "different average"
        )
    return confusion_columns(gold=outputs.gold, predictions=outputs.probabilities.argmax(axis=1))


def class_probability(outputs: ClassOutputs, index: int | None) -> FloatArray:
    """Returns the probability of the class of an index, or of the right class if it is None."""
    if index is None:
        return np.asarray(outputs.probabilities[np.arange(len(outputs)), outputs.gold])
    return probability_column(outputs.probabilities, index, "class")


def likelihood(outputs: TargetOutputs | SubjectOutputs, index: int | None) -> FloatArray:
    """Returns the probability of the target of an index, or the mean over the targets of each
    record if it is None.
    """
    if index is not None:
        return probability_column(outputs.probabilities, index, "target")
    has_target = ~np.isnan(outputs.probabilities)
    total = np.where(has_target, outputs.probabilities, 0).sum(axis=1)
    return divide(total, has_target.sum(axis=1))


def any_in_top_k(outputs: TargetOutputs, argument: None) -> FloatArray:
    """Returns 1 where a target is among the k most probable tokens, else 0; all NaN if ranks are
    unknown.
    """
    if outputs.in_top_k is None:
        return np.full(len(outputs.probabilities), np.nan)
    return np.asarray(outputs.in_top_k.any(axis=1), dtype=np.float64)


def pool_means(values: FloatArray, argument: Argument, pools: Pools) -> FloatArray:
    """Returns the mean over each pool, whatever the argument."""
    return pools.means(values)


SKLEARN = (
    "scikit-learn's precision_recall_fscore_support with zero_division=0 (Pedregosa et "
    "al., JMLR 2011)"
)
CLASS_PARAMETER = Parameter("class", default="the right one")
POSITIVE_PARAMETER = Parameter("positive class")
TARGET = Parameter("target", default="the mean over all targets")
AVERAGE = Parameter("average", AVERAGES)
FROM_CLASSES: tuple[OutputType, ...] = ("classes",)
FROM_WORDS: tuple[OutputType, ...] = ("words",)
FROM_CANDIDATES: tuple[OutputType, ...] = ("words", "subjects")
FROM_ANSWERS: tuple[OutputType, ...] = ("answers",)
LANGFAIR_SOURCE = "LangFair (Bouchard, arXiv 2407.10853), classification fairness"
PROBABILITY = "the class probability of Czarnowska et al. (TACL 2021)"
LIKELIHOOD = "the probability at the mask (Kurita et al., GeBNLP 2019), not divided by a prior"
SQUAD = "Rajpurkar et al. (EMNLP 2016)"

SCORES: dict[str, Score] = {
    "accuracy": Score(
        FROM_CLASSES, "the share of records whose most probable class is right", hits, pool_means
    ),
    **{
        name: Score(FROM_CLASSES, SKLEARN, class_confusion, partial(pool_rates, rate), AVERAGE)
        for name, rate in RATES.items()
    },
    **{
        # The mean is over the records that are not NaN, so `n` is the denominator of the rate.
        name: Score(FROM_CLASSES, LANGFAIR_SOURCE, per_record, pool_means, POSITIVE_PARAMETER)
        for name, per_record in (
            ("false_negative_rate", false_negatives),
            ("false_positive_rate", false_positives),
            ("false_discovery_rate", false_discoveries),
            ("false_omission_rate", false_omissions),
            ("predicted_prevalence", class_predictions),
        )
    },
    "class_probability": Score(FROM_CLASSES, PROBABILITY, class_probability, None, CLASS_PARAMETER),
    "mean_class_probability": Score(
        FROM_CLASSES, PROBABILITY, class_probability, pool_means, CLASS_PARAMETER
    ),
    "likelihood": Score(FROM_CANDIDATES, LIKELIHOOD, likelihood, None, TARGET),
    "mean_likelihood": Score(FROM_CANDIDATES, LIKELIHOOD, likelihood, pool_means, TARGET),
    "top_k_accuracy": Score(
        FROM_WORDS,
        "precision at k (Petroni et al., EMNLP 2019) of any target",
        any_in_top_k,
        pool_means,
    ),
    "token_f1": Score(FROM_ANSWERS, SQUAD, partial(answer_scores, token_f1)),
    "mean_token_f1": Score(FROM_ANSWERS, SQUAD, partial(answer_scores, token_f1), pool_means),
    "exact_match": Score(FROM_ANSWERS, SQUAD, partial(answer_scores, exact_match)),
    "mean_exact_match": Score(FROM_ANSWERS, SQUAD, partial(answer_scores, exact_match), pool_means),
}
