"""Measures that several families have: how answers ended. `measures.yaml` describes them.

What was refused, not understood or cut short is an outcome of its own: how often it happens to
groups is compared with interval and test, and where groups differ, a flag of the cell says so. A
family yields the differences as `Sums` of the interval "difference of shares" (sum and count of the
one group, sum and count of the other), named by the functions here; the rest is done for all
families alike by `with_outcomes`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.readers.reading import (
    ANSWERED,
    ASKS_BACK,
    CONTRADICTION,
    CUT,
    EMPTY,
    NO_OPTION,
    REFUSED,
    SEVERAL,
)
from biasgrid.stats.clusters import parse_units
from biasgrid.stats.estimate import estimate
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Finish, IntervalMethod, Sums, mean
from biasgrid.tables.key_columns import KEYS
from biasgrid.tables.measures import of_wholes
from biasgrid.tables.metric import REFUSALS_DIFFER

Numbers = TypeVar("Numbers")
ShareOfOutcome = Callable[[str], Numbers]
"""Makes the share of answers that ended in some way, as the family counts them."""


def coverage(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers in which something was found / answers; of swap groups with four such answers."""
    return share_of(ANSWERED)


def refused(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers in which the model declines, and in which nothing else was found / answers."""
    return share_of(REFUSED)


def cut_short(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers that reached the maximum length before they committed to anything / answers."""
    return share_of(CUT)


def empty(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers without text / answers."""
    return share_of(EMPTY)


def asks_back(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers that ask a question in place of an answer / answers."""
    return share_of(ASKS_BACK)


def contradictory(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers whose letter and text are different options / answers."""
    return share_of(CONTRADICTION)


def several_named(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers that name several options and choose none / answers."""
    return share_of(SEVERAL)


def other_answer(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers that say something else than was asked / answers."""
    return share_of(NO_OPTION)


WITHOUT_ANSWER = (refused, cut_short, empty, asks_back, contradictory, several_named, other_answer)
"""The shares of answers that could not be read, by the reason."""
NOT_READ = "undetected"
"""All answers that could not be read, for whatever reason."""


def cut_by_scorer(share_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers of which a scorer or encoder read only the beginning / answers."""
    return share_of("truncated")


def refused_difference(difference_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Refused answers about one group / answers about it - the same of another group."""
    return difference_of(REFUSED)


def undetected_difference(difference_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers about one group without a finding / answers about it - the same of another group."""
    return difference_of(NOT_READ)


def cut_short_difference(difference_of: ShareOfOutcome[Numbers]) -> Numbers:
    """Answers about one group cut before they committed / answers about it - another group's."""
    return difference_of(CUT)


OUTCOME_DIFFERENCES = (refused_difference, undetected_difference, cut_short_difference)
TOLD = {
    refused_difference.__name__: "refuses {} more",
    undetected_difference.__name__: "leaves {} without an answer more often",
    cut_short_difference.__name__: "is cut short for {} more often",
}
"""How a significant difference is told, by its measure."""
NOTHING_FOUND = "nothing is significant"
DECIMALS = 12
"""Differences that are the same but for rounding are equal."""
KEYS_OF_DIFFERENCES = [key.name for key in KEYS if key.aspect != "how"]
"""Keys that rows of differences of outcomes may have."""


class OutcomeDifference(NamedTuple):
    """The difference of outcomes between groups that is the largest of its kind.

    Attributes:
        row: its estimate, with an interval that holds for all of its kind at once (Bonferroni), and
            p accordingly.
        measure: the measure of the difference.
        sides: both groups.
        rates: how often the outcome happens to them.
        happened: whether it happens to any group of the kind.
    """

    row: pl.DataFrame
    measure: str
    sides: tuple[str, str]
    rates: tuple[float, float]
    happened: bool

    @property
    def size(self) -> float:
        """The absolute difference of both rates."""
        one, other = self.rates
        return abs(one - other)

    @property
    def told(self) -> str:
        """The difference in words, such as `refuses women more: 0.75 against 0.00`."""
        first = 0 if self.rates[0] >= self.rates[1] else 1
        more, less = self.rates[first], self.rates[1 - first]
        return f"{TOLD[self.measure].format(self.sides[first])}: {more:.2f} against {less:.2f}"


def with_outcomes(
    estimates: pl.DataFrame, parts: Sequence[Sums], settings: StatisticsSettings
) -> pl.DataFrame:
    """Adds rows for the whole cell of the outcomes that differ between groups.

    Args:
        estimates: those of the cell.
        parts: its sums, those of `OUTCOME_DIFFERENCES` among them.
        settings: clusters, level and ranges.

    Returns:
        The estimates; of outcomes that there are rows of the same measures without groups, of the
        pair that differs most; and one of `refusals_differ`, the size of the largest significant
        difference, 0 where there is none.
    """
    largest = []
    for part in parts:
        difference = largest_difference(part, settings)
        if difference is not None:
            largest.append(difference)
    if not largest:
        return estimates
    bias_types = {*of_wholes(estimates)["bias_type"]}
    rows = []
    for difference in largest:
        if difference.happened:
            row = difference.row
            # A bias type without other numbers of its own is that of the whole cell.
            is_type = row["bias_type"][0] in bias_types
            rows.append(row if is_type else row.with_columns(bias_type=None))
    return pl.concat([estimates, *rows, refusals_differ(largest)], how="diagonal_relaxed")


def largest_difference(part: Sums, settings: StatisticsSettings) -> OutcomeDifference | None:
    """Returns the largest difference of outcomes of a kind.

    None if the sums are no differences of outcomes, or none of them has a value.
    """
    measure = str(part.keys["measure"][0]) if len(part.keys) else ""
    values = part.values
    count = int(np.isfinite(values).sum())
    if measure not in TOLD or not count:
        return None
    number = int(np.nanargmax(np.abs(values)))
    # All of a kind are estimated, since their variances may borrow from each other.
    rows = estimate([part], settings._replace(level=1 - settings.alpha / count))
    absent = [key for key in KEYS_OF_DIFFERENCES if key not in rows.columns]
    claims = rows.filter("is_claim").with_columns(null_columns(absent))
    row = claims[number]
    keys = row.row(0, named=True)
    group = keys["group"] or keys["subject_group"] or keys["subject"]
    sides = str(group), str(keys["other"] or f"others than {group}")
    first, second = mean(part.totals[number].reshape(2, 2))
    return OutcomeDifference(
        row_of_largest(row, count),
        measure,
        sides,
        (float(first), float(second)),
        happened=bool(part.totals[:, 0::2].any()),
    )


def row_of_largest(row: pl.DataFrame, count: int) -> pl.DataFrame:
    """Returns the row of the largest of some differences as a row of a whole cell.

    Args:
        row: its estimate.
        count: the number of differences, by which p is multiplied (Bonferroni).
    """
    keys = null_columns([key for key in KEYS_OF_DIFFERENCES if key != "bias_type"])
    # They are of this difference among others of its kind, and say nothing of a whole cell.
    unknown = dict.fromkeys(("q", "holm", "selected_low", "selected_high"))
    p = (pl.col("p") * count).clip(upper_bound=1)
    return row.with_columns(*keys, p=p, **unknown)


def null_columns(names: Iterable[str]) -> list[pl.Expr]:
    """Returns columns of texts that are null everywhere."""
    return [pl.lit(None, pl.String).alias(name) for name in names]


def refusals_differ(largest: Sequence[OutcomeDifference]) -> pl.DataFrame:
    """Size of the largest significant difference between groups in unread answers, else 0.

    Answers may be unread because they were refused, nothing was found, or they were cut short.

    Args:
        largest: of each kind the largest.

    Returns:
        A row of measures, whose `flag` says which it is, and whose p is that of the difference.
    """
    is_found = is_significant("p").fill_null(value=False)
    significant = [each for each in largest if each.row.select(is_found).item()]
    # What is refused is often counted as not found, too: of equal differences the first of `TOLD`
    # is told.
    order = list(TOLD)
    ranked = sorted(significant, key=lambda each: order.index(each.measure))
    strongest = max(ranked, key=lambda each: round(each.size, DECIMALS), default=None)
    row = {
        "measure": REFUSALS_DIFFER,
        "options": "",
        "value": 0.0,
        "n": len(largest),
        "left_out": 0,
        "flag": None,
        "p": None,
    }
    if strongest is not None:
        p = strongest.row["p"].item()
        row |= {"value": strongest.size, "flag": strongest.told, "p": p}
    types = {"flag": pl.String, "p": pl.Float64}
    table = pl.DataFrame([row], schema_overrides=types)
    return table.with_columns(is_claim=pl.lit(value=True))


def has_outcome(outcomes: pl.Series, outcome: str) -> BoolArray:
    """Returns whether answers ended in a way, shape (answers,).

    The way is one of `readers.reading.OUTCOMES`, or `NOT_READ`.
    """
    texts = outcomes.cast(pl.String)
    ended = texts != ANSWERED if outcome == NOT_READ else texts == outcome
    return ended.to_numpy()


def parts_by_keys(table: pl.DataFrame, names: Sequence[str]) -> tuple[pl.DataFrame, IntArray]:
    """Divides rows by some of their keys; without any they are one part.

    Returns:
        What each part is about, and the part of each row.
    """
    if not names:
        return pl.DataFrame({"options": [""]}), np.zeros(len(table), dtype=np.int64)
    rows = table.select(names)
    keys = rows.unique(maintain_order=True)
    numbered = keys.with_row_index("number")
    numbers = rows.join(numbered, on=names, nulls_equal=True, maintain_order="left")["number"]
    return keys, numbers.to_numpy().astype(np.int64)


Units = tuple[IntArray, Sequence[str]]
"""The place of each row's unit among those that there are, shape (rows,), and the names of
these.
"""


def places_of_units(column: pl.Series) -> Units:
    """Returns the units of rows that a column names."""
    units, place = np.unique(column.to_numpy(), return_inverse=True)
    return place.astype(np.int64), [str(unit) for unit in units.tolist()]


@dataclass(frozen=True)
class PartRows:
    """Rows of observations, such as answers or pairs, in the parts of a cell that they belong to.

    Attributes:
        keys: the keys of each part.
        number: shape (rows,), the part of each row.
        units: by factor the units of the rows.
        is_measured: shape (rows,), which rows are measured, as most numbers need.
    """

    keys: pl.DataFrame
    number: IntArray
    units: Mapping[str, Units]
    is_measured: BoolArray

    @property
    def everything(self) -> BoolArray:
        """All rows, for numbers that are about each of them."""
        return np.ones(len(self.number), dtype=np.bool_)

    def numbers(
        self,
        concerned: BoolArray,
        columns: Sequence[FloatArray | BoolArray],
        finish: Finish,
        interval: IntervalMethod,
        counted: BoolArray | None = None,
    ) -> Sums:
        """Returns a number of each part.

        Args:
            concerned: shape (rows,), which rows they are about.
            columns: each of shape (rows,), the terms that add up in each unit.
            finish: makes the numbers.
            interval: how their intervals are made.
            counted: which of the rows are `n`, those that are measured where it is None; the others
                are left out.
        """
        is_counted = concerned & (self.is_measured if counted is None else counted)
        weights = [np.where(is_counted, column, 0).astype(np.float64) for column in columns]
        along = {factor: self.sums_along(factor, weights) for factor in self.units}
        parts = len(self.keys)
        n = np.bincount(self.number, is_counted, minlength=parts)
        total = np.bincount(self.number, concerned, minlength=parts)
        keys = self.keys.with_columns(
            n=pl.Series(n).cast(pl.Int64),
            left_out=pl.Series(total - n).cast(pl.Int64),
        )
        return Sums(keys, along, finish, interval)

    def sums_along(self, factor: str, columns: Sequence[FloatArray]) -> Along:
        """Returns columns of rows added up by part and unit of a factor."""
        unit, names = self.units[factor]
        parts, units = len(self.keys), len(names)
        place = self.number * units + unit
        # `bincount` adds in the order of rows, so sums are the same to the last digit in every run.
        added = [np.bincount(place, column, minlength=parts * units) for column in columns]
        sums = np.stack(added, axis=-1).reshape(parts, units, len(columns))
        return Along(names, sums.astype(np.float64))

    def share(
        self, concerned: BoolArray, holds: BoolArray, counted: BoolArray | None = None
    ) -> Sums:
        """Returns the share of rows of each part that meet a condition; see `numbers`."""
        return self.numbers(concerned, [holds, self.everything], MEAN, "effective Wilson", counted)


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


def prompt_sign(parts: Iterable[Sums], settings: StatisticsSettings) -> pl.DataFrame:
    """Numbers significant with both signs, in several formats / numbers significant in any.

    Within a format numbers are tested over clusters, and q is of those of a kind.

    Args:
        parts: the numbers of a cell that are tested.
        settings: clusters and level.

    Returns:
        A row of measures; none where there are not several formats.
    """
    has_several_formats = False
    significant = contrary = 0
    for part in parts:
        _, formats = parse_units(part.along[TEMPLATES].units)
        if not any(formats):
            continue
        has_several_formats = True
        signs = signs_in_formats(part, settings)
        is_above, is_below = (signs > 0).any(axis=0), (signs < 0).any(axis=0)
        significant += int((is_above | is_below).sum())
        contrary += int((is_above & is_below).sum())
    if not has_several_formats:
        return pl.DataFrame()
    row = {
        "measure": prompt_sign.__name__,
        "options": "",
        "n": significant,
        "left_out": 0,
        "flag": f"{contrary} of {significant}",
    }
    if significant:
        row["value"] = contrary / significant
    else:
        row |= {"value": None, "reason": NOTHING_FOUND}
    table = pl.DataFrame([row], schema_overrides={"value": pl.Float64})
    return table.with_columns(is_claim=pl.lit(value=True))


def signs_in_formats(part: Sums, settings: StatisticsSettings) -> FloatArray:
    """Returns the sign of each number in each prompt format where it is significant, else 0.

    Args:
        part: numbers along templates, each in its format.
        settings: clusters and level.

    Returns:
        Shape (formats, numbers).
    """
    units, sums = part.along[TEMPLATES]
    templates, formats = parse_units(units)
    is_found = is_significant().fill_null(value=False)
    signs = []
    for name in dict.fromkeys(formats):
        own = np.flatnonzero(np.array(formats) == name)
        names = [str(template) for template in templates[own].tolist()]
        alone = replace(part, along={TEMPLATES: Along(names, sums[:, own])})
        rows = estimate([alone], settings)
        difference = rows["value"].fill_null(np.nan).to_numpy() - part.fair
        signs.append(np.where(rows.select(is_found).to_series(), np.sign(difference), 0))
    return np.array(signs, dtype=np.float64)
