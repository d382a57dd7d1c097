"""Cells of cases that a test writes, measured from their files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from small_estimates import measures_of_sums
from small_measures import with_options
from small_tables import predictions_of, write_instances

from biasgrid.families.cell import measure_cell, observe_cell
from biasgrid.families.counterfactual.family import flags_of_cases
from biasgrid.families.counterfactual.keys import KEYS
from biasgrid.families.counterfactual.observe import OBSERVATIONS
from biasgrid.families.counterfactual.pack import OUTPUT_TYPES, TASK_ANSWERS
from biasgrid.groups.definitions import measures_of_groups
from biasgrid.tables.evidence import EVIDENCE, EVIDENCE_PARTS
from biasgrid.tables.files import validate_table, write_table
from biasgrid.tables.measures import MEASURES
from biasgrid.tables.metric import OPTION_NAMES
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


def measured(folder: Path, task: str, cases: pl.DataFrame, said: list[dict[str, Any]], **options: Any) -> MeasuredCases:
    """Writes a cell's files, measures it, and checks its tables."""
    kind = TASK_ANSWERS[task]
    columns = {name: [row[name] for row in said] for name in said[0]}
    predictions = predictions_of(kind, cases.head(len(said)), **columns)
    write_instances(cases, folder / "instances.parquet", KEYS)
    write_table(predictions, folder / "predictions.parquet", answer_schema(kind), {})
    return from_files(folder, task, **options)


def measure_cases(instances: Path, predictions: Sequence[Path], options: dict[str, Any]) -> MeasuredCases:
    """Measures a cell of the family."""
    of_groups = measures_of_groups(OUTPUT_TYPES[options["task"]], 0.1, (), options.get("fixed_class"))
    names = [*of_groups, *flags_of_cases(options["task"], 2)]
    kind, family = TASK_ANSWERS[options["task"]], "biasgrid.families.counterfactual"
    sums, evidence, parts = measure_cell(family, instances, predictions, kind, options, names, "model", "dataset")
    return MeasuredCases(sums, measures_of_sums("counterfactual", sums, options), evidence, parts)


def from_files(folder: Path, task: str, **options: Any) -> MeasuredCases:
    """Measures the cell in a folder, and checks its tables."""
    paths, chosen = (folder / "instances.parquet", [folder / "predictions.parquet"]), ALL | {"task": task} | options
    tables = measure_cases(*paths, chosen)
    observed = observe_cell("biasgrid.families.counterfactual", *paths, TASK_ANSWERS[task], chosen, "a cell")
    validate_table(observed, OBSERVATIONS, folder)
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
