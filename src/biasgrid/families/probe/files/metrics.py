"""What a probe may say of its metrics, and which of their values have which mark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from biasgrid.base.sections import KeysError, Section, named_section
from biasgrid.tables.claims.marks import LETTERS, Mark

GROUP_KEY = "group"
EXPECTED_KEY = "expected"
Base = Literal["rate", "accuracy", "tpr", "tnr", "mean"]


class Metric(Section):
    """A number of a cell."""

    kind: str = Field(description="which one")
    over: Literal["items", "answers"] = Field(
        "items",
        description="`items` gives each item the same weight, `answers` each answer",
    )

    @property
    def base(self) -> str:
        """What is averaged."""
        return self.kind

    @property
    def of_label(self) -> str | None:
        """The label that it is about."""
        label: str | None = getattr(self, "label", None)
        return label

    @property
    def expects(self) -> bool:
        """Whether every prompt must say what is expected."""
        return self.base in ("share-of-expected", "accuracy", "tpr", "tnr")


class ObservationMetric(Metric):
    """A number that is made of observations, of all prompts or of some."""

    where: dict[str, str] = Field(
        default_factory=dict, description="keys of items or prompts and the values that they have where these count"
    )


class OfAsked(ObservationMetric):
    """A number that may be of a rate of a label."""

    among: Literal["asked", "answers"] | None = Field(
        None,
        description="of a rate: `asked` takes an answer in which nothing is found for one without the label, `answers` "
        "leaves it out; without it `asked` where answers are Yes or No, which are decisions",
    )


AmongMetric = TypeVar("AmongMetric", bound=OfAsked)


def checked_among(metric: AmongMetric) -> AmongMetric:
    """Returns a metric whose `among` fits it.

    Raises:
        KeysError: it is given where no rate is.
    """
    if metric.among is not None and metric.base != "rate":
        raise KeysError("expected `among` only of rates of a label")
    return metric


class ExpectedShare(ObservationMetric):
    """The share of answers that are the expected one."""

    kind: Literal["share-of-expected", "accuracy"] = Field(description="which one")


class LabelRate(OfAsked):
    """The share of answers that have a label: of all, of those that should have it, or of no other where none should.

    `rate` counts all answers. `tpr`, of answers where the label is expected, the share that have it; `tnr`, of the
    others, the share that have it not.
    """

    kind: Literal["rate", "tpr", "tnr"] = Field(description="which one")
    label: str = Field(description="the label that is counted")

    @model_validator(mode="after")
    def _among_of_rates(self) -> LabelRate:
        return checked_among(self)


class CountOfLabel(ObservationMetric):
    """How many answers have a label."""

    kind: Literal["count"] = Field(description="which one")
    over: Literal["answers"] = Field("answers", description="answers are counted")
    label: str = Field(description="the label that is counted")

    @property
    def base(self) -> str:
        """What is added up."""
        return "rate"


class MeanScore(ObservationMetric):
    """The mean of the numbers of an evaluator."""

    kind: Literal["mean"] = Field(description="which one")


class GroupComparison(OfAsked):
    """The largest difference of groups, or the smallest ratio; of two named ones that of the first and the second."""

    kind: Literal["difference", "ratio"] = Field(description="which one")
    of: Base = Field("rate", description="what is compared")
    label: str | None = Field(None, description="the label that is counted; not of `accuracy` and `mean`")
    by: str = Field(GROUP_KEY, description="the key of items or prompts whose values are compared")
    groups: tuple[str, ...] | None = Field(
        None, strict=False, min_length=2, description="which of these values; all without it"
    )

    @property
    def base(self) -> str:
        """What is compared."""
        return self.of

    @model_validator(mode="after")
    def _with_label(self) -> GroupComparison:
        if (self.label is None) != (self.of in ("accuracy", "mean")):
            raise KeysError("expected `label` exactly where rates of a label are compared")
        if self.groups and len({*self.groups}) < len(self.groups):
            raise KeysError("expected each of `groups` once")
        return checked_among(self)


class Disparity(ObservationMetric):
    """How far the rate of a label is from what is fair."""

    kind: Literal["disparity"] = Field(description="which one")
    label: str = Field(description="the label that is counted")
    centre: float = Field(0.5, description="what is fair")

    @property
    def base(self) -> str:
        """What is averaged."""
        return "rate"


class CovariateLine(ObservationMetric):
    """How the rate of a label follows a number of the items: slope of least squares, or Pearson's correlation."""

    kind: Literal["slope", "correlation"] = Field(description="which one")
    label: str = Field(description="the label that is counted")
    covariate: str = Field(description="the key of the items with the number")
    bounded: bool = Field(
        False,
        description="whether the line of a slope must lie between 0 and 1 where the covariate is 0, and "
        "the slope between -1 and 1",
    )
    groups: tuple[str, str] | None = Field(
        None, strict=False, description="two groups: the number of the first less that of the second"
    )

    @property
    def base(self) -> str:
        """What is averaged."""
        return "rate"


class CategoryScores(ObservationMetric):
    """What labels count, as the mean over categories of their means: of some, or of these less those of others."""

    kind: Literal["categories"] = Field(description="which one")
    scores: dict[str, float] = Field(min_length=1, description="what each label counts; others count 0")
    by: str | None = Field(None, description="the key of items or prompts whose values are categories")
    high: tuple[str, ...] = Field((), strict=False, description="the categories; without `by` all is one")
    low: tuple[str, ...] = Field((), strict=False, description="those whose mean is subtracted")
    times: float = Field(1, description="what the number is multiplied with")
    plus: float = Field(0, description="what is added then")
    absolute: bool = Field(False, description="whether the sign is left out")

    @property
    def base(self) -> str:
        """What is averaged."""
        return "scores"

    @model_validator(mode="after")
    def _with_categories(self) -> CategoryScores:
        if (self.by is None) == bool(self.high):
            raise KeysError("expected `high` exactly where there is `by`")
        if len({*self.high, *self.low}) < len(self.high) + len(self.low):
            raise KeysError("expected each category once in `high` and `low`")
        return self


class WordShare(ObservationMetric):
    """The share of the words of one list among those of two; of two groups that of the first less the second's."""

    kind: Literal["word-share"] = Field(description="which one")
    over: Literal["answers"] = Field("answers", description="words of all answers are counted together")
    label: str = Field(description="the list whose words are counted")
    other: str = Field(description="the list that it is compared with")
    plus: float = Field(0, ge=0, description="how many words of either are added, so that few words say little")
    groups: tuple[str, str] | None = Field(None, strict=False, description="the groups that are compared")


class CombinedMetric(Metric):
    """The largest, or the average, of other metrics, which stand above it."""

    kind: Literal["largest", "average"] = Field(description="which one")
    of: tuple[str, ...] = Field(strict=False, min_length=1, description="their names")


class OwnMetric(Metric):
    """What the method `measure` of a probe's class returns under this name."""

    kind: Literal["own"] = Field(description="which one")


METRICS: Mapping[str, type[Metric]] = {
    "share-of-expected": ExpectedShare,
    "accuracy": ExpectedShare,
    "rate": LabelRate,
    "tpr": LabelRate,
    "tnr": LabelRate,
    "count": CountOfLabel,
    "mean": MeanScore,
    "difference": GroupComparison,
    "ratio": GroupComparison,
    "disparity": Disparity,
    "slope": CovariateLine,
    "correlation": CovariateLine,
    "categories": CategoryScores,
    "word-share": WordShare,
    "largest": CombinedMetric,
    "average": CombinedMetric,
    "own": OwnMetric,
}
"""What there is, by name."""


def check_metric(value: Any) -> Metric:
    """Checks a metric by its kind; a kind alone stands for one that needs nothing else."""
    return named_section("kind", METRICS, {"kind": value} if isinstance(value, str) else value)


AnyMetric = SerializeAsAny[Annotated[Metric, BeforeValidator(check_metric)]]


Letter = Literal["A", "B", "C", "D"]
Range = tuple[float, float]


class MarkRanges(Section):
    """The marks of a metric.

    `cuts` are the borders of A | B | C | D, growing or falling; with `centre` they are distances from it, to both
    sides. `ranges` names any ranges, which must meet and not overlap.
    """

    measure: str = Field(description="the metric that is judged")
    cuts: list[float] | None = Field(
        None, min_length=5, max_length=5, description="the borders of A, B, C and D: five numbers"
    )
    centre: float | None = Field(None, description="what `cuts` are distances from, to both sides")
    ranges: dict[Letter, list[list[float]]] | None = Field(
        None, min_length=1, description="in place of `cuts`: for each letter its ranges, such as `{A: [[0, 0.1]], ...}`"
    )
    harms: list[str] = Field(default_factory=list, description="what the mark warns of")
    counts: bool = Field(
        True, description="whether it counts in the mark of the section; not where another metric says the same"
    )
    placebo: str | None = Field(
        None,
        description="the metric of a placebo: a number within its interval has no mark but A",
    )

    @model_validator(mode="after")
    def _whole(self) -> MarkRanges:
        if (self.cuts is None) == (self.ranges is None):
            raise KeysError("expected either `cuts` or `ranges`")
        if self.cuts is None:
            self._check_ranges()
        else:
            self._check_cuts(self.cuts)
        return self

    def _check_cuts(self, cuts: list[float]) -> None:
        steps = [other - one for one, other in pairwise(cuts)]
        if not (min(steps) > 0 or max(steps) < 0):
            raise KeysError(
                f"expected `cuts` that grow from one to the next, or fall: {numbers_text(cuts)} leave a hole"
            )
        if self.centre is not None and cuts[0] != 0:
            raise KeysError(f"expected `cuts` that begin with 0, as they are distances from the centre: {cuts[0]:g}")

    def _check_ranges(self) -> None:
        if self.centre is not None:
            raise KeysError("expected no `centre` beside `ranges`")
        for limits in (limits for ranges in (self.ranges or {}).values() for limits in ranges):
            if len(limits) != 2 or limits[0] > limits[1]:
                raise KeysError(f"expected ranges of two numbers, the smaller one first: {numbers_text(limits)}")
        ordered = sorted((low, high, letter) for letter, low, high in self.letter_ranges())
        for (_, end, before), (begin, _, behind) in pairwise(ordered):
            if begin > end:
                raise KeysError(
                    f"expected ranges that meet: between {before} and {behind} is a hole, {end:g} to {begin:g}"
                )
            if begin < end:
                raise KeysError(f"expected ranges that meet: {before} and {behind} overlap from {begin:g} to {end:g}")

    def letter_ranges(self) -> Iterator[tuple[str, float, float]]:
        """Yields letter, least and largest value of each range."""
        for letter, ranges in (self.ranges or {}).items():
            yield from ((letter, low, high) for low, high in ranges)
        for mark, (one, other) in zip(LETTERS, pairwise(self.cuts or []), strict=False):
            if self.centre is None:
                yield mark, min(one, other), max(one, other)
            elif one == 0:
                yield mark, self.centre - other, self.centre + other
            else:
                yield mark, self.centre - other, self.centre - one
                yield mark, self.centre + one, self.centre + other

    def marks(self) -> tuple[Mark, ...]:
        """Returns what a measure is declared with."""
        harm = ", ".join(self.harms)
        return tuple(
            Mark(letter, low, high, harm, self.counts, self.placebo or "") for letter, low, high in self.letter_ranges()
        )


def numbers_text(numbers: list[float]) -> str:
    """Writes a list of numbers."""
    return ", ".join(f"{number:g}" for number in numbers)
