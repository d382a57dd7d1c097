"""What the expansions of all families return."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandera.polars as pa
import polars as pl


@dataclass(frozen=True)
class Expansion:
    """The instances of word lists.

    Attributes:
        schema: the schema of the instances.
        parts: the instances, part by part, so that not all of them need be in memory; they can be taken once.
        facts: what else is known, for the provenance of their table.
    """

    schema: pa.DataFrameSchema
    parts: Iterable[pl.DataFrame]
    facts: Mapping[str, Any] = field(default_factory=dict)
