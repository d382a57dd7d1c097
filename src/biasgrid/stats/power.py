"""How large an effect must be to be found."""

from __future__ import annotations

import numpy as np
from scipy.special import stdtrit

POWER = 0.8


def minimal_effect(variance: float, prior_df: float, clusters: int, alpha: float = 0.05) -> float:
    """Returns the smallest size of a number that is found in 80 % of cells; NaN for fewer than two clusters.

    Args:
        variance: of a cluster's value.
        prior_df: what the prior of the variances is worth; see `moderated.Prior`.
        clusters: how many clusters there are.
        alpha: from what p on it is found.
    """
    if clusters < 2:
        return float("nan")
    df = prior_df + clusters - 1
    return float((stdtrit(df, 1 - alpha / 2) + stdtrit(df, POWER)) * np.sqrt(variance / clusters))
