"""The content of the report's tables: numbers picked from the tables of the run, alike for all
families.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from biasgrid.stats.ordering import values_in_order
from biasgrid.stats.recovery import StrengthsOfCells, measured_and_synthetic, recovery
from biasgrid.tables.claims.facts import GridFacts
from biasgrid.tables.claims.numbers import ANY_RANGE, format_estimate, measure_range, with_minus
from biasgrid.tables.metric import Measure, options_of
from biasgrid.tables.summary import flag_rows

ContentRow = dict[str, Any]
MeasureDefinitions = Mapping[str, Measure]

COUNTED = {
    "subject": "subjects",
    "attribute": "attributes",
    "group": "groups",
    "template": "templates",
}
"""The keys that are counted for the reader."""

FEW_TEMPLATE_CLUSTERS = 4
"""Of fewer clusters intervals are wide, and what they rest on is little."""

ABOUT_THE_SAME = ("score", "argument", "threshold")
"""Options that a further comparison has in common with the headlines."""


@dataclass(frozen=True)
class Column:
    """A column of a table of measures.

    Attributes:
        measure: the measure's name.
        options: those of its rows.
        heading: its heading.
        within: between what its numbers are.
    """

    measure: str
    options: str
    heading: str
    within: tuple[float, float] = ANY_RANGE


@dataclass(frozen=True)
class TablePart:
    """Rows of a table of measures that are about the same.

    Attributes:
        dataset: the dataset's name.
        bias_type: what its groups have in common; None for the dataset as a whole.
        counts: how many subjects, attributes, ... there are, in words.
        rows: of each model `model`, `n` (that of the last of its numbers: how many swap groups or
            cases there are), `clusters` (None where the uncertainty of its numbers is unknown) and
            `numbers`: of each column the row of the summary with `written`, its number in words, or
            None.
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

    columns: Sequence[Column]
    parts: Sequence[TablePart]


def headlines(declared: MeasureDefinitions) -> list[Column]:
    """Returns the columns of the measures that stand in the summary."""
    return [
        Column(name, measure.headline, measure.title, measure_range(measure))
        for name, measure in declared.items()
        if measure.headline is not None
    ]


def other_columns(declared: MeasureDefinitions, rows: pl.DataFrame) -> list[Column]:
    """Returns the columns of comparisons that are no headlines, but about the same scores and
    thresholds.

    Args:
        declared: the measures of a dataset.
        rows: its rows of the summary.
    """
    of_headlines = [(column.measure, column.options) for column in headlines(declared)]
    chosen = {
        name: value for _, options in of_headlines for name, value in options_of(options).items()
    }
    found = rows.select("measure", "options").unique(maintain_order=True).rows()
    columns = []
    for name, options in found:
        named = options_of(options)
        alike = all(
            named.get(option, chosen.get(option)) == chosen.get(option) for option in ABOUT_THE_SAME
        )
        if alike and (name, options) not in of_headlines and declared[name].limit is None:
            words = [
                value.replace("_", " ")
                for option, value in named.items()
                if option not in ABOUT_THE_SAME
            ]
            heading = (
                f"{declared[name].symbol}: {', '.join(words)}" if words else declared[name].title
            )
            columns.append(Column(name, options, heading, measure_range(declared[name])))
    return columns


def measure_tables(
    summary: pl.DataFrame, measures: pl.DataFrame, columns: Mapping[str, Sequence[Column]]
) -> list[MeasureTable]:
    """Puts measures of models side by side.

    Args:
        summary: schema `SUMMARY`.
        measures: schema `MEASURES`, of the same cells.
        columns: those of each dataset, in order.

    Returns:
        A table for each set of columns that datasets and bias types have.
    """
    parts: dict[tuple[Column, ...], list[TablePart]] = {}
    for dataset, wanted in columns.items():
        rows = summary.filter(dataset=dataset)
        for bias_type in values_in_order(rows, "bias_type"):
            of_part = rows.filter(pl.col("bias_type").eq_missing(pl.lit(bias_type, pl.String)))
            # What is withheld has its place, and a dash there.
            known = of_part.filter(pl.any_horizontal(pl.col("value", "flag").is_not_null()))
            present = set(known.select("measure", "options").iter_rows())
            shown = tuple(
                column for column in wanted if (column.measure, column.options) in present
            )
            if shown:
                counts = counts_of_dataset(measures.filter(dataset=dataset), bias_type)
                part = TablePart(dataset, bias_type, counts, part_rows(of_part, shown))
                parts.setdefault(shown, []).append(part)
    return [MeasureTable(shown, of_table) for shown, of_table in parts.items()]


def part_rows(rows: pl.DataFrame, columns: Sequence[Column]) -> list[ContentRow]:
    """Returns the rows of a part, a row per model; see `TablePart`."""
    found = {(row["model"], row["measure"], row["options"]): row for row in rows.to_dicts()}
    table = []
    for model in values_in_order(rows, "model"):
        numbers = [
            written_row(found.get((model, column.measure, column.options)), column)
            for column in columns
        ]
        there = [number for number in numbers if number]
        clusters = max((number["clusters"] or 0 for number in there), default=0)
        # A class of which one model has no answers may have some of another.
        if there:
            table.append(
                {
                    "model": model,
                    "numbers": numbers,
                    "n": there[-1]["n"],
                    "clusters": clusters or None,
                }
            )
    return table


def written_row(row: ContentRow | None, column: Column) -> ContentRow | None:
    """Returns a row of the summary with `written`, its number in words; None of none."""
    if row is None:
        return None
    written = format_estimate(row, column.within)
    value = "\N{EN DASH}" if row["value"] is None else with_minus(written.value)
    return row | {"written": written._replace(value=value, interval=with_minus(written.interval))}


def counts_of_dataset(measures: pl.DataFrame, bias_type: str | None) -> str:
    """Returns how many subjects, attributes, ... a dataset or one of its bias types has, in words.

    Args:
        measures: those of the dataset (schema `MEASURES`).
        bias_type: the bias type, None for what is about none.
    """
    rows = measures.filter(pl.col("bias_type").eq_missing(pl.lit(bias_type, pl.String)))
    counts = {noun: rows[key].drop_nulls().n_unique() for key, noun in COUNTED.items()}
    return ", ".join(f"{count} {noun}" for noun, count in counts.items() if count)


def definitions(declared: Iterable[MeasureDefinitions]) -> dict[str, Measure]:
    """Returns the measures of all datasets by name, each once: those of a name differ in no more
    than their options.
    """
    return {
        name: measure
        for measures in declared
        for name, measure in measures.items()
        if measure.limit is None
    }


def dataset_section(
    name: str, declared: MeasureDefinitions, tables: Mapping[str, pl.DataFrame], facts: GridFacts
) -> ContentRow:
    """Gathers the report's section of a dataset.

    Args:
        name: its name.
        declared: its measures.
        tables: `summary` and `measures`, of all datasets.
        facts: which numbers the answer probability bounds.

    Returns:
        `headlines`, `further` and `checks` (tables of measures), `relative`, from
        `GridFacts.relative_sentences`, `few_clusters`, from `fewest_template_clusters`, and
        `flags`, from `flags_with_remedies`.
    """
    summary, measures = (tables[table].filter(dataset=name) for table in ("summary", "measures"))
    return {
        "headlines": measure_tables(summary, measures, {name: headlines(declared)}),
        "further": measure_tables(summary, measures, {name: other_columns(declared, summary)}),
        "relative": list(
            facts.relative_sentences(summary.filter("headline").iter_rows(named=True))
        ),
        "flags": flags_with_remedies(summary, declared),
        "few_clusters": fewest_template_clusters(summary),
        "checks": measure_tables(summary, measures, {name: checks(declared)}),
    }


def fewest_template_clusters(summary: pl.DataFrame) -> int | None:
    """Returns the fewest clusters of any cell whose numbers have intervals, None where there are
    enough.
    """
    fewest = min(summary.filter(pl.col("clusters") > 0)["clusters"], default=FEW_TEMPLATE_CLUSTERS)
    return fewest if fewest < FEW_TEMPLATE_CLUSTERS else None


def checks(declared: MeasureDefinitions) -> list[Column]:
    """Returns the columns of validity flags."""
    return [
        Column(name, "", measure.title, measure_range(measure))
        for name, measure in declared.items()
        if measure.limit is not None
    ]


def flags_with_remedies(summary: pl.DataFrame, declared: MeasureDefinitions) -> list[ContentRow]:
    """Returns the flags that speak against the cells of a dataset: rows of `flag_rows` with
    `remedy`, what to do.
    """
    limits = {
        name: measure.limit for name, measure in declared.items() if measure.limit is not None
    }
    # A number that is withheld has a note in the same column, which is no flag of its cell.
    flags = flag_rows(summary).filter(pl.col("measure").is_in([*limits]))
    return [row | {"remedy": limits[row["measure"]].remedy} for row in flags.to_dicts()]


def recovery_rows(
    measures: pl.DataFrame,
    synthetic: pl.DataFrame,
    declared: Mapping[str, MeasureDefinitions],
    strengths: StrengthsOfCells,
) -> list[ContentRow]:
    """Returns how well each trained model recovers the known effect.

    Args:
        measures: schema `MEASURES`.
        synthetic: schema `SYNTHETIC`.
        declared: the measures of each dataset.
        strengths: the trained models of each dataset.

    Returns:
        A row per dataset, model and measure, of names and of groups, with `strength`, `title` (of
        the measure) and what `recovery` returns.
    """
    pairs = measured_and_synthetic(measures, synthetic, strengths)
    rows = recovery(pairs, "dataset", "model", "strength", "measure", "of").to_dicts()
    titles = [declared[row["dataset"]][row["measure"]].title for row in rows]
    return [
        {**row, "title": title if row["of"] is None else f"{title}, {row['of']}"}
        for row, title in zip(rows, titles, strict=True)
    ]
