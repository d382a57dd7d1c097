"""The replication of UnQover's scores, and the way in which predictions were scored.

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
    """Returns scores of subjects of masked language models: the maximum over subject and pronoun.

    That is UnQover's option `use_he_she`.

    Args:
        subjects: shape (rows, 2), the probabilities of both subjects.
        pronouns: shape (rows, 2), the probabilities of their pronouns, NaN if they have none.

    Returns:
        Shape (rows, 2), in the array of the subjects.
    """
    # `fmax` ignores NaN.
    return np.fmax(subjects, pronouns, out=subjects)


def scoring_of(paths: Sequence[Path]) -> Scoring:
    """Returns the way in which predictions were scored; the config may say otherwise by now.

    Raises:
        TableError: the shards do not agree.
    """
    scorings = {read_provenance(path).get("scoring") for path in paths}
    if scorings not in ({"exact"}, {"unqover"}):
        names = ", ".join(sorted(map(str, scorings)))
        raise TableError(f"{paths[0].parent}: scored as {names}; expected all exact or all unqover")
    return cast(Scoring, scorings.pop())
