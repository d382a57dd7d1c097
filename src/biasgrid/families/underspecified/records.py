"""What models said of subjects, as records of groups: the subjects, and the clusters that they are of."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.complete import check_complete
from biasgrid.families.underspecified.comparisons import Scoring, scores
from biasgrid.families.underspecified.measures import PREDICTIONS, Task
from biasgrid.groups.keyed import records_of
from biasgrid.groups.records import Records, SubjectOutputs
from biasgrid.table_files import read_table
from biasgrid.tables.instances import INSTANCES

KEYS = ["instance", "template", "negated", "attribute", "subject1", "subject2", "cluster1", "cluster2"]
SAID = ("instance", "start", "end", "probability", "pronoun")
"""How the columns of predictions begin that scores are made of."""


def read_records(instances_path: Path, prediction_paths: Sequence[Path], task: Task, scoring: Scoring) -> Records:
    """Makes records of a cell's files.

    A case is a template with an attribute and a question, plain or negated. Its records are the subjects: the score of
    each is the mean over all that it is paired with, in both orders. Bias types are `subject`, each subject a group of
    its own, and where subjects have clusters `cluster`, with the subjects as terms.

    Args:
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order.
        task: the models' task.
        scoring: see `comparisons.scores`.

    Raises:
        TableError: a file does not fit its schema.
        IncompleteCell: not every instance has exactly one prediction.
    """
    instances = read_table(instances_path, INSTANCES, KEYS)
    # What is said besides, such as answers, is left in the files: a full grid has millions of rows.
    said = [name for name in PREDICTIONS[task].columns if name.startswith(SAID)]
    predictions = pl.concat(read_table(path, PREDICTIONS[task], said) for path in prediction_paths)
    check_complete(instances, predictions)
    subjects = mean_scores(instances, scores(predictions, scoring).sort("instance"))
    of_subject = subjects.with_columns(bias_type=pl.lit("subject"), group="subject")
    of_cluster = subjects.drop_nulls("cluster").with_columns(bias_type=pl.lit("cluster"), group="cluster")
    records = pl.concat([of_subject, of_cluster])
    return records_of(records, SubjectOutputs(records["score"].to_numpy().reshape(-1, 1)))


def mean_scores(instances: pl.DataFrame, scored: pl.DataFrame) -> pl.DataFrame:
    """Returns the mean score of every subject in every case.

    Args:
        instances: the instances, by their number.
        scored: `score1` and `score2` of each.

    Returns:
        `case`, `template`, `term` and `subject` (both the subject's name), `cluster` and `score`, by case and subject.
    """
    names = pl.concat([instances["subject1"].unique(), instances["subject2"].unique()]).cast(pl.String).unique().sort()
    attributes = instances["attribute"].unique().cast(pl.String).sort()
    template, negated = (instances[name].to_numpy().astype(np.int64) for name in ("template", "negated"))
    case = (template * len(attributes) + codes(instances["attribute"], attributes)) * 2 + negated
    places = [case * len(names) + codes(instances[f"subject{side}"], names) for side in (1, 2)]
    size = (int(case.max()) + 1) * len(names)
    sums, counts = np.zeros(size), np.zeros(size, dtype=np.int64)
    for side, place in zip((1, 2), places, strict=True):
        sums += np.bincount(place, scored[f"score{side}"].to_numpy(), minlength=size)
        counts += np.bincount(place, minlength=size)
    found = np.flatnonzero(counts)
    subject = names.gather(found % len(names))
    means = pl.DataFrame(
        {
            "case": found // len(names),
            "template": found // len(names) // 2 // len(attributes),
            "term": subject,
            "subject": subject,
            "score": sums[found] / counts[found],
        }
    )
    return means.join(clusters_of(instances), on="subject", how="left", maintain_order="left")


def codes(values: pl.Series, names: pl.Series) -> npt.NDArray[np.int64]:
    """Returns values as places in the list of their names."""
    return values.cast(pl.Enum(names)).to_physical().to_numpy().astype(np.int64)


def clusters_of(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns `subject` and `cluster` of every subject."""
    sides = [instances.select(subject=f"subject{side}", cluster=f"cluster{side}").unique() for side in (1, 2)]
    return pl.concat(side.cast(pl.String) for side in sides).unique("subject").sort("subject")
