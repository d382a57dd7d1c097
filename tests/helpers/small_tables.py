"""Instances, predictions and scored swap groups, in the schemas of their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from biasgrid.families.expansion import Expansion
from biasgrid.families.underspecified.observe import compare_scores
from biasgrid.tables.files import write_table
from biasgrid.tables.instances import FamilyKeys
from biasgrid.tables.instances import instances_schema as schema_of_instances
from biasgrid.tables.keys import Repetitions, digest_rows, request_keys
from biasgrid.tables.schema import answer_schema


def whole(expansion: Expansion) -> pl.DataFrame:
    """All instances of an expansion."""
    return pl.concat([pl.DataFrame(schema=polars_schema(expansion.schema)), *expansion.parts])


def polars_schema(schema: Any) -> dict[str, Any]:
    """Names and types of a schema's columns."""
    return {name: column.dtype.type for name, column in schema.columns.items()}


def write_instances(instances: pl.DataFrame, path: Path, keys: FamilyKeys, **provenance: Any) -> None:
    """Writes instances of a family."""
    write_table(instances, path, schema_of_instances(keys, instances.schema), provenance)


def predictions_of(kind: str, instances: pl.DataFrame, **columns: Any) -> pl.DataFrame:
    """Predictions of an answer kind, of all given instances; columns that are not given are null."""
    schema = polars_schema(answer_schema(kind))
    known: Mapping[str, Any] = {"instance": instances["instance"], **columns}
    nothing = [None] * len(instances)
    return pl.DataFrame([pl.Series(name, known.get(name, nothing)).cast(dtype) for name, dtype in schema.items()])


def counted(instances: pl.DataFrame) -> pl.DataFrame:
    """Instances that say how many before them ask the same."""
    return instances.with_columns(Repetitions().asked_before(digest_rows(instances)))


def with_keys(instances: pl.DataFrame) -> pl.DataFrame:
    """Instances with their keys beside them, as a model is given them."""
    asked = counted(instances)
    return asked.with_columns(request_keys(asked))


Array = npt.NDArray[np.float64]


def design(
    subjects: Sequence[str], attributes: int, templates: int, subject_groups: Sequence[str] | None = None
) -> pl.DataFrame:
    """All pairs of subjects, those of different groups where there are groups; without scores."""
    pairs = list(combinations(range(len(subjects)), 2))
    if subject_groups:
        pairs = [(one, other) for one, other in pairs if subject_groups[one] != subject_groups[other]]
    rows = [
        (template, subjects[one], subjects[other], subject_groups[one] if subject_groups else None,
         subject_groups[other] if subject_groups else None, f"a{attribute}", f"k{attribute // 2}")
        for template, attribute, (one, other) in product(range(templates), range(attributes), pairs)
    ]  # fmt: skip
    names = ["template", "subject1", "subject2", "group1", "group2", "attribute", "attribute_group"]
    table = pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
    texts = dict.fromkeys(names[1:], pl.Categorical)
    return table.cast({"template": pl.UInt16, **texts}).with_row_index("swap_group")


def with_scores(groups: pl.DataFrame, scores: Array) -> pl.DataFrame:
    """Adds what is compared.

    Args:
        groups: from `design`.
        scores: shape (groups, 8), S; see `observe.scores_in_groups`.
    """
    columns = compare_scores(scores.reshape(-1, 2, 2, 2))
    return groups.with_columns(**{name: pl.Series(each) for name, each in columns.items()}, scores=pl.Series(scores))
