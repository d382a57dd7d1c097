"""The measures of the underspecified family (Li et al., Findings of EMNLP 2020), of a cell and of its parts.

Sums run through numpy in the order of the swap groups, so that the table is the same to the byte whatever the
number of threads.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import numpy as np
import polars as pl

from biasgrid.arrays import FloatArray
from biasgrid.complete import IncompleteCell, check_complete
from biasgrid.families.underspecified.comparisons import KEYS, PLACE, Comparisons, Scoring, compare_subjects
from biasgrid.families.underspecified.examples import strongest_examples
from biasgrid.table_files import read_table
from biasgrid.tables.instances import INSTANCES
from biasgrid.tables.measures import MEASURE_KEYS, MEASURES
from biasgrid.tables.predictions import MASK_PREDICTIONS, SPAN_PREDICTIONS

Task = Literal["question-answering", "fill-mask"]

PREDICTIONS = {"question-answering": SPAN_PREDICTIONS, "fill-mask": MASK_PREDICTIONS}
PARTS = [
    ["subject", "attribute"],
    ["subject"],
    ["subject_cluster", "attribute"],
    ["subject_cluster"],
    ["subject", "attribute_cluster"],
    ["subject_cluster", "attribute_cluster"],
]


def measure_cell(
    instances_path: Path, prediction_paths: list[Path], task: Task, scoring: Scoring, model: str, dataset: str
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Measures a cell from its files.

    Args:
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order.
        task: the model's task, which decides the schema of the predictions.
        scoring: see `comparisons.scores`.
        model: the model's name in the config.
        dataset: the dataset's name in the config.

    Returns:
        The measures (schema `MEASURES`) and examples of the strongest associations (schema `EXAMPLES`).

    Raises:
        TableError: a file does not fit its schema, or a swap group is malformed.
        IncompleteCell: not every instance has exactly one prediction.
    """
    instances = read_table(instances_path, INSTANCES, ["instance", *PLACE, *KEYS, "context", "question"])
    predictions = pl.concat(read_table(path, PREDICTIONS[task]) for path in prediction_paths)
    try:
        measures = measure(instances, predictions, scoring, model, dataset)
    except IncompleteCell as error:
        raise IncompleteCell(f"{model} on {dataset}: {error}") from None
    return measures, strongest_examples(instances, predictions, scoring, measures)


def measure(
    instances: pl.DataFrame, predictions: pl.DataFrame, scoring: Scoring, model: str, dataset: str
) -> pl.DataFrame:
    """Measures a cell.

    What a row is about shows in the keys that are not null. Parts of the cell (a subject or a cluster of
    subjects, with an attribute, a cluster of attributes or neither) have `gamma`, `eta` and `win_ratio`; the
    whole cell has `mu`, `eta`, `delta`, `epsilon`, `answer_probability` and `winner_changes`.

    Args:
        instances: rows of `INSTANCES`; `template` and the texts are not needed.
        predictions: rows of `SPAN_PREDICTIONS` or `MASK_PREDICTIONS`.
        scoring: see `comparisons.scores`.
        model: the model's name in the config.
        dataset: the dataset's name in the config.

    Returns:
        The measures (schema `MEASURES`), sorted by measure and keys.

    Raises:
        IncompleteCell: not every instance has exactly one prediction.
        TableError: a swap group has not exactly its four instances.
    """
    check_complete(instances, predictions)
    comparisons = compare_subjects(instances, predictions, scoring)
    parts = measures_of_parts(comparisons)
    measures = pl.concat([parts, measures_of_cell(comparisons.scores, parts)], how="diagonal")
    named = measures.with_columns(pl.lit(model).alias("model"), pl.lit(dataset).alias("dataset"))
    return named.select(list(MEASURES.columns)).sort("measure", *MEASURE_KEYS)


def measures_of_parts(comparisons: Comparisons) -> pl.DataFrame:
    """Returns gamma, eta and win_ratio of every part of the cell that has swap groups.

    Two subjects of one cluster tell nothing about it, so clusters of subjects leave out their swap groups.
    """
    directed = comparisons.directed().with_columns(across=pl.col("subject_cluster") != pl.col("other_cluster"))
    directed = directed.with_columns(enumerated(directed[key]) for key in MEASURE_KEYS)
    parts = []
    for keys in PARTS:
        rows = (directed.filter("across") if "subject_cluster" in keys else directed).drop_nulls(keys)
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
    names = [pl.col(key) if key in keys else pl.lit(None).alias(key) for key in MEASURE_KEYS]
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
        scores: shape (groups, 2 orders, 2 questions, 2 subjects), see `Comparisons`.
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
