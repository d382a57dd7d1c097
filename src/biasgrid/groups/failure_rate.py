"""How often a case fails: the scores of its groups differ by more than a threshold (BiaXposer)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.groups.comparisons import MeanOfPairs, distances_of, each_group
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import EACH_CASE, Records
from biasgrid.groups.scores import score_records
from biasgrid.stats.clusters import index_templates, parse_units
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Sums, sum_units
from biasgrid.tables.metric import options_text

DIFFERENCE_DECIMALS = 12
DIFFERENCES = {
    "bias_type": pl.String,
    "case": pl.Int64,
    "template": pl.Int64,
    "mean": pl.Float64,
    "largest": pl.Float64,
}


def failure_rate(
    records: Records, thresholds: Sequence[float], compared: float
) -> Iterator[Sums | pl.DataFrame]:
    """Share of cases whose groups differ by more than a threshold (Gaci et al., ICSOC 2024), as a
    curve over several.

    A case fails where its difference is larger than the threshold, not where it is equal.

    Args:
        records: the records.
        thresholds: in the unit of the score, in [0, 1].
        compared: the threshold by which models are compared.

    Yields:
        For every bias type, difference ("mean" is the published one, or "largest") and threshold a
        number, and a row for each template. `n` counts the cases that have a difference, `left_out`
        those that have none.
    """
    differences = case_differences(records)
    template, templates = index_templates(differences["template"].to_numpy())
    limits = np.asarray(thresholds, dtype=np.float64)
    for bias_type in differences["bias_type"].unique(maintain_order=True):
        is_own = (differences["bias_type"] == bias_type).to_numpy()
        own_template = template[is_own]
        cases = np.bincount(own_template, minlength=len(templates))
        for name in ("mean", "largest"):
            apart = differences[name].to_numpy()[is_own]
            # Shape (thresholds, cases).
            fails = np.where(np.isnan(apart), np.nan, apart > limits[:, None])
            threshold_of = np.repeat(np.arange(len(limits)), len(apart))
            template_of = np.tile(own_template, len(limits))
            sums = sum_units(
                fails.ravel(),
                template_of,
                len(templates),
                numbers=threshold_of,
                number_count=len(limits),
            ).sums
            options = [options_text(difference=name, threshold=float(limit)) for limit in limits]
            along = Along(templates, sums)
            yield from rates_of(bias_type, options, along, cases, limits == compared)


def rates_of(
    bias_type: str, options: Sequence[str], along: Along, cases: IntArray, compared: BoolArray
) -> Iterator[Sums | pl.DataFrame]:
    """Yields failure rates of a bias type and of its templates.

    Args:
        bias_type: its name.
        options: those of each rate.
        along: how many cases fail, and how many there are, by template.
        cases: shape (templates,), how many cases there are, those without a difference included.
        compared: shape (rates,), by which of them models are compared.
    """
    n = along.sums[..., 1].sum(axis=1).astype(np.int64)
    keys = pl.DataFrame(
        {
            "measure": "failure_rate",
            "options": options,
            "bias_type": bias_type,
            "n": n,
            "left_out": cases.sum() - n,
        }
    )
    for is_compared in (True, False):
        chosen = compared == is_compared
        if chosen.any():
            own_keys = keys.filter(pl.Series(chosen))
            own_sums = {TEMPLATES: Along(along.units, along.sums[chosen])}
            yield Sums(own_keys, own_sums, interval="effective Wilson", compares_models=is_compared)
    templates, _ = parse_units(along.units)
    for template in np.unique(templates[cases > 0]).tolist():
        is_own = templates == template
        sums = along.sums[:, is_own].sum(axis=1)
        own_n = sums[:, 1].astype(np.int64)
        left_out = (cases[is_own].sum() - sums[:, 1]).astype(np.int64)
        yield keys.with_columns(
            template=pl.lit(template, pl.UInt16),
            value=pl.Series(MEAN(sums)).fill_nan(None),
            n=pl.Series(own_n),
            left_out=pl.Series(left_out),
            reason=pl.lit("one template"),
        )


def case_differences(records: Records) -> pl.DataFrame:
    """Computes how much the groups' scores differ in each case.

    With s_g the mean score of the identity terms of group g: `mean` is the mean of |s_i - s_j| over
    all pairs of groups, as published, `largest` the largest of them. For two groups they are the
    same; for more the mean hides a single group that is treated unlike the others.

    Returns:
        A row per bias type and case with the columns `DIFFERENCES`; `mean` and `largest` are NaN
        for a case with fewer than two groups (0 in BiaXposer, as if they were compared and the
        same).
    """
    scored = score_records(records, MAIN_SCORES[records.outputs.sort])
    units = records.units(EACH_CASE)
    distances = distances_of(scored, units.only(scored.defined), "absolute")
    mean = MeanOfPairs(len(units.bias_type))
    largest = np.full(len(units.bias_type), np.nan)
    for _, to_later in each_group(distances):
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
