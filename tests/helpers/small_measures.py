"""Tables of measures with the columns that a test names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandera.polars as pa
import polars as pl

from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES, ROW
from biasgrid.tables.metric import OPTION_NAMES, Measure, options_of

SIZES = ("group_strength", "significant_tests", "mu", "mu_corrected", "strength", "eta", "delta", "epsilon")
ASSOCIATIONS = {
    name: Measure(
        name, name.replace("_", " "), f"what {name} is", f"what {name} is not", "", "difference", fair=0,
        design=("template",), headline=None if name.endswith("gamma") else "",
    )
    for name in ("share_gamma", "gamma", *SIZES, "answer_probability")
}  # fmt: skip
"""Measures of a family of associations: they say of themselves what they are called."""


def table_of(schema: pa.DataFrameSchema, rows: Sequence[Mapping[str, Any]], **shared: Any) -> pl.DataFrame:
    """A table of some rows; what neither a row nor `shared` has is null."""
    empty = empty_table(schema)
    defaults = dict.fromkeys(empty.columns) | shared
    return schema.validate(pl.DataFrame([defaults | row for row in rows], schema=empty.schema))


def measures_of(rows: Sequence[Mapping[str, Any]], **shared: Any) -> pl.DataFrame:
    """A table of measures; keys that a row does not have are null."""
    defaults = {"dataset": "faith", "measure": "share_gamma", "options": "", "n": 4, "left_out": 0}
    return table_of(MEASURES, rows, **(defaults | shared))


def with_options(measures: pl.DataFrame) -> pl.DataFrame:
    """Measures with a column for each option, null where it was not chosen."""
    chosen = [dict.fromkeys(OPTION_NAMES) | options_of(text) for text in measures["options"]]
    columns = pl.DataFrame(chosen, schema=dict.fromkeys(OPTION_NAMES, pl.String))
    # The table has a column of its own for the control that a test was made with.
    return measures.drop(OPTION_NAMES, strict=False).hstack(columns)


def with_known(measures: pl.DataFrame, known: pl.DataFrame) -> pl.DataFrame:
    """Measures with what else is known of some of them; below them those that are known alone.

    Args:
        measures: schema `MEASURES`.
        known: likewise, a row for each number of which more is known.
    """
    keys = ["model", "dataset", *ROW]
    joined = measures.join(known, on=keys, how="left", nulls_equal=True, suffix="_known", maintain_order="left")
    filled = joined.select(
        pl.coalesce(name, f"{name}_known").alias(name) if name not in keys else name for name in measures.columns
    )
    return pl.concat([filled, known.join(measures, on=keys, how="anti", nulls_equal=True, maintain_order="left")])
