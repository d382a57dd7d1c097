"""Measures as formulas: expressions over the columns of observations that add up by part and unit.

A family lists its formulas, and `evaluate_formulas` turns them into `Sums` for each part of a cell.
Values, intervals, tests and comparisons of models then follow from the sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.stats.clusters import index_templates, template_units
from biasgrid.stats.shares import are_shares
from biasgrid.stats.sums import (
    MEAN,
    Along,
    Finish,
    IntervalMethod,
    SignificanceTest,
    Sums,
)

ONE = pl.lit(1.0)
EVERY_ROW = pl.lit(value=True)
MEASURED_CASES = pl.col("n")


@dataclass(frozen=True)
class Formula:
    """A measure of a part of a cell.

    Attributes:
        measure: name of the measure, a key of the family's `measures.yaml`.
        terms: expressions that add up, in the order in which `finish` expects them. Null adds 0;
            NaN must not occur.
        finish: computes the number from the sums.
        interval: the kind of interval; see `Sums`.
        share_interval: the kind of interval if all measured values are 0 or 1, so that their
            means are shares; empty if it is `interval`, too. For finishes such as `MEAN` and
            `DIFFERENCE`, whose terms are values and counts in turn.
        where: the rows that the measure is about. Other rows are neither counted nor left out;
            nor are rows in which it is null.
        n: how many cases of a row are measured. Rows with 0 or null add nothing to the sums, and
            their cases are left out.
        test: whether the number is tested against `fair`; see `Sums`.
        fair: the value of equal treatment.
        options: tells variants of a measure apart, such as `mode=all`.
        compares_models: whether models are compared by the measure.
        is_input: whether it is no measure, but an input of other numbers; see `Sums`.
        reason: the reason of a number without a value, if it has one of its own.
    """

    measure: str
    terms: Sequence[pl.Expr]
    finish: Finish = MEAN
    interval: IntervalMethod = "t"
    share_interval: IntervalMethod | Literal[""] = ""
    where: pl.Expr = EVERY_ROW
    n: pl.Expr = MEASURED_CASES
    test: SignificanceTest = SignificanceTest.NONE
    fair: float = 0.0
    measure_options: str = ""
    compares_models: bool = True
    is_input: bool = False
    reason: str = ""


def mean_value(measure: str, value: pl.Expr, where: pl.Expr = EVERY_ROW) -> Formula:
    """Returns the mean of a column over the rows in which it is not null."""
    return Formula(measure, [value, ONE], where=where, n=value.is_not_null())


def share(
    measure: str,
    condition: pl.Expr,
    where: pl.Expr = EVERY_ROW,
    n: pl.Expr = MEASURED_CASES,
) -> Formula:
    """Returns the share of measured cases that meet a condition; null does not meet it."""
    return Formula(measure, [condition, ONE], interval="effective Wilson", where=where, n=n)


def with_cases(table: pl.DataFrame, is_measured: pl.Expr) -> pl.DataFrame:
    """Adds `n` and `left_out` to rows that are one case each: 1 and 0 if measured, else 0 and 1."""
    n = is_measured.fill_null(value=False).cast(pl.Int64)
    return table.with_columns(n=n, left_out=1 - n)


def parts_by_keys(table: pl.DataFrame, key_names: Sequence[str]) -> tuple[pl.DataFrame, IntArray]:
    """Divides rows by some of their keys; without any they are one part.

    Returns:
        What each part is about, and the part of each row.
    """
    if not key_names:
        return pl.DataFrame({"options": [""]}), np.zeros(len(table), dtype=np.int64)
    rows = table.select(key_names)
    keys = rows.unique(maintain_order=True)
    numbered = keys.with_row_index("number")
    numbers = rows.join(numbered, on=key_names, nulls_equal=True, maintain_order="left")["number"]
    return keys, numbers.to_numpy().astype(np.int64)


Units = tuple[IntArray, Sequence[str]]
"""The place of each row's unit among those that there are, shape (rows,), and the names of
these.
"""


def places_of_units(column: pl.Series) -> Units:
    """Returns the units of rows that a column names."""
    units, place = np.unique(column.to_numpy(), return_inverse=True)
    return place.astype(np.int64), [str(unit) for unit in units.tolist()]


def evaluate_formulas(
    table: pl.DataFrame,
    keys: Sequence[str],
    factors: Mapping[str, str],
    formulas: Sequence[Formula],
    reason: str,
) -> Iterator[Sums | pl.DataFrame]:
    """Yields the numbers of each formula, one number per combination of keys.

    Args:
        table: one row per observation, with `n` and `left_out`: the numbers of its cases with
            and without a measurement. Missing values are null, never NaN.
        keys: columns that divide the table into parts, such as `bias_type`; empty for one part.
            With `options` among them, the rows and not the formulas have the options.
        factors: columns with the units of random factors, by factor; claims are over the first.
            The units of `template` are templates in their prompt formats if there are several.
        formulas: the measures.
        reason: the reason of numbers without a value, unless their formula has its own.
    """
    all_sums = sum_formulas(table, keys, factors, formulas)
    for formula, sums in zip(formulas, all_sums, strict=True):
        yield from known_numbers(sums, formula.reason or reason)


def sum_formulas(
    table: pl.DataFrame,
    keys: Sequence[str],
    factors: Mapping[str, str],
    formulas: Sequence[Formula],
) -> Iterator[Sums]:
    """Yields the sums of each formula, one number per combination of keys; some have no value.

    Args:
        table: see `evaluate_formulas`.
        keys: see `evaluate_formulas`.
        factors: see `evaluate_formulas`.
        formulas: the measures.
    """
    part_keys, part = parts_by_keys(table, keys)
    parts = len(part_keys)
    units = {factor: units_of_rows(table, column) for factor, column in factors.items()}
    for formula in formulas:
        # As a key, the options of rows tell variants of a measure apart.
        options = pl.col("options") if "options" in keys else formula.measure_options
        n, left_out, terms = evaluate_rows(table, formula)
        along = {}
        for factor, (unit, labels) in units.items():
            sums = sum_by_unit(terms, part, parts, unit, len(labels))
            along[factor] = Along(labels, sums)
        counts = {"n": n, "left_out": left_out}
        totals = {}
        for name, count in counts.items():
            of_parts = np.bincount(part, count, minlength=parts)
            totals[name] = pl.Series(of_parts).cast(pl.Int64)
        numbers = Sums(
            part_keys.with_columns(**totals),
            along,
            finish=formula.finish,
            interval=choose_interval(formula, terms),
            test=formula.test,
            fair=formula.fair,
            compares_models=formula.compares_models,
            is_input=formula.is_input,
        )
        yield numbers.named(formula.measure, options)


def units_of_rows(table: pl.DataFrame, column: str) -> Units:
    """Returns the units of rows that a column names; see `evaluate_formulas`."""
    if column == "template":
        return index_templates(template_units(table))
    return places_of_units(table[column])


def choose_interval(formula: Formula, terms: FloatArray) -> IntervalMethod:
    """Returns the kind of interval of a formula.

    Args:
        formula: the formula.
        terms: shape (terms, rows), its terms, 0 in rows that are not measured.
    """
    # Every other term is a count. Rows that are not measured are 0, as a share may be.
    if formula.share_interval and are_shares(terms[0::2]):
        return formula.share_interval
    return formula.interval


def evaluate_rows(
    table: pl.DataFrame,
    formula: Formula,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Returns `n` and `left_out` of each row, shape (rows,), and its terms, (terms, rows)."""
    cases = pl.col("n") + pl.col("left_out")
    columns = [
        pl.when(formula.where).then(formula.n).alias("measured"),
        pl.when(formula.where).then(cases).alias("cases"),
    ]
    for position, term in enumerate(formula.terms):
        columns.append(term.alias(f"term {position}"))
    # A comparison with a missing score is null, neither true nor false. Scores must be null and
    # not NaN for that: polars takes NaN for larger than any number, so NaN > 0 is true.
    numbers = table.select(columns).cast(pl.Float64).fill_null(0)
    n, total, *terms = numbers.to_numpy().T
    measured_terms = np.where(n > 0, terms, 0.0)
    return n, total - n, measured_terms


def sum_by_unit(
    terms: FloatArray,
    part: IntArray,
    parts: int,
    unit: IntArray,
    units: int,
) -> FloatArray:
    """Adds up terms by part and unit.

    Args:
        terms: shape (terms, rows).
        part: shape (rows,), the part of each row.
        parts: the number of parts.
        unit: shape (rows,), the unit of each row.
        units: the number of units.

    Returns:
        Shape (parts, units, terms).
    """
    place = part * units + unit
    # `bincount` adds in the order of rows, so sums are the same to the last digit in every run.
    # A `group_by` of polars adds in chunks, whose number depends on the machine.
    sums = [np.bincount(place, term, minlength=parts * units) for term in terms]
    columns = np.stack(sums, axis=-1, dtype=np.float64)
    return columns.reshape(parts, units, len(terms))


def valueless(sums: Sums, which: BoolArray, reason: str) -> pl.DataFrame:
    """Returns rows of numbers that have no value, with the reason."""
    keys = sums.keys.filter(pl.Series(which))
    return keys.with_columns(value=pl.lit(None, pl.Float64), reason=pl.lit(reason))


def numbers_where(sums: Sums, which: BoolArray) -> Sums:
    """Returns some of the numbers of a kind."""
    along = {}
    for factor, (units, columns) in sums.along.items():
        along[factor] = Along(units, columns[which])
    return replace(sums, keys=sums.keys.filter(pl.Series(which)), along=along)


def known_numbers(sums: Sums, reason: str) -> tuple[pl.DataFrame, Sums]:
    """Returns rows of the numbers without a value, with the reason, and the other numbers."""
    has_value = ~np.isnan(sums.values)
    return valueless(sums, ~has_value, reason), numbers_where(sums, has_value)
