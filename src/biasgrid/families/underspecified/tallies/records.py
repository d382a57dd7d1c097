"""Records of a cell: the mean score of each subject in each case, for comparisons of subjects as
groups.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

import numpy as np
import polars as pl

from biasgrid.families.underspecified.observe import scores_in_groups
from biasgrid.families.underspecified.tallies.axes import Axes
from biasgrid.groups.records import Records, SubjectOutputs
from biasgrid.groups.terms import records_of


def records_of_subjects(axes: Axes, parts: Iterable[pl.DataFrame]) -> Records:
    """Makes records of a cell.

    A case is a template, in one prompt format, with an attribute and a question, plain or negated.
    Its records are the subjects: the score of each is the mean over all that it is paired with, in
    both orders. Bias types are `subject`, each subject a group of its own, and where subjects have
    groups `subject_group`, with the subjects as terms.

    Args:
        axes: the axes of the cell.
        parts: its swap groups that were answered, from `compare_subjects`.
    """
    subjects = mean_scores(axes, parts)
    of_subject = subjects.with_columns(bias_type=pl.lit("subject"), group="subject")
    of_subject_group = subjects.drop_nulls("subject_group").with_columns(
        bias_type=pl.lit("subject_group"), group="subject_group"
    )
    records = pl.concat([of_subject, of_subject_group])
    return records_of(records, SubjectOutputs(records["score"].to_numpy().reshape(-1, 1)))


def mean_scores(axes: Axes, parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Returns the mean score of every subject in every case.

    Args:
        axes: see `records_of_subjects`.
        parts: likewise.

    Returns:
        `case`, `template`, `term` and `subject` (both its name), `subject_group`, `score`; by case
        and subject.
    """
    order = axes.subjects.arg_sort().to_numpy()
    rank, names = np.argsort(order), axes.subjects.gather(order)
    subjects, attributes, templates = axes.shape
    places = [*product((0, 1), repeat=3)]
    sums, counts = np.zeros((2, len(places), 2 * templates * attributes * subjects))
    for part in parts:
        groups, scores = axes.swap_groups(part), scores_in_groups(part)
        asked = groups.template * attributes + groups.attribute
        for number, (swapped, negated, side) in enumerate(places):
            place = (2 * asked + negated) * subjects + rank[(groups.one, groups.other)[side]]
            np.add.at(sums[number], place, scores[:, swapped, negated, side])
            np.add.at(counts[number], place, 1.0)
    total, count = sums.sum(axis=0), counts.sum(axis=0)
    found = np.flatnonzero(count)
    case, subject = found // subjects, names.gather(found % subjects)
    means = pl.DataFrame(
        {
            "case": case,
            "template": axes.units[case // 2 // attributes],
            "term": subject,
            "subject": subject,
            "score": total[found] / count[found],
        }
    )
    return means.join(subject_groups_of(axes), on="subject", how="left", maintain_order="left")


def subject_groups_of(axes: Axes) -> pl.DataFrame:
    """Returns `subject` and `subject_group` of every subject."""
    names, codes = axes.subject_groups
    groups = pl.Series(codes).replace(-1, None)
    return pl.DataFrame({"subject": axes.subjects, "subject_group": names.gather(groups)}).sort(
        "subject"
    )
