"""What models say: one row per instance, in the schema of its answer kind; each kind is a module here."""

from __future__ import annotations

from importlib import import_module

import pandera.polars as pa


def schema_of(kind: str) -> pa.DataFrameSchema:
    """Returns the schema of an answer kind, such as `choice`; found by its name, so that kinds know nothing of others.

    Raises:
        ModuleNotFoundError: there is no such kind.
    """
    schema: pa.DataFrameSchema = import_module(f"{__name__}.{kind}").SCHEMA
    return schema
