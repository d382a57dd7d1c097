"""Cells as models are compared by them: made of associations by cluster, as tables in a folder of results."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from biasgrid.tables.statistics import VARIANCES, WITHOUT_CLUSTERS
from worlds import Array

from biasgrid.stats.compare.all_pairs import compare_models
from biasgrid.stats.compare.cells import ComparedCell
from biasgrid.stats.estimate import leave_one_out
from biasgrid.stats.null import corrected_statistic, strength_of
from biasgrid.stats.settings import StatisticsSettings, jackknife_columns
from biasgrid.tables.comparison import COMPARISON_TABLES as TABLES_OF_COMPARISON
from biasgrid.tables.files import empty_table, write_table
from biasgrid.tables.metric import Mark
from biasgrid.tables.provenance import table_provenance

MARKS = {"strength": [Mark("A", 0, 1, "none"), Mark("B", 1, 100, "some")]}
"""Of worlds: those of their strength."""


def numbers_of(values: Array, subjects: list[str] | None = None) -> pl.DataFrame:
    """Rows of `WITHOUT_CLUSTERS` of associations by cluster, shape (subjects, attributes, clusters)."""
    names = subjects or [f"subject {number}" for number in range(len(values))]
    attributes = [f"attribute {number}" for number in range(values.shape[1])]
    counts = np.ones_like(values)

    def whole(chosen: Array) -> list[float]:
        return [corrected_statistic(chosen.mean(axis=-1), chosen, "mu"), strength_of(chosen, np.ones_like(chosen))]

    clusters = values.shape[-1]
    each = np.full((2, clusters), np.nan)
    if clusters > 2:
        each = np.array([whole(np.delete(values, cluster, axis=-1)) for cluster in range(clusters)]).T
    tables = [
        pl.DataFrame({"measure": ["mu_corrected", "strength"], "value": whole(values), **jackknife_columns(each)}),
        parts({"subject": names}, values.mean(axis=1), counts.mean(axis=1)),
        parts(
            {"subject": np.repeat(names, len(attributes)), "attribute": np.tile(attributes, len(names))},
            values.reshape(-1, values.shape[-1]),
            counts.reshape(-1, values.shape[-1]),
        ),
    ]
    empty = empty_table(WITHOUT_CLUSTERS)
    rows = pl.concat([empty, *tables], how="diagonal_relaxed").with_columns(
        dataset=pl.lit("world"), options=pl.lit(""), n=pl.lit(1), model=pl.lit("some")
    )
    return rows.cast(empty.schema).select(empty.columns)


def parts(names: dict[str, Any], sums: Array, counts: Array) -> pl.DataFrame:
    """Gamma of parts, shape (parts, clusters)."""
    columns = jackknife_columns(leave_one_out(sums, counts), moderated=True)
    return pl.DataFrame({**names, "measure": "gamma", "value": sums.mean(axis=1), **columns})


def cell_of(model: str, values: Array, **facts: Any) -> ComparedCell:
    """A cell of associations by cluster, asked with the templates of all others unless `facts` say otherwise."""
    return ComparedCell(model, numbers_of(values, facts.pop("subjects", None)), **{"templates": "the same", **facts})


def write_results(folder: Path, cells: list[ComparedCell], dataset: str = "world") -> Path:
    """Writes the tables by which the command compares models."""
    settings = {"level": 0.95, "permutations": 1999, "seed": 0, "fdr": "bh"}
    for cell in cells:
        said = {"measures": {"predictions": {"scoring": cell.scoring}}, "templates": cell.templates}
        numbers = cell.numbers.with_columns(model=pl.lit(cell.model), dataset=pl.lit(dataset))
        for name, table, schema in (
            ("without_clusters", numbers, WITHOUT_CLUSTERS),
            ("variances", empty_table(VARIANCES), VARIANCES),
        ):
            write_table(table, folder / name / dataset / f"{cell.model}.parquet", schema, table_provenance(**said))
    found = compare_models(dataset, cells, StatisticsSettings(), MARKS)
    marks = {measure: [asdict(mark) for mark in known] for measure, known in MARKS.items()}
    for name, schema in TABLES_OF_COMPARISON.items():
        facts = table_provenance(statistics=settings, marks=marks)
        write_table(getattr(found, name), folder / name / f"{dataset}.parquet", schema, facts)
    return folder
