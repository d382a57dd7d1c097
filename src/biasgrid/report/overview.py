"""The boxes of the page's first screen: one for each cell and what is claimed of it, a table per
kind of question.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import polars as pl

from biasgrid.families.payload import FirstScreen
from biasgrid.groups.main_scores import score_text
from biasgrid.report.run import ReportDataset, ReportModel, ReportRun, ReportTables
from biasgrid.stats.multiplicity import significance
from biasgrid.stats.ordering import values_in_order
from biasgrid.stats.verdicts.counts import GROUPS, all_known
from biasgrid.stats.verdicts.sizes import LARGEST_GAP
from biasgrid.stats.verdicts.verdict import with_more_first
from biasgrid.tables.claims.marks import LETTERS
from biasgrid.tables.claims.numbers import (
    TOO_LITTLE,
    format_p,
    is_size,
    measure_range,
    shared_decimals,
    shown_range,
    with_minus,
)
from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.metric import NOT_MEASURABLE, Measure
from biasgrid.tables.verdicts import BIAS_FOUND

ENDS = ("value", "low", "high")
STEPS = (0.05, 0.15, 0.3, 0.5)
"""From these distances on a box has the next shade, in every report."""
ROUND_ENDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 10)
"""Where an axis may end; one of larger numbers ends where they do."""
MARGIN = 0.08
"""So much of an axis is beyond its ends, so that 0 is a line within the box."""
APART = 0.2
"""So much of an axis is between two numbers along it."""
MOSTLY = 0.75
"""A table holds datasets of which so many boxes are asked, so that it is no sea of what was not."""
State = Literal["significant", "plain", "wide", "withheld"]


class Column(NamedTuple):
    """A column of boxes.

    Attributes:
        dataset: the dataset's name.
        title: its title.
        about: what its numbers are about, in a few words.
        asked: how little of the dataset was asked; empty where all was.
        bias_type: the bias type whose largest difference it shows, None where it shows a measure of
            the whole cell.
        measures: the measures that it shows, with the unit of those that are not in that of the
            first.
        is_claim: whether it is what is claimed; else it is evidence, which has no colour.
        is_control: whether the dataset is a control.
    """

    dataset: str
    title: str
    about: str
    asked: str
    bias_type: str | None
    measures: Mapping[str, str]
    is_claim: bool
    is_control: bool


@dataclass(frozen=True)
class Box:
    """A box: a number, drawn as a dot with a whisker on the axis of its column.

    Attributes:
        state: how it is drawn.
        value: its number, None where it is withheld.
        fair: the number of equal treatment.
        low: the lower end of its interval within the range of its measure, None where there is
            none.
        high: the upper end.
        noise: what noise alone gives, None where that is not known or 0.
        unit: its unit, where that is not the column's.
        said: how sure it is, or why it is withheld.
        exact: its number with three significant digits.
        measure: what the number is, and of two groups which.
        mark: its mark, empty without one.
        step: its shade, from 1 to 5; 0 without one.
        axis: the ends of the column's axis.
    """

    state: State
    said: str
    exact: str = ""
    measure: str = ""
    value: float | None = None
    fair: float = 0
    low: float | None = None
    high: float | None = None
    noise: float | None = None
    unit: str = ""
    mark: str = ""
    step: int = 0
    axis: tuple[float, float] = (0, 1)

    @property
    def text(self) -> str:
        """Its number: two significant digits, or two decimals where the rest is noise."""
        value = self.value or 0
        decimals = max(shared_decimals([value], 2), 2) if self.state == "significant" else 2
        text = with_minus(f"{value:.{min(decimals, 4)}f}")
        return (
            text.lstrip("\N{MINUS SIGN}") if float(f"{value:.{min(decimals, 4)}f}") == 0 else text
        )

    @property
    def sentence(self) -> str:
        """What is said of it."""
        return f"{self.measure} {self.exact}: {self.said}" if self.value is not None else self.said

    @property
    def ends(self) -> list[float]:
        """All numbers for which its axis must have room."""
        return [
            each
            for each in (self.value, self.low, self.high, self.fair)
            if each is not None and not self.unit
        ]

    def place(self, value: float) -> str:
        """Returns where a number stands on the axis, as SVG writes it."""
        return place_on(self.axis, value)

    def width(self, start: float, size: float) -> str:
        """Returns how wide a bar from one number on is, as SVG writes it."""
        return f"{float(self.place(start + size)[:-1]) - float(self.place(start)[:-1]):.1f}%"


def place_on(axis: tuple[float, float], value: float) -> str:
    """Returns where a number stands on an axis, in percent of its width."""
    share = (value - axis[0]) / (axis[1] - axis[0])
    return f"{100 * min(max(MARGIN + (1 - 2 * MARGIN) * share, 0), 1):.1f}%"


class OverviewTable(NamedTuple):
    """A table of boxes.

    Attributes:
        title: the kind of question.
        question: what its boxes answer, or which models it is of.
        columns: its columns.
        models: the names of its models.
        boxes: of each model its boxes, None where nothing was asked.
        axes: the ends of the axis of each column.
        legend: what the numbers are, and which of them is equal treatment, a sentence for each
            measure.
    """

    title: str
    question: str
    columns: Sequence[Column]
    models: Sequence[str]
    boxes: Mapping[str, Sequence[Box | None]]
    axes: Sequence[tuple[float, float]]
    legend: Sequence[str] = ()

    @property
    def heads(self) -> list[tuple[str, str, int]]:
        """Of each dataset its name, its title and how many columns it has."""
        titles = {
            column.dataset: f"{column.title}{f' ({column.asked})' * bool(column.asked)}"
            for column in self.columns
        }
        names = list(titles.items())
        return [
            (name, title, sum(column.dataset == name for column in self.columns))
            for name, title in names
        ]

    @property
    def reasons(self) -> dict[str, int]:
        """Why boxes are withheld, each with its number below the table."""
        withheld = [
            box for boxes in self.boxes.values() for box in boxes if box and box.state == "withheld"
        ]
        return {
            reason: number
            for number, reason in enumerate(dict.fromkeys(box.sentence for box in withheld), 1)
        }

    def kinds(self, models: Mapping[str, ReportModel]) -> int:
        """Returns of how many kinds its models are."""
        return len({models[name].kind for name in self.models})

    def ticks(self, place: int) -> list[tuple[float, str]]:
        """Returns what stands along the axis of a column: numbers with their places."""
        low, high = self.axes[place]
        fair = next((box.fair for boxes in self.boxes.values() if (box := boxes[place])), 0)
        apart = APART * (high - low)
        known = [each for each in (low, high) if abs(each - fair) > apart]
        return [(each, place_on((low, high), each)) for each in sorted({fair, *known})]


def overview_tables(
    run: ReportRun, tables: ReportTables, screens: Mapping[str, FirstScreen]
) -> list[OverviewTable]:
    """Returns the tables of the first screen: datasets that ask the same kind of question, of the
    models that they ask.

    Args:
        run: what was run.
        tables: what was measured.
        screens: by dataset, what its family says of the first screen.
    """
    cells = {
        name: DatasetCells.of(dataset, run, tables, screens[name])
        for dataset in run.datasets
        if len(tables.summary.filter(dataset=(name := dataset.name)))
    }
    groups: dict[str, list[list[str]]] = {}
    for name, of in cells.items():
        add_to_group(groups.setdefault(of.screen.title, []), name, cells)
    kinds = {each.name: each.kind for each in run.models}
    made = []
    for title, parts in groups.items():
        for names in parts:
            models = [
                model for model in kinds if any(model in cells[name].models for name in names)
            ]
            columns = [column for name in names for column in cells[name].columns]
            boxes = {
                model: [cells[column.dataset].box(column, model) for column in columns]
                for model in models
            }
            only = ", ".join(dict.fromkeys(kinds[model] for model in models))
            question = cells[names[0]].screen.question if len(parts) == 1 else only
            legend = list(
                dict.fromkeys(sentence for name in names for sentence in cells[name].legend)
            )
            made.append(
                with_axes(OverviewTable(title, question, columns, models, boxes, (), legend))
            )
    return made


def add_to_group(groups: list[list[str]], dataset: str, cells: Mapping[str, DatasetCells]) -> None:
    """Adds a dataset to the first group of datasets that asks mostly the same models, or to a new
    one.
    """
    for names in groups:
        asked = [cells[name].models for name in (*names, dataset)]
        if sum(map(len, asked)) >= MOSTLY * len(set().union(*asked)) * len(asked):
            names.append(dataset)
            return
    groups.append([dataset])


def with_axes(table: OverviewTable) -> OverviewTable:
    """Gives the boxes of each column their axis: columns that show the same measures have the same
    one.
    """
    ends: dict[tuple[str, ...], list[float]] = {}
    names = [(str(column.bias_type is not None), *column.measures) for column in table.columns]
    for boxes in table.boxes.values():
        for name, box in zip(names, boxes, strict=True):
            ends.setdefault(name, []).extend(box.ends if box and box.state != "withheld" else ())
    axes = [axis_of(ends[name]) for name in names]
    drawn = {
        model: [box and replace(box, axis=axis) for box, axis in zip(boxes, axes, strict=True)]
        for model, boxes in table.boxes.items()
    }
    return table._replace(boxes=drawn, axes=axes)


def axis_of(numbers: Sequence[float]) -> tuple[float, float]:
    """Returns the ends of an axis for some numbers; 0 is on it."""
    low, high = round_end(-min(numbers, default=0)), round_end(max(numbers, default=0))
    return (0 - low, high) if low or high else (0.0, 1.0)


def round_end(end: float) -> float:
    """Returns the end of an axis that holds a number from 0 on; the smallest axis has one, too."""
    return 0.0 if end <= 0 else next((each for each in ROUND_ENDS if each >= end), end)


def legend_of(measure: Measure) -> str:
    """Returns what a measure is, its unit, and the number of equal treatment."""
    fair = (
        "no number means equal treatment"
        if measure.fair is None
        else f"{measure.fair:g} means equal treatment"
    )
    return f"{measure.title[:1].upper()}{measure.title[1:]} ({measure.unit}): {fair}"


@dataclass(frozen=True)
class DatasetCells:
    """The cells of a dataset.

    Attributes:
        dataset: the dataset.
        run: what was run.
        rows: its rows of the summary.
        measures: its rows of `MEASURES`.
        screen: what its family says of the first screen.
        subjects: how many subjects its associations have.
    """

    dataset: ReportDataset
    run: ReportRun
    rows: pl.DataFrame
    measures: pl.DataFrame
    screen: FirstScreen
    subjects: int

    @classmethod
    def of(
        cls, dataset: ReportDataset, run: ReportRun, tables: ReportTables, screen: FirstScreen
    ) -> Self:
        """Gathers what is known of them."""
        measures = tables.measures.filter(dataset=dataset.name)
        subjects = measures.drop_nulls(["subject", "attribute"])["subject"].n_unique()
        return cls(
            dataset, run, tables.summary.filter(dataset=dataset.name), measures, screen, subjects
        )

    @property
    def models(self) -> list[str]:
        """The models that are asked."""
        return values_in_order(self.rows, "model")

    @property
    def columns(self) -> list[Column]:
        """Its columns: of each bias type, or of what is claimed and of what is evidence."""
        name, title, is_control = (
            self.dataset.name,
            self.dataset.title,
            self.dataset.name in self.run.controls.datasets,
        )
        headlines = self.rows.filter(
            "headline", pl.any_horizontal(pl.col("value", "flag").is_not_null())
        )
        known = set(headlines["measure"])
        shown = [measures for measures in self.screen.columns if known & measures.keys()]
        shown = shown or [{self.first_headline(known): ""}]
        return [
            Column(
                name,
                title,
                bias_type or self.about(measures, place),
                self.asked,
                bias_type,
                measures,
                not place,
                is_control,
            )
            for place, measures in enumerate(shown[:1] if is_control else shown)
            for bias_type in values_in_order(
                headlines.filter(pl.col("measure").is_in([*measures])), "bias_type"
            )
        ]

    @property
    def legend(self) -> list[str]:
        """What each measure of its columns is, with its unit and the number of equal treatment."""
        names = dict.fromkeys(name for column in self.columns for name in column.measures)
        known = [self.dataset.measures[name] for name in names if name in set(self.rows["measure"])]
        return [legend_of(measure) for measure in known]

    @property
    def asked(self) -> str:
        """How little of the dataset was asked; of models that were asked unlike parts, of each."""
        texts = [self.run.facts.asked_text(model, self.dataset.name) for model in self.models]
        return "; ".join(dict.fromkeys(filter(None, texts)))

    def first_headline(self, known: Collection[str]) -> str:
        """Returns the first headline that has a value of equal treatment; without one the first of
        all.
        """
        names = [
            name
            for name, each in self.dataset.measures.items()
            if name in known and each.unit != "count"
        ]
        fair = [name for name in names if self.dataset.measures[name].fair is not None]
        return (fair or names or [""])[0]

    def about(self, measures: Mapping[str, str], place: int) -> str:
        """Returns what the numbers of a column are about: words of its measure, groups, or single
        subjects.
        """
        first = next(iter(measures))
        if place:
            return f"these {self.subjects} names only"
        groups = values_in_order(
            self.measures.drop_nulls(["subject_group", "attribute"]), "subject_group"
        )
        subjects = f"{self.subjects} groups" if self.subjects else ""
        title = self.dataset.measures[first].title if first in self.dataset.measures else ""
        return measures.get(first) or " / ".join(groups) or subjects or title

    def box(self, column: Column, model: str) -> Box | None:
        """Returns the box of a model in a column, None where it was not asked."""
        rows = self.rows.filter(model=model)
        if rows.is_empty():
            return None
        of_type = pl.col("bias_type").eq_missing(pl.lit(column.bias_type, pl.String))
        headlines = rows.filter("headline", of_type)
        row = self.first_row(column, rows, headlines)
        if row is None or row["value"] is None:
            flags = [] if row is None else [row["flag"]]
            known = [
                *filter(None, flags),
                *self.reasons_of(row, model),
                *headlines["flag"].drop_nulls(),
            ]
            reason = next(iter(known), "nothing could be measured")
            return Box(
                "withheld",
                f"{self.dataset.title}: {reason.removeprefix(NOT_MEASURABLE).lstrip(': ')}",
            )
        return self.drawn(column, row)

    def reasons_of(self, row: Mapping[str, Any] | None, model: str) -> list[str]:
        """Returns why a headline of a model has no value."""
        if row is None:
            return []
        keys = [
            pl.col(name).eq_missing(pl.lit(row[name], pl.String))
            for name in ("measure", "options", "bias_type")
        ]
        others = [pl.col(name).is_null() for name in MEASURE_KEYS if name != "bias_type"]
        return self.measures.filter(*keys, *others, model=model)["reason"].drop_nulls().to_list()

    def name_of(self, row: Mapping[str, Any]) -> str:
        """Returns what a number is, and of the largest of several differences which groups differ
        in what.
        """
        title = self.dataset.measures[row["measure"]].title
        if row["measure"] != LARGEST_GAP:
            return title
        is_largest = pl.col("value").abs() == row["value"]
        pairs = self.measures.filter(
            is_largest, all_known(*GROUPS), model=row["model"], bias_type=row["bias_type"]
        )
        pair = with_more_first(pairs.row(0, named=True))
        return (
            f"{score_text(pair['measure'], pair['options'])}, {pair['group']} above {pair['other']}"
        )

    def first_row(
        self, column: Column, rows: pl.DataFrame, headlines: pl.DataFrame
    ) -> dict[str, Any] | None:
        """Returns the row of the first measure of a column that has a value, and that no flag
        silences.
        """
        silenced = self.run.facts.silenced.get(self.dataset.name, {})
        fired = rows.filter(~pl.col("headline")).drop_nulls("flag")["measure"]
        silent = {measure for flag in fired for measure in silenced.get(flag, ())}
        found = {
            row["measure"]: row for row in headlines.to_dicts() if row["measure"] not in silent
        }
        known = [found[name] for name in column.measures if name in found]
        return next((row for row in known if row["value"] is not None), known[0] if known else None)

    def drawn(self, column: Column, row: Mapping[str, Any]) -> Box:
        """Returns the box of a number.

        Args:
            column: its column.
            row: its row of the summary.
        """
        measure = self.dataset.measures[row["measure"]]
        least, most = shown_range(row["measure"], measure_range(measure))
        value, low, high = (
            None if row[name] is None else min(max(row[name], least), most) for name in ENDS
        )
        # What a mark judges is none while its range is open.
        best = next((mark for mark in measure.marks if mark.letter == LETTERS[0]), None)
        fair = measure.fair or 0.0
        if best and measure.fair is None:
            fair = best.high if best.high < most else best.low
        little = low is not None and high is not None and high - low > (most - least) / 2
        significant = significance(row)
        # A number of a cell in which nothing was found is no finding, whatever it is by itself.
        is_found = bool(significant) and row["verdict"] == BIAS_FOUND
        if best:
            is_found = row["mark"] in tuple(LETTERS[1:])
        state: State = (
            "wide" if little else "significant" if is_found and column.is_claim else "plain"
        )
        decimals = min(shared_decimals(each for each in (value, low, high) if each is not None), 6)
        exact, *ends = (
            None if each is None else f"{each:.{decimals}f}" for each in (value, low, high)
        )
        at_most = is_size(row["measure"]) and row["value"] <= 0
        interval = (
            f"at most {ends[1]}"
            if at_most
            else f"{100 * self.run.level:g} % CI {ends[0]} to {ends[1]}"
        )
        certain = (
            "not tested"
            if significant is None
            else "significant"
            if is_found
            else "not significant"
        )
        certain = TOO_LITTLE if state == "wide" else certain
        if best:
            certain = f"mark {row['mark']}" if row["mark"] else "no mark"
        said = [
            "no interval" if None in ends else with_minus(interval),
            certain if column.is_claim else "other names may differ",
            *(f"{name} {format_p(row[name])}" for name in ("p", "q") if row[name] is not None),
        ]
        first = next(iter(column.measures), "")
        box = Box(
            state,
            ", ".join(said),
            with_minus(exact or ""),
            self.name_of(row),
            value,
            fair,
            low,
            high,
            row["null_mean"] or None,
            "" if row["measure"] == first else column.measures.get(row["measure"], ""),
            row.get("mark") or "",
        )
        step = 1 + sum(
            abs(float(box.text.replace("\N{MINUS SIGN}", "-")) - fair) >= each for each in STEPS
        )
        # The steps are of shares; of other units only the first says that it is significant.
        return replace(box, step=0 if state != "significant" else 1 if box.unit else step)
