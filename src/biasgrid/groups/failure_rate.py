"""How often a case fails: the scores of its groups differ by more than a threshold (BiaXposer)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.groups.comparisons import MeanOfPairs, by_group, distances_of
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import EACH_CASE, Records
from biasgrid.groups.scores import score_records
from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.metric import options_text

DIFFERENCE_DECIMALS = 12
DIFFERENCES = {
    "bias_type": pl.String,
    "case": pl.Int64,
    "template": pl.Int64,
    "mean": pl.Float64,
    "largest": pl.Float64,
}
FAILURE_COLUMNS = ("measure", "options", "bias_type", "template", "value", "n", "left_out")
RATES = {name: empty_table(MEASURES).schema[name] for name in FAILURE_COLUMNS}


def case_differences(records: Records) -> pl.DataFrame:
    """Computes how much the groups' scores differ in each case.

    With s_g the mean score of the identity terms of group g: `mean` is the mean of |s_i - s_j| over all pairs of
    groups, as published, `largest` the largest of them. For two groups they are the same; for more the mean hides a
    single group that is treated unlike the others.

    Returns:
        A row per bias type and case with the columns `DIFFERENCES`; `mean` and `largest` are NaN for a case with
        fewer than two groups (0 in BiaXposer, as if they were compared and the same).
    """
    scored = score_records(records, MAIN_SCORES[records.outputs.sort])
    units = records.units(EACH_CASE)
    distances = distances_of(scored, units.only(scored.defined), "absolute")
    largest, mean = np.full(len(units.bias_type), np.nan), MeanOfPairs(len(units.bias_type))
    for _, to_later in by_group(distances):
        mean.add(to_later)
        largest = np.fmax(largest, np.fmax.reduce(to_later, axis=0))
    columns = {
        "bias_type": [records.bias_types[code] for code in units.bias_type],
        "case": records.case[units.first_record],
        "template": records.template[units.first_record],
        # What is 0.2 but for rounding is not larger than 0.2.
        "mean": mean.values().round(DIFFERENCE_DECIMALS),
        "largest": largest.round(DIFFERENCE_DECIMALS),
    }
    return pl.DataFrame(columns, schema_overrides=DIFFERENCES)


def failure_rates(differences: pl.DataFrame, thresholds: Sequence[float]) -> pl.DataFrame:
    """Computes the share of cases that fail, at one threshold or as a curve over several.

    A case fails where its difference is larger than the threshold, not where it is equal.

    Args:
        differences: from `case_differences`.
        thresholds: in the unit of the score, in [0, 1].

    Returns:
        The columns `RATES`: for every bias type, difference ("mean" is the published one, or "largest") and threshold a
        row of `failure_rate` per template, and one with null as `template` for all of them. `n` counts the cases that
        have a difference, `left_out` those that have none; `value` is null where n is 0.
    """
    return pl.DataFrame(list(rates(differences, np.asarray(thresholds, dtype=np.float64))), schema=RATES)


def rates(differences: pl.DataFrame, thresholds: np.ndarray[Any, np.dtype[np.float64]]) -> Iterator[dict[str, Any]]:
    """Yields the rows of `failure_rates`."""
    whole = differences.with_columns(template=pl.lit(None, pl.Int64))
    parts = pl.concat([whole, differences]).group_by("bias_type", "template", maintain_order=True)
    for (bias_type, template), cases in parts:
        for difference in ("mean", "largest"):
            found = np.sort(cases[difference].drop_nans().to_numpy())
            failing = len(found) - np.searchsorted(found, thresholds, side="right")
            for threshold, count in zip(thresholds, failing, strict=True):
                yield {
                    "measure": "failure_rate",
                    "options": options_text(difference=difference, threshold=float(threshold)),
                    "bias_type": bias_type,
                    "template": template,
                    "value": count / len(found) if len(found) else None,
                    "n": len(found),
                    "left_out": len(cases) - len(found),
                }
