"""Sentences about differences of two models, and how numbers and measures are written in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from biasgrid.stats.compare.results import Difference
from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.tables.claims.numbers import format_number
from biasgrid.tables.measures import rows_about_wholes


def measure_named(measure: str, measure_options: str, bias_type: str | None) -> str:
    """Names a measure with its options and bias type, where it has any."""
    in_options = f" ({measure_options})" if measure_options else ""
    of_bias_type = f" of {bias_type}" if bias_type else ""
    return f"{measure}{in_options}{of_bias_type}"


def difference_sentences(
    difference: Difference, measures: Collection[tuple[str, str]]
) -> Iterator[str]:
    """Yields a sentence for each measure of whole cells and bias types.

    Args:
        difference: two models on a dataset.
        measures: names and options of the measures.
    """
    wholes = [
        row
        for row in rows_about_wholes(difference.rows).to_dicts()
        if (row["measure"], row["options"]) in measures
    ]
    if all(row["difference"] is None for row in wholes):
        reasons = [row["reason"] for row in wholes if row["reason"]]
        reason = reasons[0] if reasons else "nothing measured"
        yield (
            f"{difference.dataset}: {difference.one} and {difference.other} are "
            f"not compared: {reason}"
        )
        return
    for row in wholes:
        name = measure_named(row["measure"], row["options"], row["bias_type"])
        yield f"{difference.dataset}, {name}: {difference_sentence(row, difference)}"


def difference_sentence(row: Mapping[str, Any], difference: Difference) -> str:
    """Words a difference: the model with the larger value, if significant after correction.

    Args:
        row: a row of `COMPARISONS`.
        difference: both models, and the level.
    """
    one, other = difference.one, difference.other
    values = f"{one} {format_number(row['value'])}, {other} {format_number(row['other_value'])}"
    if row["low"] is None:
        return f"{values}; {row['reason'] or 'no interval'}: not distinguishable"
    ends = f"{format_number(row['low'])} to {format_number(row['high'])}"
    coverage = f"{100 * difference.level:g} %"
    interval = f"difference {format_number(row['difference'])}, {coverage} interval {ends}"
    if row["q"] is None or row["q"] > SIGNIFICANT:
        return f"not distinguishable ({values}; {interval})"
    place = "above" if row["difference"] > 0 else "below"
    return f"{one} is {place} {other} ({values}; {interval}, q {row['q']:.2g})"
