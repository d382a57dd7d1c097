"""What a share of a design tells: widths that are foretold, and what 1 % of all questions of names
loses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import t
from worlds import Array, over_clusters

from biasgrid.base.arrays import divide
from biasgrid.families.sampling import Sample
from biasgrid.families.underspecified.lists import Subjects
from biasgrid.families.underspecified.read import WordLists, planned_instances
from biasgrid.families.underspecified.samples import asked_groups
from biasgrid.families.underspecified.templates import AttributeRow, QuestionTemplate
from biasgrid.stats.intervals import half_width
from biasgrid.stats.power import (
    NoiseEstimate,
    clusters_for_width,
    precision_at,
    share_for_width,
)

pytestmark = pytest.mark.family("samples are those of underspecified questions")

NAMES, ATTRIBUTES, CLUSTERS = 70, 70, 4
"""Of each list, and of the questions that are asked of their pairs."""
PAIR = 0.3
"""Standard deviation of what is a pair's own, where subjects differ by 1 and clusters by 1 from
each other.
"""
NOISE = NoiseEstimate(between=0.25, within=0.09, prior_df=8.0, clusters=4, units=280)


class Gender(NamedTuple):
    """What was found of all associations of names: their true values, estimates and half widths (0:
    none).
    """

    true: Array
    found: Array
    half: Array

    @property
    def coverage(self) -> float:
        """The share of associations whose interval holds the truth."""
        return float(
            np.mean(np.abs(self.found - self.true)[self.half > 0] <= self.half[self.half > 0])
        )

    @property
    def known(self) -> float:
        """The share of associations that have an interval at all."""
        return float(np.mean(self.half > 0))


def word_lists() -> WordLists:
    """Word lists of the size of the shipped dataset of names, with a template for each cluster."""
    templates = [
        QuestionTemplate(n, "[subj1] met [subj2].", f"{n}: [x]?", f"{n}: [x:neg]?")
        for n in range(CLUSTERS)
    ]
    names = [
        Subjects({"[subj]": [f"{side}{n}" for n in range(NAMES)]}, [None] * NAMES) for side in "mf"
    ]
    rows = [
        AttributeRow({"[x]": f"act {n}", "[x:neg]": "not"}, f"act {n}", None)
        for n in range(ATTRIBUTES)
    ]
    return WordLists(templates, names, {"[x]": rows}, "", None, {})


def gender(seed: int, share: float) -> Gender:
    """Asks a share of a world of the size of the shipped dataset of names, chosen as a sample
    is.
    """
    random = np.random.default_rng(seed)
    effects = random.normal(size=(2 * NAMES, ATTRIBUTES))
    utilities = effects[..., None] + random.normal(size=(2 * NAMES, ATTRIBUTES, CLUSTERS))
    items = ATTRIBUTES * CLUSTERS
    groups = np.flatnonzero(
        asked_groups(planned_instances(word_lists()), Sample(share=share, seed=seed))
    )
    pair, item = np.divmod(groups, items)
    first, second = pair // NAMES, NAMES + pair % NAMES
    cluster, attribute = np.divmod(item, ATTRIBUTES)
    answers = (utilities[first, attribute, cluster] - utilities[second, attribute, cluster]) / 2
    answers += PAIR * random.normal(size=len(answers))
    sums, counts = np.zeros_like(utilities), np.zeros_like(utilities)
    for subject, sign in ((first, 1), (second, -1)):
        np.add.at(sums, (subject, attribute, cluster), sign * answers)
        np.add.at(counts, (subject, attribute, cluster), 1)
    others = np.repeat([effects[NAMES:].mean(axis=0), effects[:NAMES].mean(axis=0)], NAMES, axis=0)
    flat = sums.reshape(-1, CLUSTERS), counts.reshape(-1, CLUSTERS)
    half = np.nan_to_num(half_width([over_clusters(*flat, "moderated t").source], 0.05))
    found = np.nan_to_num(divide(flat[0].sum(axis=1), flat[1].sum(axis=1)))
    return Gender(((effects - others) / 2).ravel(), found, half)


def foretold(share: float) -> float:
    """The width that is foretold of a world of `gender`: half of utilities' variance is the
    partner's.
    """
    return precision_at(
        NoiseEstimate(0.25, 2 / 4 + PAIR**2, float("inf"), CLUSTERS, NAMES * CLUSTERS), share, 0.05
    ).width


def test_a_hundredth_of_the_questions_about_names_halves_the_precision() -> None:
    whole, part = gender(1, 1), gender(1, 0.01)
    loss = np.median(part.half[part.half > 0]) / np.median(whole.half)
    # Near three swap groups to an association: some have a single cluster, and so no interval.
    assert 1.5 < loss < 2.5
    assert part.known > 0.88
    assert part.coverage > 0.93
    assert whole.coverage > 0.94


@pytest.mark.parametrize(("share", "within"), [(1, 0.05), (0.1, 0.06), (0.03, 0.1), (0.01, 0.25)])
def test_widths_are_as_foretold(share: float, within: float) -> None:
    found = gender(2, share)
    assert 2 * np.median(found.half[found.half > 0]) == pytest.approx(foretold(share), rel=within)


@pytest.mark.long
@pytest.mark.parametrize("share", [0.01, 0.02, 0.03, 0.1])
def test_intervals_of_samples_cover_what_they_should(share: float) -> None:
    found = [gender(seed, share) for seed in range(40)]
    assert np.mean([each.coverage for each in found]) > 0.94


def test_more_questions_find_more_and_no_sample_replaces_clusters() -> None:
    widths = [precision_at(NOISE, share, 0.05).width for share in (0.01, 0.03, 0.1, 0.3, 1)]
    assert widths == sorted(widths, reverse=True)
    share = share_for_width(NOISE, widths[2], 0.05)
    assert share == pytest.approx(0.1, rel=0.02)
    assert share_for_width(NOISE, widths[-1], 0.05) == 1
    # However many pairs are asked, four clusters are four.
    assert share_for_width(NOISE, 0.5 * widths[-1], 0.05) is None
    clusters = clusters_for_width(NOISE, 0.5 * widths[-1], 0.05)
    assert clusters is not None
    assert (
        precision_at(NOISE._replace(clusters=clusters, units=70 * clusters), 1, 0.05).width
        <= 0.5 * widths[-1]
    )
    assert clusters_for_width(NOISE, 1e-9, 0.05) is None


def test_the_whole_finds_what_a_cell_of_so_many_clusters_finds() -> None:
    # A test of 5 % with 8 + 3 degrees of freedom, won in 80 of 100 cells.
    effect = (t.ppf(0.975, 11) + t.ppf(0.8, 11)) * np.sqrt(0.25 / 4)
    assert precision_at(NOISE, 1, 0.05).minimal_effect == pytest.approx(effect)


@pytest.mark.parametrize("noise", [NOISE._replace(clusters=1), NOISE._replace(units=1.0)])
def test_one_cluster_gives_no_forecast(noise: NoiseEstimate) -> None:
    assert np.isnan(precision_at(noise, 1, 0.05)).all()
    assert share_for_width(noise, 100, 0.05) is None
