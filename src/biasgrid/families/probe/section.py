"""Sections of a probe's dataset in the config, and of the file of a probe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from biasgrid.base.sections import KeysError, Name, Section
from biasgrid.families.family import DatasetSection, Mode
from biasgrid.families.probe.definitions import AnyEvaluator, AnyMetric
from biasgrid.inference.surface_forms import option_letter
from biasgrid.tables.claims.marks import LETTERS, Mark

if TYPE_CHECKING:
    import polars as pl

    from biasgrid.stats.sums import Sums


class ProbeMode(Mode):
    """The way in which answers are read and numbers made; replications are subclasses.

    Attributes:
        title: whose marks they are, where these are not ours.
    """

    replications: ClassVar[Mapping[str, str]] = {
        "genderbench": "biasgrid.formats.genderbench.mode:GenderBenchMode"
    }
    title: ClassVar[str] = ""

    def finders(self) -> Mapping[str, Callable[..., pl.DataFrame]]:
        """Returns the finders that replace ours, by the names of their evaluators."""
        return {}

    def with_intervals(self, sums: Sequence[Sums]) -> Iterable[Sums]:
        """Returns sums with the intervals that `stats.estimate` does not make."""
        return sums


class ProbeDataset(DatasetSection):
    """A probe: a column of the grid. Its file lies in `word_lists`."""

    family: Literal["probe"] = Field(description="what is asked, and how it is measured")
    task: str = Field("text-generation", description="task of the models that it is for")
    probe: str = Field(
        description="file of the probe: YAML, or Python with a class, in which case its code runs"
    )
    answers: Literal["scored", "written"] | None = Field(
        None,
        description=(
            "how answers are obtained: `scored` reads the probabilities of the options or of yes "
            "and no, `written` lets the model write and looks for the answer in its text. Default: "
            "scored, if that is possible and nothing is repeated"
        ),
    )
    repetitions: int = Field(
        1,
        ge=1,
        le=1000,
        description=(
            "how often each prompt is asked; written answers vary from one time to the next"
        ),
    )
    mode: Literal["genderbench"] | None = Field(
        None, description="`genderbench` computes intervals and marks as GenderBench does"
    )


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
Range = tuple[float, float]


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
        steps = [other - one for one, other in pairwise(cuts)]
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
        ordered = sorted((low, high, letter) for letter, low, high in self.letter_ranges())
        for (_, end, before), (begin, _, behind) in pairwise(ordered):
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
        for mark, (one, other) in zip(LETTERS, pairwise(self.cuts or []), strict=False):
            if self.centre is None:
                yield mark, min(one, other), max(one, other)
            elif one == 0:
                # Both sides of the centre meet there.
                yield mark, self.centre - other, self.centre + other
            else:
                yield mark, self.centre - other, self.centre - one
                yield mark, self.centre + one, self.centre + other

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
    """What a probe says beside its items."""

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


def lettered_options(texts: Sequence[str]) -> str:
    """Writes options with their letters: `(a) Boys, (b) Girls`."""
    return ", ".join(f"({option_letter(place)}) {text}" for place, text in enumerate(texts))
