"""What a probe may say of its metrics: numbers that are made of what was observed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, SerializeAsAny, model_validator

from biasgrid.base.sections import KeysError, Section, named_section

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


class OfObservations(Metric):
    """A number that is made of observations, of all prompts or of some."""

    where: dict[str, str] = Field(
        default_factory=dict, description="keys of items or prompts and the values that they have where these count"
    )


class Share(OfObservations):
    """The share of answers that are the expected one."""

    kind: Literal["share-of-expected", "accuracy"] = Field(description="which one")


class Labelled(OfObservations):
    """The share of answers that have a label: of all, of those that should have it, or of no other where none should.

    `rate` counts all answers. `tpr`, of answers where the label is expected, the share that have it; `tnr`, of the
    others, the share that have it not.
    """

    kind: Literal["rate", "tpr", "tnr"] = Field(description="which one")
    label: str = Field(description="the label that is counted")


class CountOfLabel(OfObservations):
    """How many answers have a label."""

    kind: Literal["count"] = Field(description="which one")
    over: Literal["answers"] = Field("answers", description="answers are counted")
    label: str = Field(description="the label that is counted")

    @property
    def base(self) -> str:
        """What is added up."""
        return "rate"


class Mean(OfObservations):
    """The mean of the numbers of an evaluator."""

    kind: Literal["mean"] = Field(description="which one")


class Between(OfObservations):
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
    def _with_label(self) -> Between:
        if (self.label is None) != (self.of in ("accuracy", "mean")):
            raise KeysError("expected `label` exactly where rates of a label are compared")
        if self.groups and len({*self.groups}) < len(self.groups):
            raise KeysError("expected each of `groups` once")
        return self


class Disparity(OfObservations):
    """How far the rate of a label is from what is fair."""

    kind: Literal["disparity"] = Field(description="which one")
    label: str = Field(description="the label that is counted")
    centre: float = Field(0.5, description="what is fair")

    @property
    def base(self) -> str:
        """What is averaged."""
        return "rate"


class OnCovariate(OfObservations):
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


class OfCategories(OfObservations):
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
    def _with_categories(self) -> OfCategories:
        if (self.by is None) == bool(self.high):
            raise KeysError("expected `high` exactly where there is `by`")
        if len({*self.high, *self.low}) < len(self.high) + len(self.low):
            raise KeysError("expected each category once in `high` and `low`")
        return self


class WordShare(OfObservations):
    """The share of the words of one list among those of two; of two groups that of the first less the second's."""

    kind: Literal["word-share"] = Field(description="which one")
    over: Literal["answers"] = Field("answers", description="words of all answers are counted together")
    label: str = Field(description="the list whose words are counted")
    other: str = Field(description="the list that it is compared with")
    plus: float = Field(0, ge=0, description="how many words of either are added, so that few words say little")
    groups: tuple[str, str] | None = Field(None, strict=False, description="the groups that are compared")


class OfMetrics(Metric):
    """The largest, or the average, of other metrics, which stand above it."""

    kind: Literal["largest", "average"] = Field(description="which one")
    of: tuple[str, ...] = Field(strict=False, min_length=1, description="their names")


class OwnMetric(Metric):
    """What the method `measure` of a probe's class returns under this name."""

    kind: Literal["own"] = Field(description="which one")


METRICS: Mapping[str, type[Metric]] = {
    "share-of-expected": Share,
    "accuracy": Share,
    "rate": Labelled,
    "tpr": Labelled,
    "tnr": Labelled,
    "count": CountOfLabel,
    "mean": Mean,
    "difference": Between,
    "ratio": Between,
    "disparity": Disparity,
    "slope": OnCovariate,
    "correlation": OnCovariate,
    "categories": OfCategories,
    "word-share": WordShare,
    "largest": OfMetrics,
    "average": OfMetrics,
    "own": OwnMetric,
}
"""What there is, by name."""


def check_metric(value: Any) -> Metric:
    """Checks a metric by its kind; a kind alone stands for one that needs nothing else."""
    return named_section("kind", METRICS, {"kind": value} if isinstance(value, str) else value)


AnyMetric = SerializeAsAny[Annotated[Metric, BeforeValidator(check_metric)]]
