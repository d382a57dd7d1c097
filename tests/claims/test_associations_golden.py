"""What may be said of associations, against the numbers of an independent implementation."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pytest
from association_worlds import estimates, sums_of
from golden_statistics import ABSOLUTE, BISECTED, RELATIVE, claims_of, inputs_of

from biasgrid.families.underspecified.sizes import corrected_sizes
from biasgrid.stats.noise.association_strength import AssociationsByCluster, interval_row
from biasgrid.stats.noise.moderated_variances import estimate_gain, read_crossing
from biasgrid.stats.noise.random_factors import first_factor_variance
from biasgrid.stats.noise.variance_components import cluster_noise, likeness
from biasgrid.stats.power import detectable_effect
from biasgrid.stats.settings import StatisticsSettings

Array = npt.NDArray[np.float64]
GOLDEN = claims_of("associations")
CELLS = sorted(GOLDEN)
TESTED = [name for name in CELLS if GOLDEN[name]["frames"] > 2]
LEAST_P = 1e-12


def values_of(name: str) -> Array:
    """The associations of a cell, shape (subjects, attributes, clusters)."""
    golden = GOLDEN[name]
    rows = inputs_of("associations").filter(cell=name).sort("subject", "attribute", "frame")
    return (
        rows["value"].to_numpy().reshape(golden["subjects"], golden["attributes"], golden["frames"])
    )


def numbers_of(values: list[Any]) -> Array:
    return np.array([np.nan if value is None else float(value) for value in values])


def assert_close(
    found: pl.Series | Array | list[float | None], golden: list[Any], tolerance: float = RELATIVE
) -> None:
    ours = (
        found.fill_null(np.nan).to_numpy()
        if isinstance(found, pl.Series)
        else numbers_of(list(found))
    )
    numbers = numbers_of(golden)
    with np.errstate(invalid="ignore"):
        close = np.abs(ours - numbers) <= np.maximum(ABSOLUTE, tolerance * np.abs(numbers))
    close |= (ours == numbers) | (np.isnan(ours) & np.isnan(numbers))
    assert close.all(), (ours[~close][:5], numbers[~close][:5])


@pytest.mark.parametrize("name", CELLS)
def test_variances_and_gains(name: str) -> None:
    golden, values = GOLDEN[name], values_of(name)
    sums = sums_of(values)
    over = first_factor_variance(sums)
    assert_close(over.source.variance, golden["variance"])
    assert_close(over.source.df, golden["df"])
    assert over.prior.df == pytest.approx(float(golden["d0"]), rel=RELATIVE)
    assert (np.ndim(over.prior.variance) > 0) is golden["trend_used"]
    assert (over.gain is not None) is golden["gain_found"]
    assert_close(
        np.zeros(len(sums.keys)) if over.gain is None else over.gain.variance,
        golden["gain_variance"],
    )
    flat = values.reshape(-1, values.shape[2])
    gain = estimate_gain(sums.along["clusters"].sums, sums.finish, read_crossing(sums.keys, flat))
    assert_close(gain.ratio[:1], [golden["gain_ratio"]])
    if golden["gain_factors"] is not None:
        assert_close(gain.factors[0], golden["gain_factors"])


@pytest.mark.parametrize("name", TESTED)
def test_intervals_and_tests(name: str) -> None:
    golden, found = GOLDEN[name], estimates(values_of(name))
    assert_close(found["value"], golden["value"])
    tolerance = BISECTED if golden["gain_found"] else RELATIVE
    for column in ("low", "high"):
        assert_close(found[column], golden[column], tolerance)
    for column in ("p", "q"):
        small = numbers_of(golden[column]) < LEAST_P
        assert_close(
            found[column].to_numpy()[~small], list(np.array(golden[column])[~small]), tolerance
        )
        assert_close(found[column].to_numpy()[small], list(np.array(golden[column])[small]), 1e-6)
    assert found["q"].count() == golden["tests"]
    above = found.with_row_index().filter(pl.col("q") <= 0.05, pl.col("value") > 0)
    assert len(above) == golden["above"]
    largest = above.filter(pl.col("bound") > 0).sort("bound", descending=True).head(1)
    if golden["strongest"] is None:
        assert largest.is_empty()
    else:
        assert largest["index"].item() == golden["strongest"]["index"]
        assert_close(largest["bound"], [golden["strongest"]["at_least"]], BISECTED)


def test_two_clusters_have_intervals_and_no_tests() -> None:
    golden, found = GOLDEN["additive-two"], estimates(values_of("additive-two"))
    for column in ("value", "low", "high"):
        assert_close(found[column], golden[column])
    silent = found.select("p", "q", "holm", "bound", "selected_low")
    assert silent.null_count().row(0) == (len(found),) * 5
    assert set(found["reason"]) == {"untestable: 2 clusters, 3 are needed"}


@pytest.mark.parametrize("name", CELLS)
def test_detectable_effects(name: str) -> None:
    golden = GOLDEN[name]
    over = first_factor_variance(sums_of(values_of(name)))
    # What is golden is of a cell without any significant result.
    found = detectable_effect([over.source], 0.05 / golden["tests"])
    assert_close([found], [golden["mde"]], BISECTED)


@pytest.mark.parametrize("name", CELLS)
def test_likeness_of_clusters(name: str) -> None:
    values = values_of(name)
    noise = cluster_noise(values, np.ones_like(values))
    found = likeness(noise, np.ones(values.shape, dtype=np.bool_))
    if GOLDEN[name]["likeness"] is None:
        assert np.isnan(found).all()
    else:
        assert_close(
            [found[pair] for pair in combinations(range(len(found)), 2)], GOLDEN[name]["likeness"]
        )


@pytest.mark.parametrize("name", TESTED)
def test_sizes_of_cells(name: str) -> None:
    values = values_of(name)
    found = {
        measure: interval_row(measure, value, without, StatisticsSettings())
        for _, (measure, value, without) in corrected_sizes(
            {"gamma": AssociationsByCluster(values, np.ones_like(values))}
        )
    }
    for measure in ("strength", "mu_corrected"):
        # The golden file has the older word.
        row, numbers = found[measure], GOLDEN[name][measure.replace("corrected", "excess")]
        ends = [row.get(column) for column in ("value", "low", "high")]
        assert_close(ends, [numbers[column] for column in ("value", "low", "high")])
        assert_close([row.get("se", 0.0)], [numbers["se"]])
