"""How large associations of groups are as a whole, where names and clusters differ on their own."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from small_cells import expanded, spans
from small_estimates import estimates_of
from worlds import gamma_of_groups

from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.observe import observe
from biasgrid.stats.noise.association_strength import group_strength, strength_row
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import PROMPT_FORMATS, TEMPLATES, Along


def covers(runs: int, names: int, clusters: int, effect: float, gain: float = 0.0) -> float:
    """How many intervals of the strength of 30 associations of two groups hold the truth.

    Args:
        runs: how many worlds.
        names: how many names a group has, each with associations of its own of sd 1.
        clusters: how many clusters, with noise of sd 1.
        effect: sd of what the first group has.
        gain: sd of the logarithm of what a cluster multiplies all by.
    """
    random, hits = np.random.default_rng(names + clusters), []
    for _ in range(runs):
        theta = effect * random.normal(size=(30, 1, 1))
        factors = np.exp(gain * random.normal(size=clusters) - gain**2 / 2)
        lists = [
            random.normal(size=(30, names, 1)) + random.normal(size=(30, names, clusters))
            for _ in range(2)
        ]
        row = strength_row(
            gamma_of_groups(factors * (lists[0] + theta), factors * lists[1]), StatisticsSettings()
        )
        hits.append(row["low"] <= np.sqrt((theta**2).mean()) / 2 <= row["high"])
    return float(np.mean(hits))


@pytest.mark.parametrize("effect", [0.0, 0.5, 2.0])
def test_strength_of_groups_is_held(effect: float) -> None:
    assert covers(12, 8, 4, effect) >= 0.75


@pytest.mark.long
@pytest.mark.parametrize(("names", "clusters"), [(4, 7), (8, 4)])
@pytest.mark.parametrize(("effect", "gain"), [(0.0, 0.0), (0.5, 0.0), (2.0, 0.0), (1.0, 0.25)])
def test_strength_of_groups_is_held_in_most_worlds(
    names: int, clusters: int, effect: float, gain: float
) -> None:
    assert covers(100, names, clusters, effect, gain) >= 0.92


def test_strength_of_groups_is_held_over_formats_and_not_over_clusters_and_names_alone() -> None:
    random, hits, alone = np.random.default_rng(5), [], []
    for _ in range(20):
        theta = 0.3 * random.normal(size=(30, 1, 1, 1))
        own = [
            random.normal(size=(30, 6, 1, 1)) + random.normal(size=(30, 6, 4, 3)) for _ in range(2)
        ]
        of_format = 1.5 * random.normal(size=(30, 1, 1, 3))
        sums = gamma_of_groups(
            *(each.reshape(30, 6, -1) for each in (own[0] + theta + of_format, own[1]))
        )
        units = [f"{template}/{place}" for template, place in product(range(4), range(3))]
        several = replace(
            sums, along={**sums.along, TEMPLATES: Along(units, sums.along[TEMPLATES].sums)}
        ).clustered([])
        one = replace(
            several,
            along={name: each for name, each in several.along.items() if name != PROMPT_FORMATS},
        )
        for found, part in ((hits, several), (alone, one)):
            row = strength_row(part, StatisticsSettings())
            found.append(row["low"] <= np.sqrt((theta**2).mean()) / 2 <= row["high"])
    assert np.mean(hits) >= 0.9
    assert np.mean(alone) <= 0.5


def test_strength_without_noise_is_the_root_mean_square() -> None:
    theta = np.random.default_rng(1).normal(size=(12, 1, 1))
    sums = gamma_of_groups(theta + np.zeros((12, 4, 5)), np.zeros((12, 4, 5)))
    assert group_strength(sums) == pytest.approx(np.sqrt((theta**2).mean()) / 2)
    row = strength_row(sums, StatisticsSettings())
    assert (row["n"], row["clusters"], row.get("low")) == (24, 5, None)
    assert row["reason"] == "the same without any one of its clusters and names"


def test_a_cluster_without_answers_changes_nothing() -> None:
    sums = gamma_of_groups(*np.random.default_rng(4).normal(size=(2, 12, 4, 5)))
    units, columns = sums.along[TEMPLATES]
    more = Along(
        [*units, "nothing"], np.concatenate([columns, np.zeros_like(columns[:, :1])], axis=1)
    )
    with_nothing = replace(sums, along={**sums.along, TEMPLATES: more})
    row, own = (
        strength_row(with_nothing, StatisticsSettings()),
        strength_row(sums, StatisticsSettings()),
    )
    assert own["low"] is not None
    assert row == pytest.approx(own)


def test_two_names_of_a_group_have_a_strength_without_interval_and_one_has_none() -> None:
    lists = np.random.default_rng(2).normal(size=(2, 12, 2, 5))
    two = strength_row(gamma_of_groups(*lists), StatisticsSettings())
    assert (two["value"] is not None, two.get("low")) == (True, None)
    assert two["reason"] == "fewer than 3 clusters, or 3 names of a group"
    one = strength_row(gamma_of_groups(lists[0], lists[1][:, :1]), StatisticsSettings())
    assert one["value"] is None
    assert one["left_out"] == 24


@pytest.mark.slow
def test_cells_with_groups_of_names_have_the_strength_of_groups_and_no_other_cells() -> None:
    random, options = (
        np.random.default_rng(3),
        {"task": "question-answering", "scoring": "exact", "measures": []},
    )
    names = ["Ann", "Bea", "Carl", "Dan", "Eve", "Fay"]
    for groups in (["x"] * 3 + ["y"] * 3, [None] * 6):
        instances = expanded([Subjects({"[subj]": names}, groups)], attributes=2, templates=3)
        observed = observe(
            instances, spans(instances, *random.random((2, len(instances)))), options
        )
        rows = estimates_of(
            "underspecified",
            observed,
            options,
            StatisticsSettings(clusters=range(3), permutations=9),
        )
        told = rows.filter(rows["measure"].is_in(["group_strength", "question_group_strength"]))
        assert len(told) == (2 if groups[0] else 0)
        assert (told["low"] < told["value"]).all()
        assert set(told["generalises_to"]) <= {"clusters x names"}
