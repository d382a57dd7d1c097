"""Metric definitions for docs, captions, summary and report: measures, their options, limits,
marks, and controls.

The words are in files `measures.yaml`; the head of `families/measures.yaml` explains their keys.
This module is light, so that a config is read, and a workflow is planned, without what computes
measures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, TypeVar, get_args

import yaml

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.tables.claims.marks import Mark

Unit = Literal[
    "probability",
    "share",
    "difference",
    "distance",
    "ratio",
    "slope",
    "log odds",
    "correlation",
    "similarity",
    "count",
]
STEREOTYPE_AGREEMENT = "stereotype_agreement"
"""The measure of whole cells that is about the groups that stereotypes name, groups of names where
there are some.
"""
PRONOUN_ASSOCIATION, IMPROBABLE = "pronoun_association", "improbable"
"""What is shown of a cell that a flag withholds, as its names have next to no probability, and that
flag.
"""
OUTCOME_MEASURES = ("refused_difference", "undetected_difference", "cut_short_difference")
"""Differences of groups in how answers ended, in all families: refused, not read, cut short."""
REFUSALS_DIFFER = "refusals_differ"
"""The flag that tells of the largest of these."""
HOW_ANSWERED = ("coverage", *OUTCOME_MEASURES, REFUSALS_DIFFER)
"""How answers ended, which was observed whatever they say."""
UNTESTABLE = "untestable"
"""How the reason begins why a number could not be tested."""
TO_DO = ". To do: "
"""Stands in a reason between why a number is withheld and what to do."""
NOT_MEASURABLE = "not measurable"
"""How the flag of a number that is withheld begins."""
WITHHOLD_MARKS = (
    "one_answer",
    "first_option",
    "same_text",
    "undetected",
    "few_items",
    "at_chance",
    "refusals_differ",
)
"""The validity flags that leave a cell no marks."""
OPTION_NAMES = (
    "score",
    "argument",
    "distance",
    "comparison",
    "mode",
    "difference",
    "threshold",
    "control",
    "size",
)
"""The names of options, in the order in which they are written."""


@dataclass(frozen=True)
class Limit:
    """The limit beyond which a measure speaks against its cell; such measures are validity flags.

    Attributes:
        value: the largest value that does not; where the measure has an interval, its worse end
            counts.
        problem: what is wrong then; `{value}`, `{low}`, `{high}`, `{n}` and `{limit}` stand for the
            numbers, `{flag}` for the flag of the `Check`.
        remedy: what a reader should do.
        below: whether smaller values speak against the cell, not larger ones.
        withholds: the measures that are not measurable in such a cell, and so have no value; True
            for all of its claims, see `tables.completeness.withheld_by`.
        by_value: whether the value itself counts, not the worse end of its interval.
        above_zero: whether it speaks against a cell only where its whole interval is above 0.
        silences: measures that say nothing of such a cell, so that no threshold is kept by them.
    """

    value: float
    problem: str
    remedy: str
    below: bool = False
    withholds: bool | tuple[str, ...] = False
    by_value: bool = False
    above_zero: bool = False
    silences: tuple[str, ...] = ()


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
        range: between what its numbers are, where that is not what its unit says.
        counted: of measures whose tests are counted as what was found in a cell: empty, or the name
            of the flag that puts them in place of the others where it speaks against the cell; None
            of measures that are not counted.
        in_words: a number of it put into words, with {points} and {percent} of 100, {half} (of 100,
            if the two sides are 100 together), {near_half} (the points that log odds are near one
            half) and, with `rates`, {rate} and {other_rate}; empty where none are needed.
        rates: of differences of two groups, the measure of the rate that differs; empty where there
            is none.
        relative: of measures that can be no larger than about twice the answer probability of their
            cell, the measure that says the same whatever that is.
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
    range: tuple[float, float] | None = None
    counted: str | None = None
    in_words: str = ""
    rates: str = ""
    relative: str | None = None

    @property
    def required_limit(self) -> Limit:
        """The limit of a measure that is only of use with one.

        Raises:
            ValueError: its definition has none.
        """
        if self.limit is None:
            raise ValueError(f"{self.title}: expected a limit in its definition")
        return self.limit

    def limited(self, value: float | None) -> Measure:
        """Returns the measure with another value of its limit; itself without either of them."""
        if value is None or self.limit is None:
            return self
        return replace(self, limit=replace(self.limit, value=value))

    def without_withholding(self) -> Measure:
        """Returns the measure with a limit that withholds nothing; itself without a limit."""
        if self.limit is None:
            return self
        return replace(self, limit=replace(self.limit, withholds=False))


class MetricDefinitions(NamedTuple):
    """What a cell's measures are checked by.

    Attributes:
        names: the names of all measures.
        headlines: the options of those that stand in the summary, by name.
        limits: those of validity flags, by name.
        counted: of those whose tests are counted as what was found, see `Measure.counted`.
    """

    names: Collection[str]
    headlines: Mapping[str, str]
    limits: Mapping[str, Limit]
    counted: Mapping[str, str] = {}

    @classmethod
    def from_measures(cls, measures: Mapping[str, Measure]) -> Self:
        """Returns the definitions of a dataset's measures."""
        headlines, limits, counted = {}, {}, {}
        for name, measure in measures.items():
            if measure.headline is not None:
                headlines[name] = measure.headline
            if measure.limit is not None:
                limits[name] = measure.limit
            if measure.counted is not None:
                counted[name] = measure.counted
        return cls(list(measures), headlines, limits, counted)

    def for_control(self) -> Self:
        """Returns the definitions for a model that answers at random.

        Its flags withhold nothing: as a control it shows the numbers of a model that cannot do the
        task.
        """
        limits = {name: replace(limit, withholds=False) for name, limit in self.limits.items()}
        return self._replace(limits=limits)


def options_text(**names: object) -> str:
    """Writes the options of a measure as they stand in tables, such as `score=f1, argument=macro,
    mode=group`.

    Args:
        names: what was chosen, by `OPTION_NAMES`; None where there is nothing to choose.

    Raises:
        ValueError: there is no such option.
    """
    chosen = [name for name in sorted(names, key=OPTION_NAMES.index) if names[name] is not None]
    return ", ".join(f"{name}={names[name]}" for name in chosen)


def parse_options(text: str) -> dict[str, str]:
    """Reads what `options_text` wrote."""
    return dict(option.split("=", 1) for option in text.split(", ")) if text else {}


NUMBER = (int, float)
FIELD_TYPES: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        ("title", "symbol", "meaning", "is_not", "source", "headline", "counted"),
        ((str,), "a text"),
    ),
    **dict.fromkeys(("in_words", "rates", "relative"), ((str,), "a text")),
    **dict.fromkeys(("problem", "remedy", "letter", "harm", "placebo"), ((str,), "a text")),
    **dict.fromkeys(("fair", "value", "low", "high"), (NUMBER, "a number")),
    **dict.fromkeys(
        ("below", "by_value", "above_zero", "counts", "original"), ((bool,), "true or false")
    ),
    "withholds": ((bool, list), "true, false or a list of measures"),
    **dict.fromkeys(("design", "marks", "range", "silences"), ((list,), "a list")),
    "limit": ((dict,), "a mapping"),
    "unit": ((str,), one_of(get_args(Unit))),
}
"""Of each field of measures, limits and marks the types that it may have in YAML, and how messages
call them.
"""
Part = TypeVar("Part", Measure, Limit, Mark)
PACKAGE = Path(__file__).parents[1]
DEFINITIONS_FILE = "measures.yaml"
SHARED = "families"
"""The folder of the definitions that others take entries and defaults from."""
FLAGS = "flags"
"""The section of validity flags."""


class Definitions(NamedTuple):
    """The content of a file `measures.yaml`.

    Attributes:
        about: what a reader is told of all its measures.
        sections: measures by section and name.
    """

    about: str
    sections: Mapping[str, Mapping[str, Measure]]

    def select(self, *sections: str) -> dict[str, Measure]:
        """Returns the measures of some sections."""
        measures: dict[str, Measure] = {}
        for section in sections:
            measures.update(self.sections[section])
        return measures


@cache
def read_definitions(folder: str) -> Definitions:
    """Reads the metric definitions in a folder of the package.

    Args:
        folder: such as `families/statement`.

    Raises:
        InputError: see `check_definitions`.
    """
    file = PACKAGE / folder / DEFINITIONS_FILE
    content = read_mapping(file)
    shared = read_mapping(PACKAGE / SHARED / DEFINITIONS_FILE)
    return check_definitions(content, str(file), shared)


@cache
def read_mapping(file: Path) -> dict[str, Any]:
    """Reads a YAML file of the package, with the parser in C where there is one: a plan waits for
    it.
    """
    # Of an open file, errors of the parser have the name.
    with file.open("rb") as text:
        content: dict[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return content


def check_definitions(
    content: Mapping[str, Any], file: str, shared: Mapping[str, Any]
) -> Definitions:
    """Makes measures of the content of a file of definitions.

    Args:
        content: about, defaults, and sections of entries.
        file: its name, for messages.
        shared: the content of the shared file, whose entry of a name has the fields that one here
            leaves out.

    Raises:
        InputError: a key is unknown or missing, or has a wrong value; the message names file,
            section and measure.
    """
    shared_entries: dict[str, Any] = {}
    for entries in definition_sections(shared).values():
        shared_entries.update(entries)
    sections: dict[str, dict[str, Measure]] = {}
    for section, entries in definition_sections(content).items():
        # Flags mean the same in all families, so their defaults are shared.
        defaults = (shared if section == FLAGS else content).get("defaults", {})
        sections[section] = {}
        for name, own in entry_mappings(entries, file, section).items():
            entry = {**defaults, **shared_entries.get(name, {}), **own}
            sections[section][name] = build_measure(entry, file, f"{section}.{name}")
    return Definitions(content.get("about", ""), sections)


def definition_sections(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the entries of each section of a file."""
    return {key: value for key, value in content.items() if key not in ("about", "defaults")}


def entry_mappings(entries: Any, file: str, section: str) -> dict[str, dict[str, Any]]:
    """Returns the entries of a section.

    One without content takes all from the shared entry of its name.

    Raises:
        InputError: the section, or some of its entries, are no mappings.
    """
    if not isinstance(entries, dict):
        expected = "a mapping of measures, or `about` or `defaults`"
        raise InputError([Fault(file, section, value_text(entries), expected)])
    mappings: dict[str, dict[str, Any]] = {}
    faults = []
    for name, entry in entries.items():
        mappings[name] = {} if entry is None else entry
        if not isinstance(mappings[name], dict):
            where = f"{section}.{name}"
            faults.append(Fault(file, where, value_text(entry), "a mapping of fields"))
    if faults:
        raise InputError(faults)
    return mappings


def build_measure(entry: dict[str, Any], file: str, where: str) -> Measure:
    """Makes a measure of an entry; its symbol is the title where it has none."""
    if "title" in entry:
        entry = {"symbol": entry["title"], **entry}
    # Its marks, limit, design and range are as YAML has them: mappings and lists.
    measure = build_part(Measure, entry, file, where)
    marks = []
    for place, mark in enumerate(measure.marks):
        marks.append(build_part(Mark, mark, file, f"{where}.marks[{place}]"))
    limit = build_limit(entry["limit"], file, f"{where}.limit") if "limit" in entry else None
    ends = (measure.range[0], measure.range[1]) if measure.range else None
    return replace(
        measure, design=tuple(measure.design), marks=tuple(marks), limit=limit, range=ends
    )


def build_limit(entry: Any, file: str, where: str) -> Limit:
    """Makes a limit of its fields, whose lists of measures become tuples."""
    limit = build_part(Limit, entry, file, where)
    withholds = limit.withholds if isinstance(limit.withholds, bool) else tuple(limit.withholds)
    return replace(limit, withholds=withholds, silences=tuple(limit.silences))


def build_part(kind: type[Part], entry: Any, file: str, where: str) -> Part:
    """Makes a measure, a limit or a mark of its fields."""
    is_needed = {field.name: field.default is MISSING for field in fields(kind)}
    faults = list(entry_faults(is_needed, entry, file, where))
    if faults:
        raise InputError(faults)
    return kind(**entry)


def entry_faults(
    is_needed: Mapping[str, bool], entry: Any, file: str, where: str
) -> Iterator[Fault]:
    """Yields the faults in the fields of an entry.

    Args:
        is_needed: whether a field must be given, by its name.
        entry: the entry.
        file: the name of its file.
        where: its section and name.
    """
    if not isinstance(entry, dict):
        yield Fault(file, where, value_text(entry), "a mapping")
        return
    for name, needed in is_needed.items():
        if needed and name not in entry:
            _, expected = FIELD_TYPES[name]
            yield Fault(file, f"{where}.{name}", "missing", expected)
    for name, value in entry.items():
        place = f"{where}.{name}"
        if name not in is_needed:
            problem = f"unknown key{nearest_name(name, is_needed)}"
            yield Fault(file, place, problem, one_of(is_needed))
            continue
        types, expected = FIELD_TYPES[name]
        is_known_unit = name != "unit" or value in get_args(Unit)
        # Not isinstance: true is an int, too.
        if type(value) not in types or not is_known_unit:
            yield Fault(file, place, value_text(value), expected)


CONTROL = "control"
"""The measure that stands in the summary of a dataset for each of its negative controls."""
CONTROL_DIFFERENCE = "control_difference"
"""The measure of how much larger the dataset's associations are than those of a control."""
RANDOM = "random answers"
"""The name of controls whose model answers at random; no dataset can have this name."""
FEW_COMPARISONS = "few_comparisons"
"""The validity flag of cells whose tests rest on little, in the summary alone."""
CONTROLS = read_definitions(SHARED).select("controls", "control_sizes", "comparisons")
"""What is in the summary of a dataset besides its own measures: about its negative controls, and
`FEW_COMPARISONS`.
"""


class ControlCell(NamedTuple):
    """A cell that is a negative control.

    Attributes:
        model: its model.
        dataset: its dataset.
        about: the dataset that it is a control of; its own if the model answers at random.
        name: the control's name: its dataset or `RANDOM`.
    """

    model: str
    dataset: str
    about: str
    name: str


class Controls(NamedTuple):
    """Which cells of a grid are negative controls.

    Attributes:
        datasets: the dataset that a control is about, by the name of the control, which is a
            dataset, too.
        models: the models that answer at random, all of whose cells are controls.
    """

    datasets: Mapping[str, str] = {}
    models: Collection[str] = ()

    def dataset_controls(self, dataset: str) -> list[str]:
        """Returns the names of a dataset's controls, without models that answer at random."""
        return [name for name, about in self.datasets.items() if about == dataset]

    def control_cells(self, cells: Collection[tuple[str, str]]) -> Iterator[ControlCell]:
        """Yields the controls among some cells, in the order of the cells.

        A control of a dataset that its model was not asked is left out: there is nothing to read
        it beside.

        Args:
            cells: (model, dataset) pairs.
        """
        for model, dataset in cells:
            about = self.datasets.get(dataset)
            if model in self.models:
                yield ControlCell(model=model, dataset=dataset, about=dataset, name=RANDOM)
            elif about is not None and (model, about) in cells:
                yield ControlCell(model=model, dataset=dataset, about=about, name=dataset)


NO_CONTROLS = Controls()
