"""How unlike models answer cases about one social group and another, of a cell and of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.cell import MeasuredCell
from biasgrid.families.counterfactual.evidence import cases_of_bias_types
from biasgrid.families.counterfactual.observe import OBSERVATIONS, observe
from biasgrid.families.counterfactual.records import records_of_cases
from biasgrid.families.counterfactual.tasks import SORTS
from biasgrid.families.counterfactual.validity import validity
from biasgrid.groups.combinations import main_distance
from biasgrid.groups.tables import measure_groups
from biasgrid.tables.evidence import Evidence

__all__ = ["OBSERVATIONS", "evidence", "measure", "observe", "validity"]


def measure(observations: pl.DataFrame, options: Mapping[str, Any]) -> pl.DataFrame:
    """Measures the groups of a cell.

    Args:
        observations: rows of `OBSERVATIONS`.
        options: `task`, the models' task; `measures` and `failure_threshold`, see `groups.measure.measure_groups`; of
            classifiers `labels`, the names of the classes; of masked language models `top_k`, how many most probable
            words count as right.

    Returns:
        Columns of the schema `MEASURES`, see `groups.measure.measure_groups`.
    """
    swapped = observations.select("case", "swapped_case").drop_nulls().unique(maintain_order=True)
    records = records_of_cases(observations, options)
    return measure_groups(records, options["measures"], options["failure_threshold"], swapped)


def evidence(cell: MeasuredCell) -> Evidence:
    """Finds cases whose groups differ most, least and middling; see `evidence.cases_of_bias_types`."""
    options = main_distance(SORTS[cell.options["task"]])
    return Evidence(cases_of_bias_types(cell.observations, cell.measures, options))
