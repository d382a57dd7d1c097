"""How well noise lets two models agree that are the same: the ceiling of the agreement on
subjects.
"""

from __future__ import annotations

import numpy as np
import pytest

from biasgrid.stats.compare.agreement import ceiling, spearman
from biasgrid.stats.noise.variance_components import reliability_indices, variance_components

SUBJECTS, ATTRIBUTES, CLUSTERS = 20, 50, 4


def test_models_with_the_same_associations_reach_the_ceiling() -> None:
    random = np.random.default_rng(1)
    correlations, reliabilities = [], []
    for _ in range(150):
        # Twice the variances: those of components are of C, half a difference of two utilities.
        associations = np.sqrt(2) * random.normal(size=(SUBJECTS, ATTRIBUTES, 1))
        models = [
            associations
            + np.sqrt(0.4) * random.normal(size=(SUBJECTS, 1, CLUSTERS))
            + random.normal(size=(SUBJECTS, ATTRIBUTES, CLUSTERS))
            for _ in range(2)
        ]
        one, other = (model.mean(axis=(1, 2)) for model in models)
        correlations.append(spearman(one, other)[0])
        found = [variance_components(model) for model in models]
        indices = [
            reliability_indices(each, ATTRIBUTES, CLUSTERS) for each in found if each is not None
        ]
        reliabilities.append([each.subject_reliability for each in indices])
        # Single associations are far more reliable than the means of subjects that are correlated.
        assert min(each.reliability for each in indices) > 0.8
    # One estimate of a reliability is rough: their means are compared, those of 20 subjects each.
    expected = ceiling(*np.mean(reliabilities, axis=0))
    assert expected == pytest.approx(0.27, abs=0.05)
    assert np.mean(correlations) == pytest.approx(expected, abs=0.05)
