"""Simulated worlds with fixed seeds: what the statistics promise holds, and does not with the wrong
unit.
"""

from __future__ import annotations

import numpy as np
import pytest
from worlds import ATTRIBUTES, SUBJECTS, Array, centred, judged, over_clusters, world

from biasgrid.base.arrays import divide
from biasgrid.stats.intervals import VarianceSource, half_width, wilson_interval
from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.stats.noise.jackknife import jackknife
from biasgrid.stats.null import corrected_statistic, statistic

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(("spread", "least"), [(0.0, 0.94), (0.6, 0.93)])
def test_intervals_of_associations_cover(spread: float, least: float) -> None:
    random, hits = np.random.default_rng(1), []
    for _ in range(300):
        effects = centred(random.normal(size=(SUBJECTS, ATTRIBUTES)))
        found = judged(world(random, 4, effects, spread=spread))
        hits.append(np.abs(found.value - effects.ravel()) <= found.half)
    assert least <= np.mean(hits) <= 0.96


def test_nothing_is_found_where_there_is_nothing() -> None:
    random = np.random.default_rng(2)
    alarms = [
        (judged(world(random, clusters)).q <= SIGNIFICANT).any()
        for clusters in (4, 7)
        for _ in range(150)
    ]
    assert np.mean(alarms) <= 0.09


def test_what_is_synthetic_is_found_and_little_else() -> None:
    random = np.random.default_rng(3)
    false, power = [], []
    for _ in range(150):
        synthetic = np.where(random.random((SUBJECTS, ATTRIBUTES)) < 0.05, 2.0, 0.0)
        found = judged(world(random, 7, synthetic)).q <= SIGNIFICANT
        is_synthetic = synthetic.ravel() > 0
        false.append(np.count_nonzero(found & ~is_synthetic) / max(1, np.count_nonzero(found)))
        power.append(np.mean(found[is_synthetic]))
    assert np.mean(false) <= 0.07
    assert np.mean(power) >= 0.9


def wordings(random: np.random.Generator) -> Array:
    """14 templates that are seven, each in two wordings."""
    pairs = np.repeat(world(random, 7), 2, axis=-1)
    return np.sqrt(0.7) * pairs + np.sqrt(0.3) * world(random, 14)


def test_wordings_of_a_template_are_one_piece_of_evidence() -> None:
    random = np.random.default_rng(4)
    as_clusters, as_templates = [], []
    for _ in range(100):
        templates = wordings(random)
        clusters = templates.reshape(SUBJECTS, ATTRIBUTES, 7, 2).mean(axis=-1)
        as_clusters.append((judged(clusters).q <= SIGNIFICANT).any())
        as_templates.append((judged(templates).q <= SIGNIFICANT).any())
    assert np.mean(as_clusters) <= 0.09
    assert np.mean(as_templates) >= 0.5


def corrected_with_interval(values: Array) -> tuple[float, float]:
    """mu excess, and half the width of its interval."""
    clusters = values.shape[-1]

    def of(chosen: Array) -> float:
        return corrected_statistic(chosen.mean(axis=-1), chosen, "mu")

    without = [of(np.delete(values, cluster, axis=-1)) for cluster in range(clusters)]
    variance, _ = jackknife(np.array([without]))
    return of(values), float(
        half_width([VarianceSource(variance, np.array([clusters - 1.0]))], 0.05)[0]
    )


@pytest.mark.parametrize("strength", [0.0, 1.0])
def test_corrected_mu_is_mu_without_noise(strength: float) -> None:
    random, found, hits, mu, true = np.random.default_rng(5), [], [], [], []
    for _ in range(200):
        effects = centred(strength * random.normal(size=(SUBJECTS, ATTRIBUTES)))
        values = world(random, 4, effects)
        corrected, half = corrected_with_interval(values)
        target = float(statistic(effects, "mu"))
        found.append(corrected)
        true.append(target)
        hits.append(abs(corrected - target) <= half)
        mu.append(float(statistic(values.mean(axis=-1), "mu")))
    assert np.mean(hits) >= 0.9
    if strength:
        assert 0.95 <= np.mean(found) / np.mean(true) <= 1.05
    else:
        assert abs(np.mean(found)) <= 0.06 * np.mean(mu)


def test_models_without_bias_do_not_differ_because_one_is_noisier() -> None:
    random = np.random.default_rng(6)
    by_corrected, by_mu = [], []
    for _ in range(100):
        one, other = 0.5 * world(random, 7), world(random, 7)
        for find, rejected in (
            (lambda v: corrected_statistic(v.mean(axis=-1), v, "mu"), by_corrected),
            (mu_of, by_mu),
        ):
            without = [
                find(np.delete(one, f, axis=-1)) - find(np.delete(other, f, axis=-1))
                for f in range(7)
            ]
            variance, _ = jackknife(np.array([without]))
            half = half_width([VarianceSource(variance, np.array([6.0]))], 0.05)[0]
            rejected.append(abs(find(one) - find(other)) > half)
    assert np.mean(by_corrected) <= 0.08
    assert np.mean(by_mu) >= 0.9


def mu_of(values: Array) -> float:
    """mu, which is larger for more noise."""
    return float(statistic(values.mean(axis=-1), "mu"))


def test_intervals_over_several_sources_cover() -> None:
    random, hits, by_templates = np.random.default_rng(7), [], []
    for _ in range(1000):
        clusters, attributes = random.normal(size=(4, 1)), random.normal(size=(1, 50))
        values = clusters + attributes + random.normal(size=(4, 50))
        sources = [of_means(values.mean(axis=axis)) for axis in (1, 0)]
        hits.append(abs(values.mean()) <= half_width(sources, 0.05)[0])
        by_templates.append(abs(values.mean()) <= half_width(sources[1:], 0.05)[0])
    assert np.mean(hits) >= 0.93
    assert np.mean(by_templates) < 0.5


def of_means(values: Array) -> VarianceSource:
    """The variance of a mean of independent units."""
    return over_clusters(values[None], np.ones((1, len(values)))).source


@pytest.mark.parametrize("rate", [0.1, 0.3])
def test_intervals_of_failure_rates_cover(rate: float) -> None:
    random, hits, by_cases = np.random.default_rng(8), [], []
    for _ in range(500):
        cases = random.integers(20, 60, size=13)
        of_cluster = random.beta(10 * rate, 10 * (1 - rate), size=13)
        failed = random.binomial(cases, of_cluster).astype(np.float64)
        over = over_clusters(failed[None], cases[None].astype(np.float64))
        found, n = (
            divide(failed.sum(keepdims=True), cases.sum(keepdims=True)),
            cases.sum(keepdims=True),
        )
        for of, chosen in ((over.source.variance, hits), (found * (1 - found) / n, by_cases)):
            low, high, _ = wilson_interval(
                found,
                independent_cases=n.astype(np.float64),
                variance=of,
                clusters=over.units,
                alpha=0.05,
            )
            chosen.append(low[0] <= rate <= high[0])
    assert np.mean(hits) >= 0.9
    assert np.mean(by_cases) < 0.8


@pytest.mark.long
@pytest.mark.parametrize("clusters", [2, 4, 7, 14])
@pytest.mark.parametrize("spread", [0.0, 0.6])
def test_intervals_cover_with_any_number_of_clusters(clusters: int, spread: float) -> None:
    random, hits = np.random.default_rng(clusters), []
    for _ in range(1500):
        effects = centred(random.normal(size=(SUBJECTS, ATTRIBUTES)))
        found = judged(world(random, clusters, effects, spread=spread))
        hits.append(np.abs(found.value - effects.ravel()) <= found.half)
    assert 0.93 <= np.mean(hits) <= 0.97


@pytest.mark.long
@pytest.mark.parametrize(("clusters", "strength"), [(4, 0.0), (4, 1.0), (7, 1.0), (7, 3.0)])
def test_corrected_mu_is_covered_with_any_strength(clusters: int, strength: float) -> None:
    random, hits = np.random.default_rng(9), []
    for _ in range(600):
        effects = centred(strength * random.normal(size=(SUBJECTS, ATTRIBUTES)))
        corrected, half = corrected_with_interval(world(random, clusters, effects))
        hits.append(abs(corrected - float(statistic(effects, "mu"))) <= half)
    assert np.mean(hits) >= 0.9
