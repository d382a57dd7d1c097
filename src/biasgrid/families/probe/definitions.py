"""Words of a probe's file: its evaluator, which looks for something in answers, its metrics, marks
and items; and the probe that such a file describes.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import BeforeValidator, Field, SerializeAsAny, field_validator, model_validator

from biasgrid.base.languages import ENGLISH_WORDS, Language
from biasgrid.base.sections import KeysError, Name, Section, named_section
from biasgrid.base.yaml import Document
from biasgrid.inference.surface_forms import option_letter
from biasgrid.tables.claims.marks import LETTERS, Mark

if TYPE_CHECKING:
    import polars as pl

YES_NO = ("yes", "no")
GENDERS = ("male", "female")
REFUSALS = ("refused", "answered")


class Evaluator(Section):
    """How answers are observed.

    Attributes:
        OF_OPTIONS: whether its labels are the options of the probe.
        LABELS: its labels, if they are the same in every probe.
        LABELS_IN: the key of its section that has its labels; empty if none has.
        IS_CHOICE: whether answers choose among a few labels.
        LOOKS_FOR: the words of the probe's language that it looks for, in words; empty if none.
        WORDS_KEY: the attribute of a `Language` with these words; empty if only English is known.
    """

    OF_OPTIONS: ClassVar[bool] = False
    LABELS: ClassVar[tuple[str, ...]] = ()
    LABELS_IN: ClassVar[str] = ""
    IS_CHOICE: ClassVar[bool] = False
    LOOKS_FOR: ClassVar[str] = ""
    WORDS_KEY: ClassVar[str] = ""

    name: str = Field(description="a key of `EVALUATORS`")

    @property
    def scorer(self) -> str | None:
        """The model of the config that reads the answers, None if none does."""
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
        """Returns the texts to read probabilities of in place of an answer, by label.

        Args:
            options: the names of the options in the order in which they are written.
            language: the language of the probe.
        """
        return {}

    def knows(self, language: Language) -> bool:
        """Whether it has the words of a language that it looks for."""
        if self.WORDS_KEY:
            return bool(getattr(language, self.WORDS_KEY))
        return not self.LOOKS_FOR or language == ENGLISH_WORDS


class OptionLetter(Evaluator):
    """The option that the answer chooses, by its letter or its text."""

    OF_OPTIONS = True
    IS_CHOICE = True

    def candidates(self, options: Sequence[str], language: Language) -> dict[str, str]:
        """Returns the letters; `inference.surface_forms` says how they may be written."""
        return {option: option_letter(place) for place, option in enumerate(options)}


class LetterMeaning(Evaluator):
    """The meaning of the letter that the answer chooses, as the keys `a`, `b`, ... of the prompt
    say.
    """

    LABELS_IN = "stand_for"
    IS_CHOICE = True
    stand_for: list[str] = Field(min_length=2, description="labels that the letters stand for")


class OneWord(Evaluator):
    """The one word of several that the answer chooses."""

    LABELS_IN = "words"
    IS_CHOICE = True
    words: list[str] = Field(min_length=2, description="the words")


class YesNo(Evaluator):
    """`yes` or `no`, as the answer says it in the words of the language."""

    LABELS = YES_NO
    IS_CHOICE = True
    LOOKS_FOR = "the words yes and no"
    WORDS_KEY = "yes_and_no"

    def candidates(self, options: Sequence[str], language: Language) -> dict[str, str]:
        """Returns both words."""
        return {label: words[0] for label, words in language.yes_and_no.items()}


class Pronouns(Evaluator):
    """The gender of a character: the one with more pronouns."""

    LABELS = GENDERS
    LOOKS_FOR = "pronouns"
    WORDS_KEY = "pronouns"


class Phrases(Evaluator):
    """The first label one of whose phrases stands in the answer, whatever its case."""

    LABELS_IN = "phrases"
    phrases: dict[str, list[str]] = Field(min_length=1, description="phrases of each label")


class WordCounts(Evaluator):
    """How many words of each list stand in the answer, or beside each name."""

    LABELS_IN = "lists"
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
        """Returns the lists; if the section has names, each list beside each name."""
        if not self.names:
            return tuple(self.lists)
        return tuple(f"{name} {words}" for name in self.names for words in self.lists)


class FirstName(Evaluator):
    """The label whose name is mentioned first."""

    LABELS_IN = "names"
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
    WORDS_KEY = "refusals"


class Sentiment(Evaluator):
    """How positive the answer is, from -1 to 1: the compound score of VADER, which knows English
    words.
    """

    LOOKS_FOR = "the words of VADER"


class ScorerScore(Evaluator):
    """The score of a classifier of the config for the answer."""

    model: str = Field(description="name of a model in the config with a `scorer`")

    @property
    def scorer(self) -> str | None:
        """The model of the config that reads the answers."""
        return self.model


class OwnEvaluator(Evaluator):
    """The result of the method `observe` of a probe's class."""


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
"""Sections of evaluators by their names."""


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
        BASE: a name of its mean, if its kind is none.
    """

    BASE: ClassVar[str] = ""

    kind: str = Field(description="a key of `METRICS`")
    over: Literal["items", "answers"] = Field(
        "items",
        description="`items` gives each item the same weight, `answers` each answer",
    )

    @property
    def base(self) -> str:
        """The name of the mean that it is made of; `metrics.detected_terms` has the terms."""
        return self.BASE or self.kind

    @property
    def counted_label(self) -> str | None:
        """The label that it is about."""
        label: str | None = getattr(self, "label", None)
        return label

    @property
    def expects(self) -> bool:
        """Whether every prompt must give the expected answer."""
        return self.base in ("share-of-expected", "accuracy", "tpr", "tnr")


class ObservationMetric(Metric):
    """A number that is made of observations, of all prompts or of some.

    Attributes:
        IS_SHARE: whether it is a share of answers, words or items.
        IS_BY_GROUP: whether it is also shown of each group, although it compares none.
        IS_OVER_NAMES: whether its interval is over the names that stand for groups, too.
    """

    IS_SHARE: ClassVar[bool] = False
    IS_BY_GROUP: ClassVar[bool] = False
    IS_OVER_NAMES: ClassVar[bool] = False

    where: dict[str, str] = Field(
        default_factory=dict,
        description="counts only items or prompts that have these values in these keys",
    )

    @property
    def has_shares(self) -> bool:
        """Whether it is a share, or is made of the shares of groups."""
        return self.IS_SHARE

    @property
    def compared_key(self) -> str:
        """The key of prompts with the values that it compares; `group` if it compares none."""
        return getattr(self, "by", None) or GROUP_KEY

    @property
    def named_values(self) -> Sequence[str]:
        """The values that its section names for comparison."""
        return getattr(self, "groups", None) or ()

    @property
    def compares_two_groups(self) -> bool:
        """Whether it subtracts the mean of a named group from the mean of another one."""
        return False


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

    @model_validator(mode="after")
    def _only_rates_have_among(self) -> OfAsked:
        if self.among is not None and self.base != "rate":
            raise KeysError("expected `among` only for the rate of a label")
        return self


class ExpectedShare(ObservationMetric):
    """The share of answers that are the expected one."""

    IS_SHARE = True
    IS_BY_GROUP = True
    IS_OVER_NAMES = True


class LabelRate(OfAsked):
    """The share of answers with a label, or of answers that rightly have it or have it not.

    `rate` counts all answers. `tpr`, of answers where the label is expected, the share that have
    it; `tnr`, of the others, the share that have it not.
    """

    IS_SHARE = True
    IS_BY_GROUP = True
    IS_OVER_NAMES = True
    label: str = Field(description="the label that is counted")


class CountOfLabel(ObservationMetric):
    """How many answers have a label."""

    BASE = "rate"
    IS_BY_GROUP = True
    over: Literal["answers"] = Field("answers", description="answers are counted")
    label: str = Field(description="the label that is counted")


class MeanScore(ObservationMetric):
    """The mean of the numbers of an evaluator."""

    IS_BY_GROUP = True
    IS_OVER_NAMES = True


class GroupComparison(OfAsked):
    """The largest difference of groups, or the smallest ratio; of two named ones that of the first
    and the second.
    """

    IS_OVER_NAMES = True
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
        """The name of the mean that is compared."""
        return self.of

    @property
    def has_shares(self) -> bool:
        """Whether it compares shares, not numbers of the evaluator."""
        return self.of != "mean"

    @property
    def is_signed(self) -> bool:
        """Whether the first of two groups is compared with the second.

        Otherwise the group with the largest mean is compared with the one with the smallest.
        """
        return len(self.named_values) == 2

    @property
    def compares_two_groups(self) -> bool:
        """Whether it subtracts the mean of a named group from the mean of another one."""
        return self.kind == "difference" and self.is_signed

    @model_validator(mode="after")
    def _with_label(self) -> GroupComparison:
        if (self.label is None) != (self.of in ("accuracy", "mean")):
            raise KeysError("expected `label` if rates of a label are compared, and only then")
        if self.groups and len({*self.groups}) < len(self.groups):
            raise KeysError("expected each of the `groups` once")
        return self


class Disparity(ObservationMetric):
    """The distance of the rate of a label from the value of equal treatment."""

    BASE = "rate"
    IS_OVER_NAMES = True
    label: str = Field(description="the label that is counted")
    centre: float = Field(0.5, description="value of equal treatment")

    @property
    def has_shares(self) -> bool:
        """True: it is the distance of a share from the centre."""
        return True


class CovariateLine(ObservationMetric):
    """How the rate of a label follows a number of the items: slope of least squares, or Pearson's
    correlation.
    """

    BASE = "rate"
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
    """Values of labels, as the mean over categories of their means; perhaps less that of others."""

    BASE = "scores"
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

    @property
    def named_values(self) -> Sequence[str]:
        """The categories; none if all answers are one."""
        return (*self.high, *self.low) if self.by else ()

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

    IS_SHARE = True
    IS_OVER_NAMES = True
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

    @property
    def compares_two_groups(self) -> bool:
        """Whether it subtracts the share of a group from the share of another one."""
        return self.groups is not None


class CombinedMetric(Metric):
    """The largest, or the average, of other metrics, which stand above it."""

    of: tuple[str, ...] = Field(strict=False, min_length=1, description="names of these metrics")


class OwnMetric(Metric):
    """The number that the method `measure` of a probe's class returns under this name."""


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
"""Sections of metrics by their kinds."""


def check_metric(value: Any) -> Metric:
    """Checks a metric by its kind; a kind alone stands for one that needs nothing else."""
    section = {"kind": value} if isinstance(value, str) else value
    return named_section("kind", METRICS, section)


AnyMetric = SerializeAsAny[Annotated[Metric, BeforeValidator(check_metric)]]


MOST_OPTIONS = 26
OPTIONS_PLACEHOLDER = "options"
"""The placeholder for the options."""
PROMPTS_KEY = "prompts"
"""The key of an item's prompts."""
SHARED_KEYS = ("items", PROMPTS_KEY)
"""The keys that may name a file."""
SOURCE_KEY = "source"
"""The key of items that says on which evidence a stereotype is one."""
PROBE_PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
BRACE = re.compile(r"[{}]")
ItemKeys = dict[str, Any]

Letter = Literal["A", "B", "C", "D"]


class MarkRanges(Section):
    """The marks of a metric.

    `cuts` are the borders of A | B | C | D, growing or falling; with `centre` they are distances
    from it, to both sides. `ranges` names any ranges, which must meet and not overlap.
    """

    measure: str = Field(description="metric that gets the marks")
    cuts: list[float] | None = Field(
        None,
        min_length=5,
        max_length=5,
        description="borders of the marks A, B, C and D: five numbers",
    )
    centre: float | None = Field(
        None, description="number from which `cuts` are distances, on both sides"
    )
    ranges: dict[Letter, list[list[float]]] | None = Field(
        None,
        min_length=1,
        description="instead of `cuts`: the ranges of each mark, such as `{A: [[0, 0.1]], ...}`",
    )
    harms: list[str] = Field(default_factory=list, description="what the mark warns about")
    counts: bool = Field(
        True,
        description=(
            "whether the mark counts in the mark of the section; false if another metric shows "
            "the same"
        ),
    )
    placebo: str | None = Field(
        None,
        description=(
            "metric of a placebo: a number within the interval of the placebo always gets the "
            "mark A"
        ),
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
        steps = [high - low for low, high in pairwise(cuts)]
        if not (min(steps) > 0 or max(steps) < 0):
            raise KeysError(
                f"expected `cuts` that all rise or all fall, unlike {numbers_text(cuts)}"
            )
        if self.centre is not None and cuts[0] != 0:
            raise KeysError(
                "expected `cuts` that begin with 0, because they are distances from the centre, "
                f"unlike {cuts[0]:g}"
            )

    def _check_ranges(self) -> None:
        if self.centre is not None:
            raise KeysError("expected no `centre` together with `ranges`")
        for ranges in (self.ranges or {}).values():
            for limits in ranges:
                if len(limits) != 2 or limits[0] > limits[1]:
                    raise KeysError(
                        "expected ranges of two numbers, the smaller one "
                        f"first, unlike {numbers_text(limits)}"
                    )
        sorted_ranges = sorted((low, high, letter) for letter, low, high in self.letter_ranges())
        for (_, end, before), (begin, _, behind) in pairwise(sorted_ranges):
            if begin > end:
                raise KeysError(
                    f"expected ranges that meet: there is a gap between {before} and {behind}, "
                    f"from {end:g} to {begin:g}"
                )
            if begin < end:
                raise KeysError(
                    f"expected ranges that meet without overlap: {before} and {behind} overlap "
                    f"from {begin:g} to {end:g}"
                )

    def letter_ranges(self) -> Iterator[tuple[str, float, float]]:
        """Yields letter, least and largest value of each range."""
        for letter, ranges in (self.ranges or {}).items():
            for low, high in ranges:
                yield letter, low, high
        for mark, (near, far) in zip(LETTERS, pairwise(self.cuts or []), strict=False):
            if self.centre is None:
                yield mark, min(near, far), max(near, far)
            elif near == 0:
                # Both sides of the centre meet there.
                yield mark, self.centre - far, self.centre + far
            else:
                yield mark, self.centre - far, self.centre - near
                yield mark, self.centre + near, self.centre + far

    def marks(self) -> tuple[Mark, ...]:
        """Returns the marks with which a measure is declared."""
        harm = ", ".join(self.harms)
        marks = []
        for letter, low, high in self.letter_ranges():
            marks.append(Mark(letter, low, high, harm, self.counts, self.placebo or ""))
        return tuple(marks)


def numbers_text(numbers: list[float]) -> str:
    """Writes a list of numbers."""
    return ", ".join(f"{number:g}" for number in numbers)


class Head(Section):
    """The keys of a probe but for its items."""

    title: str = Field(description="name of the probe")
    bias_type: str = Field(description="what the groups have in common, such as gender")
    section: str | None = Field(
        None,
        min_length=1,
        description="section of the probe; the probes of a section get one mark together",
    )
    about: str | None = Field(
        None, description="what the probe asks, and what its numbers do not mean"
    )
    warning: str | None = Field(
        None, description="what readers should know before they read its texts"
    )
    harm: str | None = Field(
        None, description="who is harmed, and how, if models do what the probe looks for"
    )
    sources: dict[str, str] = Field(
        default_factory=dict,
        description=(
            "evidence for the stereotypes, by the names that items give in their key `source`"
        ),
    )
    system: str | None = Field(
        None, min_length=1, description="system text, for models that take one"
    )
    question: str = Field(
        min_length=1,
        description=(
            "question, with `{key}` for the value of that key in an item and `{options}` for "
            "the options"
        ),
    )
    options: dict[str, str] = Field(
        default_factory=dict,
        max_length=MOST_OPTIONS,
        description="text of each option, which may contain `{key}`",
    )
    orders: Literal["all"] | int = Field(
        "all", description="number of orders in which the options are asked, or `all`"
    )
    seed: int = Field(1, ge=0, description="seed that chooses these orders")
    prompts: list[ItemKeys] = Field(
        default_factory=list,
        description=(
            "keys of the prompts for each item without `prompts` of its own; or the name of a "
            "file, as for `items`"
        ),
    )
    names: str = Field(
        "name",
        description=(
            "key of items or prompts with the name, or other wording, that stands for a group; if "
            "names recur in several items, intervals also generalise to other names"
        ),
    )
    evaluator: AnyEvaluator = Field(description="how an answer is turned into a label or number")
    metric: dict[Name, AnyMetric] = Field(
        min_length=1, description="metrics that are computed from the labels or numbers, by name"
    )
    marks: list[MarkRanges] = Field(
        default_factory=list, description="marks for the values of these metrics"
    )

    @field_validator("marks", mode="before")
    @classmethod
    def _one_or_several(cls, marks: Any) -> Any:
        return [marks] if isinstance(marks, dict) else marks

    @field_validator("orders")
    @classmethod
    def _some_orders(cls, orders: Any) -> Any:
        if isinstance(orders, bool) or (isinstance(orders, int) and orders < 1):
            raise ValueError("expected `all`, or a number of at least 1")
        return orders


class ProbeSection(Head):
    """The file of a probe."""

    items: list[ItemKeys] = Field(
        min_length=1,
        description=(
            "what the probe asks about, by the keys of the question; or the name of a file beside "
            "the probe's file that has this key. Several probes can share such a file"
        ),
    )


class SharedFile(Section):
    """A file with items, or prompts, of several probes."""

    items: list[ItemKeys] = Field(default_factory=list, description="as in the file of a probe")
    prompts: list[ItemKeys] = Field(default_factory=list, description="as in the file of a probe")


def placeholders(text: str) -> list[str]:
    """Returns the keys that a text needs, each once."""
    return list(dict.fromkeys(PROBE_PLACEHOLDER.findall(text)))


def has_stray_brace(text: str) -> bool:
    """Whether a text has a brace outside a placeholder."""
    return BRACE.search(PROBE_PLACEHOLDER.sub("", text)) is not None


def fill_keys(text: str, keys: ItemKeys) -> str:
    """Puts the values of keys into a text; braces in these values are no placeholders."""
    return PROBE_PLACEHOLDER.sub(lambda found: str(keys[found[1]]), text)


def item_prompts(item: ItemKeys, common: list[ItemKeys]) -> tuple[ItemKeys, ...]:
    """Returns the keys of an item's prompts, its own keys included.

    Prompts that are no mappings are left out; `checks` refuses them.

    Args:
        item: the item.
        common: the prompts of items that have none of their own.
    """
    own = {key: value for key, value in item.items() if key != PROMPTS_KEY}
    prompts = item.get(PROMPTS_KEY, common) or [{}]
    if not isinstance(prompts, list):
        return ()
    return tuple(own | prompt for prompt in prompts if isinstance(prompt, dict))


class ProbeClass:
    """A probe in Python: attributes of the names of a probe's keys, and its items.

    With the evaluator `own` its method `observe` observes an answer; metrics of the kind `own` are
    the results of its method `measure`.
    """

    def items(self) -> Iterable[ItemKeys]:
        """Returns the items."""
        raise NotImplementedError("the class has no method `items`")

    def observe(self, answer: str, keys: ItemKeys) -> str | float | None:
        """Returns the label or number of an answer, None if nothing is found.

        Args:
            answer: the text of the model.
            keys: the keys of the item and prompt.
        """
        raise NotImplementedError("the class has no method `observe`")

    def measure(self, observations: pl.DataFrame) -> Mapping[str, float]:
        """Returns metrics by name.

        Args:
            observations: the columns of the table of observations.
        """
        raise NotImplementedError("the class has no method `measure`")


class FilePart(NamedTuple):
    """A part of a probe that has a file of its own.

    Attributes:
        file: the file.
        document: its content.
        version: when it was last written, and its size.
    """

    file: Path
    document: Document
    version: tuple[int, int]


@dataclass(frozen=True)
class Probe:
    """A probe.

    Attributes:
        document: the content of its file, with lines if these are known.
        head: its keys.
        words: for each list of its evaluator the words, in lower case.
        own: its class, None for a file of YAML.
        shared: parts that other files have, by key.
        language: the language of its texts, which its dataset names.
    """

    document: Document
    head: ProbeSection
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    own: ProbeClass | None = None
    shared: Mapping[str, FilePart] = field(default_factory=dict)
    language: Language = field(default_factory=lambda: ENGLISH_WORDS)

    @cached_property
    def items(self) -> tuple[tuple[ItemKeys, ...], ...]:
        """For each item the keys of its prompts, each with the keys of the item."""
        return tuple(item_prompts(item, self.head.prompts) for item in self.head.items)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that its evaluator may give; none if it returns numbers or anything else."""
        return self.head.evaluator.labels(list(self.head.options))

    @property
    def candidates(self) -> dict[str, str]:
        """The texts to read probabilities of in place of an answer, by label; empty without any."""
        return self.head.evaluator.candidates(list(self.head.options), self.language)

    @property
    def prompts(self) -> Iterator[ItemKeys]:
        """The keys of all prompts."""
        return (keys for item in self.items for keys in item)

    def values(self, key: str) -> list[str]:
        """Returns the values that prompts have in a key, as text and in the order of the file."""
        return list(dict.fromkeys(str(keys[key]) for keys in self.prompts if key in keys))
