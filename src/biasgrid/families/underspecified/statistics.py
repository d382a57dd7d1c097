"""How sure the measures of underspecified questions are, and where their variance is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.underspecified.certainty.parts import statistics_of_parts
from biasgrid.families.underspecified.certainty.sums import Groups
from biasgrid.families.underspecified.comparisons import answered
from biasgrid.statistics.cell import Found, Settings

__all__ = ["statistics"]


def statistics(
    observations: pl.DataFrame, measures: pl.DataFrame, options: Mapping[str, Any], settings: Settings
) -> Found:
    """Finds how sure the measures of a cell are.

    Args:
        observations: from `comparisons.compare_subjects`.
        measures: the cell's measures.
        options: see `measure.measure`.
        settings: frames, level and the like.
    """
    known = answered(observations)
    if known.is_empty():
        return Found(pl.DataFrame())
    groups = Groups.of(known, settings.frames)
    rows, _ = statistics_of_parts(groups, settings)
    return Found(rows)
