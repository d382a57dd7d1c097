"""Tables of measures with the columns that a test names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandera.polars as pa
import polars as pl

from biasgrid.tables.files import empty_table
from biasgrid.tables.measures import MEASURES


def table_of(schema: pa.DataFrameSchema, rows: Sequence[Mapping[str, Any]], **shared: Any) -> pl.DataFrame:
    """A table of some rows; what neither a row nor `shared` has is null."""
    empty = empty_table(schema)
    defaults = dict.fromkeys(empty.columns) | shared
    return schema.validate(pl.DataFrame([defaults | row for row in rows], schema=empty.schema))


def measures_of(rows: Sequence[Mapping[str, Any]], **shared: Any) -> pl.DataFrame:
    """A table of measures; keys that a row does not have are null."""
    defaults = {"dataset": "faith", "measure": "gamma", "options": "", "n": 4, "left_out": 0}
    return table_of(MEASURES, rows, **(defaults | shared))
