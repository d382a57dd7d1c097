"""UnQover's scores of masked language models (Li et al., Findings of EMNLP 2020), repeated.

The family finds the module by reference and all of its stages count it as their code, so that it
imports nothing of the family.
"""

from __future__ import annotations

import numpy as np

from biasgrid.base.arrays import FloatArray


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
