"""What is measured: one long and tidy table for all families."""

from __future__ import annotations

import pandera.polars as pa
import polars as pl

from biasgrid.tables.files import empty_table
from biasgrid.tables.schema import NeverNaN, column, table

MEASURE_KEYS = (
    "subject", "subject_cluster", "attribute", "attribute_cluster", "bias_type", "group", "other", "template",
)  # fmt: skip
"""What a measure is about; over what the keys are null of it is taken together."""

CELL = {
    "model": column(pl.String, description="the model's name in the config"),
    "dataset": column(pl.String, description="the dataset's name in the config"),
}
NAME = {
    "measure": column(pl.String, description="the measure's name, such as gamma, score, distance or failure_rate"),
    "options": column(
        pl.String,
        description="what it was computed with, such as `score=f1, argument=macro, mode=group`; empty where there is "
        "nothing to choose",
    ),
}
KEYS = {
    "subject": column(pl.String, description="the subject it is about", nullable=True),
    "subject_cluster": column(pl.String, description="the cluster of subjects it is about", nullable=True),
    "attribute": column(pl.String, description="the attribute it is about", nullable=True),
    "attribute_cluster": column(pl.String, description="the cluster of attributes it is about", nullable=True),
    "bias_type": column(
        pl.String,
        description="what the groups it is about have in common; of intersections joined by ` & `",
        nullable=True,
    ),
    "group": column(pl.String, description="the group it is about", nullable=True),
    "other": column(pl.String, description="the group or subject that this one is compared with", nullable=True),
    "template": column(pl.UInt16, description="the template it is about", nullable=True),
}
VALUE = {
    "value": column(
        pl.Float64, description="the measure, null where nothing has a value", nullable=True, checks=NeverNaN
    )
}
FLAG = {
    "flag": column(
        pl.String,
        description="what speaks against the cell (of validity flags beyond their limit), or why the value is withheld",
        nullable=True,
    )
}
NUMBERS = {
    "low": column(pl.Float64, description="lower end of its interval", nullable=True, checks=NeverNaN),
    "high": column(pl.Float64, description="upper end of its interval", nullable=True, checks=NeverNaN),
    "p": column(pl.Float64, description="probability of such a value without any bias", nullable=True, checks=NeverNaN),
    "q": column(pl.Float64, description="p, corrected for how much was tested", nullable=True, checks=NeverNaN),
    "n": column(pl.Int64, description="how many things that the measure counts it is made of"),
    "left_out": column(pl.Int64, description="how many more have no value and are left out"),
}

MARKS = {
    "mark": column(pl.String, description="mark of the value, from A to D, of measures that have marks", nullable=True),
    "best_mark": column(pl.String, description="the best mark in its interval", nullable=True),
    "worst_mark": column(pl.String, description="the worst mark in its interval", nullable=True),
}

MEASURES = table("measures", CELL | NAME | KEYS | VALUE | NUMBERS | FLAG)

SUMMARY = table(
    "summary",
    {
        **CELL,
        "kind": column(pl.String, description="the kind of model (such as SQuAD, NewsQA, LM)"),
        "label": column(pl.String, description="the model's label in plots"),
        "scoring": column(
            pl.String,
            description="exact or unqover, where one can choose; of models that write how they were asked to choose, "
            "such as logits, top or parsed: see docs/servers.md",
            nullable=True,
        ),
        **NAME,
        "bias_type": KEYS["bias_type"],
        **VALUE,
        **NUMBERS,
        **MARKS,
        "floor": column(
            pl.Float64,
            description="what noise alone would give, of measures that are positive for noise",
            nullable=True,
            checks=NeverNaN,
        ),
        "over": column(
            pl.String, description="what its interval generalises over: `templates`, or `all`", nullable=True
        ),
        "frames": column(
            pl.Int64,
            description="how many frames (templates that are no rewordings of each other) it has",
            nullable=True,
        ),
        **FLAG,
        "headline": column(pl.Boolean, description="whether the measure and its options are the dataset's headline"),
    },
)


def table_of_cell(rows: pl.DataFrame, schema: pa.DataFrameSchema, model: str, dataset: str) -> pl.DataFrame:
    """Makes a table of a cell: names it, and fills the columns that its rows lack.

    Args:
        rows: some columns of the schema.
        schema: `MEASURES`, or one of `tables.evidence`.
        model: the model's name in the config.
        dataset: the dataset's name in the config.
    """
    empty = empty_table(schema)
    named = rows.with_columns(model=pl.lit(model), dataset=pl.lit(dataset)).cast({pl.Categorical: pl.String})
    filled = pl.concat([empty, named], how="diagonal_relaxed").cast(empty.schema)
    return filled.with_columns(pl.col("value").fill_nan(None))
