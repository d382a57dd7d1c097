"""Measures that several families have: how answers ended. `measures.yaml` describes them.

What was refused, not understood or cut short is an outcome of its own: how often it happens to
groups is compared with interval and test, and where groups differ, a flag of the cell says so. A
family yields the differences as `Sums` of the interval "difference of shares" (sum and count of the
one group, sum and count of the other), under the names in `OUTCOME_DIFFERENCES`; the rest is done
for all families alike by `with_outcomes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.families.formulas import ONE, share
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
from biasgrid.stats.estimate import estimate
from biasgrid.stats.multiplicity import is_significant
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums, mean
from biasgrid.tables.key_columns import KEYS
from biasgrid.tables.measures import rows_about_wholes
from biasgrid.tables.metric import REFUSALS_DIFFER

NOT_READ = "undetected"
"""All outcomes but `ANSWERED`."""
REASONS_WITHOUT_ANSWER = {
    "refused": REFUSED,
    "cut_short": CUT,
    "empty": EMPTY,
    "asks_back": ASKS_BACK,
    "contradictory": CONTRADICTION,
    "several_named": SEVERAL,
    "other_answer": NO_OPTION,
}
"""The outcome of answers that could not be read, by the measure of their share of all answers."""


def has_outcome(outcome: str) -> pl.Expr:
    """Whether the answer of each row, whose column `outcome` has its outcome, ended in a way.

    Args:
        outcome: one of `readers.reading.OUTCOMES`, or `NOT_READ`.
    """
    ended = pl.col("outcome").cast(pl.String)
    return ended != ANSWERED if outcome == NOT_READ else ended == outcome


OUTCOME_FORMULAS = {
    name: share(name, has_outcome(outcome), n=ONE)
    for name, outcome in {"coverage": ANSWERED, **REASONS_WITHOUT_ANSWER}.items()
}
"""Shares of all answers that ended in a way, by measure."""
OUTCOME_DIFFERENCES = {
    "refused_difference": REFUSED,
    "undetected_difference": NOT_READ,
    "cut_short_difference": CUT,
}
"""The outcome that each difference of two groups compares, by measure: its share among the answers
about one group less its share among those about another.
"""
WORDS_FOR_DIFFERENCES = {
    "refused_difference": "refuses {} more",
    "undetected_difference": "leaves {} without an answer more often",
    "cut_short_difference": "is cut short for {} more often",
}
"""How a significant difference is told, by its measure."""
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
        rate, other_rate = self.rates
        return abs(rate - other_rate)

    @property
    def told(self) -> str:
        """The difference in words, such as `refuses women more: 0.75 against 0.00`."""
        first = 0 if self.rates[0] >= self.rates[1] else 1
        more, less = self.rates[first], self.rates[1 - first]
        words = WORDS_FOR_DIFFERENCES[self.measure].format(self.sides[first])
        return f"{words}: {more:.2f} against {less:.2f}"


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
    bias_types = {*rows_about_wholes(estimates)["bias_type"]}
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
    if measure not in WORDS_FOR_DIFFERENCES or not count:
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


def row_of_largest(row: pl.DataFrame, difference_count: int) -> pl.DataFrame:
    """Returns the row of the largest of some differences as a row of a whole cell.

    Args:
        row: its estimate.
        difference_count: the number of differences, by which p is multiplied (Bonferroni).
    """
    keys = null_columns([key for key in KEYS_OF_DIFFERENCES if key != "bias_type"])
    # They are of this difference among others of its kind, and say nothing of a whole cell.
    unknown = dict.fromkeys(("q", "holm", "selected_low", "selected_high"))
    p = (pl.col("p") * difference_count).clip(upper_bound=1)
    return row.with_columns(*keys, p=p, **unknown)


def null_columns(column_names: Iterable[str]) -> list[pl.Expr]:
    """Returns columns of texts that are null everywhere."""
    return [pl.lit(None, pl.String).alias(name) for name in column_names]


def refusals_differ(largest: Sequence[OutcomeDifference]) -> pl.DataFrame:
    """Size of the largest significant difference between groups in unread answers, else 0.

    Answers may be unread because they were refused, nothing was found, or they were cut short.

    Args:
        largest: of each kind the largest.

    Returns:
        A row of measures, whose `flag` says which it is, and whose p is that of the difference.
    """
    is_found = is_significant("p").fill_null(value=False)
    significant = [difference for difference in largest if difference.row.select(is_found).item()]
    # What is refused is often counted as not found, too: of equal differences the first measure in
    # this order is told.
    order = list(OUTCOME_DIFFERENCES)
    ranked = sorted(significant, key=lambda difference: order.index(difference.measure))
    strongest = max(ranked, key=lambda difference: round(difference.size, DECIMALS), default=None)
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
