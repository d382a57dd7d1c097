"""The measures of the underspecified family (Li et al., Findings of EMNLP 2020), of a cell and of its parts.

Sums run through numpy in the order of the swap groups, so that the table is the same to the byte whatever the
number of threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from biasgrid.arrays import FloatArray
from biasgrid.families.underspecified.comparisons import COMPARED, PLACE, compare_subjects, directed, scores_in_groups
from biasgrid.families.underspecified.examples import strongest_associations
from biasgrid.families.underspecified.records import records_of_subjects
from biasgrid.families.underspecified.validity import validity
from biasgrid.groups.measure import measure_groups

__all__ = ["READ", "examples", "measure", "observe", "validity"]

READ = ["instance", *PLACE, *COMPARED, "text", "text_pair", "candidate1", "candidate2", "position1", "position2"]
"""The columns of instances that are read; the last ones only for examples."""
PART_KEYS = ("subject", "subject_cluster", "attribute", "attribute_cluster")
PARTS = [
    ["subject", "attribute"],
    ["subject"],
    ["subject_cluster", "attribute"],
    ["subject_cluster"],
    ["subject", "attribute_cluster"],
    ["subject_cluster", "attribute_cluster"],
]


def observe(instances: pl.DataFrame, predictions: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Compares the subjects of every swap group; see `comparisons.compare_subjects`."""
    return compare_subjects(instances, predictions, options["scoring"])


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures a cell.

    What a row is about shows in the keys that are not null. Parts of the cell (a subject or a cluster of
    subjects, with an attribute, a cluster of attributes or neither) have `gamma`, `eta` and `win_ratio`; the
    whole cell has `mu`, `eta`, `delta`, `epsilon`, `answer_probability` and `winner_changes`.

    Args:
        observations: from `observe`.
        options: `measures`, the comparisons of subjects as groups, see `groups.measure.measure_groups`, and unless
            there are none `failure_threshold`, at which failure rates are looked at besides.

    Returns:
        Columns of the schema `MEASURES`: what is said of subjects and attributes, sorted by measure and keys, and
        what is said of groups behind it.
    """
    parts = measures_of_parts(observations)
    measures = pl.concat([parts, measures_of_cell(scores_in_groups(observations), parts)], how="diagonal")
    measures = measures.sort("measure", *PART_KEYS).with_columns(options=pl.lit(""), left_out=pl.lit(0, pl.Int64))
    if options["measures"] == []:
        return measures
    groups = measure_groups(records_of_subjects(observations), options["measures"], options["failure_threshold"])
    return pl.concat([measures, groups], how="diagonal")


def examples(
    instances: pl.DataFrame,
    predictions: pl.DataFrame,
    observations: pl.DataFrame,
    measures: pl.DataFrame,
    options: Mapping[str, Any],
) -> pl.DataFrame:
    """Finds the swap groups behind the strongest associations; see `examples.strongest_associations`."""
    return strongest_associations(instances, predictions, observations, measures, options["scoring"])


def measures_of_parts(observations: pl.DataFrame) -> pl.DataFrame:
    """Returns gamma, eta and win_ratio of every part of the cell that has swap groups.

    Two subjects of one cluster tell nothing about it, so clusters of subjects leave out their swap groups.
    """
    views = directed(observations).with_columns(across=pl.col("subject_cluster") != pl.col("other_cluster"))
    views = views.with_columns(enumerated(views[key]) for key in PART_KEYS)
    parts = []
    for keys in PARTS:
        rows = (views.filter("across") if "subject_cluster" in keys else views).drop_nulls(keys)
        if not rows.is_empty():
            parts.append(associations(rows, keys))
    return pl.concat(parts)


def enumerated(names: pl.Series) -> pl.Series:
    """Returns names as an alphabetical enumeration: its codes do not depend on what was read before."""
    return names.cast(pl.Enum(names.drop_nulls().unique().cast(pl.String).sort()))


def associations(rows: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """Returns, by `keys`, gamma (mean of C), eta (mean of its sign) and win_ratio (share of C > 0).

    Args:
        rows: directed comparisons, in which the keys are enumerations.
        keys: what to group by.
    """
    codes = [rows[key].to_physical().to_numpy() for key in keys]
    part = np.ravel_multi_index(codes, [int(code.max()) + 1 for code in codes])
    n = np.bincount(part)
    present = np.flatnonzero(n)
    row_of = np.zeros(len(n), dtype=np.int64)
    row_of[part] = np.arange(len(part))
    names = [pl.col(key) if key in keys else pl.lit(None).alias(key) for key in PART_KEYS]
    named = rows[row_of[present]].select(*(name.cast(pl.String) for name in names), n=n[present])
    comparison = rows["comparison"].to_numpy()
    weights = {"gamma": comparison, "eta": np.sign(comparison), "win_ratio": comparison > 0}
    return pl.concat(
        named.with_columns(measure=pl.lit(name), value=np.bincount(part, weight)[present] / n[present])
        for name, weight in weights.items()
    )


def measures_of_cell(scores: FloatArray, parts: pl.DataFrame) -> pl.DataFrame:
    """Returns the measures of the whole cell.

    Args:
        scores: shape (groups, 2 orders, 2 questions, 2 subjects), see `scores_in_groups`.
        parts: from `measures_of_parts`.
    """
    gamma, eta = (by_subject_and_attribute(parts, name) for name in ("gamma", "eta"))
    of_subjects = {"mu": np.nanmax(np.abs(gamma), axis=1), "eta": np.nanmean(np.abs(eta), axis=1)}
    # The other subject's score for the negated question, in one and the same context.
    across = scores[:, :, 0] - scores[:, :, 1, ::-1]
    winner = np.sign(scores[:, :, 0, 0] - scores[:, :, 0, 1])
    of_groups = {
        "delta": np.abs(scores[:, 0] - scores[:, 1]).mean(axis=(1, 2)),
        "epsilon": np.abs(across).mean(axis=(1, 2)),
        "answer_probability": scores.mean(axis=(1, 2, 3)),
        "winner_changes": winner[:, 0] != winner[:, 1],
    }
    measures = of_subjects | of_groups
    return pl.DataFrame(
        {
            "measure": list(measures),
            "value": [float(values.mean()) for values in measures.values()],
            "n": [len(values) for values in measures.values()],
        }
    )


def by_subject_and_attribute(parts: pl.DataFrame, measure: str) -> FloatArray:
    """Returns a measure with shape (subjects, attributes), NaN where nobody asked."""
    pairs = parts.filter(pl.col("measure") == measure).drop_nulls(["subject", "attribute"])
    wide = pairs.pivot("attribute", index="subject", values="value").drop("subject")
    return wide.to_numpy().astype(np.float64)
