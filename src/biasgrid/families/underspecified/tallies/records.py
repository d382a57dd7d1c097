"""Records for comparisons of subjects as groups: mean scores of each subject in each case."""

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
    """Returns the records of a cell.

    A case is a template, in one prompt format, with an attribute and a question, plain or negated.
    Its records are the subjects: the score of each is the mean over all that it is paired with, in
    both orders. Bias types are `subject`, each subject a group of its own, and if subjects have
    groups `subject_group`, with the subjects as terms.

    Args:
        axes: the axes of the cell.
        parts: its swap groups that were answered, from `compare_subjects`.
    """
    scores = mean_scores(axes, parts)
    subjects = scores.with_columns(bias_type=pl.lit("subject"), group="subject")
    with_group = scores.drop_nulls("subject_group")
    subject_groups = with_group.with_columns(
        bias_type=pl.lit("subject_group"), group="subject_group"
    )
    records = pl.concat([subjects, subject_groups])
    return records_of(records, SubjectOutputs(records["score"].to_numpy().reshape(-1, 1)))


def mean_scores(axes: Axes, parts: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """Returns the mean score of every subject in every case.

    Args:
        axes: see `records_of_subjects`.
        parts: see `records_of_subjects`.

    Returns:
        `case`, `template`, `term` and `subject` (both its name), `subject_group`, `score`; by case
        and subject, in alphabetical order.
    """
    order = axes.subjects.arg_sort().to_numpy()
    rank, names = np.argsort(order), axes.subjects.gather(order)
    subjects, attributes, templates = axes.shape
    sides = [*product((0, 1), repeat=3)]
    # Each side is added up by itself, so that sums do not depend on where a cell is divided.
    sums, counts = np.zeros((2, len(sides), 2 * templates * attributes * subjects))
    for part in parts:
        groups, scores = axes.swap_groups(part), scores_in_groups(part)
        question = groups.template * attributes + groups.attribute
        for row, (swapped, negated, which) in enumerate(sides):
            subject = groups.one if which == 0 else groups.other
            place = (2 * question + negated) * subjects + rank[subject]
            np.add.at(sums[row], place, scores[:, swapped, negated, which])
            np.add.at(counts[row], place, 1.0)
    total, count = sums.sum(axis=0), counts.sum(axis=0)
    places = np.flatnonzero(count)
    case, subject_names = places // subjects, names.gather(places % subjects)
    means = pl.DataFrame(
        {
            "case": case,
            "template": axes.units[case // 2 // attributes],
            "term": subject_names,
            "subject": subject_names,
            "score": total[places] / count[places],
        }
    )
    return means.join(subject_groups_of(axes), on="subject", how="left", maintain_order="left")


def subject_groups_of(axes: Axes) -> pl.DataFrame:
    """Returns `subject` and `subject_group` of every subject, null if it has none."""
    names, codes = axes.subject_groups
    groups = names.gather(pl.Series(codes).replace(-1, None))
    return pl.DataFrame({"subject": axes.subjects, "subject_group": groups}).sort("subject")
