"""What was said of each term in each case, of one bias type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from biasgrid.base.arrays import FloatArray, IntArray, ratio
from biasgrid.groups.records import Records


@dataclass(frozen=True)
class TermScores:
    """The scores of the terms of a bias type.

    Attributes:
        bias_type: its name.
        groups: the names of its groups.
        group_of: shape (terms,), the group of each term.
        sums: shape (cases, terms), the sum of the scores of a term in a case.
        counts: shape (cases, terms), how many scores there are: usually one.
        cluster: shape (cases,), the cluster of each case.
    """

    bias_type: str
    groups: Sequence[str]
    group_of: IntArray
    sums: FloatArray
    counts: FloatArray
    cluster: IntArray

    @property
    def members(self) -> FloatArray:
        """Which terms are of which group, shape (terms, groups)."""
        return np.asarray(self.group_of[:, None] == np.arange(len(self.groups)), dtype=np.float64)

    @property
    def scores(self) -> FloatArray:
        """The mean score of each group in each case, shape (cases, groups), NaN where there is none."""
        return ratio(self.sums @ self.members, self.counts @ self.members)


def scores_of_terms(records: Records, values: FloatArray, cluster: IntArray) -> Iterator[TermScores]:
    """Yields the scores of each bias type that has several groups.

    Args:
        records: the records.
        values: shape (records,), their scores, NaN where there is none.
        cluster: shape (records,), the cluster of each.
    """
    known = ~np.isnan(values)
    for code in np.unique(records.bias_type):
        rows = np.flatnonzero((records.bias_type == code) & known)
        group_codes, group = np.unique(records.group[rows], return_inverse=True)
        if len(group_codes) < 2:
            continue
        # A term may stand for several groups of an intersection's parts; each is a term of its own.
        _, first, term = np.unique(
            group * len(records.terms) + records.term[rows], return_index=True, return_inverse=True
        )
        _, of_case, case = np.unique(records.case[rows], return_index=True, return_inverse=True)
        shape = (len(of_case), len(first))
        place = case * shape[1] + term
        sums, counts = (
            np.bincount(place, weights, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)
            for weights in (values[rows], np.ones(len(rows)))
        )
        names = [records.groups[group_code] for group_code in group_codes]
        yield TermScores(records.bias_types[code], names, group[first], sums, counts, cluster[rows][of_case])
