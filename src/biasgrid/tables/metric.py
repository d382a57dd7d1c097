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
"""The measure of whole cells about the groups that stereotypes name; groups of names if a dataset
has any.
"""
PRONOUN_ASSOCIATION, IMPROBABLE = "pronoun_association", "improbable"
"""The measure that is still shown if the names of a cell have next to no probability, and the flag
for that, which withholds all other claims.
"""
OUTCOME_MEASURES = ("refused_difference", "undetected_difference", "cut_short_difference")
"""Differences of groups in how answers ended, in all families: refused, not read, cut short."""
REFUSALS_DIFFER = "refusals_differ"
"""The flag for the largest of these."""
HOW_ANSWERED = ("coverage", *OUTCOME_MEASURES, REFUSALS_DIFFER)
"""Measures of how answers ended. They were observed whatever the answers say, so they are never
withheld.
"""
UNTESTABLE = "untestable"
"""The first word of `reason` if a number could not be tested."""
TO_DO = ". To do: "
"""In the `reason` of a withheld number, between the problem and its remedy."""
NOT_MEASURABLE = "not measurable"
"""The first words of `reason`, and of the `flag` of a headline, if a number is withheld."""
WITHHOLD_MARKS = (
    "one_answer",
    "first_option",
    "same_text",
    "undetected",
    "few_items",
    "at_chance",
    "refusals_differ",
)
"""The validity flags that withhold all marks of a cell."""
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
"""The names of measure options, in the order of `options_text`."""


@dataclass(frozen=True)
class Limit:
    """The limit beyond which a measure speaks against its cell; such measures are validity flags.

    Fields are keys of `measures.yaml`.

    Attributes:
        value: the limit itself still passes. If the measure has an interval, its end on the side of
            the limit is compared: the upper end, or with `below` the lower one.
        problem: a template of what is wrong then, with `{value}`, `{low}`, `{high}`, `{n}`,
            `{limit}` and the `{flag}` of a `tables.completeness.Check`.
        remedy: what a reader should do.
        below: whether values below the limit speak against the cell, not those above.
        withholds: the measures that are not measurable in such a cell; True for all of its claims.
            Read it by `withholds_all_claims` and `withheld_measures`.
        by_value: whether the value itself is compared, not an end of its interval.
        above_zero: whether it speaks against a cell only if its whole interval is above 0.
        silences: measures that say nothing about such a cell but are shown all the same; thresholds
            and ranks leave them out.
    """

    value: float
    problem: str
    remedy: str
    below: bool = False
    withholds: bool | tuple[str, ...] = False
    by_value: bool = False
    above_zero: bool = False
    silences: tuple[str, ...] = ()

    @property
    def withholds_all_claims(self) -> bool:
        """Whether all claims of a cell are withheld, see `tables.completeness.is_withheld_by`."""
        return self.withholds is True

    @property
    def withheld_measures(self) -> tuple[str, ...]:
        """The measures that are withheld by name; none if nothing or all claims are withheld."""
        return () if isinstance(self.withholds, bool) else self.withholds


@dataclass(frozen=True)
class Measure:
    """The definition of a measure.

    Fields are keys of `measures.yaml`.

    Attributes:
        title: its name in text.
        symbol: its name in figures and narrow columns.
        meaning: what it is.
        is_not: what it is mistaken for.
        source: where it is from; empty if it is of this package.
        unit: the unit of its numbers, which decides their range and how intervals are made.
        fair: the value of equal treatment, None if there is none.
        headline: the options of its row that is a headline of the summary; "" for the row without
            options, None if the measure is no headline.
        design: the keys whose sampling an interval must respect.
        marks: the ranges to which its source gives letters.
        limit: the limit of a validity flag; None for all other measures.
        range: the least and the largest value, if the range of its unit is too wide or too narrow.
        counted: whether its significant tests are findings of a cell. None: never. "": yes, unless
            such a flag is raised. The name of a flag: if this flag is raised, in place of all
            measures with "". If no measure of a dataset is counted, the tests of all are.
        in_words: a template that puts a number into words, with {points} and {percent} of 100,
            {half} (of 100, if the two sides are 100 together), {near_half} (the points by which log
            odds are off one half) and, with `rates`, {rate} and {other_rate}; "" if none is needed.
        rates: for differences of two groups, the measure of the rate that differs; "" if there is
            none.
        relative: for measures that cannot exceed about twice the answer probability of their cell,
            the measure that says the same whatever this is; None for others.
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
    """The parts of a dataset's measure definitions that its cells are checked by.

    Attributes:
        measure_names: the names of all measures.
        headlines: the options of each headline measure, by its name.
        limits: the limits of validity flags, by their names, in the order of the definitions.
        counted_measures: `Measure.counted` of each measure that has it, by its name.
    """

    measure_names: Collection[str]
    headlines: Mapping[str, str]
    limits: Mapping[str, Limit]
    counted_measures: Mapping[str, str] = {}

    @classmethod
    def from_measures(cls, measures: Mapping[str, Measure]) -> Self:
        """Takes the definitions from a dataset's measures, by name."""
        headlines, limits, counted_measures = {}, {}, {}
        for name, measure in measures.items():
            if measure.headline is not None:
                headlines[name] = measure.headline
            if measure.limit is not None:
                limits[name] = measure.limit
            if measure.counted is not None:
                counted_measures[name] = measure.counted
        return cls(list(measures), headlines, limits, counted_measures)

    def for_control(self) -> Self:
        """Returns the definitions for a model that answers at random.

        Its flags withhold nothing: as a control it shows the numbers of a model that cannot do the
        task.
        """
        limits = {name: replace(limit, withholds=False) for name, limit in self.limits.items()}
        return self._replace(limits=limits)


def options_text(**values: object) -> str:
    """Returns the column `options` of a measure, such as `score=f1, argument=macro, mode=group`.

    Args:
        values: the values by `OPTION_NAMES`; None if there is nothing to choose. They must not
            contain `, `, by which `parse_options` splits them.

    Returns:
        The options in the order of `OPTION_NAMES`, "" if there is none.

    Raises:
        ValueError: there is no such option.
    """
    names = [name for name in sorted(values, key=OPTION_NAMES.index) if values[name] is not None]
    return ", ".join(f"{name}={values[name]}" for name in names)


def parse_options(text: str) -> dict[str, str]:
    """Returns the values of options by their names, from a text of `options_text`."""
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
"""The types that each field of measures, limits and marks may have in YAML, and their name in
messages.
"""
Part = TypeVar("Part", Measure, Limit, Mark)
PACKAGE = Path(__file__).parents[1]
DEFINITIONS_FILE = "measures.yaml"
SHARED = "families"
"""The folder of the definitions from which all others take entries, and flags their defaults."""
FLAGS = "flags"
"""The section of validity flags."""


class Definitions(NamedTuple):
    """A file `measures.yaml`.

    Attributes:
        about: an introduction to its measures for readers.
        sections: measures by section and name.
    """

    about: str
    sections: Mapping[str, Mapping[str, Measure]]

    def select(self, *sections: str) -> dict[str, Measure]:
        """Returns the measures of some sections by name; of one name the last section's counts."""
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
    shared_content = read_mapping(PACKAGE / SHARED / DEFINITIONS_FILE)
    return check_definitions(content, str(file), shared_content)


@cache
def read_mapping(file: Path) -> Mapping[str, Any]:
    """Reads a YAML file of the package, once: callers share the mapping and must not change it.

    Args:
        file: the file. It must hold a mapping, which is not checked.
    """
    # The parser names the file in its errors if it reads an open file. The one in C is 10 times as
    # fast, and planning a run waits for it.
    with file.open("rb") as text:
        content: Mapping[str, Any] = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return content


def check_definitions(
    content: Mapping[str, Any], file: str, shared_content: Mapping[str, Any]
) -> Definitions:
    """Builds measures from the content of a file of definitions.

    A field comes from the entry itself, else from the shared entry of the same name, else from the
    defaults. Flags take the defaults of the shared file, other sections those of their own file.

    Args:
        content: `about`, `defaults`, and sections of entries.
        file: its name, for messages.
        shared_content: the content of the file in `SHARED`.

    Raises:
        InputError: a key is unknown or missing, or has a wrong value; the message names file,
            section and measure.
    """
    shared_entries: dict[str, Any] = {}
    for entries in definition_sections(shared_content).values():
        shared_entries.update(entries)
    sections: dict[str, dict[str, Measure]] = {}
    for section, entries in definition_sections(content).items():
        defaults_source = shared_content if section == FLAGS else content
        defaults = defaults_source.get("defaults", {})
        sections[section] = {}
        for name, own in entry_mappings(entries, file, section).items():
            entry = {**defaults, **shared_entries.get(name, {}), **own}
            sections[section][name] = build_measure(entry, file, f"{section}.{name}")
    return Definitions(content.get("about", ""), sections)


def definition_sections(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the entries of each section of a file, as they are in YAML."""
    return {key: value for key, value in content.items() if key not in ("about", "defaults")}


def entry_mappings(entries: Any, file: str, section: str) -> dict[str, dict[str, Any]]:
    """Returns the entries of a section by name; an empty entry is a mapping without fields.

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
    """Builds a measure from an entry.

    Args:
        entry: its fields with all defaults; the symbol is the title by default.
        file: the name of its file, for messages.
        where: its section and name, likewise.

    Raises:
        InputError: a field is unknown or missing, or has a wrong value.
    """
    if "title" in entry:
        entry = {"symbol": entry["title"], **entry}
    # `build_part` leaves marks, limit, design and range as YAML has them: mappings and lists.
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
    """Builds a limit from its fields; lists of measures become tuples."""
    limit = build_part(Limit, entry, file, where)
    withholds = limit.withholds if isinstance(limit.withholds, bool) else tuple(limit.withholds)
    return replace(limit, withholds=withholds, silences=tuple(limit.silences))


def build_part(kind: type[Part], entry: Any, file: str, where: str) -> Part:
    """Builds a measure, a limit or a mark from its fields, with values as YAML has them.

    Raises:
        InputError: a field is unknown or missing, or has a wrong value.
    """
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
"""The measure for each negative control in the summary of its dataset."""
CONTROL_DIFFERENCE = "control_difference"
"""The measure for how much larger the dataset's associations are than those of a control."""
RANDOM = "random answers"
"""The name of controls whose model answers at random; no dataset can have this name."""
FEW_COMPARISONS = "few_comparisons"
"""The validity flag of cells whose tests rest on few comparisons; only the summary has it."""
PRECISION_DRIFT = "precision_drift"
"""The validity flag of cells that were not answered in float32; only the summary has it."""
OTHER_NAMES = "other_names"
"""The validity flag of cells that an endpoint answered under other names; likewise."""
CONTROLS = read_definitions(SHARED).select(
    "controls", "control_sizes", "comparisons", "arithmetic", "served"
)
"""Measures in the summary of a dataset besides its own: about its negative controls,
`FEW_COMPARISONS`, `PRECISION_DRIFT` and `OTHER_NAMES`.
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
