"""Cells as models are compared by them: made of associations by cluster, as tables in a folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from worlds import Array

from biasgrid.stats.compare.all_pairs import compare_models
from biasgrid.stats.compare.cells import ComparedCell, compared_numbers
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Along, Sums, read_cell_sums, sums_table
from biasgrid.tables.claims.marks import Mark
from biasgrid.tables.comparison import COMPARISON_TABLES as TABLES_OF_COMPARISON
from biasgrid.tables.files import empty_table, write_table
from biasgrid.tables.measures import DESIGN, MEASURES, table_of_cell
from biasgrid.tables.provenance import digest, table_provenance
from biasgrid.tables.sums import SUMS

FAMILY = "biasgrid.families.underspecified"
MARKS = {"strength": [Mark("A", 0, 1, "none", original=True), Mark("B", 1, 100, "some", original=True)]}
"""Of worlds: those of their strength."""


def sums_of(values: Array, subjects: list[str] | None = None) -> pl.DataFrame:
    """The table of sums of associations by cluster, shape (subjects, attributes, clusters); signs are as gamma is."""
    names = subjects or [f"subject {number}" for number in range(len(values))]
    attributes = [f"attribute {number}" for number in range(values.shape[1])]
    pairs = {"subject": np.repeat(names, len(attributes)), "attribute": np.tile(attributes, len(names))}
    of_pairs = means({**pairs}, values.reshape(-1, values.shape[-1]))
    one = np.ones((1, 1, 2))
    whole = {TEMPLATES: Along(["0"], one), "subjects": Along(names, np.repeat(one, len(names), axis=1))}
    whole["attributes"] = Along(attributes, np.repeat(one, len(attributes), axis=1))
    parts = [
        means({"subject": names}, values.mean(axis=1)).named("gamma"),
        of_pairs.named("gamma"),
        Sums(of_pairs.keys, of_pairs.along, compared=False).named("eta"),
        Sums(pl.DataFrame({"n": [1]}), whole, compared=False).named("delta"),
    ]
    return table_of_cell(sums_table(parts), SUMS, "some", "world")


def means(names: Mapping[str, Any], values: Array) -> Sums:
    """Means of parts over clusters, shape (parts, clusters)."""
    clusters = [str(cluster) for cluster in range(values.shape[1])]
    columns = np.stack([values, np.ones_like(values)], axis=-1)
    keys = pl.DataFrame({**names, "n": np.ones(len(values), dtype=np.int64)})
    return Sums(keys, {TEMPLATES: Along(clusters, columns)}, interval="moderated t", test="q")


def cell_of(model: str, values: Array, subjects: list[str] | None = None, **facts: Any) -> ComparedCell:
    """A cell of associations by cluster, asked with the templates of all others unless `facts` say otherwise."""
    settings = StatisticsSettings(clusters=range(values.shape[-1]))
    numbers, units = compared_numbers(FAMILY, read_cell_sums(FAMILY, sums_of(values, subjects), {})[0], {}, settings)
    return ComparedCell(model, numbers, **{"templates": "the same", "units": units, **facts})


def write_results(folder: Path, worlds: Mapping[str, Array], dataset: str = "world") -> Path:
    """Writes the tables by which the command compares models."""
    settings = {"level": 0.95, "permutations": 1999, "seed": 0, "fdr": "bh"}
    for model, values in worlds.items():
        sums = sums_of(values).with_columns(model=pl.lit(model), dataset=pl.lit(dataset))
        made = table_provenance(of=f"{dataset}/{model}")
        said: dict[str, Any] = {"clusters": [*range(values.shape[-1])], "statistics": settings, "sums": digest(made)}
        said |= {"cell": {"family": FAMILY, "options": {}}, "templates": "the same"}
        facts = table_provenance(of=f"{dataset}/{model}", **said)
        for name, table, schema, known in (
            ("sums", sums, SUMS, made),
            ("measures", empty_table(MEASURES), MEASURES, facts),
            ("design", empty_table(DESIGN), DESIGN, facts),
        ):
            write_table(table, folder / name / dataset / f"{model}.parquet", schema, known)
    cells = [cell_of(model, values) for model, values in worlds.items()]
    found = compare_models(dataset, cells, StatisticsSettings(), MARKS)
    marks = {measure: [asdict(mark) for mark in known] for measure, known in MARKS.items()}
    for name, schema in TABLES_OF_COMPARISON.items():
        facts = table_provenance(statistics=settings, marks=marks)
        write_table(getattr(found, name), folder / name / f"{dataset}.parquet", schema, facts)
    return folder
