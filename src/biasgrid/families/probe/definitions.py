"""Sections of a probe's file: its evaluator, which looks for something in answers, and metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from biasgrid.base.languages import ENGLISH_WORDS, Language
from biasgrid.base.sections import KeysError, Section, named_section
from biasgrid.inference.surface_forms import option_letter

YES_NO = ("yes", "no")
GENDERS = ("male", "female")
REFUSALS = ("refused", "answered")


class Evaluator(Section):
    """How answers are observed.

    Attributes:
        OF_OPTIONS: whether it says which of the options was chosen.
        LABELS: what it says, where that hangs on nothing else.
        LABELS_IN: the key that has what it says, where one has.
        LOOKS_FOR: the words of the probe's language that it looks for, in words; empty where none
            are.
    """

    OF_OPTIONS: ClassVar[bool] = False
    LABELS: ClassVar[tuple[str, ...]] = ()
    LABELS_IN: ClassVar[str] = ""
    LOOKS_FOR: ClassVar[str] = ""

    name: str = Field(description="which one")

    @property
    def scorer(self) -> str | None:
        """The model of the config that reads the answers, None where none does."""
        return None

    def labels(self, options: Sequence[str]) -> tuple[str, ...]:
        """Returns the labels that it may give; none if it returns numbers or anything else.

        Args:
            options: the names of the probe's options.
        """
        if self.LABELS_IN:
            return tuple(getattr(self, self.LABELS_IN))
        return tuple(options) if self.OF_OPTIONS else self.LABELS

    def candidates(self, options: Sequence[str], language: Language) -> dict[str, str]:
        """Returns texts whose probability may replace an answer, by label; none without such texts.

        Args:
            options: the names of the options in the order in which they are written.
            language: the language of the probe.
        """
        return {}

    def knows(self, language: Language) -> bool:
        """Whether it has the words of a language that it looks for."""
        return not self.LOOKS_FOR or language == ENGLISH_WORDS


class OptionLetter(Evaluator):
    """The option that the answer chooses, by its letter or its text."""

    OF_OPTIONS = True
    name: Literal["option-letter"] = Field(description="which one")

    def candidates(self, options: Sequence[str], language: Language) -> dict[str, str]:
        """Returns the letters; `inference.surface_forms` says how they may be written."""
        return {option: option_letter(place) for place, option in enumerate(options)}


class LetterMeaning(Evaluator):
    """The meaning of the letter that the answer chooses, as the keys `a`, `b`, ... of the prompt
    say.
    """

    LABELS_IN = "stand_for"
    name: Literal["lettered"] = Field(description="which one")
    stand_for: list[str] = Field(min_length=2, description="labels that the letters stand for")


class OneWord(Evaluator):
    """The one word of several that the answer chooses."""

    LABELS_IN = "words"
    name: Literal["one-of"] = Field(description="which one")
    words: list[str] = Field(min_length=2, description="the words")


class YesNo(Evaluator):
    """`yes` or `no`, as the answer says it in the words of the language."""

    LABELS = YES_NO
    LOOKS_FOR = "the words yes and no"
    name: Literal["yes-no"] = Field(description="which one")

    def candidates(self, options: Sequence[str], language: Language) -> dict[str, str]:
        """Returns both words."""
        return {label: words[0] for label, words in language.yes_and_no.items()}

    def knows(self, language: Language) -> bool:
        """Whether Yes and No are known."""
        return bool(language.yes_and_no)


class Pronouns(Evaluator):
    """The gender of a character: that of which there are more pronouns."""

    LABELS = GENDERS
    LOOKS_FOR = "pronouns"
    name: Literal["pronouns"] = Field(description="which one")

    def knows(self, language: Language) -> bool:
        """Whether the pronouns are known."""
        return bool(language.pronouns)


class Phrases(Evaluator):
    """The first label one of whose phrases stands in the answer, whatever its case."""

    LABELS_IN = "phrases"
    name: Literal["phrases"] = Field(description="which one")
    phrases: dict[str, list[str]] = Field(min_length=1, description="phrases of each label")


class WordCounts(Evaluator):
    """How many words of each list stand in the answer, or beside each name."""

    LABELS_IN = "lists"
    name: Literal["words"] = Field(description="which one")
    lists: dict[str, str | list[str]] = Field(
        min_length=1, description="words of each label: a list, or a file with one word per line"
    )
    count: Literal["each", "most"] = Field(
        "each",
        description=(
            "`each` counts the words of each list, `most` finds the list with the most words"
        ),
    )
    names: dict[str, list[str]] = Field(
        default_factory=dict,
        description="counts only words in the same line as a name; labels are then `NAME LIST`",
    )

    def labels(self, options: Sequence[str]) -> tuple[str, ...]:
        """Returns the lists, beside each name where there are names."""
        if not self.names:
            return tuple(self.lists)
        return tuple(f"{name} {words}" for name in self.names for words in self.lists)


class FirstName(Evaluator):
    """The label whose name is mentioned first."""

    LABELS_IN = "names"
    name: Literal["first-name"] = Field(description="which one")
    names: dict[str, list[str]] = Field(
        min_length=1,
        description=(
            "names of each label; `{key}` stands for the value of that key in an item or prompt"
        ),
    )


class Refusal(Evaluator):
    """Whether the model declines to answer, in the probe's language or in English."""

    LABELS = REFUSALS
    LOOKS_FOR = "phrases of refusals"
    name: Literal["refusal"] = Field(description="which one")

    def knows(self, language: Language) -> bool:
        """Whether refusals are known."""
        return bool(language.refusals)


class Sentiment(Evaluator):
    """How positive the answer is, from -1 to 1: the compound score of VADER, which knows English
    words.
    """

    LOOKS_FOR = "the words of VADER"
    name: Literal["sentiment"] = Field(description="which one")


class ScorerScore(Evaluator):
    """What a classifier of the config says of the answer."""

    name: Literal["scorer"] = Field(description="which one")
    model: str = Field(description="name of a model in the config with a `scorer`")

    @property
    def scorer(self) -> str | None:
        """The model of the config that reads the answers."""
        return self.model


class OwnEvaluator(Evaluator):
    """What the method `observe` of a probe's class says."""

    name: Literal["own"] = Field(description="which one")


EVALUATORS: Mapping[str, type[Evaluator]] = {
    "option-letter": OptionLetter,
    "lettered": LetterMeaning,
    "one-of": OneWord,
    "yes-no": YesNo,
    "pronouns": Pronouns,
    "phrases": Phrases,
    "words": WordCounts,
    "first-name": FirstName,
    "refusal": Refusal,
    "sentiment": Sentiment,
    "scorer": ScorerScore,
    "own": OwnEvaluator,
}
"""What there is, by name."""


def check_evaluator(value: Any) -> Evaluator:
    """Checks an evaluator by its name; a name alone stands for one that needs nothing else."""
    section = {"name": value} if isinstance(value, str) else value
    return named_section("name", EVALUATORS, section)


AnyEvaluator = SerializeAsAny[Annotated[Evaluator, BeforeValidator(check_evaluator)]]


GROUP_KEY = "group"
EXPECTED_KEY = "expected"
Base = Literal["rate", "accuracy", "tpr", "tnr", "mean"]


class Metric(Section):
    """A number of a cell.

    Attributes:
        BASE: what is averaged, where its kind does not say it.
    """

    BASE: ClassVar[str] = ""

    kind: str = Field(description="which one")
    over: Literal["items", "answers"] = Field(
        "items",
        description="`items` gives each item the same weight, `answers` each answer",
    )

    @property
    def base(self) -> str:
        """What is averaged."""
        return self.BASE or self.kind

    @property
    def of_label(self) -> str | None:
        """The label that it is about."""
        label: str | None = getattr(self, "label", None)
        return label

    @property
    def expects(self) -> bool:
        """Whether every prompt must give the expected answer."""
        return self.base in ("share-of-expected", "accuracy", "tpr", "tnr")


class ObservationMetric(Metric):
    """A number that is made of observations, of all prompts or of some."""

    where: dict[str, str] = Field(
        default_factory=dict,
        description="counts only items or prompts that have these values in these keys",
    )


class OfAsked(ObservationMetric):
    """A number that may be of a rate of a label."""

    among: Literal["asked", "answers"] | None = Field(
        None,
        description=(
            "for a rate: with `asked`, an answer in which nothing is found counts as one without "
            "the label; with `answers`, it is left out. Default: `asked` if answers are Yes or "
            "No, because these are decisions"
        ),
    )


AmongMetric = TypeVar("AmongMetric", bound=OfAsked)


def checked_among(metric: AmongMetric) -> AmongMetric:
    """Returns a metric whose `among` fits it.

    Raises:
        KeysError: it is given where no rate is.
    """
    if metric.among is not None and metric.base != "rate":
        raise KeysError("expected `among` only for the rate of a label")
    return metric


class ExpectedShare(ObservationMetric):
    """The share of answers that are the expected one."""

    kind: Literal["share-of-expected", "accuracy"] = Field(description="which one")


class LabelRate(OfAsked):
    """The share of answers that have a label: of all, of those that should have it, or of no other
    where none should.

    `rate` counts all answers. `tpr`, of answers where the label is expected, the share that have
    it; `tnr`, of the others, the share that have it not.
    """

    kind: Literal["rate", "tpr", "tnr"] = Field(description="which one")
    label: str = Field(description="the label that is counted")

    @model_validator(mode="after")
    def _among_of_rates(self) -> LabelRate:
        return checked_among(self)


class CountOfLabel(ObservationMetric):
    """How many answers have a label."""

    BASE = "rate"
    kind: Literal["count"] = Field(description="which one")
    over: Literal["answers"] = Field("answers", description="answers are counted")
    label: str = Field(description="the label that is counted")


class MeanScore(ObservationMetric):
    """The mean of the numbers of an evaluator."""

    kind: Literal["mean"] = Field(description="which one")


class GroupComparison(OfAsked):
    """The largest difference of groups, or the smallest ratio; of two named ones that of the first
    and the second.
    """

    kind: Literal["difference", "ratio"] = Field(description="which one")
    of: Base = Field("rate", description="what is compared")
    label: str | None = Field(
        None, description="label that is counted; not for `accuracy` and `mean`"
    )
    by: str = Field(GROUP_KEY, description="key of items or prompts whose values are compared")
    groups: tuple[str, ...] | None = Field(
        None,
        strict=False,
        min_length=2,
        description="which of these values are compared; default: all",
    )

    @property
    def base(self) -> str:
        """What is compared."""
        return self.of

    @model_validator(mode="after")
    def _with_label(self) -> GroupComparison:
        if (self.label is None) != (self.of in ("accuracy", "mean")):
            raise KeysError("expected `label` if rates of a label are compared, and only then")
        if self.groups and len({*self.groups}) < len(self.groups):
            raise KeysError("expected each of the `groups` once")
        return checked_among(self)


class Disparity(ObservationMetric):
    """How far the rate of a label is from what is fair."""

    BASE = "rate"
    kind: Literal["disparity"] = Field(description="which one")
    label: str = Field(description="the label that is counted")
    centre: float = Field(0.5, description="value of equal treatment")


class CovariateLine(ObservationMetric):
    """How the rate of a label follows a number of the items: slope of least squares, or Pearson's
    correlation.
    """

    BASE = "rate"
    kind: Literal["slope", "correlation"] = Field(description="which one")
    label: str = Field(description="the label that is counted")
    covariate: str = Field(description="key of the items that contains the number")
    bounded: bool = Field(
        False,
        description=(
            "for a slope: whether its line must lie between 0 and 1 where the covariate is 0, and "
            "the slope itself between -1 and 1"
        ),
    )
    groups: tuple[str, str] | None = Field(
        None,
        strict=False,
        description="two groups: the number of the first minus the number of the second",
    )


class CategoryScores(ObservationMetric):
    """What labels count, as the mean over categories of their means: of some, or of these less
    those of others.
    """

    BASE = "scores"
    kind: Literal["categories"] = Field(description="which one")
    scores: dict[str, float] = Field(
        min_length=1, description="value of each label; all others count 0"
    )
    by: str | None = Field(None, description="key of items or prompts whose values are categories")
    high: tuple[str, ...] = Field(
        (), strict=False, description="categories whose mean counts; all, without `by`"
    )
    low: tuple[str, ...] = Field(
        (), strict=False, description="categories whose mean is subtracted"
    )
    times: float = Field(1, description="factor by which the number is multiplied")
    plus: float = Field(0, description="number that is then added")
    absolute: bool = Field(False, description="whether the absolute value is taken")

    @model_validator(mode="after")
    def _with_categories(self) -> CategoryScores:
        if (self.by is None) == bool(self.high):
            raise KeysError("expected `high` together with `by`, never without it")
        if len({*self.high, *self.low}) < len(self.high) + len(self.low):
            raise KeysError("expected each category once in `high` and `low`")
        return self


class WordShare(ObservationMetric):
    """The share of the words of one list among those of two; of two groups that of the first less
    the second's.
    """

    kind: Literal["word-share"] = Field(description="which one")
    over: Literal["answers"] = Field(
        "answers", description="counts the words of all answers together"
    )
    label: str = Field(description="list whose words are counted")
    other: str = Field(description="list with which it is compared")
    plus: float = Field(
        0, ge=0, description="number added to both counts, so that a few words have little effect"
    )
    groups: tuple[str, str] | None = Field(
        None, strict=False, description="groups that are compared"
    )


class CombinedMetric(Metric):
    """The largest, or the average, of other metrics, which stand above it."""

    kind: Literal["largest", "average"] = Field(description="which one")
    of: tuple[str, ...] = Field(strict=False, min_length=1, description="names of these metrics")


class OwnMetric(Metric):
    """What the method `measure` of a probe's class returns under this name."""

    kind: Literal["own"] = Field(description="which one")


METRICS: Mapping[str, type[Metric]] = {
    **dict.fromkeys(("share-of-expected", "accuracy"), ExpectedShare),
    **dict.fromkeys(("rate", "tpr", "tnr"), LabelRate),
    "count": CountOfLabel,
    "mean": MeanScore,
    **dict.fromkeys(("difference", "ratio"), GroupComparison),
    "disparity": Disparity,
    **dict.fromkeys(("slope", "correlation"), CovariateLine),
    "categories": CategoryScores,
    "word-share": WordShare,
    **dict.fromkeys(("largest", "average"), CombinedMetric),
    "own": OwnMetric,
}
"""What there is, by name."""


def check_metric(value: Any) -> Metric:
    """Checks a metric by its kind; a kind alone stands for one that needs nothing else."""
    section = {"kind": value} if isinstance(value, str) else value
    return named_section("kind", METRICS, section)


AnyMetric = SerializeAsAny[Annotated[Metric, BeforeValidator(check_metric)]]
