"""What holds of the statistics of any cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.stats import false_discovery_control
from small_cells import design, with_scores
from small_estimates import estimates_of, numbers_of, over

from biasgrid.stats.clusters import cluster_positions, clusters_from_texts, redundant_templates
from biasgrid.stats.multiplicity import false_discovery_rates, holm
from biasgrid.stats.null import expected_null_mean, splits
from biasgrid.stats.settings import StatisticsSettings

pytestmark = [pytest.mark.slow, pytest.mark.family("the numbers are of associations")]

NAMES = ["s0", "s1", "s2", "s3"]
KEYS = ["measure", "subject", "subject_group", "attribute", "attribute_group", "generalises_to"]
NUMBERS = ["value", "low", "high", "selected_low", "selected_high", "se", "null_mean"]
ASSOCIATIONS_ALONE: dict[str, Any] = {"measures": []}
CLUSTERS = ["f", "f", "m", "m"]
FEW = settings(max_examples=6, deadline=None)
seeds = st.integers(0, 10_000)


def found(
    groups: pl.DataFrame, scores: np.ndarray, clusters: int = 6, permutations: int = 99
) -> pl.DataFrame:
    # Of six clusters so many permutations are drawn; of four all are tried, 13,824 or 331,776.
    settings = StatisticsSettings(clusters=range(clusters), permutations=permutations)
    rows = estimates_of("underspecified", with_scores(groups, scores), ASSOCIATIONS_ALONE, settings)
    return rows.sort(KEYS, nulls_last=True)


def scores_of(seed: int, count: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.2, 0.6, size=(count, 8))


def numbers(rows: pl.DataFrame, names: list[str]) -> np.ndarray:
    return rows.select(pl.col(name).cast(pl.Float64).fill_null(np.nan) for name in names).to_numpy()


@FEW
@given(seeds)
def test_associations_sum_to_0_and_clusters_mirror_each_other(seed: int) -> None:
    groups = design(NAMES, 3, 6)
    rows = over(found(groups, scores_of(seed, len(groups))).filter(measure="gamma"), "clusters")
    of_attributes = (
        rows.drop_nulls(["subject", "attribute"]).group_by("attribute").agg(pl.col("value").sum())
    )
    assert_allclose(of_attributes["value"], 0, atol=1e-12)
    groups = design(NAMES, 3, 6, CLUSTERS)
    rows = (
        found(groups, scores_of(seed, len(groups)))
        .filter(measure="gamma")
        .drop_nulls("subject_group")
    )
    one, other = (rows.filter(subject_group=cluster) for cluster in ("f", "m"))
    assert_allclose(
        numbers(one, ["value", "low", "high"]),
        -numbers(other, ["value", "high", "low"]),
        atol=1e-12,
    )
    assert_allclose(numbers(one, ["p", "q", "holm"]), numbers(other, ["p", "q", "holm"]), rtol=1e-9)


@FEW
@given(seeds, st.floats(0.1, 0.9))
def test_scores_that_are_scaled_scale_all_but_p(seed: int, factor: float) -> None:
    groups = design(NAMES, 3, 6)
    scores = scores_of(seed, len(groups))
    one, other = (found(groups, each).filter(measure="gamma") for each in (scores, factor * scores))
    assert_allclose(factor * numbers(one, NUMBERS), numbers(other, NUMBERS), rtol=1e-7, atol=1e-12)
    assert_allclose(
        numbers(one, ["p", "q", "holm", "df"]), numbers(other, ["p", "q", "holm", "df"]), rtol=1e-7
    )
    of_cell = {"mu", "mu_corrected", "mu_held_out", "strength"}
    whole = [
        found(groups, each).filter(pl.col("measure").is_in(of_cell))
        for each in (scores, factor * scores)
    ]
    assert_allclose(
        factor * numbers(whole[0], NUMBERS), numbers(whole[1], NUMBERS), rtol=1e-7, atol=1e-12
    )


@FEW
@given(seeds, st.permutations(range(4)), st.permutations(range(4)))
def test_other_names_of_clusters_and_subjects_change_nothing(
    seed: int, clusters: list[int], names: list[int]
) -> None:
    groups = design(NAMES, 3, 4)
    scores = scores_of(seed, len(groups))
    new = {f"s{old}": f"s{place}" for old, place in enumerate(names)}
    renamed = groups.with_columns(
        pl.col("subject1", "subject2").cast(pl.String).replace(new).cast(pl.Categorical),
        template=pl.col("template").replace_strict(
            dict(enumerate(clusters)), return_dtype=pl.UInt16
        ),
    )
    one = (
        found(groups, scores, 4)
        .with_columns(pl.col("subject").replace(new))
        .sort(KEYS, nulls_last=True)
    )
    other = found(renamed, scores, 4)
    chosen = pl.col("measure") != "mu"
    one, other = one.filter(chosen), other.filter(chosen)
    # Scores are float32, and differences of two that are equal in one order need not be in another.
    assert_allclose(numbers(one, NUMBERS), numbers(other, NUMBERS), rtol=1e-7, atol=1e-8)
    assert_allclose(numbers(one, ["p", "q"]), numbers(other, ["p", "q"]), rtol=1e-7, atol=1e-12)


@FEW
@given(seeds)
def test_what_all_clusters_share_changes_no_floor(seed: int) -> None:
    random = np.random.default_rng(seed)
    values, shared = random.normal(size=(5, 6, 4)), 9 * random.normal(size=(5, 6, 1))
    assert expected_null_mean(values, "mu") == pytest.approx(
        expected_null_mean(values + shared, "mu"), rel=1e-9
    )
    assert expected_null_mean(values, "mu") > 0


@FEW
@given(seeds)
def test_p_is_small_where_the_interval_excludes_0(seed: int) -> None:
    groups = design(NAMES, 4, 6, CLUSTERS)
    rows = (
        found(groups, scores_of(seed, len(groups))).filter(measure="gamma").drop_nulls(["p", "low"])
    )
    excludes = (rows["low"] > 0) | (rows["high"] < 0)
    assert len(rows) > 20
    assert ((rows["p"] < 0.05) == excludes).all()


@given(st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=40))
def test_corrections_match_scipy_and_the_definition(p: list[float]) -> None:
    values = np.array(p)
    for how in ("bh", "by"):
        assert_allclose(
            false_discovery_rates(values, how),
            false_discovery_control(values, method=how),
            rtol=1e-12,
        )
    order = np.argsort(values, kind="stable")
    expected = np.minimum(1, np.maximum.accumulate(values[order] * np.arange(len(p), 0, -1)))
    assert_allclose(holm(values)[order], expected)
    with_gap = np.insert(values, 0, np.nan)
    assert np.isnan(false_discovery_rates(with_gap)[0])
    assert_allclose(false_discovery_rates(with_gap)[1:], false_discovery_rates(values))


@pytest.mark.parametrize("clusters", [2, 3, 4, 7, 10, 14, 25])
def test_splits_cancel_and_keep_the_noise_of_a_mean(clusters: int) -> None:
    weights = splits(clusters)
    assert len(weights) <= 200
    assert_allclose(weights.sum(axis=1), 0, atol=1e-12)
    assert_allclose((weights**2).sum(axis=1), 1 / clusters)


def test_templates_that_say_nearly_the_same_are_reported() -> None:
    groups = design(NAMES, 24, 5)
    scores = scores_of(1, len(groups)).reshape(5, -1, 8)
    scores[4] = 0.9 * scores[1] + 0.1 * scores[4]
    observations = with_scores(groups, scores.reshape(-1, 8))
    settings = StatisticsSettings(clusters=range(5), permutations=99)
    design_of_cell = numbers_of("underspecified", observations, ASSOCIATIONS_ALONE, settings).design
    (warning,) = redundant_templates(design_of_cell)
    assert warning.startswith("templates 1 and 4 say nearly the same")
    together = settings._replace(clusters=[0, 1, 2, 3, 1])
    design_of_cell = numbers_of("underspecified", observations, ASSOCIATIONS_ALONE, together).design
    assert redundant_templates(design_of_cell) == []
    assert design_of_cell.filter(name="likeness")["templates"].to_list() == ["0", "1, 4", "2", "3"]


def test_templates_that_differ_in_gender_alone_are_one_cluster() -> None:
    texts = ["A man met her.", "A woman met him.", "A child met her.", "A MAN met him."]
    assert clusters_from_texts(texts, "auto") == [0, 0, 1, 0]
    assert clusters_from_texts(texts, "none") == [0, 1, 2, 3]
    assert clusters_from_texts(texts, [[1, 3]]) == [0, 1, 2, 1]
    assert clusters_from_texts([], [[1, 3]]) == [0, 1, 2, 1]


def test_clusters_are_numbered_by_the_templates_that_are_there() -> None:
    assert cluster_positions(np.array([3, 2, 3, 0]), [0, 0, 1, 1]).tolist() == [1, 1, 1, 0]
    assert cluster_positions(np.array([9, 2, 4]), [0, 0, 1]).tolist() == [2, 0, 1]


def test_nothing_is_said_where_nothing_can_be_and_nothing_fails() -> None:
    for names, attributes, templates in (
        (["s0", "s1"], 1, 1),
        (["s0", "s1"], 2, 3),
        (NAMES, 1, 2),
        (NAMES, 3, 1),
    ):
        groups = design(names, attributes, templates)
        same = found(groups, np.full((len(groups), 8), 0.3), templates)
        gamma = same.filter(measure="gamma")
        assert (gamma["value"] == 0).all()
        assert over(gamma, "clusters")["low"].is_null().all()
        random = found(groups, scores_of(1, len(groups)), templates)
        if templates == 1:
            assert over(random.filter(measure="gamma"), "clusters")["low"].is_null().all()
        if len(names) == 2:
            assert over(random.filter(measure="gamma"), "names")["low"].is_null().all()
