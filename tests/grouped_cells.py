"""Cells of cases that a test writes, measured from their files."""

from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.families.grouped import GroupOptions, GroupTables, measure_groups_of_cell
from biasgrid.table_files import empty_table, validate, write_table
from biasgrid.tables.group_measures import CASE_EXAMPLES, FAILURES, GROUP_MEASURES
from biasgrid.tables.instances import CASES
from biasgrid.tables.predictions import ANSWER_PREDICTIONS, CLASS_PREDICTIONS, TARGET_PREDICTIONS

SCHEMAS = {
    "text-classification": CLASS_PREDICTIONS,
    "fill-mask": TARGET_PREDICTIONS,
    "question-answering": ANSWER_PREDICTIONS,
}
ALL = GroupOptions(None, 0.1, labels=["no", "yes"], top_k=2)


def measured(
    folder: Path, task: str, cases: pl.DataFrame, said: list[dict[str, Any]], options: GroupOptions = ALL
) -> GroupTables:
    """Writes a cell's files, measures it, and checks its tables."""
    schema = SCHEMAS[task]
    predictions = pl.DataFrame(
        [{"instance": place} | row for place, row in enumerate(said)], schema=empty_table(schema).schema
    )
    write_table(cases, folder / "instances.parquet", CASES, {})
    write_table(predictions, folder / "predictions.parquet", schema, {})
    return from_files(folder, task, options)


def from_files(folder: Path, task: str, options: GroupOptions) -> GroupTables:
    """Measures the cell in a folder, and checks its tables."""
    paths = folder / "instances.parquet", [folder / "predictions.parquet"]
    tables = measure_groups_of_cell("counterfactual", *paths, task, None, options, "model", "dataset")
    for table, schema in zip(
        (tables.measures, tables.failures, tables.examples), (GROUP_MEASURES, FAILURES, CASE_EXAMPLES), strict=True
    ):
        validate(table, schema, folder)
    return tables


def only(tables: GroupTables, **keys: Any) -> pl.DataFrame:
    """The group measures whose named columns are as given, and whose other keys are null."""
    names = ["template", "group", "other", "distance", "comparison", "argument"]
    absent = [pl.col(name).is_null() for name in names if name not in keys]
    return tables.measures.filter(*absent, *(pl.col(name) == value for name, value in keys.items()))
