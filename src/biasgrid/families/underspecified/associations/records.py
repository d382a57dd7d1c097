"""Records of subjects: the score of each in each case, by which subjects and their groups are compared."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.families.underspecified.observe import scores_in_groups
from biasgrid.groups.records import Records, SubjectOutputs
from biasgrid.groups.terms import records_of
from biasgrid.stats.clusters import template_units


def records_of_subjects(observations: pl.DataFrame) -> Records:
    """Makes records of a cell.

    A case is a template, in one prompt format, with an attribute and a question, plain or negated. Its records are the
    subjects: the score of each is the mean over all that it is paired with, in both orders. Bias types are `subject`,
    each subject a group of its own, and where subjects have groups `subject_group`, with the subjects as terms.

    Args:
        observations: from `compare_subjects`.
    """
    subjects = mean_scores(observations)
    of_subject = subjects.with_columns(bias_type=pl.lit("subject"), group="subject")
    of_subject_group = subjects.drop_nulls("subject_group").with_columns(
        bias_type=pl.lit("subject_group"), group="subject_group"
    )
    records = pl.concat([of_subject, of_subject_group])
    return records_of(records, SubjectOutputs(records["score"].to_numpy().reshape(-1, 1)))


def mean_scores(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean score of every subject in every case.

    Args:
        observations: from `compare_subjects`.

    Returns:
        `case`, `template`, `term` and `subject` (both its name), `subject_group`, `score`; by case and subject.
    """
    names = pl.concat([observations[name].cast(pl.String) for name in ("subject1", "subject2")]).unique().sort()
    attributes = observations["attribute"].unique().cast(pl.String).sort()
    units, unit = np.unique(template_units(observations), return_inverse=True)
    asked = unit * len(attributes) + places_among(observations["attribute"], attributes)
    subjects = [places_among(observations[name], names) for name in ("subject1", "subject2")]
    scores = scores_in_groups(observations)
    size = 2 * (int(asked.max()) + 1) * len(names)
    sums, counts = np.zeros(size), np.zeros(size, dtype=np.int64)
    for order, negated, side in product((0, 1), repeat=3):
        place = (2 * asked + negated) * len(names) + subjects[side]
        sums += np.bincount(place, scores[:, order, negated, side], minlength=size)
        counts += np.bincount(place, minlength=size)
    found = np.flatnonzero(counts)
    case, subject = found // len(names), names.gather(found % len(names))
    means = pl.DataFrame(
        {
            "case": case,
            "template": units[case // 2 // len(attributes)],
            "term": subject,
            "subject": subject,
            "score": sums[found] / counts[found],
        }
    )
    return means.join(subject_groups_of(observations), on="subject", how="left", maintain_order="left")


def places_among(values: pl.Series, names: pl.Series) -> IntArray:
    """Returns values as places in the list of their names."""
    return values.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)


def subject_groups_of(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns `subject` and `subject_group` of every subject."""
    sides = [observations.select(subject=f"subject{side}", subject_group=f"group{side}").unique() for side in (1, 2)]
    return pl.concat(side.cast(pl.String) for side in sides).unique("subject").sort("subject")
