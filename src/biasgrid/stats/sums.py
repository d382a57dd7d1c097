"""Sums over the units of random factors, and the functions that make numbers of them.

A number is a function of sums: over clusters of templates, names, attributes, items or prompts.
What it is without one of these units is the same function of the sums less those of the unit, so
values, intervals, tests and comparisons of models are all made of the same sums.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from enum import StrEnum
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray, divide
from biasgrid.base.references import load, stage_module
from biasgrid.stats.clusters import cluster_positions, parse_units
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.sums import SUMS, UNIT_SEPARATOR

IntervalMethod = Literal[
    "unit",
    "t",
    "moderated t",
    "effective Wilson",
    "difference of shares",
    "share of two",
    "mean share of two",
    "largest",
    "none",
]
"""The kind of interval over the first factor.

`unit`: Wilson's if the unit of the measure is a share, else t. `largest`: of the largest of several
candidates. The three kinds of shares are explained in `noise.random_factors`.
"""


class SignificanceTest(StrEnum):
    """How the numbers of a measure are tested against their value of equal treatment.

    The values are those of the column `test` of `SUMS`.

    Attributes:
        NONE: they are not tested.
        UNCORRECTED: each is tested alone; `p` is its result.
        CORRECTED: all numbers of one `Sums` are corrected together for multiple tests; `q` is
            their result.
    """

    NONE = ""
    UNCORRECTED = "p"
    CORRECTED = "q"


TEMPLATES = "templates"
"""The factor of templates. `Sums.clustered` joins its units into clusters, and makes a factor
`PROMPT_FORMATS` if there are several formats.
"""
PROMPT_FORMATS = "formats"
"""The factor of prompt formats, which `Sums.clustered` makes of the units of `TEMPLATES`."""
PAIR_OF_LISTS = "terms"
"""The factor of terms in differences of two lists of terms. Its columns are sum and count of a term
in the first list, then in the second.
"""


Function = Callable[[FloatArray], FloatArray]
"""Computes numbers of shape (...) from sums of shape (..., columns), NaN if they are undefined."""


class Candidate(NamedTuple):
    """A number that competes with others for being the largest, which is what is reported.

    Attributes:
        function: computes the number from the same sums as the others.
        by_size: whether its absolute value competes.
    """

    function: Function
    by_size: bool = True


class Finish(NamedTuple):
    """A function that computes numbers from sums.

    Attributes:
        name: the name of the function in tables of sums, by which it is found again.
        function: computes the numbers.
        candidates: if the number is the largest of several, these; else empty.
    """

    name: str
    function: Function
    candidates: Sequence[Candidate] = ()

    def __call__(self, sums: FloatArray) -> FloatArray:
        """Computes the numbers."""
        return self.function(sums)


def mean(sums: FloatArray) -> FloatArray:
    """Returns sum / count, shape (...), NaN for a count of 0.

    Args:
        sums: shape (..., 2), sum and count.
    """
    return divide(sums[..., 0], sums[..., 1])


def mean_difference(sums: FloatArray) -> FloatArray:
    """Returns the first mean minus the second, shape (...).

    Args:
        sums: shape (..., 4), sum and count of the first part, then of the second.
    """
    return mean(sums[..., :2]) - mean(sums[..., 2:])


def column_total(sums: FloatArray) -> FloatArray:
    """Returns the first column of sums, shape (...)."""
    return sums[..., 0]


MEAN, DIFFERENCE, TOTAL = (
    Finish("mean", mean),
    Finish("difference", mean_difference),
    Finish("total", column_total),
)
RECOMPUTED = Finish("recomputed", column_total)
"""Numbers that were computed again without each unit, see `noise.jackknife.recompute_measures`.

The columns of a unit are not sums: they are the number without the unit, and 1 if the number has
anything of it. The number itself is the column `value` of the keys.
"""
SHARED_FINISHES = {finish.name: finish for finish in (MEAN, DIFFERENCE, TOTAL, RECOMPUTED)}


NO_UNIT = "0"
"""The name of a unit that no number has anything of. A number, as names of templates are."""


class Along(NamedTuple):
    """Sums over the units of a factor.

    Attributes:
        units: the names of the units. A template is named by its number, or by number and format,
            see `clusters.unit_name`.
        sums: shape (numbers, units, columns); all columns 0 if a number has nothing of a unit.
    """

    units: Sequence[str]
    sums: FloatArray

    @property
    def present(self) -> BoolArray:
        """Whether a number has anything of a unit, shape (numbers, units)."""
        return np.asarray((np.nan_to_num(self.sums, nan=1) != 0).any(axis=-1))


@dataclass(frozen=True)
class Sums:
    """Numbers of one measure and set of keys.

    Their variances borrow from each other, and their tests are corrected together.

    Attributes:
        keys: one row per number: `measure` (the same in all rows), `options`, keys of `MEASURES`,
            `n` and `left_out`. Optional: `cases`, the number of independent cases of a rate if
            fewer than `n`; `low` and `high`, if the family computes intervals itself.
        along: for each factor the sums over its units, with the numbers in the order of `keys`. The
            first factor is the one over which models are compared.
        finish: computes the numbers.
        interval: the kind of interval.
        test: whether and how they are tested.
        fair: the value of equal treatment, from which tests, bounds and detectable effects measure.
        generalises_to_all_factors: whether the reported interval is over all factors, names
            included; else it is over the first factor and prompt formats.
        compares_models: whether models are compared by them.
        is_input: whether they are only an input of other numbers, and no measure.
    """

    keys: pl.DataFrame
    along: Mapping[str, Along]
    _: KW_ONLY
    finish: Finish = MEAN
    interval: IntervalMethod = "unit"
    test: SignificanceTest = SignificanceTest.NONE
    fair: float = 0.0
    generalises_to_all_factors: bool = False
    compares_models: bool = True
    is_input: bool = False

    @property
    def is_tested(self) -> bool:
        """Whether the numbers are tested at all."""
        return self.test is not SignificanceTest.NONE

    @property
    def measure(self) -> str:
        """The measure, empty if there are no numbers."""
        return str(self.keys["measure"][0]) if len(self.keys) else ""

    @property
    def factor(self) -> str:
        """The first factor."""
        return next(iter(self.along))

    @property
    def totals(self) -> FloatArray:
        """The sums over all units, shape (numbers, columns)."""
        return np.asarray(self.along[self.factor].sums.sum(axis=1))

    @property
    def values(self) -> FloatArray:
        """The numbers, shape (numbers,), NaN if they are undefined."""
        if self.finish.name == RECOMPUTED.name:
            return np.asarray(self.keys["value"].cast(pl.Float64).fill_null(np.nan).to_numpy())
        return self.finish(self.totals)

    @property
    def without(self) -> FloatArray:
        """The numbers without each unit of the first factor, shape (numbers, units); see
        `leave_one_out`.
        """
        along = self.along[self.factor]
        if self.finish.name == RECOMPUTED.name:
            return only_defined(np.where(along.present, along.sums[..., 0], np.nan), along.present)
        return leave_one_out(along.sums, self.totals, self.finish.function)

    def named(self, measure: str, measure_options: str | pl.Expr = "") -> Sums:
        """Returns the same numbers under a name.

        Args:
            measure: the measure.
            measure_options: its options, or an expression over the keys for those of each number.
        """
        text = pl.lit(measure_options) if isinstance(measure_options, str) else measure_options
        keys = self.keys.with_columns(measure=pl.lit(measure), options=text)
        return replace(self, keys=keys)

    def clustered(self, clusters: Sequence[int]) -> Sums:
        """Returns the same numbers with templates joined into clusters, and along prompt formats.

        Formats are a factor if there are several.

        Args:
            clusters: the cluster of each template, by number.
        """
        if self.factor != TEMPLATES:
            return self
        units, sums = self.along[TEMPLATES]
        templates, formats = parse_units(units)
        cluster_of = cluster_positions(templates, clusters)
        names = {}
        for cluster, template in zip(cluster_of.tolist(), templates.tolist(), strict=True):
            names[cluster] = cluster_name(template, clusters)
        cluster_names = [names[cluster] for cluster in range(len(names))]
        along = {**self.along, TEMPLATES: Along(cluster_names, add_up(sums, cluster_of))}
        if any(formats):
            format_names = sorted({*formats}, key=int)
            format_of = np.array([format_names.index(name) for name in formats])
            along[PROMPT_FORMATS] = Along(format_names, add_up(sums, format_of))
        return replace(self, along=along)


def add_up(sums: FloatArray, place: IntArray) -> FloatArray:
    """Adds up the sums of units that are joined, shape (numbers, joined units, columns).

    Args:
        sums: shape (numbers, units, columns).
        place: shape (units,), the position of the joined unit that each unit belongs to, from 0.
    """
    joined_count = int(place.max(initial=-1)) + 1
    joined = np.zeros((len(sums), joined_count, sums.shape[2]))
    # One after the other, so that sums are the same to the last digit in every run.
    for unit, position in enumerate(place.tolist()):
        joined[:, position] += sums[:, unit]
    return joined


def cluster_name(template: int, clusters: Sequence[int]) -> str:
    """Names the cluster of a template, or the template if it is a cluster of its own.

    Args:
        template: the number of the template.
        clusters: the cluster of each template; templates beyond it are clusters of their own.
    """
    return str(clusters[template]) if template < len(clusters) else f"template {template}"


def leave_one_out(sums: FloatArray, totals: FloatArray, finish: Function) -> FloatArray:
    """Returns numbers without each unit, shape (..., units).

    A unit that a number has nothing of is NaN. All units are NaN for a number that is undefined
    without one of its units: a jackknife of the other units would be too narrow.

    Args:
        sums: shape (..., units, columns).
        totals: shape (..., columns). Not the sums over units if units share what is added up, as
            two names share a comparison.
        finish: computes the numbers.
    """
    has = (sums != 0).any(axis=-1)
    without = np.where(has, finish(totals[..., None, :] - sums), np.nan)
    return only_defined(without, has)


def only_defined(without: FloatArray, has: BoolArray) -> FloatArray:
    """Returns numbers without each unit, all NaN for a number that is undefined without one.

    Args:
        without: shape (..., units), NaN if undefined.
        has: shape (..., units), whether a number has anything of a unit.
    """
    undefined = (has & np.isnan(without)).any(axis=-1, keepdims=True)
    return np.where(undefined, np.nan, without)


def nullable(values: FloatArray) -> pl.Series:
    """Returns numbers as a column with null for NaN, which polars takes for the largest number."""
    return pl.Series(np.asarray(values, dtype=np.float64)).fill_nan(None)


def sum_units(
    values: FloatArray,
    units: IntArray,
    unit_count: int,
    *,
    numbers: IntArray | None = None,
    number_count: int = 1,
) -> Along:
    """Adds up values by number and unit, for means.

    Args:
        values: shape (values,), NaN if there is none.
        units: shape (values,), the unit of each value, from 0.
        unit_count: the number of units.
        numbers: shape (values,), the number that each value belongs to, from 0; None if there is
            one number.
        number_count: how many numbers there are.

    Returns:
        Sum and count. A unit is named by its position.
    """
    known = ~np.isnan(values)
    place = units[known] if numbers is None else numbers[known] * unit_count + units[known]
    cells = number_count * unit_count
    sums = np.bincount(place, values[known], minlength=cells)
    counts = np.bincount(place, minlength=cells).astype(np.float64)
    columns = np.stack([sums, counts], axis=-1).reshape(number_count, unit_count, 2)
    return Along([str(unit) for unit in range(unit_count)], columns)


def sums_table(parts: Iterable[Sums | pl.DataFrame]) -> pl.DataFrame:
    """Returns numbers as rows of `SUMS`, without model and dataset.

    Args:
        parts: sums, and tables of numbers that are not made of any: columns of `MEASURES` that
            these have.
    """
    empty = empty_table(SUMS).drop("model", "dataset")
    tables = [empty]
    for kind, part in enumerate(parts):
        if isinstance(part, pl.DataFrame):
            own_tables = [part] if len(part) else []
        else:
            own_tables = list(factor_rows(part)) if len(part.keys) else []
        tables += [table.with_columns(kind=pl.lit(kind, pl.Int64)) for table in own_tables]
    # Categories of several tables cannot be joined.
    as_texts = [table.cast({pl.Categorical: pl.String}) for table in tables]
    return pl.concat(as_texts, how="diagonal_relaxed").cast(empty.schema).select(empty.columns)


def factor_rows(part: Sums) -> Iterator[pl.DataFrame]:
    """Yields the rows of each factor."""
    settings = {
        column: pl.lit(getattr(part, attribute)) for attribute, column in STORED_SETTINGS.items()
    }
    for factor, along in part.along.items():
        units, sums = with_a_unit(along)
        width = sums.shape[1] * sums.shape[2]
        flat = pl.Series(sums.reshape(len(sums), width), dtype=pl.Array(pl.Float64, width))
        yield part.keys.with_columns(
            factor=pl.lit(factor),
            finish=pl.lit(part.finish.name),
            **settings,
            units=pl.lit(UNIT_SEPARATOR.join(units)),
            sums=flat.arr.to_list(),
        )


def with_a_unit(along: Along) -> Along:
    """Returns sums that have at least one unit: `NO_UNIT`, of which no number has anything.

    Names of units are joined into one text in the table, and an empty text is a unit without a
    name. There are no units if no answer counts, as with decisions whose probabilities are 0 or 1.
    """
    if len(along.units):
        return along
    number_count, _, columns = along.sums.shape
    return Along([NO_UNIT], np.zeros((number_count, 1, columns)))


STORED_SETTINGS = {
    "interval": "interval",
    "test": "test",
    "fair": "fair",
    "generalises_to_all_factors": "claims_all",
    "compares_models": "compared",
    "is_input": "is_input",
}
"""Attributes of `Sums` that their table keeps, and the columns that they are in."""
SUMS_KEY_COLUMNS = (
    "measure",
    "options",
    *MEASURE_KEYS,
    "value",
    "n",
    "left_out",
    "cases",
    "low",
    "high",
)


def read_sums(
    table: pl.DataFrame, finishes: Mapping[str, Finish]
) -> tuple[list[Sums], pl.DataFrame]:
    """Reads a table of `sums_table`.

    Args:
        table: rows of `SUMS`.
        finishes: those that a family has beside `SHARED_FINISHES`, by name.

    Returns:
        The sums, and the rows of numbers that are not made of any.
    """
    all_finishes = {**SHARED_FINISHES, **finishes}
    parts = []
    for _, kind in table.drop_nulls("factor").group_by("kind", maintain_order=True):
        along = {}
        for (factor,), rows in kind.group_by("factor", maintain_order=True):
            units = str(rows["units"][0]).split(UNIT_SEPARATOR)
            flat = rows["sums"].explode().fill_null(np.nan).to_numpy()
            along[str(factor)] = Along(units, flat.reshape(len(rows), len(units), -1))
        # Each factor has a row for each number, with the same keys.
        keys = kind.filter(factor=next(iter(along))).select(SUMS_KEY_COLUMNS)
        row = kind.row(0, named=True)
        settings = {attribute: row[column] for attribute, column in STORED_SETTINGS.items()}
        settings["test"] = SignificanceTest(row["test"])
        parts.append(Sums(keys, along, finish=all_finishes[row["finish"]], **settings))
    return parts, table.filter(pl.col("factor").is_null())


def read_cell_sums(
    family: str, table: pl.DataFrame, measure_options: Mapping[str, Any]
) -> tuple[list[Sums], pl.DataFrame]:
    """Reads the sums of a cell, with the functions that its family makes numbers with; see
    `read_sums`.

    Args:
        family: the reference of the dataset's family, whose module `measures` may have `finishes`.
        table: rows of `SUMS`.
        measure_options: what decides the measures.
    """
    finishes = getattr(load(stage_module(family, "measures")), "finishes", None)
    return read_sums(table, finishes(measure_options) if finishes else {})


def values_table(parts: Iterable[Sums | pl.DataFrame]) -> pl.DataFrame:
    """Returns the values of numbers without their intervals.

    The columns are `measure`, `options`, keys, `value`, `n` and `left_out`.

    Args:
        parts: sums, and tables of numbers that are not made of any.
    """
    tables = []
    for part in parts:
        if isinstance(part, pl.DataFrame):
            tables.append(part)
        elif not part.is_input:
            tables.append(part.keys.with_columns(value=pl.Series(part.values).fill_nan(None)))
    if not tables:
        return pl.DataFrame()
    return pl.concat([table for table in tables if len(table)], how="diagonal_relaxed")


def find_sums(sums: Iterable[Sums], measure: str, *, keys: Collection[str]) -> Sums:
    """Returns the sums of a measure whose numbers have exactly these keys, in any order.

    A number has a key if the key's column is not null in all rows. Sums without numbers
    are skipped.

    Raises:
        KeyError: no sums have this measure and these keys.
    """
    for part in sums:
        if part.measure != measure:
            continue
        part_keys = set()
        for key in MEASURE_KEYS:
            if key in part.keys.columns and part.keys[key].null_count() < len(part.keys):
                part_keys.add(key)
        if part_keys == {*keys}:
            return part
    raise KeyError(measure, *keys)
