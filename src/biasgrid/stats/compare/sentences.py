"""Sentences about differences of two models, and how numbers and measures are written in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from biasgrid.stats.compare.results import Difference
from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.tables.claims.numbers import format_number
from biasgrid.tables.measures import MEASURE_KEYS


def measure_named(measure: str, options: str, bias_type: str | None) -> str:
    """Names a measure with its options and bias type, where it has any."""
    return f"{measure}{f' ({options})' if options else ''}{f' of {bias_type}' if bias_type else ''}"


OF_PARTS = tuple(key for key in MEASURE_KEYS if key != "bias_type")


def difference_sentences(found: Difference, measures: Collection[tuple[str, str]]) -> Iterator[str]:
    """Yields a sentence for each measure of whole cells and bias types.

    Args:
        found: two models on a dataset.
        measures: names and options of the measures.
    """
    wholes = [
        row
        for row in found.rows.iter_rows(named=True)
        if (row["measure"], row["options"]) in measures
        and all(row[key] is None for key in OF_PARTS)
    ]
    if not any(row["difference"] is not None for row in wholes):
        reasons = [row["reason"] for row in wholes if row["reason"]]
        yield (
            f"{found.dataset}: {found.one} and {found.other} are "
            f"not compared: {(reasons or ['nothing measured'])[0]}"
        )
        return
    for row in wholes:
        name = measure_named(row["measure"], row["options"], row["bias_type"])
        yield f"{found.dataset}, {name}: {difference_sentence(row, found)}"


def difference_sentence(row: Mapping[str, Any], found: Difference) -> str:
    """Words a difference: which model has the larger value where the two are distinguishable after
    correction.
    """
    values = (
        f"{found.one} {format_number(row['value'])}, {found.other} "
        f"{format_number(row['other_value'])}"
    )
    if row["low"] is None:
        return f"{values}; {row['reason'] or 'no interval'}: not distinguishable"
    ends = f"{format_number(row['low'])} to {format_number(row['high'])}"
    interval = (
        f"difference {format_number(row['difference'])}, {100 * found.level:g} % interval {ends}"
    )
    if row["q"] is None or row["q"] > SIGNIFICANT:
        return f"not distinguishable ({values}; {interval})"
    place = "above" if row["difference"] > 0 else "below"
    return f"{found.one} is {place} {found.other} ({values}; {interval}, q {row['q']:.2g})"
