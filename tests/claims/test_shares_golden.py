"""Differences and ratios of two shares, against an independent implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from golden_statistics import ABSOLUTE, RELATIVE, claims_of, inputs_of

from biasgrid.stats.estimate import estimate
from biasgrid.stats.intervals import wilson_interval
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.shares import ShareWithInterval, share_ratio_interval
from biasgrid.stats.sums import DIFFERENCE, Along, SignificanceTest, Sums, leave_one_out, mean

CASES = {case["case"]: case for case in claims_of("shares")}


def columns_of(case: int, paired: bool) -> np.ndarray[Any, Any]:
    """Yes and asked of both groups by cluster, shape (1, clusters, 4); not paired, each group has
    its own clusters.
    """
    rows = (
        inputs_of("shares")
        .filter(case=case)
        .pivot("group", index="cluster", values=["yes", "asked"])
    )
    one, other = (
        rows.select(f"yes_{group}", f"asked_{group}").to_numpy().astype(float)
        for group in ("a", "b")
    )
    nothing = np.zeros_like(one)
    if paired:
        return np.concatenate([one, other], axis=1)[None]
    return np.concatenate(
        [np.concatenate([one, nothing], axis=1), np.concatenate([nothing, other], axis=1)]
    )[None]


def same(value: float | None, golden: float | str | None) -> bool:
    expected = float("inf") if golden == "inf" else golden
    return value == expected or value == pytest.approx(expected, rel=RELATIVE, abs=ABSOLUTE)


@pytest.mark.parametrize("design", ["paired", "unpaired"])
@pytest.mark.parametrize("case", CASES)
def test_differences_of_shares(case: int, design: str) -> None:
    golden = CASES[case][design]
    if golden.get("untestable"):
        # The p of too few clusters is none, whatever the golden test by signs says.
        golden = golden | {"p": None}
    sums = columns_of(case, design == "paired")
    along = Along([str(unit) for unit in range(sums.shape[1])], sums)
    keys = pl.DataFrame({"measure": "gap", "options": "", "n": 1, "left_out": 0})
    part = Sums(
        keys,
        {"prompts": along},
        finish=DIFFERENCE,
        interval="difference of shares",
        test=SignificanceTest.UNCORRECTED,
    )
    row = estimate([part], StatisticsSettings(units={"gap": "difference"})).row(0, named=True)
    found = {name: row[name] for name in ("value", "se", "df", "low", "high", "p")}
    assert {name for name, value in found.items() if not same(value, golden[name])} == set()


@pytest.mark.parametrize("case", CASES)
def test_ratios_of_shares(case: int) -> None:
    sums = columns_of(case, paired=True)
    sides = []
    for columns in (sums[..., :2], sums[..., 2:]):
        totals = columns.sum(axis=1)
        variance, clusters = jackknife(leave_one_out(columns, totals, mean))
        value, cases = mean(totals), totals[:, 1]
        low, high, _ = wilson_interval(
            value, independent_cases=cases, variance=variance, clusters=clusters, alpha=0.05
        )
        sides.append(ShareWithInterval(value, low, high))
    low, high = share_ratio_interval(*sides)
    golden = CASES[case]["ratio"]
    assert same(float(low[0]), golden["low"])
    assert same(float(high[0]), golden["high"])
