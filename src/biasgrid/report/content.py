"""The content of the report's tables, for all families: numbers from the tables of the run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from biasgrid.stats.ordering import values_in_order
from biasgrid.stats.recovery import CellStrengths, measured_and_synthetic, recovery
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.claims.numbers import ANY_RANGE, format_estimate, measure_range, with_minus
from biasgrid.tables.key_columns import KEYS
from biasgrid.tables.metric import Measure, parse_options
from biasgrid.tables.summary import flag_rows

ContentRow = dict[str, Any]
MeasureDefinitions = Mapping[str, Measure]

FEW_TEMPLATE_CLUSTERS = 4
"""Number of clusters below which intervals are unreliable."""

ABOUT_THE_SAME = ("score", "argument", "threshold")
"""Options that a further comparison has in common with the headlines."""


@dataclass(frozen=True)
class MeasureColumn:
    """A column of a table of measures.

    Attributes:
        measure: the measure's name.
        measure_options: the options of its rows.
        heading: its heading.
        value_range: the range of its numbers.
    """

    measure: str
    measure_options: str
    heading: str
    value_range: tuple[float, float] = ANY_RANGE


@dataclass(frozen=True)
class TablePart:
    """Rows of a table of measures about a bias type of a dataset.

    Attributes:
        dataset: the dataset's name.
        bias_type: the bias type; None for the dataset as a whole.
        counts: the number of subjects, attributes and so on, in words.
        rows: a row for each model: `model`, `n` (the number of swap groups or cases of its last
            number), `clusters` (None if the uncertainty of its numbers is unknown) and `numbers`,
            for each column a row of the summary with `written`, its number in words, or None.
    """

    dataset: str
    bias_type: str | None
    counts: str
    rows: Sequence[ContentRow]


@dataclass(frozen=True)
class MeasureTable:
    """A table of measures.

    Attributes:
        columns: its columns.
        parts: its rows.
    """

    columns: Sequence[MeasureColumn]
    parts: Sequence[TablePart]


def headlines(measure_definitions: MeasureDefinitions) -> list[MeasureColumn]:
    """Returns the columns of the measures that are headlines of the summary."""
    return [
        MeasureColumn(name, measure.headline, measure.title, measure_range(measure))
        for name, measure in measure_definitions.items()
        if measure.headline is not None
    ]


def other_columns(
    measure_definitions: MeasureDefinitions, rows: pl.DataFrame
) -> list[MeasureColumn]:
    """Returns columns of further comparisons, with the scores and thresholds of the headlines.

    Args:
        measure_definitions: the measures of a dataset.
        rows: its rows of the summary.
    """
    of_headlines = [
        (column.measure, column.measure_options) for column in headlines(measure_definitions)
    ]
    headline_options: dict[str, str] = {}
    for _, options in of_headlines:
        headline_options |= parse_options(options)
    columns = []
    for name, options in rows.select("measure", "options").unique(maintain_order=True).rows():
        if (name, options) in of_headlines:
            continue
        further_options = parse_options(options)
        shared_options = {}
        for option in ABOUT_THE_SAME:
            if option in further_options:
                shared_options[option] = further_options.pop(option)
        if any(headline_options.get(key) != value for key, value in shared_options.items()):
            continue
        measure = measure_definitions[name]
        if measure.limit is not None:
            continue
        heading = measure.title
        if further_options:
            words = ", ".join(value.replace("_", " ") for value in further_options.values())
            heading = f"{measure.symbol}: {words}"
        columns.append(MeasureColumn(name, options, heading, measure_range(measure)))
    return columns


def measure_tables(
    summary: pl.DataFrame, measures: pl.DataFrame, columns: Mapping[str, Sequence[MeasureColumn]]
) -> list[MeasureTable]:
    """Puts measures of models side by side.

    Args:
        summary: schema `SUMMARY`.
        measures: schema `MEASURES`, of the same cells.
        columns: the columns of each dataset, in order.

    Returns:
        A table for each set of columns. Datasets and bias types with the same columns share one.
    """
    parts: dict[tuple[MeasureColumn, ...], list[TablePart]] = {}
    for dataset, dataset_columns in columns.items():
        rows = summary.filter(dataset=dataset)
        own_measures = measures.filter(dataset=dataset)
        for bias_type in values_in_order(rows, "bias_type"):
            own_rows = rows.filter(pl.col("bias_type").eq_missing(pl.lit(bias_type, pl.String)))
            # A withheld number has a flag and no value. It keeps its place, with a dash.
            has_result = pl.any_horizontal(pl.col("value", "flag").is_not_null())
            results = own_rows.filter(has_result).select("measure", "options")
            present = set(results.iter_rows())
            shown_columns = tuple(
                column
                for column in dataset_columns
                if (column.measure, column.measure_options) in present
            )
            if shown_columns:
                counts = unit_counts_text(own_measures, bias_type)
                part = TablePart(dataset, bias_type, counts, part_rows(own_rows, shown_columns))
                parts.setdefault(shown_columns, []).append(part)
    return [
        MeasureTable(shown_columns, table_parts) for shown_columns, table_parts in parts.items()
    ]


def part_rows(rows: pl.DataFrame, columns: Sequence[MeasureColumn]) -> list[ContentRow]:
    """Returns the rows of a part, a row per model; see `TablePart`.

    Args:
        rows: the rows of the summary about the part, of all models.
        columns: the columns of the table.
    """
    rows_by_number = {}
    for row in rows.to_dicts():
        rows_by_number[row["model"], row["measure"], row["options"]] = row
    table = []
    for model in values_in_order(rows, "model"):
        numbers: list[ContentRow | None] = []
        for column in columns:
            own_row = rows_by_number.get((model, column.measure, column.measure_options))
            numbers.append(None if own_row is None else written_row(own_row, column))
        present = [number for number in numbers if number is not None]
        # A class of which one model has no answers may have some of another.
        if present:
            clusters = max(number["clusters"] or 0 for number in present)
            table.append(
                {
                    "model": model,
                    "numbers": numbers,
                    "n": present[-1]["n"],
                    "clusters": clusters or None,
                }
            )
    return table


def written_row(row: ContentRow, column: MeasureColumn) -> ContentRow:
    """Returns a row of the summary with `written`, its number in words."""
    estimate = format_estimate(row, column.value_range)
    value = "\N{EN DASH}" if row["value"] is None else with_minus(estimate.value)
    interval = with_minus(estimate.interval)
    return row | {"written": estimate._replace(value=value, interval=interval)}


def unit_counts_text(measures: pl.DataFrame, bias_type: str | None) -> str:
    """Returns the number of subjects, attributes and so on of a dataset's bias type, in words.

    Args:
        measures: the measures of the dataset (schema `MEASURES`).
        bias_type: the bias type, None for the dataset as a whole.
    """
    rows = measures.filter(pl.col("bias_type").eq_missing(pl.lit(bias_type, pl.String)))
    counts = []
    for key in KEYS:
        count = rows[key.name].drop_nulls().n_unique() if key.counted_as else 0
        if count:
            counts.append(f"{count} {key.counted_as}")
    return ", ".join(counts)


def definitions(measure_definitions: Iterable[MeasureDefinitions]) -> dict[str, Measure]:
    """Returns the measures of all datasets by name, without validity flags.

    Measures of the same name differ only in their options, so one of them is enough.
    """
    by_name = {}
    for measures in measure_definitions:
        for name, measure in measures.items():
            if measure.limit is None:
                by_name[name] = measure
    return by_name


def dataset_section(
    name: str,
    measure_definitions: MeasureDefinitions,
    tables: Mapping[str, pl.DataFrame],
    facts: GridFacts,
) -> ContentRow:
    """Gathers the report's section of a dataset.

    Args:
        name: its name.
        measure_definitions: its measures.
        tables: `summary` and `measures`, of all datasets.
        facts: the measures that the answer probability bounds.

    Returns:
        `headlines`, `further` and `checks` (tables of measures), `relative`, from
        `GridFacts.relative_sentences`, `few_clusters`, from `fewest_template_clusters`, and
        `flags`, from `flags_with_remedies`.
    """
    summary = tables["summary"].filter(dataset=name)
    measures = tables["measures"].filter(dataset=name)
    further_columns = other_columns(measure_definitions, summary)
    headline_rows = summary.filter("headline").iter_rows(named=True)
    return {
        "headlines": measure_tables(summary, measures, {name: headlines(measure_definitions)}),
        "further": measure_tables(summary, measures, {name: further_columns}),
        "relative": list(facts.relative_sentences(headline_rows)),
        "flags": flags_with_remedies(summary, measure_definitions),
        "few_clusters": fewest_template_clusters(summary),
        "checks": measure_tables(summary, measures, {name: checks(measure_definitions)}),
    }


def fewest_template_clusters(summary: pl.DataFrame) -> int | None:
    """Returns the smallest number of clusters of any cell, None if all have enough.

    Cells whose numbers have no intervals have no clusters, and do not count.
    """
    clusters = summary.filter(pl.col("clusters") > 0)["clusters"]
    fewest = min(clusters, default=FEW_TEMPLATE_CLUSTERS)
    return fewest if fewest < FEW_TEMPLATE_CLUSTERS else None


def checks(measure_definitions: MeasureDefinitions) -> list[MeasureColumn]:
    """Returns the columns of validity flags."""
    return [
        MeasureColumn(name, "", measure.title, measure_range(measure))
        for name, measure in measure_definitions.items()
        if measure.limit is not None
    ]


def flags_with_remedies(
    summary: pl.DataFrame, measure_definitions: MeasureDefinitions
) -> list[ContentRow]:
    """Returns the flags that speak against the cells of a dataset.

    Args:
        summary: the rows of the summary of the dataset.
        measure_definitions: its measures.

    Returns:
        Rows of `flag_rows` with `remedy`, a sentence.
    """
    remedies = {
        name: measure.limit.remedy
        for name, measure in measure_definitions.items()
        if measure.limit is not None
    }
    # A number that is withheld has a note in the same column, which is no flag of its cell.
    flags = flag_rows(summary).filter(pl.col("measure").is_in([*remedies]))
    return [row | {"remedy": remedies[row["measure"]]} for row in flags.to_dicts()]


def recovery_rows(
    measures: pl.DataFrame,
    synthetic: pl.DataFrame,
    measure_definitions: Mapping[str, MeasureDefinitions],
    strengths: CellStrengths,
) -> list[ContentRow]:
    """Returns the recovery of the known effect by each trained model.

    Args:
        measures: schema `MEASURES`.
        synthetic: schema `SYNTHETIC`.
        measure_definitions: the measures of each dataset.
        strengths: the trained models of each dataset.

    Returns:
        A row per dataset, model and measure, of names and of groups, with `strength`, `title` (of
        the measure) and the columns of `recovery`.
    """
    pairs = measured_and_synthetic(measures, synthetic, strengths)
    by = ("dataset", "model", "strength", "measure", "names_or_groups")
    rows = recovery(pairs, *by).to_dicts()
    for row in rows:
        title = measure_definitions[row["dataset"]][row["measure"]].title
        subject = row["names_or_groups"]
        row["title"] = title if subject is None else f"{title}, {subject}"
    return rows
