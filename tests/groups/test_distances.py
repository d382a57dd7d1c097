from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance
from small_measures import classified

from biasgrid.groups.distances import WassersteinDistances, divergence
from biasgrid.groups.records import divide_into_units

Samples = st.lists(st.sampled_from([0.0, 0.25, 0.3, 0.5, 1.0]) | st.floats(0, 1), max_size=5)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(Samples, Samples, Samples), min_size=1, max_size=4))
def test_wasserstein_distances_are_scipys(cases: list[tuple[list[float], ...]]) -> None:
    """Of groups of any sizes, and NaN where one is empty."""
    names = ["red", "green", "blue"]
    records = classified(
        {name: [[0.5], *(case[place] for case in cases)] for place, name in enumerate(names)}
    )
    distances = WassersteinDistances(
        records.outputs.probabilities[:, 1], divide_into_units(records, "counterfactual")
    )
    unit_of = {case: unit for unit, case in enumerate(np.unique(records.case))}
    for number, case in enumerate(cases, start=1):
        if number not in unit_of:
            continue
        for one, other in combinations(range(3), 2):
            expected = (
                wasserstein_distance(case[one], case[other])
                if case[one] and case[other]
                else np.nan
            )
            found = distances.to_later(one)[other - one - 1][unit_of[number]]
            assert found == pytest.approx(expected, rel=0, abs=1e-12, nan_ok=True)
        for place, own in enumerate(case):
            expected = (
                wasserstein_distance([value for group in case for value in group], own)
                if own
                else np.nan
            )
            found = distances.from_background(place)[unit_of[number]]
            assert found == pytest.approx(expected, rel=0, abs=1e-12, nan_ok=True)


def test_divergence_counts_the_groups_that_are_there() -> None:
    scores = np.array([[0.2, 0.3, 0.5], [0.25, np.nan, 0.75], [0, 0, 0], [1, np.nan, np.nan]])
    assert divergence(scores, "divergence") == pytest.approx([1 / 6, 1 / 4, np.nan, 0], nan_ok=True)
    assert divergence(scores, "normalized_divergence") == pytest.approx(
        [1 / 4, 1 / 2, np.nan, np.nan], nan_ok=True
    )
    assert divergence(scores, "divergence_per_group")[1] == pytest.approx(
        [1 / 4, np.nan, 1 / 4], nan_ok=True
    )


def test_normalized_divergence_is_1_where_one_group_has_it_all() -> None:
    assert divergence(np.eye(4)[:1], "normalized_divergence") == pytest.approx([1])
