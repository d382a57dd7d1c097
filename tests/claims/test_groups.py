"""Claims about groups where names differ on their own: how often they are wrong, and how often
something is found.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from worlds import Array, gamma_of_groups, group_difference, terms_in_templates

from biasgrid.groups.terms import difference
from biasgrid.stats.estimate import estimate
from biasgrid.stats.multiplicity import SIGNIFICANT
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import Sums
from biasgrid.stats.verdicts.sizes import largest_gaps

pytestmark = pytest.mark.slow

ATTRIBUTES, EFFECT = 30, 3.0


class Judged(NamedTuple):
    """What is said in several worlds.

    Attributes:
        covers: the share of intervals that hold the truth.
        any_false: the share of worlds in which something is found that is not there.
        power: the share of effects that are found.
    """

    covers: float
    any_false: float
    power: float


def names_of_group(
    random: np.random.Generator,
    names: int,
    clusters: int,
    *,
    spread: float = 1.0,
    common: float = 0.0,
) -> Array:
    """What is said of a group's names, shape (attributes, names, clusters), with noise of sd 1.

    Args:
        random: where noise comes from.
        names: how many names.
        clusters: how many clusters.
        spread: sd of what a name has in an attribute.
        common: sd of what a name has in all attributes.
    """
    of_names = spread * random.normal(size=(ATTRIBUTES, names, 1)) + common * random.normal(
        size=(1, names, 1)
    )
    return np.asarray(of_names + random.normal(size=(ATTRIBUTES, names, clusters)))


def judged(
    seed: int,
    runs: int,
    names: int,
    clusters: int,
    *,
    effect: float = 0.0,
    **noise: tuple[float, ...],
) -> Judged:
    """Tests two lists of names of which one has an effect in about one attribute of eight.

    Args:
        seed: of the worlds.
        runs: how many.
        names: how many names a list has.
        clusters: how many clusters.
        effect: its size.
        noise: see `names_of_group`, for each list.
    """
    random, covers, false, found = np.random.default_rng(seed), [], [], []
    for _ in range(runs):
        one, other = (
            names_of_group(
                random, names, clusters, **{key: both[side] for key, both in noise.items()}
            )
            for side in (0, 1)
        )
        truth = effect * (np.arange(ATTRIBUTES) % 8 == 0)
        rows = estimate(
            [group_difference(one + truth[:, None, None], other)], StatisticsSettings()
        ).filter("is_claim")
        stands_out = (rows["q"] <= SIGNIFICANT).to_numpy()
        covers.append(((rows["low"] <= truth) & (rows["high"] >= truth)).mean())
        false.append(stands_out[truth == 0].any())
        found.append(stands_out[truth != 0].mean() if effect else 0.0)
    return Judged(float(np.mean(covers)), float(np.mean(false)), float(np.mean(found)))


@pytest.mark.parametrize("names", [3, 8])
@pytest.mark.parametrize("clusters", [4, 26])
def test_names_without_an_effect_of_their_group_show_none(names: int, clusters: int) -> None:
    found = judged(names + clusters, 40, names, clusters)
    assert found.covers >= 0.93
    assert found.any_false <= 0.125


def test_an_effect_of_a_group_is_found() -> None:
    assert judged(1, 40, 3, 7, effect=EFFECT).power >= 0.4
    assert judged(2, 40, 8, 7, effect=EFFECT).power >= 0.95


def share_with_findings(runs: int, clusters: int, *, over: str) -> float:
    """In how many worlds of names with associations of their own an association of their group is
    found.

    Args:
        runs: how many worlds.
        clusters: how many clusters of templates.
        over: what the associations are taken to be about.
    """
    random, found = np.random.default_rng(clusters), []
    for _ in range(runs):
        lists = [names_of_group(random, 8, clusters)[:10] for _ in range(2)]
        found.append(any_stands_out(gamma_of_groups(*lists), over))
    return float(np.mean(found))


def any_stands_out(sums: Sums, over: str) -> bool:
    """Whether anything is found over some factors, `claim` for those that it is a claim about."""
    rows = estimate([sums], StatisticsSettings())
    chosen = rows.filter("is_claim") if over == "claim" else rows.filter(generalises_to=over)
    return bool((chosen["q"] <= SIGNIFICANT).any())


def test_two_lists_of_names_with_associations_of_their_own_say_nothing_of_gender() -> None:
    assert share_with_findings(40, 4, over="claim") <= 0.125
    assert share_with_findings(10, 14, over="clusters") >= 0.9


def differences_found(runs: int, templates: int, *, over: str) -> float:
    """In how many worlds of terms that differ on their own groups differ: 6 groups of 3 terms."""
    random = np.random.default_rng(templates)
    worlds = (
        difference(terms_in_templates(random, templates)).named("difference") for _ in range(runs)
    )
    return float(np.mean([any_stands_out(sums, over) for sums in worlds]))


def test_terms_that_differ_on_their_own_are_no_difference_of_groups() -> None:
    assert differences_found(40, 13, over="claim") <= 0.125
    assert differences_found(10, 13, over="clusters") >= 0.9


def largest_is_covered(runs: int, size: float) -> tuple[float, float]:
    """In how many worlds of six groups intervals of the largest difference hold it, picked as on
    the first screen.

    Args:
        runs: how many worlds, of 13 templates and 8 terms a group.
        size: the standard deviation of groups, that of terms being 0.03.

    Returns:
        The share of intervals that are those of any difference, and of those that are shown.
    """
    random, hits = np.random.default_rng(13), []
    for _ in range(runs):
        scores = terms_in_templates(random, 13, terms=8)
        of_groups = size * random.normal(size=6)
        moved = replace(scores, sums=scores.sums + of_groups[scores.group])
        rows = estimate([difference(moved).named("difference")], StatisticsSettings()).filter(
            "is_claim"
        )
        of_rows = [
            [scores.groups.index(name) for name in names]
            for names in rows.select("group", "other").rows()
        ]
        truth = [of_groups[one] - of_groups[other] for one, other in of_rows]
        found = rows.with_columns(truth=pl.Series(truth)).sort(
            pl.col("q") > SIGNIFICANT, -pl.col("value").abs()
        )
        row = found.row(0, named=True)
        (gap,) = largest_gaps(
            rows.with_columns(bias_type=pl.lit("letter")), ["difference"]
        ).to_dicts()
        assert gap["value"] == abs(row["value"])
        apart = row["truth"] if row["value"] >= 0 else -row["truth"]
        hits.append([row["low"] <= row["truth"] <= row["high"], gap["low"] <= apart <= gap["high"]])
    alone, shown = np.mean(hits, axis=0)
    return float(alone), float(shown)


@pytest.mark.parametrize("size", [0.0, 0.02])
def test_the_largest_difference_is_shown_with_an_interval_for_all(size: float) -> None:
    alone, shown = largest_is_covered(60, size)
    assert shown >= 0.93
    assert alone < 0.85 or size


def within_two_errors(rate: float, runs: int) -> float:
    """A rate and two standard errors of what is counted in runs."""
    return float(rate + 2 * np.sqrt(rate * (1 - rate) / runs))


LONG_RUNS = 200


@pytest.mark.long
@pytest.mark.parametrize("names", [3, 8])
@pytest.mark.parametrize("clusters", [4, 26])
@pytest.mark.parametrize("kind", ["alike", "uneven", "common"])
def test_claims_of_groups_hold(names: int, clusters: int, kind: str) -> None:
    noise = {
        "alike": {},
        "uneven": {"spread": (2.0, 0.5)},
        "common": {"spread": (0.5, 0.5), "common": (1.0, 1.0)},
    }
    found = judged(100 * names + clusters, LONG_RUNS, names, clusters, **noise[kind])
    assert found.covers >= 0.94
    assert found.any_false <= within_two_errors(0.06, LONG_RUNS)


@pytest.mark.long
@pytest.mark.parametrize(("names", "least"), [(2, 0.03), (3, 0.5), (4, 0.72), (10, 0.99)])
def test_effects_of_groups_are_found(names: int, least: float) -> None:
    assert judged(names, LONG_RUNS, names, 7, effect=EFFECT).power >= least


@pytest.mark.long
@pytest.mark.parametrize("clusters", [4, 14])
def test_names_say_nothing_of_gender_however_many_templates(clusters: int) -> None:
    assert share_with_findings(LONG_RUNS, clusters, over="claim") <= within_two_errors(
        0.06, LONG_RUNS
    )


@pytest.mark.long
@pytest.mark.parametrize("templates", [5, 13, 26])
def test_terms_say_nothing_of_groups_however_many_templates(templates: int) -> None:
    assert differences_found(LONG_RUNS, templates, over="claim") <= within_two_errors(
        0.06, LONG_RUNS
    )


@pytest.mark.long
@pytest.mark.parametrize(("size", "most"), [(0.0, 0.8), (0.02, 0.95), (0.1, 1.0)])
def test_the_largest_difference_is_shown_with_an_interval_for_all_in_many_worlds(
    size: float, most: float
) -> None:
    alone, shown = largest_is_covered(400, size)
    assert shown >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 400)
    assert alone <= most
