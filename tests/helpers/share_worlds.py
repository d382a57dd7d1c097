"""Simulated answers of two groups over clusters, as what counts and of how many: columns of
differences of shares.
"""

from __future__ import annotations

import numpy as np
import polars as pl
from worlds import Array

from biasgrid.stats.estimate import estimate
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import DIFFERENCE, Along, SignificanceTest, Sums

SETTINGS = StatisticsSettings(units={"gap": "difference"})


def answers(
    random: np.random.Generator, numbers: int, rate: float, cases: Array, icc: float = 0.0
) -> tuple[Array, Array]:
    """What counts of the answers of a group, and how many there are; shape (numbers, clusters).

    Args:
        random: where they come from.
        numbers: how many worlds.
        rate: how often an answer counts.
        cases: shape (clusters,), how many answers each cluster has.
        icc: the correlation of two answers in a cluster: 1 where all of its answers are the same.
    """
    shape = numbers, len(cases)
    rates = np.full(shape, rate)
    if icc >= 1:
        rates = (random.random(shape) < rate).astype(np.float64)
    elif icc > 0 and 0 < rate < 1:
        both = (1 - icc) / icc
        rates = random.beta(rate * both, (1 - rate) * both, size=shape)
    return random.binomial(cases.astype(np.int64), rates).astype(np.float64), np.broadcast_to(
        cases, shape
    )


def pairs(
    random: np.random.Generator,
    numbers: int,
    rates: tuple[float, float],
    cases: Array,
    icc: float = 0.0,
) -> Array:
    """Answers of two groups in the same clusters, shape (numbers, clusters, 4)."""
    one, other = (answers(random, numbers, rate, cases, icc) for rate in rates)
    return np.stack([*one, *other], axis=-1)


def estimates(columns: Array, factor: str = "prompts") -> pl.DataFrame:
    """The estimates of differences, a row for each number."""
    keys = pl.DataFrame({"measure": ["gap"] * len(columns), "options": "", "n": 1, "left_out": 0})
    along = {factor: Along([str(unit) for unit in range(columns.shape[1])], columns)}
    return estimate(
        [
            Sums(
                keys,
                along,
                finish=DIFFERENCE,
                interval="difference of shares",
                test=SignificanceTest.CORRECTED,
            )
        ],
        SETTINGS,
    )


def coverage(found: pl.DataFrame, truth: float) -> float:
    """How many of the intervals hold the truth."""
    covers = found.select(
        pl.lit(truth).is_between(pl.col("low") - 1e-12, pl.col("high") + 1e-12).mean()
    ).item()
    return float(covers)


def any_false(columns: Array, tests: int) -> float:
    """In how many runs of some tests each any is significant (Benjamini and Hochberg), of worlds
    without any effect.
    """
    p = estimates(columns)["p"].to_numpy().reshape(-1, tests)
    ordered = np.sort(p, axis=1) * tests / np.arange(1, tests + 1)
    return float((ordered <= 0.05).any(axis=1).mean())


def forced_choices(random: np.random.Generator, numbers: int, clusters: int) -> Array:
    """One of two options in each cluster, without any preference: the share of the one less that of
    the other.
    """
    one, asked = answers(random, numbers, 0.5, np.ones(clusters))
    return np.stack([one, asked, 1 - one, asked], axis=-1)
