"""Instances, predictions and scored swap groups, in the schemas of their tables."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
from polars.testing import assert_frame_equal

from biasgrid.families.expansion import Expansion
from biasgrid.tables.files import write_table
from biasgrid.tables.instances import FamilyKeys
from biasgrid.tables.instances import instances_schema as schema_of_instances
from biasgrid.tables.keys import Repetitions, digest_rows, request_keys
from biasgrid.tables.schema import answer_schema

ROUNDING = 1e-6
"""By how much, relative or absolute, what a model computes twice may differ, such as in other
batches.
"""


def check_alike(ours: pl.DataFrame, theirs: pl.DataFrame) -> None:
    """Two tables have the same rows, whose numbers differ by rounding at most."""
    assert_frame_equal(ours, theirs, rel_tol=ROUNDING, abs_tol=ROUNDING, categorical_as_str=True)


def whole(expansion: Expansion) -> pl.DataFrame:
    """All instances of an expansion."""
    return pl.concat([pl.DataFrame(schema=polars_schema(expansion.schema)), *expansion.parts])


def polars_schema(schema: Any) -> dict[str, Any]:
    """Names and types of a schema's columns."""
    return {name: column.dtype.type for name, column in schema.columns.items()}


def write_instances(
    instances: pl.DataFrame, path: Path, keys: FamilyKeys, **provenance: Any
) -> None:
    """Writes instances of a family."""
    write_table(instances, path, schema_of_instances(keys, instances.schema), provenance)


def predictions_of(kind: str, instances: pl.DataFrame, **columns: Any) -> pl.DataFrame:
    """Predictions of an answer kind, of all given instances; columns that are not given are
    null.
    """
    schema = polars_schema(answer_schema(kind))
    known: Mapping[str, Any] = {"instance": instances["instance"], **columns}
    nothing = [None] * len(instances)
    return pl.DataFrame(
        [pl.Series(name, known.get(name, nothing)).cast(dtype) for name, dtype in schema.items()]
    )


def counted(instances: pl.DataFrame) -> pl.DataFrame:
    """Instances that say how many before them ask the same."""
    return instances.with_columns(Repetitions().asked_before(digest_rows(instances)))


def with_keys(instances: pl.DataFrame) -> pl.DataFrame:
    """Instances with their keys beside them, as a model is given them."""
    asked = counted(instances)
    return asked.with_columns(request_keys(asked))
