"""How sure the measures of cases are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.counterfactual.observe import records_of_cases
from biasgrid.groups.uncertainty.table import statistics_of_groups
from biasgrid.stats.settings import CellStatistics, StatisticsSettings

__all__ = ["statistics"]


def statistics(
    observations: pl.DataFrame, measures: pl.DataFrame, options: Mapping[str, Any], settings: StatisticsSettings
) -> CellStatistics:
    """Finds how sure the measures of a cell are.

    Args:
        observations: rows of `OBSERVATIONS`.
        measures: the cell's measures.
        options: see `measure.measure`.
        settings: clusters, level and the like.
    """
    records = records_of_cases(observations, options)
    return CellStatistics(statistics_of_groups(records, options["measures"], options["failure_threshold"], settings))
