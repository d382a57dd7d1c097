"""How numbers are written for readers: three significant digits, and intervals within the range of
their measure.
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
"""Nearer to 0 or 1, nothing is said of a p but that."""
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
"""What is said of a number whose interval is wider than half of its range."""
RANGES: Mapping[str, tuple[float, float]] = {
    "probability": (0, 1),
    "share": (0, 1),
    "difference": (-1, 1),
    "correlation": (-1, 1),
    "similarity": (-1, 1),
    "distance": (0, inf),
    "count": (0, inf),
}
"""Between what the numbers of a unit are; those of others may be any."""
ANY_RANGE = (-inf, inf)
CORRECTED = "_corrected"
"""How the names of measures end from which the part of noise is taken off."""
NOT_POSITIVE = ("similarity",)
"""Measures that are corrected for noise, though noise does not put them above 0."""
HELD_OUT = "_held_out"
"""How the names of sizes end that are measured where they were not chosen."""
SIZE_SUFFIXES = (CORRECTED, "strength", "largest_gap")
"""How measures end that are sizes without noise: below 0 they say no more than 0."""


def format_number(value: float | None) -> str:
    """Returns a number with three significant digits, such as `0.0123`, `0.700`, `12.3` or `1,234`;
    a dash for none.
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
    """Returns a p or q with two significant digits, such as `= 0.59`; near 0 and 1 only on which
    side it is.
    """
    if p < SMALLEST_P:
        return f"< {SMALLEST_P}"
    return f"> {LARGEST_P}" if p > LARGEST_P else f"= {p:.{shared_decimals([p], 2)}f}"


def shared_decimals(values: Iterable[float], digits: int = 3) -> int:
    """Returns how many decimals give the largest of some numbers its significant digits.

    The numbers are read together.
    """
    largest = max((abs(value) for value in values), default=0)
    if not largest >= ZERO:
        return 0
    # The exponent of the rounded number: 0.09996 is 0.100.
    _, _, exponent = f"{largest:.{digits - 1}e}".partition("e")
    return max(digits - 1 - int(exponent), 0)


def with_minus(text: str) -> str:
    """Puts real minus signs before numbers, and writes powers of ten with raised digits in place of
    `e-07`.
    """
    raised = EXPONENT.sub(
        lambda power: f" {TIMES} 10{(power[1] + power[2]).translate(SUPERSCRIPTS)}", text
    )
    return raised.replace("-", "\N{MINUS SIGN}")


def number_in_words(
    template: str, value: float, rate: float | None = None, other_rate: float | None = None
) -> str:
    """Puts a number into words.

    An example is `77 of 100 pairs prefer the stereotype, where 50 would be fair`.

    Args:
        template: see `Measure.in_words`.
        value: a share or a difference of shares or, for `{near_half}`, log odds.
        rate: of a difference of two groups the rate of the first, a share; None where the template
            does not name it.
        other_rate: the rate of the second.
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
    """Returns whether a measure is a size from which the part of noise is taken off, so that 0 is
    its least.
    """
    return measure.endswith(SIZE_SUFFIXES)


def signed_fair_values(measures: Mapping[str, Measure]) -> dict[str, float]:
    """Returns the value of equal treatment of each measure whose numbers may lie on both sides of
    it.

    Sizes are none of these, even where noise may put them below 0: those without the part of noise,
    those from which it is taken off, and those that are held out.

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
    """Returns the least and the largest value that the numbers of a measure may have."""
    return measure.range or RANGES.get(measure.unit, ANY_RANGE)


def display_range(measure: str, within: tuple[float, float]) -> tuple[float, float]:
    """Returns between what the numbers of a measure are shown: sizes from 0 on, others as they may
    be.
    """
    return (0.0 if is_size(measure) else within[0]), within[1]


class FormattedNumber(NamedTuple):
    """A number in words.

    Attributes:
        value: the number.
        interval: its interval, or `at most` with its upper end, empty where there is none.
        says_little: whether its interval is wider than half of the measure's range.
    """

    value: str
    interval: str
    says_little: bool


def format_estimate(
    row: Mapping[str, Any], within: tuple[float, float] = ANY_RANGE, between: str = " to "
) -> FormattedNumber:
    """Writes a number with its interval, whose ends are cut to the range of the measure.

    Args:
        row: `measure`, `value`, `low` and `high`.
        within: the least and the largest value of the measure; sizes (see `is_size`) begin at 0.
        between: what stands between both ends.
    """
    measure, value = row["measure"], row["value"]
    least, most = display_range(measure, within)
    shown = max(value, least) if value is not None and is_size(measure) else value
    if row["low"] is None or row["high"] is None:
        return FormattedNumber(format_number(shown), "", says_little=False)
    low = min(max(row["low"], least), most)
    high = min(max(row["high"], least), most)
    # A range without an end has no half.
    says_little = high - low > (most - least) / 2
    interval = f"{format_number(low)}{between}{format_number(high)}"
    if value is not None and value < least:
        # Noise made a size negative: only its upper end says something.
        interval = f"at most {format_number(high)}"
    return FormattedNumber(format_number(shown), interval, says_little)
