"""What may be said of two models, in sentences: no more than the intervals of their differences allow."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from biasgrid.stats.compare.results import Difference
from biasgrid.stats.compare.sentences import measure_named, number
from biasgrid.tables.measures import MEASURE_KEYS
from biasgrid.tables.statistics import SIGNIFICANT

OF_PARTS = tuple(key for key in MEASURE_KEYS if key != "bias_type")


def sentences(found: Difference, measures: Collection[tuple[str, str]]) -> Iterator[str]:
    """Yields a sentence for each measure of whole cells and bias types.

    Args:
        found: two models on a dataset.
        measures: names and options of the measures.
    """
    wholes = [
        row
        for row in found.rows.iter_rows(named=True)
        if (row["measure"], row["options"]) in measures and all(row[key] is None for key in OF_PARTS)
    ]
    if not any(row["difference"] is not None for row in wholes):
        reasons = [row["reason"] for row in wholes if row["reason"]]
        yield f"{found.dataset}: {found.one} and {found.other} are not compared: {(reasons or ['nothing measured'])[0]}"
        return
    for row in wholes:
        name = measure_named(row["measure"], row["options"], row["bias_type"])
        yield f"{found.dataset}, {name}: {told(row, found)}"


def told(row: Mapping[str, Any], found: Difference) -> str:
    """Words a difference: which model has the larger value where the two are distinguishable after correction."""
    values = f"{found.one} {number(row['value'])}, {found.other} {number(row['other_value'])}"
    if row["low"] is None:
        return f"{values}; {row['reason'] or 'no interval'}: not distinguishable"
    ends = f"{number(row['low'])} to {number(row['high'])}"
    interval = f"difference {number(row['difference'])}, {100 * found.level:g} % interval {ends}"
    if row["q"] is None or row["q"] > SIGNIFICANT:
        return f"not distinguishable ({values}; {interval})"
    place = "above" if row["difference"] > 0 else "below"
    return f"{found.one} is {place} {found.other} ({values}; {interval}, q {row['q']:.2g})"
