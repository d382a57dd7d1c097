"""How often a case fails: the scores of its groups differ by more than a threshold (BiaXposer)."""

from __future__ import annotations

import numpy as np
import polars as pl

from biasgrid.groups.comparisons import MeanOfPairs, by_group, distances_of
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import EACH_CASE, Records
from biasgrid.groups.scores import score_records

DIFFERENCE_DECIMALS = 12
DIFFERENCES = {
    "bias_type": pl.String,
    "case": pl.Int64,
    "template": pl.Int64,
    "mean": pl.Float64,
    "largest": pl.Float64,
}


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
