"""The cells that are compared: their numbers with and without each cluster, and how these were made."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from biasgrid.tables.files import REMEDY, TableError, read_provenance, read_table
from biasgrid.tables.statistics import VARIANCES, WITHOUT_CLUSTERS


class Cell(NamedTuple):
    """What one model was found to be on a dataset.

    Attributes:
        model: what it is called.
        numbers: schema `WITHOUT_CLUSTERS`; no rows where nothing was measured.
        scoring: how its answers were scored, None where one cannot choose.
        templates: a digest of what it was asked with, None where that is not known.
        reliability: how well other clusters would repeat its associations, None where that is not known.
    """

    model: str
    numbers: pl.DataFrame
    scoring: str | None = None
    templates: str | None = None
    reliability: float | None = None


def read_cell(model: str, without_clusters: Path, variances: Path) -> Cell:
    """Reads the tables of a cell.

    Args:
        model: what the model is called.
        without_clusters: its numbers without each cluster.
        variances: where its variance is.

    Raises:
        TableError: one of them is not what it should be.
    """
    facts = read_provenance(without_clusters)
    if facts != read_provenance(variances):
        raise TableError(f"{variances}: not made with {without_clusters}; {REMEDY}")
    numbers = read_table(without_clusters, WITHOUT_CLUSTERS)
    found = read_table(variances, VARIANCES).filter(name="reliability")["value"].mean()
    reliability = float(found) if isinstance(found, float) else None
    return Cell(model, numbers, scoring_of(facts), facts.get("templates"), reliability)


def scoring_of(facts: Mapping[str, Any]) -> str | None:
    """Returns how the answers of a cell were scored: of models that write how they were asked to choose.

    Args:
        facts: the provenance of its statistics.
    """
    said = facts.get("measures", {}).get("predictions", {})
    way: str | None = said.get("scored_by") or said.get("scoring")
    return way
