"""Numbers as readers see them: three significant digits, and intervals within the range of their
measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from math import exp, inf, isnan
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from biasgrid.tables.metric import Measure

NO_NUMBER = "-"
SMALLEST_P, LARGEST_P = 0.001, 0.99
"""A p nearer to 0 or 1 is written as `< 0.001` or `> 0.99`."""
ZERO = 1e-9
"""Smaller numbers are 0 but for rounding."""
SMALLEST_FIXED = 1e-4
"""Smaller numbers are written with an exponent."""
EXPONENT = re.compile(r"(?<=\d)e(-?)\+?0*(\d+)")
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
TIMES = "\N{MULTIPLICATION SIGN}"
LARGEST_FRACTION = 999.5
"""From here on, three digits have no fraction."""
TOO_LITTLE = "too little asked to say"
"""The text for a number whose interval is wider than half of its range."""
RANGES: Mapping[str, tuple[float, float]] = {
    "probability": (0, 1),
    "share": (0, 1),
    "difference": (-1, 1),
    "correlation": (-1, 1),
    "similarity": (-1, 1),
    "distance": (0, inf),
    "count": (0, inf),
}
"""The range of values by unit. Units that are absent are unbounded."""
ANY_RANGE = (-inf, inf)
CORRECTED = "_corrected"
"""The ending of measures that are corrected for noise."""
NOT_POSITIVE = ("similarity",)
"""Measures that have a corrected measure although noise does not put them above 0."""
HELD_OUT = "_held_out"
"""The ending of sizes that are measured in other cases than those that chose their numbers."""
SIZE_SUFFIXES = (CORRECTED, "strength", "largest_gap")
"""The endings of measures that are sizes corrected for noise. Below 0 they mean the same as 0."""


def format_number(value: float | None) -> str:
    """Returns a number with three significant digits, such as `0.0123`, `0.700`, `12.3` or `1,234`.

    None and NaN become `NO_NUMBER`.
    """
    if value is None or isnan(value):
        return NO_NUMBER
    if abs(value) < ZERO:
        return "0"
    if abs(value) >= LARGEST_FRACTION:
        return f"{value:,.0f}"
    return (
        f"{value:.2e}" if abs(value) < SMALLEST_FIXED else f"{value:.{shared_decimals([value])}f}"
    )


def format_p(p: float) -> str:
    """Returns a p or q with its sign: `= 0.59` (two significant digits), `< 0.001` or `> 0.99`."""
    if p < SMALLEST_P:
        return f"< {SMALLEST_P}"
    return f"> {LARGEST_P}" if p > LARGEST_P else f"= {p:.{shared_decimals([p], 2)}f}"


def shared_decimals(values: Iterable[float], digits: int = 3) -> int:
    """Returns the number of decimals that gives the largest of some numbers its significant digits.

    Numbers that are read together have the same number of decimals.
    """
    largest = max((abs(value) for value in values), default=0)
    if not largest >= ZERO:
        return 0
    # The exponent of the rounded number: 0.09996 is 0.100.
    _, _, exponent = f"{largest:.{digits - 1}e}".partition("e")
    return max(digits - 1 - int(exponent), 0)


def with_minus(text: str) -> str:
    """Replaces hyphens by minus signs, and exponents such as `e-07` by powers of ten."""
    with_powers = EXPONENT.sub(
        lambda power: f" {TIMES} 10{(power[1] + power[2]).translate(SUPERSCRIPTS)}", text
    )
    return with_powers.replace("-", "\N{MINUS SIGN}")


def number_in_words(
    template: str, value: float, rate: float | None = None, other_rate: float | None = None
) -> str:
    """Puts a number into words.

    An example is `77 of 100 pairs prefer the stereotype, where 50 would be fair`.

    Args:
        template: see `Measure.in_words`.
        value: a share or a difference of shares or, for `{near_half}`, log odds.
        rate: for a difference of two groups, the rate of the first group, a share; it may be None
            if the template does not name it.
        other_rate: the rate of the second group, likewise.
    """
    # Near one half, log odds move a share by as many points in either direction.
    share_of_odds = 1 / (1 + exp(-abs(value)))
    numbers = {
        "points": 100 * abs(value),
        "percent": 100 * value,
        "half": 50 + 50 * value,
        "near_half": 100 * (share_of_odds - 0.5),
    }
    if rate is not None:
        numbers["rate"] = 100 * rate
    if other_rate is not None:
        numbers["other_rate"] = 100 * other_rate
    texts = {name: format_number(number) for name, number in numbers.items()}
    return template.format(**texts)


def is_size(measure: str) -> bool:
    """Whether a measure is a size that is corrected for noise, so that values below 0 mean 0."""
    return measure.endswith(SIZE_SUFFIXES)


def signed_fair_values(measures: Mapping[str, Measure]) -> dict[str, float]:
    """Returns the value of equal treatment by measure, for numbers that may be on both sides of it.

    Sizes are left out, even if noise may put them below 0: those corrected for noise, those that
    have a corrected measure, and those that are held out.

    Args:
        measures: all measures of a dataset, by name.
    """
    fair = {}
    for name, measure in measures.items():
        least, most = measure_range(measure)
        is_any_size = is_size(name) or f"{name}{CORRECTED}" in measures or name.endswith(HELD_OUT)
        if measure.fair is not None and least < measure.fair < most and not is_any_size:
            fair[name] = measure.fair
    return fair


def measure_range(measure: Measure) -> tuple[float, float]:
    """Returns the least and the largest possible value of a measure; infinite for an open end."""
    return measure.range or RANGES.get(measure.unit, ANY_RANGE)


def display_range(measure: str, value_range: tuple[float, float]) -> tuple[float, float]:
    """Returns the range in which numbers of a measure are shown: sizes begin at 0.

    Args:
        measure: its name.
        value_range: its least and its largest possible value.
    """
    least, most = value_range
    return (0.0 if is_size(measure) else least), most


class FormattedNumber(NamedTuple):
    """A number in words.

    Attributes:
        value: the number.
        interval: its interval, or `at most` with its upper end; "" if there is none.
        says_little: whether its interval is wider than half of the measure's range.
    """

    value: str
    interval: str
    says_little: bool


def format_estimate(
    row: Mapping[str, Any], value_range: tuple[float, float] = ANY_RANGE, separator: str = " to "
) -> FormattedNumber:
    """Writes a number with its interval, whose ends are cut to the range of the measure.

    Args:
        row: `measure`, `value`, `low` and `high`, which may be None.
        value_range: the least and the largest possible value of the measure; sizes begin at 0.
        separator: the text between both ends.
    """
    measure, value = row["measure"], row["value"]
    least, most = display_range(measure, value_range)
    display_value = value
    if value is not None and is_size(measure):
        display_value = max(value, least)
    if row["low"] is None or row["high"] is None:
        return FormattedNumber(format_number(display_value), "", says_little=False)
    low = min(max(row["low"], least), most)
    high = min(max(row["high"], least), most)
    # A range without an end has no half.
    says_little = high - low > (most - least) / 2
    interval = f"{format_number(low)}{separator}{format_number(high)}"
    if value is not None and value < least:
        # Noise made a size negative: only its upper end is informative.
        interval = f"at most {format_number(high)}"
    return FormattedNumber(format_number(display_value), interval, says_little)
