"""Reads cells, and refuses those that are not whole: of these nothing is reported."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from biasgrid.base.faults import UserError
from biasgrid.tables.answers import schema_of
from biasgrid.tables.files import read_table
from biasgrid.tables.instances import Keys, read_instances


class IncompleteCell(UserError):  # noqa: N818
    """A cell without exactly one prediction for each instance, of which nothing is reported."""


def read_cell(
    instances_path: Path, prediction_paths: Sequence[Path], keys: Keys, kind: str, name: str,
    columns: Sequence[str] | None = None, said: Collection[str] | None = None,
) -> tuple[pl.DataFrame, pl.DataFrame]:  # fmt: skip
    """Reads the instances and the predictions of a cell.

    Args:
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order.
        keys: the columns of the dataset's family.
        kind: the answer kind of the predictions.
        name: what to call the cell in messages.
        columns: which columns of the instances to read; None for all.
        said: which columns of the predictions to read, of those that the kind has; None for all.

    Returns:
        Both tables, as they stand in the files.

    Raises:
        TableError: a file does not fit its schema.
        IncompleteCell: not every instance has exactly one prediction.
    """
    instances = read_instances(instances_path, keys, columns)
    schema = schema_of(kind)
    chosen = [name for name in schema.columns if said is None or name in said]
    predictions = pl.concat(read_table(path, schema, chosen) for path in prediction_paths)
    try:
        check_complete(instances, predictions)
    except IncompleteCell as error:
        raise IncompleteCell(f"{name}: {error}") from None
    return instances, predictions


def check_complete(instances: pl.DataFrame, predictions: pl.DataFrame) -> None:
    """Refuses a cell unless every instance has exactly one prediction.

    Args:
        instances: with `instance`, the numbers from 0, one per row of the table.
        predictions: with `instance`.

    Raises:
        IncompleteCell: with the counts of instances without a prediction and with several, and of predictions
            of unknown instances; or because there are no instances.
    """
    if instances.is_empty():
        raise IncompleteCell("there are no instances to measure; expected at least one")
    predicted = predictions["instance"].to_numpy()
    if np.array_equal(predicted, np.arange(instances.height, dtype=predicted.dtype)):
        return
    known = predicted[predicted < instances.height]
    counts = np.bincount(known, minlength=instances.height)
    missing, several = np.count_nonzero(counts == 0), np.count_nonzero(counts > 1)
    unknown = len(predicted) - len(known)
    if missing or several or unknown:
        raise IncompleteCell(
            f"of {instances.height} instances, {missing} have no prediction and {several} have more than one;"
            f" {unknown} predictions are of unknown instances; expected exactly one prediction of each"
            " (remove the cell's predictions and run again)"
        )
