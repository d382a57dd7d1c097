"""What the expansions of all families return."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandera.polars as pa
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.tables.claims.facts import COVERAGE
from biasgrid.tables.instances import ASKED_BEFORE, FamilyKeys, instances_schema, request_columns
from biasgrid.tables.keys import Repetitions, digest_rows

TEXTS_OF_ALL = ("system", "text_pair")


@dataclass(frozen=True)
class Expansion:
    """The instances of word lists.

    Attributes:
        schema: the schema of the instances.
        parts: the instances, part by part, so that not all of them need be in memory; they can be
            taken once.
        facts: other facts about them, for the provenance of their table.
        build: builds the texts of some instances by their numbers, in this order and without all
            others; None where they are found among all.
    """

    schema: pa.DataFrameSchema
    parts: Iterable[pl.DataFrame]
    facts: Mapping[str, Any] = field(default_factory=dict)
    build: Callable[[IntArray], pl.DataFrame] | None = None

    def requests_at(self, numbers: IntArray) -> pl.DataFrame:
        """Returns `instance` and the texts of some instances, if these exist.

        Args:
            numbers: their numbers, from the smallest one on.
        """
        if self.build is not None:
            return self.build(numbers)
        instance_numbers = pl.Series(numbers, dtype=pl.UInt32)
        tables = []
        for part in self.parts:
            rows = part.filter(pl.col("instance").is_in(instance_numbers.implode()))
            tables.append(rows.select("instance", *request_columns(rows.columns)))
            # Parts may be many, and none behind the last number is needed.
            if not part.is_empty() and part["instance"][-1] >= numbers[-1]:
                break
        return pl.concat(tables)


def expand_rows(
    rows: pl.DataFrame, keys: FamilyKeys, facts: Mapping[str, Any] | None = None
) -> Expansion:
    """Makes instances of rows that fit into memory: numbers them, and counts repetitions.

    Args:
        rows: what is asked, some of the columns `system`, `text`, `text_pair`, `candidate1`, ...
            and `position1`, ..., and the columns of the family.
        keys: the family's own columns.
        facts: see `Expansion`.
    """
    schema = instances_schema(keys, rows.schema)
    types = {name: column.dtype.type for name, column in schema.columns.items()}
    # It is counted once the others have their types.
    del types[ASKED_BEFORE]
    numbered = rows.with_columns(instance=pl.int_range(pl.len(), dtype=pl.UInt32))
    missing = [pl.lit(None).alias(name) for name in TEXTS_OF_ALL if name not in rows.columns]
    table = numbered.with_columns(missing).cast(types)
    counted = table.with_columns(Repetitions().asked_before(digest_rows(table)))
    return Expansion(schema, [counted.select(list(schema.columns))], facts or {})


def coverage_of_design(counts: Mapping[str, int], whole: Mapping[str, int]) -> dict[str, Any]:
    """Returns the share of a dataset that is asked, for `tables.claims.facts`.

    Args:
        counts: how many rows, subjects, templates and so on are asked.
        whole: how many there are, without `limit` and `sample`.
    """
    return {COVERAGE: {name: [count, whole[name]] for name, count in counts.items()}}
