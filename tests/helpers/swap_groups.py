"""Swap groups of a small design with given scores, as `compare_subjects` has them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.families.underspecified.observe import compare_scores

Array = npt.NDArray[np.float64]


def design(
    subjects: Sequence[str], attributes: int, templates: int, subject_groups: Sequence[str] | None = None
) -> pl.DataFrame:
    """All pairs of subjects, those of different groups where there are groups; without scores."""
    pairs = list(combinations(range(len(subjects)), 2))
    if subject_groups:
        pairs = [(one, other) for one, other in pairs if subject_groups[one] != subject_groups[other]]
    rows = [
        (template, subjects[one], subjects[other], subject_groups[one] if subject_groups else None,
         subject_groups[other] if subject_groups else None, f"a{attribute}", f"k{attribute // 2}")
        for template, attribute, (one, other) in product(range(templates), range(attributes), pairs)
    ]  # fmt: skip
    names = ["template", "subject1", "subject2", "group1", "group2", "attribute", "attribute_group"]
    table = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    texts = dict.fromkeys(names[1:], pl.Categorical)
    return table.cast({"template": pl.UInt16, **texts}).with_row_index("swap_group")


def with_scores(groups: pl.DataFrame, scores: Array) -> pl.DataFrame:
    """Adds what is compared.

    Args:
        groups: from `design`.
        scores: shape (groups, 8), S; see `observe.scores_in_groups`.
    """
    columns = compare_scores(scores.reshape(-1, 2, 2, 2))
    return groups.with_columns(**{name: pl.Series(each) for name, each in columns.items()}, scores=pl.Series(scores))
