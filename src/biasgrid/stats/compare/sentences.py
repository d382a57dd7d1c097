"""Sentences about differences of two models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from biasgrid.stats.compare.results import Difference
from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.tables.claims.numbers import format_number
from biasgrid.tables.measures import rows_about_wholes


def measure_label(measure: str, measure_options: str, bias_type: str | None) -> str:
    """Returns a measure's name with its options and bias type, if it has any."""
    in_options = f" ({measure_options})" if measure_options else ""
    of_bias_type = f" of {bias_type}" if bias_type else ""
    return f"{measure}{in_options}{of_bias_type}"


def difference_sentences(
    difference: Difference, measures: Collection[tuple[str, str]]
) -> Iterator[str]:
    """Yields a sentence for each measure of whole cells and bias types.

    It is one sentence with the reason if none of them could be compared.

    Args:
        difference: two models on a dataset.
        measures: (name, options) pairs of the measures.
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
            f"{difference.dataset}: {difference.name} and {difference.other_name} are "
            f"not compared: {reason}"
        )
        return
    for row in wholes:
        name = measure_label(row["measure"], row["options"], row["bias_type"])
        yield f"{difference.dataset}, {name}: {difference_sentence(row, difference)}"


def difference_sentence(row: Mapping[str, Any], difference: Difference) -> str:
    """Describes a difference: which model has the larger value, if significant after correction.

    Args:
        row: a row of `COMPARISONS`.
        difference: both models, and the level.
    """
    name, other_name = difference.name, difference.other_name
    values = (
        f"{name} {format_number(row['value'])}, {other_name} {format_number(row['other_value'])}"
    )
    if row["low"] is None:
        return f"{values}; {row['reason'] or 'no interval'}: not distinguishable"
    ends = f"{format_number(row['low'])} to {format_number(row['high'])}"
    coverage = f"{100 * difference.level:g} %"
    interval = f"difference {format_number(row['difference'])}, {coverage} interval {ends}"
    if row["q"] is None or row["q"] > SIGNIFICANT:
        return f"not distinguishable ({values}; {interval})"
    place = "above" if row["difference"] > 0 else "below"
    return f"{name} is {place} {other_name} ({values}; {interval}, q {row['q']:.2g})"
