"""How unlike models answer cases about one social group and another, of a cell and of its parts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.families.counterfactual.examples import largest_differences
from biasgrid.families.counterfactual.keys import ANSWERS, KEYS
from biasgrid.families.counterfactual.observe import OBSERVATIONS, observe
from biasgrid.families.counterfactual.records import records_of_cases
from biasgrid.groups.combinations import SORTS
from biasgrid.groups.main_scores import main_distance
from biasgrid.groups.measure import measure_groups
from biasgrid.tables.completeness import read_cell
from biasgrid.tables.measures import EXAMPLES, MEASURES, Measured, table_of_cell

__all__ = ["OBSERVATIONS", "measure", "measure_cell", "observe"]


def measure_cell(
    instances_path: Path, prediction_paths: Sequence[Path], options: Mapping[str, Any], model: str, dataset: str
) -> Measured:
    """Measures a cell from its files.

    Args:
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order.
        options: `task`, the model's task, which decides their answer kind; `measures` and
            `failure_threshold`, see `groups.measure.measure_groups`; of classifiers `labels`, the names of the
            classes; of masked language models `top_k`, how many most probable words count as right.
        model: the model's name in the config.
        dataset: the dataset's name in the config.

    Raises:
        TableError: a file does not fit its schema.
        IncompleteCell: not every instance has exactly one prediction.
    """
    instances, predictions = read_cell(
        instances_path, prediction_paths, KEYS, ANSWERS[options["task"]], f"{model} on {dataset}"
    )
    observations = observe(instances, predictions.sort("instance"), options)
    measures = measure(observations, options)
    main = main_distance(SORTS["counterfactual", options["task"]])
    examples = largest_differences(observations, measures, main)
    return Measured(
        table_of_cell(measures, MEASURES, model, dataset),
        table_of_cell(examples, EXAMPLES, model, dataset),
        observations,
    )


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures the groups of a cell.

    Args:
        observations: rows of `OBSERVATIONS`.
        options: see `measure_cell`.

    Returns:
        Columns of the schema `MEASURES`, see `groups.measure.measure_groups`.
    """
    swapped = observations.select("case", "swapped_case").drop_nulls().unique(maintain_order=True)
    records = records_of_cases(observations, options)
    return measure_groups(records, options["measures"], options["failure_threshold"], swapped)
