"""Boxes of the page's first screen: one for each cell and claim, a table per kind of question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self

import polars as pl

from biasgrid.families.page import FirstScreen
from biasgrid.groups.main_scores import score_text
from biasgrid.report.run import ReportDataset, ReportModel, ReportRun, ReportTables
from biasgrid.stats.multiplicity import significance
from biasgrid.stats.ordering import values_in_order
from biasgrid.stats.verdicts.sizes import LARGEST_GAP, gap_candidates, largest_difference
from biasgrid.stats.verdicts.verdict import with_larger_group_first
from biasgrid.tables.claims.marks import LETTERS, Mark
from biasgrid.tables.claims.numbers import (
    TOO_LITTLE,
    display_range,
    format_p,
    is_size,
    measure_range,
    shared_decimals,
    with_minus,
)
from biasgrid.tables.key_columns import (
    GROUP_PAIR,
    SUBJECT_ASSOCIATION,
    SUBJECT_GROUP_ASSOCIATION,
    is_about_whole,
)
from biasgrid.tables.metric import NOT_MEASURABLE, Measure
from biasgrid.tables.verdicts import BIAS_FOUND

SHADE_STEPS = (0.05, 0.15, 0.3, 0.5)
"""Distances from equal treatment at which a box gets its next shade, in every report."""
ROUND_ENDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 2, 4, 6, 10)
"""Numbers at which an axis may end, in ascending order. Larger numbers are ends themselves."""
MARGIN = 0.08
"""Share of an axis beyond each of its ends, so that 0 is a line within the box."""
TICK_DISTANCE = 0.2
"""Minimum distance of two numbers that are written along an axis, as a share of the axis."""
FEWEST_BOXES = 0.75
"""Minimum share of boxes in a table that must have been asked, so that few are empty."""
State = Literal["significant", "plain", "wide", "withheld"]


class BoxColumn(NamedTuple):
    """A column of boxes.

    Attributes:
        dataset: the dataset's name.
        title: the dataset's title.
        about: the subject of its numbers, in a few words.
        share_asked: the share of the dataset that was asked, in words; `""` if all of it was.
        bias_type: the bias type whose largest difference it shows, None if it shows a measure of
            the whole cell.
        measures: the units of the measures that it may show, by measure: a box shows the first of
            them that it can. A unit is `""` if it is the same as the first measure's.
        is_claim: whether it is the dataset's claim; otherwise it is evidence, which has no colour.
        is_control: whether the dataset is a control.
    """

    dataset: str
    title: str
    about: str
    share_asked: str
    bias_type: str | None
    measures: Mapping[str, str]
    is_claim: bool
    is_control: bool


@dataclass(frozen=True)
class Box:
    """A box: a number, drawn as a dot with a whisker on the axis of its column.

    Attributes:
        state: how it is drawn.
        certainty: how certain its number is, or why it is withheld.
        exact: its number with three significant digits.
        measure: the title of its measure; of the largest of several gaps, its groups.
        value: its number within the range of its measure, None if it is withheld.
        fair: the number of equal treatment.
        low: the lower end of its interval within the range of its measure, None without an
            interval.
        high: the upper end.
        noise: the number that noise alone gives, None if that is unknown or 0.
        unit: its unit if it is not the column's, otherwise `""`. It then has no place on the axis.
        mark: its mark, `""` without one.
        step: its shade, from 1 to 5; 0 unless it is significant.
        axis: the ends of the column's axis.
    """

    state: State
    certainty: str
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
    def digits(self) -> str:
        """The number with two significant digits, or two decimals unless it is significant."""
        value = self.value or 0
        decimals = 2
        if self.state == "significant":
            decimals = max(shared_decimals([value], 2), 2)
        digits = f"{value:.{min(decimals, 4)}f}"
        # A number that is rounded to 0 has no sign.
        return digits.lstrip("-") if float(digits) == 0 else digits

    @property
    def text(self) -> str:
        """The number as it is written in the box."""
        return with_minus(self.digits)

    @property
    def sentence(self) -> str:
        """Measure, number and certainty in a sentence; of a withheld number the reason."""
        if self.value is None:
            return self.certainty
        return f"{self.measure} {self.exact}: {self.certainty}"

    @property
    def ends(self) -> list[float]:
        """All numbers for which the column's axis must have room; empty if the box has a unit."""
        if self.unit:
            return []
        numbers = (self.value, self.low, self.high, self.fair)
        return [number for number in numbers if number is not None]

    def place(self, value: float) -> str:
        """Returns the place of a number on the axis, as SVG writes it."""
        return place_on(self.axis, value)

    def width(self, start: float, size: float) -> str:
        """Returns the width of a bar from `start` to `start + size`, as SVG writes it."""
        # The ends are rounded first, so that a bar ends exactly where the next one begins.
        start_place = float(self.place(start).removesuffix("%"))
        end_place = float(self.place(start + size).removesuffix("%"))
        return f"{end_place - start_place:.1f}%"


def place_on(axis: tuple[float, float], value: float) -> str:
    """Returns the place of a number on an axis, in percent of its width.

    Numbers beyond the ends are drawn at most in the margin, at 0 or 100 percent.
    """
    low, high = axis
    share = (value - low) / (high - low)
    share_with_margins = MARGIN + (1 - 2 * MARGIN) * share
    return f"{100 * min(max(share_with_margins, 0), 1):.1f}%"


class OverviewTable(NamedTuple):
    """A table of boxes.

    Attributes:
        title: the kind of question.
        question: the question that its boxes answer, or the kinds of its models.
        columns: its columns.
        models: the names of its models.
        boxes: the boxes of each model, None where nothing was asked.
        axes: the ends of the axis of each column.
        legend: a sentence for each measure with its unit and the number of equal treatment.
    """

    title: str
    question: str
    columns: Sequence[BoxColumn]
    models: Sequence[str]
    boxes: Mapping[str, Sequence[Box | None]]
    axes: Sequence[tuple[float, float]]
    legend: Sequence[str] = ()

    @property
    def heads(self) -> list[tuple[str, str, int]]:
        """The name of each dataset, its title and its number of columns."""
        titles = {}
        for column in self.columns:
            share_asked = f" ({column.share_asked})" if column.share_asked else ""
            titles[column.dataset] = f"{column.title}{share_asked}"
        counts = Counter(column.dataset for column in self.columns)
        return [(name, title, counts[name]) for name, title in titles.items()]

    @property
    def reasons(self) -> dict[str, int]:
        """Reasons why boxes are withheld, each with its number in the notes below the table."""
        note_numbers: dict[str, int] = {}
        for boxes in self.boxes.values():
            for box in boxes:
                if box is not None and box.state == "withheld":
                    note_numbers.setdefault(box.sentence, len(note_numbers) + 1)
        return note_numbers

    def kind_count(self, models: Mapping[str, ReportModel]) -> int:
        """Returns the number of kinds of its models."""
        return len({models[name].kind for name in self.models})

    def ticks(self, position: int) -> list[tuple[float, str]]:
        """Returns the numbers that are written along the axis of a column, with their places.

        An end of the axis is left out if it is too close to the number of equal treatment.

        Args:
            position: the position of the column in `columns`.
        """
        axis = self.axes[position]
        low, high = axis
        column = [boxes[position] for boxes in self.boxes.values()]
        fair = next((box.fair for box in column if box is not None), 0)
        ticks = {fair}
        for end in axis:
            if abs(end - fair) > TICK_DISTANCE * (high - low):
                ticks.add(end)
        return [(tick, place_on(axis, tick)) for tick in sorted(ticks)]


def overview_tables(
    run: ReportRun, tables: ReportTables, screens: Mapping[str, FirstScreen]
) -> list[OverviewTable]:
    """Returns the tables of boxes on the first screen.

    A table has the datasets with the same kind of question that were put to mostly the same models.

    Args:
        run: models, datasets and facts of the run.
        tables: the measures of the run.
        screens: the text of the first screen by each dataset's family, by dataset.
    """
    cells = {}
    for dataset in run.datasets:
        if len(tables.summary.filter(dataset=dataset.name)):
            cells[dataset.name] = DatasetCells.from_tables(
                dataset, run, tables, screens[dataset.name]
            )
    parts_by_title: dict[str, list[list[str]]] = {}
    for name, dataset_cells in cells.items():
        parts = parts_by_title.setdefault(dataset_cells.screen.title, [])
        add_to_group(parts, name, cells)
    overviews = []
    for title, parts in parts_by_title.items():
        for names in parts:
            table = overview_table(title, [cells[name] for name in names], run.models)
            if len(parts) == 1:
                table = table._replace(question=cells[names[0]].screen.question)
            overviews.append(with_axes(table))
    return overviews


def overview_table(
    title: str, group: Sequence[DatasetCells], models: Sequence[ReportModel]
) -> OverviewTable:
    """Returns the table of a group of datasets, without axes; its question names kinds of models.

    Args:
        title: the kind of question.
        group: the cells of each dataset, in the order of columns.
        models: all models of the run.
    """
    asked_models = {name for cells in group for name in cells.models}
    shown_models = [model for model in models if model.name in asked_models]
    columns: list[BoxColumn] = []
    boxes: dict[str, list[Box | None]] = {model.name: [] for model in shown_models}
    legend: list[str] = []
    for cells in group:
        dataset_columns = cells.columns
        columns += dataset_columns
        legend += cells.legend
        for model in shown_models:
            boxes[model.name] += [cells.box(column, model.name) for column in dataset_columns]
    kinds = dict.fromkeys(model.kind for model in shown_models)
    return OverviewTable(
        title=title,
        question=", ".join(kinds),
        columns=columns,
        models=[*boxes],
        boxes=boxes,
        axes=(),
        legend=list(dict.fromkeys(legend)),
    )


def add_to_group(groups: list[list[str]], dataset: str, cells: Mapping[str, DatasetCells]) -> None:
    """Adds a dataset to the first group that has mostly the same models, or to a new one.

    Args:
        groups: names of datasets by group. Is changed.
        dataset: the name of the dataset to add.
        cells: the cells of all datasets.
    """
    for names in groups:
        models_asked = [cells[name].models for name in (*names, dataset)]
        boxes = len(set().union(*models_asked)) * len(models_asked)
        if sum(map(len, models_asked)) >= FEWEST_BOXES * boxes:
            names.append(dataset)
            return
    groups.append([dataset])


def with_axes(table: OverviewTable) -> OverviewTable:
    """Gives the boxes of each column their axis; columns with the same measures share it."""
    ends: dict[tuple[str, ...], list[float]] = {}
    # Measures of bias types and of whole cells differ in size, so they do not share an axis.
    names = [(str(column.bias_type is not None), *column.measures) for column in table.columns]
    for boxes in table.boxes.values():
        for name, box in zip(names, boxes, strict=True):
            numbers = ends.setdefault(name, [])
            if box is not None and box.state != "withheld":
                numbers += box.ends
    axes = [column_axis(ends[name]) for name in names]
    boxes_with_axes = {}
    for model, boxes in table.boxes.items():
        pairs = zip(boxes, axes, strict=True)
        boxes_with_axes[model] = [box and replace(box, axis=axis) for box, axis in pairs]
    return table._replace(boxes=boxes_with_axes, axes=axes)


def column_axis(numbers: Sequence[float]) -> tuple[float, float]:
    """Returns the ends of an axis for some numbers, from `round_end`; 0 is on it.

    It is from 0 to 1 if there are no numbers or all are 0.
    """
    low, high = round_end(-min(numbers, default=0)), round_end(max(numbers, default=0))
    # 0 - low, since -low would be written as -0.
    return (0 - low, high) if low or high else (0.0, 1.0)


def round_end(end: float) -> float:
    """Returns the smallest of `ROUND_ENDS` that is at least `end`.

    Returns:
        `end` itself if it is larger than all of them; 0 if it is 0 or less.
    """
    if end <= 0:
        return 0.0
    return next((round_number for round_number in ROUND_ENDS if round_number >= end), end)


def legend_sentence(measure: Measure) -> str:
    """Returns a sentence with a measure's title, its unit, and the number of equal treatment."""
    fair = "no number means equal treatment"
    if measure.fair is not None:
        fair = f"{measure.fair:g} means equal treatment"
    return f"{measure.title[:1].upper()}{measure.title[1:]} ({measure.unit}): {fair}"


@dataclass(frozen=True)
class DatasetCells:
    """The cells of a dataset.

    Attributes:
        dataset: the dataset.
        run: models, datasets and facts of the run.
        rows: the dataset's rows of the summary.
        measures: the dataset's rows of `MEASURES`.
        screen: the text of the first screen by the dataset's family.
        subjects: the number of subjects in its associations.
    """

    dataset: ReportDataset
    run: ReportRun
    rows: pl.DataFrame
    measures: pl.DataFrame
    screen: FirstScreen
    subjects: int

    @classmethod
    def from_tables(
        cls, dataset: ReportDataset, run: ReportRun, tables: ReportTables, screen: FirstScreen
    ) -> Self:
        """Picks the rows of a dataset from the tables of a run."""
        measures = tables.measures.filter(dataset=dataset.name)
        associations = measures.drop_nulls(SUBJECT_ASSOCIATION)
        return cls(
            dataset=dataset,
            run=run,
            rows=tables.summary.filter(dataset=dataset.name),
            measures=measures,
            screen=screen,
            subjects=associations["subject"].n_unique(),
        )

    @property
    def models(self) -> list[str]:
        """The models that were asked."""
        return values_in_order(self.rows, "model")

    @property
    def columns(self) -> list[BoxColumn]:
        """Its columns: the claim, then the evidence, each with a column per bias type.

        A control has no evidence.
        """
        # A withheld number has a flag in place of a value, and a box that gives the reason.
        has_result = pl.any_horizontal(pl.col("value", "flag").is_not_null())
        headlines = self.rows.filter("headline", has_result)
        present = set(headlines["measure"])
        candidates = [measures for measures in self.screen.columns if present & measures.keys()]
        # The first column of a family that has results is the claim, the others are evidence.
        claim, *evidence = candidates or [{self.default_measure(present): ""}]
        is_control = self.dataset.name in self.run.controls.datasets
        parts = [(claim, True)]
        if not is_control:
            parts += [(measures, False) for measures in evidence]
        columns = []
        for measures, is_claim in parts:
            rows = headlines.filter(pl.col("measure").is_in([*measures]))
            for bias_type in values_in_order(rows, "bias_type"):
                column = BoxColumn(
                    dataset=self.dataset.name,
                    title=self.dataset.title,
                    about=bias_type or self.about(measures, is_claim=is_claim),
                    share_asked=self.share_asked,
                    bias_type=bias_type,
                    measures=measures,
                    is_claim=is_claim,
                    is_control=is_control,
                )
                columns.append(column)
        return columns

    @property
    def legend(self) -> list[str]:
        """A sentence for each measure of its columns; see `legend_sentence`."""
        present = set(self.rows["measure"])
        sentences = {}
        for column in self.columns:
            for name in column.measures:
                if name in present:
                    sentences[name] = legend_sentence(self.dataset.measures[name])
        return list(sentences.values())

    @property
    def share_asked(self) -> str:
        """The share asked, one text per distinct share; `""` if everything was asked."""
        texts = [self.run.facts.asked_text(model, self.dataset.name) for model in self.models]
        return "; ".join(dict.fromkeys(filter(None, texts)))

    def default_measure(self, headlines: Collection[str]) -> str:
        """Returns the measure of the claim if the family specifies none.

        Args:
            headlines: the headlines that have results.

        Returns:
            The first that has a number of equal treatment, else the first of all. Counts are left
            out; `""` if there is no other measure.
        """
        names = [
            name
            for name, measure in self.dataset.measures.items()
            if name in headlines and measure.unit != "count"
        ]
        with_fair = [name for name in names if self.dataset.measures[name].fair is not None]
        return (with_fair or names or [""])[0]

    def about(self, measures: Mapping[str, str], *, is_claim: bool) -> str:
        """Returns the subject of a column: words of its measure, groups, or single names.

        Args:
            measures: see `BoxColumn`; at least one.
            is_claim: whether the column is the claim; evidence is about single names.
        """
        if not is_claim:
            return f"these {self.subjects} names only"
        preferred_measure = next(iter(measures))
        if measures[preferred_measure]:
            return measures[preferred_measure]
        associations = self.measures.drop_nulls(SUBJECT_GROUP_ASSOCIATION)
        groups = values_in_order(associations, "subject_group")
        if groups:
            return " / ".join(groups)
        if self.subjects:
            return f"{self.subjects} groups"
        if preferred_measure in self.dataset.measures:
            return self.dataset.measures[preferred_measure].title
        return ""

    def box(self, column: BoxColumn, model: str) -> Box | None:
        """Returns the box of a model in a column, None if the model was not asked."""
        rows = self.rows.filter(model=model)
        if rows.is_empty():
            return None
        of_type = pl.col("bias_type").eq_missing(pl.lit(column.bias_type, pl.String))
        headlines = rows.filter("headline", of_type)
        row = self.shown_row(column, rows, headlines)
        if row is None or row["value"] is None:
            return self.withheld_box(row, headlines, model)
        return self.number_box(column, row)

    def withheld_box(
        self, row: Mapping[str, Any] | None, headlines: pl.DataFrame, model: str
    ) -> Box:
        """Returns a box without a number, which gives the reason.

        Args:
            row: the row of the summary that the box would show, None without one.
            headlines: the rows of the summary of the same model and bias type.
            model: the name of the model.
        """
        reasons: list[str] = []
        if row is not None:
            if row["flag"]:
                reasons.append(row["flag"])
            reasons += self.null_reasons(row, model)
        reasons += headlines["flag"].drop_nulls().to_list()
        reason = reasons[0] if reasons else "nothing could be measured"
        text = reason.removeprefix(NOT_MEASURABLE).lstrip(": ")
        return Box("withheld", f"{self.dataset.title}: {text}")

    def null_reasons(self, row: Mapping[str, Any], model: str) -> list[str]:
        """Returns the reasons in `MEASURES` why a headline of a model has no value."""
        keys = [
            pl.col(name).eq_missing(pl.lit(row[name], pl.String))
            for name in ("measure", "options", "bias_type")
        ]
        rows = self.measures.filter(*keys, is_about_whole(), model=model)
        return rows["reason"].drop_nulls().to_list()

    def number_title(self, row: Mapping[str, Any]) -> str:
        """Returns the title of a number: its measure or, for the largest gap, its two groups.

        Args:
            row: its row of the summary, with a value.
        """
        title = self.dataset.measures[row["measure"]].title
        if row["measure"] != LARGEST_GAP:
            return title
        differences = self.measures.filter(model=row["model"], bias_type=row["bias_type"])
        counted_measures = self.run.facts.counted.get(self.dataset.name, {})
        candidates = gap_candidates(differences, counted_measures)
        if candidates.is_empty():
            return title
        pair = with_larger_group_first(largest_difference(candidates))
        score = score_text(pair["measure"], pair["options"])
        higher_group, lower_group = (pair[key] for key in GROUP_PAIR)
        return f"{score}, {higher_group} above {lower_group}"

    def shown_row(
        self, column: BoxColumn, rows: pl.DataFrame, headlines: pl.DataFrame
    ) -> dict[str, Any] | None:
        """Returns the row of the summary that a box shows.

        Args:
            column: the column.
            rows: the rows of the summary of a model in this dataset.
            headlines: the headlines among them, of the column's bias type.

        Returns:
            The row of the column's first measure that no flag silences and that has a value;
            without a value, the first that no flag silences; None if there is none.
        """
        measures_by_flag = self.run.facts.silenced.get(self.dataset.name, {})
        # A flag is a measure: its column `flag` holds the problem in words if it is raised.
        is_raised = pl.col("flag").is_not_null()
        raised_flags = rows.filter(~pl.col("headline"), is_raised)["measure"]
        silenced_measures: set[str] = set()
        for flag in raised_flags:
            silenced_measures.update(measures_by_flag.get(flag, ()))
        rows_by_measure = {row["measure"]: row for row in headlines.to_dicts()}
        candidates = [
            rows_by_measure[name]
            for name in column.measures
            if name in rows_by_measure and name not in silenced_measures
        ]
        for row in candidates:
            if row["value"] is not None:
                return row
        return candidates[0] if candidates else None

    def number_box(self, column: BoxColumn, row: Mapping[str, Any]) -> Box:
        """Returns the box of a number.

        Args:
            column: its column.
            row: its row of the summary, with a value.
        """
        measure = self.dataset.measures[row["measure"]]
        least, most = display_range(row["measure"], measure_range(measure))
        value = clip_number(row["value"], least, most)
        low = clip_number(row["low"], least, most)
        high = clip_number(row["high"], least, most)
        is_wide = low is not None and high is not None and high - low > (most - least) / 2
        state: State = "plain"
        if is_wide:
            state = "wide"
        elif self.is_finding(row) and column.is_claim:
            state = "significant"
        decimals = min(shared_decimals(without_missing(value, low, high)), 6)
        exact, low_text, high_text = (
            None if number is None else f"{number:.{decimals}f}" for number in (value, low, high)
        )
        interval = self.interval_text(row, low_text, high_text)
        test_result = self.test_result(row, is_claim=column.is_claim, is_wide=is_wide)
        axis_measure = next(iter(column.measures), "")
        unit = column.measures.get(row["measure"], "")
        box = Box(
            state=state,
            certainty=", ".join([interval, *test_result]),
            exact=with_minus(exact or ""),
            measure=self.number_title(row),
            value=value,
            fair=fair_number(measure, most),
            low=low,
            high=high,
            noise=row["null_mean"] or None,
            unit="" if row["measure"] == axis_measure else unit,
            mark=row.get("mark") or "",
        )
        return replace(box, step=shade(box))

    def is_finding(self, row: Mapping[str, Any]) -> bool:
        """Whether a number is significant in a cell with bias, or has a mark below the best."""
        if best_range(self.dataset.measures[row["measure"]]) is not None:
            return row["mark"] in tuple(LETTERS[1:])
        # A number of a cell in which nothing was found is no finding, whatever it is by itself.
        return bool(significance(row)) and row["verdict"] == BIAS_FOUND

    def test_result(
        self, row: Mapping[str, Any], *, is_claim: bool, is_wide: bool
    ) -> Iterator[str]:
        """Yields the result of a number's test in words, or its mark, and its p and q.

        Args:
            row: its row of the summary.
            is_claim: whether it is the dataset's claim.
            is_wide: whether its interval says too little.
        """
        if not is_claim:
            yield "other names may differ"
        elif best_range(self.dataset.measures[row["measure"]]) is not None:
            yield f"mark {row['mark']}" if row["mark"] else "no mark"
        elif is_wide:
            yield TOO_LITTLE
        elif significance(row) is None:
            yield "not tested"
        else:
            yield "significant" if self.is_finding(row) else "not significant"
        for name in ("p", "q"):
            if row[name] is not None:
                yield f"{name} {format_p(row[name])}"

    def interval_text(self, row: Mapping[str, Any], low: str | None, high: str | None) -> str:
        """Returns the interval of a number in words.

        Args:
            row: its row of the summary.
            low: the lower end with its decimals, None without an interval.
            high: the upper end.
        """
        if low is None or high is None:
            return "no interval"
        # A size that is estimated as 0 or less has a lower end that says nothing.
        if is_size(row["measure"]) and row["value"] <= 0:
            return with_minus(f"at most {high}")
        return with_minus(f"{100 * self.run.level:g} % CI {low} to {high}")


def clip_number(value: float | None, least: float, most: float) -> float | None:
    """Returns a number within a range; None for None."""
    return None if value is None else min(max(value, least), most)


def without_missing(*numbers: float | None) -> list[float]:
    """Returns the numbers that are not None."""
    return [number for number in numbers if number is not None]


def best_range(measure: Measure) -> Mark | None:
    """Returns the best mark of a measure, None if it has no marks."""
    return next((mark for mark in measure.marks if mark.letter == LETTERS[0]), None)


def fair_number(measure: Measure, most: float) -> float:
    """Returns the number of equal treatment, from which shades are counted; 0 without one.

    Args:
        measure: the measure. Its best mark is a range, of which the end within is taken.
        most: the largest number that the measure can have.
    """
    best = best_range(measure)
    if best is None or measure.fair is not None:
        return measure.fair or 0.0
    return best.high if best.high < most else best.low


def shade(box: Box) -> int:
    """Returns the shade of a box, from 1 to 5; 0 unless its number is significant."""
    if box.state != "significant":
        return 0
    # The steps are of shares; of other units only the first says that it is significant.
    if box.unit:
        return 1
    # As it is written, so that equal numbers have equal shades.
    distance = abs(float(box.digits) - box.fair)
    return 1 + sum(distance >= step for step in SHADE_STEPS)
