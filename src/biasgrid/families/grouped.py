"""Measures the groups of a cell of any family."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.complete import IncompleteCell
from biasgrid.families.counterfactual.examples import largest_differences
from biasgrid.families.counterfactual.records import read_cell, records_of_cell
from biasgrid.families.underspecified.records import read_records
from biasgrid.groups.cell import Asked, measure_failures, measure_groups
from biasgrid.table_files import empty_table
from biasgrid.tables.group_measures import CASE_EXAMPLES


@dataclass(frozen=True)
class GroupOptions:
    """What a dataset asks about groups.

    Attributes:
        measures: the comparisons to make, each with the fields of `Asked`; None for all that are possible.
        failure_threshold: a case fails where its groups' scores differ by more.
        labels: of classifiers, the names of the classes.
        top_k: of masked language models, how many most probable words count as right.
    """

    measures: Sequence[Mapping[str, Any]] | None
    failure_threshold: float
    labels: Sequence[str] = ()
    top_k: int = 1

    @property
    def asked(self) -> list[Asked] | None:
        """The comparisons to make."""
        return None if self.measures is None else [Asked(**measure) for measure in self.measures]


@dataclass(frozen=True)
class GroupTables:
    """What is known of the groups of a cell.

    Attributes:
        measures: schema `GROUP_MEASURES`.
        failures: schema `FAILURES`.
        examples: schema `CASE_EXAMPLES`; empty for the underspecified family, which has its own.
    """

    measures: pl.DataFrame
    failures: pl.DataFrame
    examples: pl.DataFrame


def measure_groups_of_cell(
    family: str, instances_path: Path, prediction_paths: Sequence[Path], task: Any, scoring: Any,
    options: GroupOptions, model: str, dataset: str,
) -> GroupTables:  # fmt: skip
    """Measures the groups of a cell from its files.

    Args:
        family: the dataset's family.
        instances_path: the dataset's instances.
        prediction_paths: the predictions of all shards, in any order.
        task: the model's task, which decides the schema of the predictions.
        scoring: of the underspecified family, see `comparisons.scores`.
        options: what is asked.
        model: the model's name in the config.
        dataset: the dataset's name in the config.

    Raises:
        TableError: a file does not fit its schema.
        IncompleteCell: not every instance has exactly one prediction.
    """
    names = {"model": model, "dataset": dataset}
    try:
        if family == "underspecified":
            records = read_records(instances_path, prediction_paths, task, scoring)
            failures, _ = measure_failures(records, options.failure_threshold, **names)
            measures = measure_groups(records, options.asked, None, **names)
            return GroupTables(measures, failures, empty_table(CASE_EXAMPLES))
        instances, predictions = read_cell(instances_path, prediction_paths, task)
    except IncompleteCell as error:
        raise IncompleteCell(f"{model} on {dataset}: {error}") from None
    records = records_of_cell(instances, predictions, task, options.top_k)
    failures, differences = measure_failures(records, options.failure_threshold, **names)
    swapped = instances.select("case", "swapped_case").drop_nulls().unique(maintain_order=True)
    examples = largest_differences(instances, predictions, records, differences, options.labels, **names)
    return GroupTables(measure_groups(records, options.asked, swapped, **names), failures, examples)
