"""Cells that a test writes, measured from their files or compared by their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from small_estimates import measures_of_sums
from small_measures import with_options
from small_tables import predictions_of, write_instances
from worlds import Array

from biasgrid.families.cell import measure_cell, observe_in_parts, whole_table
from biasgrid.families.counterfactual.ask import KEYS
from biasgrid.families.counterfactual.family import flags_of_cases
from biasgrid.families.counterfactual.observe import OBSERVATIONS
from biasgrid.families.counterfactual.pack import OUTPUT_TYPES, TASK_ANSWERS
from biasgrid.groups.definitions import group_measures
from biasgrid.stats.compare.all_pairs import compare_models
from biasgrid.stats.compare.cells import ComparedCell, compared_numbers
from biasgrid.stats.settings import StatisticsSettings
from biasgrid.stats.sums import TEMPLATES, Along, SignificanceTest, Sums, read_cell_sums, sums_table
from biasgrid.tables.claims.marks import Mark
from biasgrid.tables.comparison import COMPARISON_TABLES as TABLES_OF_COMPARISON
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import empty_table, validate_table, write_table
from biasgrid.tables.measures import DESIGN, MEASURES, cell_table
from biasgrid.tables.metric import OPTION_NAMES
from biasgrid.tables.provenance import digest, table_provenance
from biasgrid.tables.schema import answer_schema
from biasgrid.tables.sums import SUMS

ALL = {"measures": None, "failure_threshold": 0.1, "labels": ["no", "yes"], "top_k": 2}


class MeasuredCases(NamedTuple):
    """What is measured of a cell.

    Attributes:
        sums: schema `SUMS`.
        measures: the values of the sums and the flags, in columns of `MEASURES`.
        evidence: schema `EVIDENCE`.
        parts: schema `EVIDENCE_PARTS`.
    """

    sums: pl.DataFrame
    measures: pl.DataFrame
    evidence: pl.DataFrame
    parts: pl.DataFrame


def measured(
    folder: Path, task: str, cases: pl.DataFrame, said: list[dict[str, Any]], **options: Any
) -> MeasuredCases:
    """Writes a cell's files, measures it, and checks its tables."""
    write_cell(folder, task, cases, said)
    return from_files(folder, task, **options)


def write_cell(folder: Path, task: str, cases: pl.DataFrame, said: list[dict[str, Any]]) -> None:
    """Writes a cell's instances, and what was said of the first of them."""
    kind = TASK_ANSWERS[task]
    columns = {name: [row[name] for row in said] for name in said[0]}
    predictions = predictions_of(kind, cases.head(len(said)), **columns)
    write_instances(cases, folder / "instances.parquet", KEYS)
    write_table(predictions, folder / "predictions.parquet", answer_schema(kind), {})


def measure_cases(
    instances: Path, predictions: Sequence[Path], options: dict[str, Any]
) -> MeasuredCases:
    """Measures a cell of the family."""
    of_groups = group_measures(
        OUTPUT_TYPES[options["task"]], 0.1, (), fixed_class=options.get("fixed_class")
    )
    names = [*of_groups, *flags_of_cases(options["task"], 2)]
    kind, family = TASK_ANSWERS[options["task"]], "biasgrid.families.counterfactual"
    sums, evidence, parts = measure_cell(
        family, instances, predictions, kind, options, names, "model", "dataset"
    )
    return MeasuredCases(sums, measures_of_sums("counterfactual", sums, options), evidence, parts)


def from_files(folder: Path, task: str, **options: Any) -> MeasuredCases:
    """Measures the cell in a folder, and checks its tables."""
    paths, chosen = (
        (folder / "instances.parquet", [folder / "predictions.parquet"]),
        ALL | {"task": task} | options,
    )
    tables = measure_cases(*paths, chosen)
    observed = observe_in_parts(
        "biasgrid.families.counterfactual", *paths, TASK_ANSWERS[task], chosen, "a cell"
    )
    validate_table(whole_table(observed), OBSERVATIONS, folder)
    for table, schema in zip(tables, (SUMS, MEASURES, EVIDENCE, EVIDENCE_PARTS), strict=True):
        validate_table(table, schema, folder)
    return tables


def rows_of(tables: MeasuredCases, measure: str, **options: str) -> pl.DataFrame:
    """The rows of a measure with just these options."""
    wanted = [pl.col(name).eq_missing(pl.lit(options.get(name))) for name in OPTION_NAMES]
    return with_options(tables.measures).filter(*wanted, measure=measure)


def of_bias_types(tables: MeasuredCases, measure: str, **options: str) -> pl.DataFrame:
    """Those of `rows_of` that are of whole bias types, over all templates."""
    keys = ("template", "group", "other")
    return rows_of(tables, measure, **options).filter(pl.col(key).is_null() for key in keys)


FAMILY = "biasgrid.families.underspecified"
MARKS = {
    "strength": [Mark("A", 0, 1, "none", original=True), Mark("B", 1, 100, "some", original=True)]
}
"""Of worlds: those of their strength."""


def sums_of(values: Array, subjects: list[str] | None = None) -> pl.DataFrame:
    """The table of sums of associations by cluster, shape (subjects, attributes, clusters); signs
    are as gamma is.
    """
    names = subjects or [f"subject {number}" for number in range(len(values))]
    attributes = [f"attribute {number}" for number in range(values.shape[1])]
    pairs = {
        "subject": np.repeat(names, len(attributes)),
        "attribute": np.tile(attributes, len(names)),
    }
    of_pairs = means({**pairs}, values.reshape(-1, values.shape[-1]))
    one = np.ones((1, 1, 2))
    whole = {
        TEMPLATES: Along(["0"], one),
        "subjects": Along(names, np.repeat(one, len(names), axis=1)),
    }
    whole["attributes"] = Along(attributes, np.repeat(one, len(attributes), axis=1))
    parts = [
        means({"subject": names}, values.mean(axis=1)).named("gamma"),
        of_pairs.named("gamma"),
        Sums(of_pairs.keys, of_pairs.along, compares_models=False).named("eta"),
        Sums(pl.DataFrame({"n": [1]}), whole, compares_models=False).named("delta"),
    ]
    return cell_table(sums_table(parts), SUMS, "some", "world")


def means(names: Mapping[str, Any], values: Array) -> Sums:
    """Means of parts over clusters, shape (parts, clusters)."""
    clusters = [str(cluster) for cluster in range(values.shape[1])]
    columns = np.stack([values, np.ones_like(values)], axis=-1)
    keys = pl.DataFrame({**names, "n": np.ones(len(values), dtype=np.int64)})
    return Sums(
        keys,
        {TEMPLATES: Along(clusters, columns)},
        interval="moderated t",
        test=SignificanceTest.CORRECTED,
    )


def cell_of(
    model: str, values: Array, subjects: list[str] | None = None, **facts: Any
) -> ComparedCell:
    """A cell of associations by cluster, asked with the templates of all others unless `facts` say
    otherwise.
    """
    settings = StatisticsSettings(clusters=range(values.shape[-1]))
    numbers, units = compared_numbers(
        FAMILY, read_cell_sums(FAMILY, sums_of(values, subjects), {})[0], {}, settings
    )
    return ComparedCell(model, numbers, **{"templates": "the same", "units": units, **facts})


def write_results(folder: Path, worlds: Mapping[str, Array], dataset: str = "world") -> Path:
    """Writes the tables by which the command compares models."""
    settings = {"level": 0.95, "permutations": 1999, "seed": 0, "fdr": "bh"}
    for model, values in worlds.items():
        sums = sums_of(values).with_columns(model=pl.lit(model), dataset=pl.lit(dataset))
        made = table_provenance(of=f"{dataset}/{model}")
        said: dict[str, Any] = {
            "clusters": [*range(values.shape[-1])],
            "statistics": settings,
            "sums": digest(made),
        }
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
