"""The failure rate: how often the scores of the groups of a case differ by more than a threshold
(BiaXposer).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.groups.comparisons import MeanOfPairs, list_distances, make_distances
from biasgrid.groups.main_scores import MAIN_SCORES
from biasgrid.groups.records import EACH_CASE, Records
from biasgrid.groups.scores import score_records
from biasgrid.stats.clusters import index_templates, parse_units
from biasgrid.stats.sums import MEAN, TEMPLATES, Along, Sums, sum_units
from biasgrid.tables.metric import options_text

DIFFERENCE_DECIMALS = 12
"""A difference of 0.2 with a rounding error must not exceed a threshold of 0.2."""
DIFFERENCES = {
    "bias_type": pl.String,
    "case": pl.Int64,
    "template": pl.Int64,
    "mean": pl.Float64,
    "largest": pl.Float64,
}


def failure_rate(
    records: Records, thresholds: Sequence[float], *, headline_threshold: float
) -> Iterator[Sums | pl.DataFrame]:
    """Share of cases whose groups differ by more than a threshold (Gaci et al., ICSOC 2024), as a
    curve over several thresholds.

    A case fails if its difference is larger than the threshold, not if they are equal.

    Args:
        records: the records.
        thresholds: in the unit of the score, in [0, 1].
        headline_threshold: one of `thresholds`, by which models are compared.

    Yields:
        For each bias type and difference (first "mean", as published, then "largest") the numbers
        of `failure_rates`, one per threshold.

    Raises:
        ValueError: the headline threshold is not among the thresholds.
    """
    if headline_threshold not in thresholds:
        raise ValueError(f"the threshold {headline_threshold} is not among {list(thresholds)}")
    differences = case_differences(records)
    template, templates = index_templates(differences["template"].to_numpy())
    limits = np.asarray(thresholds, dtype=np.float64)
    for bias_type in differences["bias_type"].unique(maintain_order=True):
        is_own = (differences["bias_type"] == bias_type).to_numpy()
        own_template = template[is_own]
        case_counts = np.bincount(own_template, minlength=len(templates))
        for difference in ("mean", "largest"):
            values = differences[difference].to_numpy()[is_own]
            # Shape (thresholds, cases).
            fails = np.where(np.isnan(values), np.nan, values > limits[:, None])
            position = np.repeat(np.arange(len(limits)), len(values))
            tiled_template = np.tile(own_template, len(limits))
            sums = sum_units(
                fails.ravel(),
                tiled_template,
                len(templates),
                numbers=position,
                number_count=len(limits),
            ).sums
            option_texts = []
            for limit in limits:
                option_texts.append(options_text(difference=difference, threshold=float(limit)))
            yield from failure_rates(
                bias_type,
                option_texts,
                Along(templates, sums),
                case_counts=case_counts,
                is_headline=limits == headline_threshold,
            )


def failure_rates(
    bias_type: str,
    measure_options: Sequence[str],
    along: Along,
    *,
    case_counts: IntArray,
    is_headline: BoolArray,
) -> Iterator[Sums | pl.DataFrame]:
    """Yields failure rates of a bias type and of its templates.

    Args:
        bias_type: its name.
        measure_options: the options of each rate.
        along: by template unit (a template in a prompt format), shape (rates, units, 2), how many
            cases fail, and how many have a difference.
        case_counts: shape (units,), how many cases there are, those without a difference
            included.
        is_headline: shape (rates,), whether models are compared by the rate.

    Yields:
        The rates as sums, first those by which models are compared, then the others, if there are
        any. Then for each template with cases, in any prompt format, a table of its rates, without
        intervals. `n` counts the cases that have a difference, `left_out` those that have none.
    """
    n = along.sums[..., 1].sum(axis=1).astype(np.int64)
    keys = pl.DataFrame(
        {
            "measure": "failure_rate",
            "options": measure_options,
            "bias_type": bias_type,
            "n": n,
            "left_out": case_counts.sum() - n,
        }
    )
    for compares_models in (True, False):
        is_own = is_headline == compares_models
        if is_own.any():
            own_keys = keys.filter(pl.Series(is_own))
            own_sums = {TEMPLATES: Along(along.units, along.sums[is_own])}
            yield Sums(
                own_keys, own_sums, interval="effective Wilson", compares_models=compares_models
            )
    # A template has a unit for each prompt format.
    templates, _ = parse_units(along.units)
    for template in np.unique(templates[case_counts > 0]).tolist():
        is_own = templates == template
        sums = along.sums[:, is_own].sum(axis=1)
        own_n = sums[:, 1].astype(np.int64)
        left_out = (case_counts[is_own].sum() - sums[:, 1]).astype(np.int64)
        yield keys.with_columns(
            template=pl.lit(template, pl.UInt16),
            value=pl.Series(MEAN(sums)).fill_nan(None),
            n=pl.Series(own_n),
            left_out=pl.Series(left_out),
            reason=pl.lit("one template"),
        )


def case_differences(records: Records) -> pl.DataFrame:
    """Computes how much the groups' main scores differ in each case.

    With s_g the mean score of the identity terms of group g: `mean` is the mean of |s_i - s_j| over
    all pairs of groups, as published, `largest` the largest of them. For two groups they are the
    same; for more the mean hides a single group that is treated unlike the others.

    Returns:
        A row per bias type and case with the columns `DIFFERENCES`; `mean` and `largest` are NaN,
        not null, for a case with fewer than two groups (0 in BiaXposer, as if they were compared
        and the same).
    """
    scores = score_records(records, MAIN_SCORES[records.outputs.output_type])
    units = records.units(EACH_CASE)
    distances = make_distances(scores, units.only(scores.is_defined), "absolute")
    mean = MeanOfPairs(distances.unit_count)
    largest = np.full(distances.unit_count, np.nan)
    for row in list_distances(distances):
        mean.add(row.to_later)
        # `fmax` ignores NaN, so units that lack a group keep the largest of the others.
        largest = np.fmax(largest, np.fmax.reduce(row.to_later, axis=0))
    columns = {
        "bias_type": [records.bias_types[code] for code in units.bias_type],
        "case": records.case[units.first_record],
        "template": records.template[units.first_record],
        "mean": mean.values().round(DIFFERENCE_DECIMALS),
        "largest": largest.round(DIFFERENCE_DECIMALS),
    }
    return pl.DataFrame(columns, schema_overrides=DIFFERENCES)
