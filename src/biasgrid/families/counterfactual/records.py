"""What models said of cases, as records of groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.arrays import FloatArray
from biasgrid.complete import IncompleteCell, check_complete
from biasgrid.families.counterfactual.packs import JOIN
from biasgrid.groups.keyed import records_of
from biasgrid.groups.records import AnswerOutputs, ClassOutputs, Outputs, Records, TargetOutputs
from biasgrid.table_files import read_table
from biasgrid.tables.instances import CASES
from biasgrid.tables.predictions import ANSWER_PREDICTIONS, CLASS_PREDICTIONS, TARGET_PREDICTIONS

PREDICTIONS: dict[str, pa.DataFrameSchema] = {
    "text-classification": CLASS_PREDICTIONS,
    "fill-mask": TARGET_PREDICTIONS,
    "question-answering": ANSWER_PREDICTIONS,
}


def read_cell(instances_path: Path, prediction_paths: Sequence[Path], task: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Reads a cell's instances and predictions.

    Raises:
        TableError: a file does not fit its schema.
        IncompleteCell: not every instance has exactly one prediction (of masked language models: of each target).
    """
    instances = read_table(instances_path, CASES)
    predictions = pl.concat(read_table(path, PREDICTIONS[task]) for path in prediction_paths)
    check_complete(instances, predictions if task != "fill-mask" else predictions.filter(pl.col("target") == 0))
    targets = instances["targets"].list.len().sum() if task == "fill-mask" else len(instances)
    if len(predictions) != targets:
        raise IncompleteCell(
            f"there are {len(predictions)} predictions for {targets} target words; expected one of each "
            "(remove the cell's predictions and run again)"
        )
    return instances, predictions.sort("instance", *(["target"] if task == "fill-mask" else []))


def records_of_cell(instances: pl.DataFrame, predictions: pl.DataFrame, task: str, top_k: int) -> Records:
    """Makes records of a cell: one for each instance, and of intersections one more for each of their parts.

    The parts of an intersection are records of their own bias types: what was said of `muslim & woman` was said of
    `muslim` and of `woman` too.

    Args:
        instances: rows of `CASES`, by instance.
        predictions: the predictions of all of them, of the schema of the task, by instance and target.
        task: the models' task.
        top_k: how many most probable words count as right, of masked language models.
    """
    keys = instances.select(
        pl.int_range(pl.len()).alias("row"), "case", "template", pl.col("bias_type", "group", "term").cast(pl.String)
    )
    parts = (
        keys.filter(pl.col("bias_type").str.contains(JOIN, literal=True))
        .with_columns(pl.col("bias_type", "group", "term").str.split(JOIN))
        .explode("bias_type", "group", "term")
    )
    keys = pl.concat([keys, parts])
    return records_of(keys, outputs_of(instances, predictions, task, top_k).only(keys["row"].to_numpy()))


def outputs_of(instances: pl.DataFrame, predictions: pl.DataFrame, task: str, top_k: int) -> Outputs:
    """Returns what was said of each instance."""
    if task == "text-classification":
        classes = int(predictions["probabilities"].list.len().max())  # type: ignore[arg-type]
        probabilities = predictions["probabilities"].list.to_array(classes).to_numpy().astype(np.float64)
        return ClassOutputs(probabilities, instances["label"].cast(pl.Int64).to_numpy())
    if task == "question-answering":
        return AnswerOutputs(predictions["answer"].cast(pl.String).to_list(), instances["answer"].to_list())
    probabilities = by_target(predictions, pl.col("probability").cast(pl.Float64), np.nan)
    # A word of several tokens is none of the most probable tokens, whatever the rank of its first one.
    in_top_k = by_target(predictions, ((pl.col("rank") <= top_k) & (pl.col("pieces") == 1)).cast(pl.Float64), 0)
    return TargetOutputs(probabilities, in_top_k == 1)


def by_target(predictions: pl.DataFrame, value: pl.Expr, missing: float) -> FloatArray:
    """Returns values of target words, shape (instances, targets), where an instance has fewer filled up."""
    rows, targets = (predictions[name].to_numpy().astype(np.int64) for name in ("instance", "target"))
    table = np.full((rows.max() + 1, targets.max() + 1), missing)
    table[rows, targets] = predictions.select(value).to_series().to_numpy()
    return table
