"""The control as the null: what words without any meaning do is one more source of variance.

In a model that has read text no two phrases are quite alike, so that significance against 0 says
little. Where a dataset has a control, the size of the control's numbers of the same kind joins what
makes the dataset's numbers vary: what is significant then is larger than what a control's number
could be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import FloatArray
from biasgrid.stats.intervals import VarianceSource, half_width, interval_ends, p_values
from biasgrid.stats.multiplicity import (
    SIGNIFICANT,
    false_discovery_rates,
    holm,
    selected_ends,
    simultaneous_bounds,
)
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import nullable
from biasgrid.stats.verdicts.counts import is_association, tested_key
from biasgrid.tables.key_columns import GROUP_PAIR, KEY_NAMED, all_known, claimed_keys

SIZE_KEYS = ["measure", "options", "about"]
"""The columns by which numbers of a dataset and of its control are of one kind. `about` has the
name of the key that a test is about, such as `group`; see `tested_key`.
"""
SIZE_COLUMNS = {**dict.fromkeys(SIZE_KEYS, pl.String), "variance": pl.Float64, "df": pl.Float64}
FEWEST_OF_CONTROL = 5
"""Of fewer free numbers of a control too little is known to be a null: any number of the dataset
could be as large.
"""
WITH_CONTROL = "combined with the control"
"""The method of intervals that have the control's size in them."""


def source_columns(
    values: FloatArray, own: Sequence[VarianceSource], shared: Sequence[VarianceSource], fair: float
) -> dict[str, pl.Series]:
    """Returns the variances of numbers as columns, for `beyond_control`.

    Args:
        values: shape (numbers,), around which their intervals lie.
        own: what makes each of them vary.
        shared: what all of them share, a gain.
        fair: see `Sums.fair`.

    Returns:
        `centre`; `fair`; `variances` and `dfs`, lists of what is in `own` and then in `shared`; and
        `own`, the length of `own`.
    """
    sources = [*own, *shared]
    lists = pl.Array(pl.Float64, len(sources))
    variances = np.stack([source.variance for source in sources], axis=1)
    dfs = np.stack([source.df for source in sources], axis=1).astype(np.float64)
    return {
        "centre": pl.Series(values),
        "fair": pl.Series(np.full(len(values), fair)),
        "variances": pl.Series(variances, dtype=lists).arr.to_list(),
        "dfs": pl.Series(dfs, dtype=lists).arr.to_list(),
        "own": pl.Series(np.full(len(values), len(own))),
    }


def corrected_columns(
    values: FloatArray,
    p: FloatArray,
    own: Sequence[VarianceSource],
    shared: Sequence[VarianceSource],
    within: tuple[float, float],
    settings: StatisticsSettings,
    fair: float,
) -> dict[str, pl.Series]:
    """Returns q, Holm's correction, bounds and selected intervals; null without a test.

    The tests are corrected together.

    Args:
        values: shape (numbers,), around which their intervals lie.
        p: of their tests; NaN is no test.
        own: what makes each of them vary.
        shared: what all of them share, a gain.
        within: between what they are.
        settings: level, and how false discoveries are controlled.
        fair: see `Sums.fair`; bounds are distances from it.
    """
    q = false_discovery_rates(p, settings.fdr)
    low, high = selected_ends(values, q, [*own, *shared], within, settings.alpha)
    bounds = simultaneous_bounds(values - fair, p, [*own], [*shared], settings.alpha)
    tests = int(np.count_nonzero(~np.isnan(q)))
    significant = int(np.count_nonzero(q <= SIGNIFICANT))
    size: FloatArray | float = np.nan
    if tests:
        # The level of a single test grows with how many are significant.
        level = SIGNIFICANT * max(significant, 1) / tests
        size = detectable_effect([*own], level)
    return {
        "q": nullable(q),
        "holm": nullable(holm(p)),
        "bound": nullable(bounds),
        "detectable": nullable(np.where(np.isnan(q), np.nan, size)),
        "selected_low": nullable(low),
        "selected_high": nullable(high),
    }


def control_sizes(estimates: pl.DataFrame) -> list[dict[str, Any]]:
    """Returns how large the numbers of a control are, free of noise, for `beyond_control`.

    Args:
        estimates: those of the control's cell, see `estimate.estimate`.

    Returns:
        For each kind of its tests `measure`, `options`, `about` (the key of `tested_key`);
        `variance`, the mean of the squared distance from the fair value less the mean of the
        variances, at least 0; and `df`, how many of the numbers are free, less 1: of the
        associations of an attribute all but one, of all pairs of some groups one less than there
        are groups. Kinds of fewer than `FEWEST_OF_CONTROL` free numbers are left out.
    """
    tests = tested_claims(estimates)
    if tests.is_empty():
        return []
    variance = pl.col("variances").list.sum()
    known = tests.with_columns(variance=variance).filter(pl.col("variance").is_finite())
    sizes = []
    for key, rows in known.group_by(SIZE_KEYS, maintain_order=True):
        free = free_numbers(rows)
        if free < FEWEST_OF_CONTROL:
            continue
        squares = (rows["value"] - rows["fair"]) ** 2
        noise_free = float((squares - rows["variance"]).mean() or 0)  # type: ignore[arg-type]
        names = dict(zip(SIZE_KEYS, key, strict=True))
        sizes.append(names | {"variance": max(noise_free, 0), "df": free - 1})
    return sizes


def free_numbers(rows: pl.DataFrame) -> int:
    """Returns how many of the numbers of a kind are free: the others follow from these."""
    key = KEY_NAMED[rows["about"][0]]
    if key.tested_as == "association":
        return len(rows) - rows.select("bias_type", key.tested_with).n_unique()
    groups = pl.concat([rows.select("bias_type", group=name) for name in GROUP_PAIR]).unique()
    return len(groups) - groups["bias_type"].n_unique()


def tested_claims(estimates: pl.DataFrame) -> pl.DataFrame:
    """Returns the claims with a q and variances: associations and differences of two groups.

    Returns:
        The columns of `estimates`, any missing key as null; `row`, the position in `estimates`; and
        `about`, see `SIZE_KEYS`. No columns at all if `estimates` has no variances or no q.
    """
    if not {"variances", "q"} <= {*estimates.columns}:
        return pl.DataFrame()
    missing = [name for name in claimed_keys() if name not in estimates.columns]
    no_keys = {name: pl.lit(None, pl.String) for name in missing}
    rows = estimates.with_row_index("row").with_columns(**no_keys)
    return rows.with_columns(about=tested_key()).filter(
        "is_claim",
        pl.col("q").is_not_null(),
        pl.col("variances").is_not_null(),
        is_association() | all_known(*GROUP_PAIR),
    )


def beyond_control(
    estimates: pl.DataFrame,
    controls: Mapping[str, Sequence[Mapping[str, Any]]],
    settings: StatisticsSettings,
) -> pl.DataFrame:
    """Adds the size of a cell's control to the noise of its tested numbers.

    Interval, p, q and bound have it in them.

    Args:
        estimates: see `estimate.estimate`.
        controls: by the name of each control what `control_sizes` returned; of several the largest
            size counts.
        settings: level, ranges, and how false discoveries are controlled.

    Returns:
        The estimates, with `control`, the name of the control that is in them; what was found
        against 0 has rows of its own, which are no claims.
    """
    no_control = pl.lit(None, pl.String)
    sizes = []
    for name, rows_of_control in controls.items():
        sizes += [{**row, "control": name} for row in rows_of_control]
    tests = tested_claims(estimates)
    if not sizes or tests.is_empty():
        return estimates.with_columns(control=no_control)
    known = pl.DataFrame(sizes, schema={**SIZE_COLUMNS, "control": pl.String})
    largest = known.sort("variance", descending=True).unique(
        SIZE_KEYS, keep="first", maintain_order=True
    )
    largest = largest.rename({"variance": "control_variance", "df": "control_df"})
    beside = tests.drop("control", strict=False).join(
        largest, on=SIZE_KEYS, how="inner", maintain_order="left"
    )
    numbered = estimates.with_row_index("row")
    is_beside = pl.col("row").is_in(beside["row"].implode())
    against_zero = numbered.with_columns(is_claim=pl.col("is_claim") & ~is_beside)
    tables = [against_zero.with_columns(control=no_control)]
    for _, rows in beside.group_by("kind", maintain_order=True):
        tables.append(with_control(rows, settings).select(tables[0].columns))
    return pl.concat(tables, how="vertical_relaxed").drop("row")


def with_control(rows: pl.DataFrame, settings: StatisticsSettings) -> pl.DataFrame:
    """Adds the variance of their control to the variances of numbers of a kind.

    Args:
        rows: tested claims with `control_variance` and `control_df`.
        settings: see `beyond_control`.
    """
    variances, dfs = (np.stack(rows[name].to_list()) for name in ("variances", "dfs"))
    sources = [VarianceSource(*columns) for columns in zip(variances.T, dfs.T, strict=True)]
    control = VarianceSource(rows["control_variance"].to_numpy(), rows["control_df"].to_numpy())
    own, shared = [*sources[: rows["own"][0]], control], sources[rows["own"][0] :]
    centre, fair = rows["centre"].to_numpy(), float(rows["fair"][0])
    within = settings.range_of(str(rows["measure"][0]))
    half = half_width([*own, *shared], settings.alpha)
    low, high = interval_ends(centre, np.where(half > 0, half, np.nan), within)
    beyond = p_values(centre - fair, [*own, *shared])
    # Of numbers that are the same in all clusters only the control says how they vary.
    of_control = p_values(centre - fair, [control])
    beyond = np.where(np.isnan(beyond), of_control, beyond)
    p = np.fmax(rows["p"].to_numpy(), beyond)
    # An interval that excludes the fair value is read as a test that rejects it.
    low = np.where(p > settings.alpha, np.minimum(low, fair), low)
    high = np.where(p > settings.alpha, np.maximum(high, fair), high)
    return rows.with_columns(
        low=nullable(low),
        high=nullable(high),
        p=nullable(p),
        method=pl.lit(WITH_CONTROL),
        **corrected_columns(centre, p, own, shared, within, settings, fair),
    )
