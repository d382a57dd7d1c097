"""What models say: one row per instance, in the schema of its answer kind; each kind is a module here."""

from __future__ import annotations

from importlib import import_module

import pandera.polars as pa
import polars as pl

from biasgrid.tables.schema import column

UNKNOWN = column(
    pl.Boolean,
    description="whether the tokenizer put its unknown token into the text or, of models that do not write, splits "
    "most of it into pieces of a letter or two; null if not checked",
    nullable=True,
)
"""The column `unknown` of kinds whose models read texts with a tokenizer."""
CUT = column(pl.Boolean, description="whether the text was too long, so its end was not read")
"""The column `cut` of kinds whose models read as much of a text as they take."""


def schema_of(kind: str) -> pa.DataFrameSchema:
    """Returns the schema of an answer kind, such as `choice`; found by its name, so that kinds know nothing of others.

    Raises:
        ModuleNotFoundError: there is no such kind.
    """
    schema: pa.DataFrameSchema = import_module(f"{__name__}.{kind}").SCHEMA
    return schema
