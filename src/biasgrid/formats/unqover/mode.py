"""The replication of UnQover's scores: how they are made of probabilities, and which of ours are
made so.

The family finds it by reference and all of its stages count it as their code, so that it imports
nothing of the family.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from biasgrid.base.arrays import FloatArray
from biasgrid.base.sections import Scoring
from biasgrid.tables.files import TableError, read_provenance


def scores_with_pronouns(subjects: FloatArray, pronouns: FloatArray) -> FloatArray:
    """Returns scores of the subjects of masked language models: at least the probability of the
    pronoun.

    That is UnQover's option `use_he_she`.

    Args:
        subjects: shape (rows, 2), the probabilities of both subjects.
        pronouns: shape (rows, 2), those of their pronouns, NaN where there are none.

    Returns:
        Shape (rows, 2), in the array of the subjects.
    """
    return np.fmax(subjects, pronouns, out=subjects)


def scoring_of(paths: Sequence[Path]) -> Scoring:
    """Returns how predictions were scored, which may not be what the config says by now.

    Raises:
        TableError: the shards do not agree.
    """
    found = {read_provenance(path).get("scoring") for path in paths}
    if found not in ({"exact"}, {"unqover"}):
        scorings = ", ".join(sorted(map(str, found)))
        raise TableError(
            f"{paths[0].parent}: scored as {scorings}; expected all exact or all unqover"
        )
    return cast(Scoring, found.pop())
