"""What a family may tell the report of a cell, beside the tables that every family has: its module `payload`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, Protocol

import polars as pl


@dataclass(frozen=True)
class ShownCell:
    """What is known of a cell.

    Attributes:
        measures: schema `MEASURES` with the columns of `tables.certainty.with_certainty`.
        examples: schema `EVIDENCE`: the sentences that the report may carry, those that matter most first (`rank`).
        parts: schema `EVIDENCE_PARTS`: the numbers that have evidence, by template and by partner.
    """

    measures: pl.DataFrame
    examples: pl.DataFrame
    parts: pl.DataFrame


class Payload(Protocol):
    """The functions of the module `payload`, of which a family may leave out any; what they return becomes JSON.

    Numbers may be given by `numbers.scaled`, which makes them small.
    """

    def dataset_payload(self, cells: Mapping[str, ShownCell]) -> dict[str, Any]:
        """Returns what the cells of a dataset share, by the names of their models."""

    def cell_payload(self, cell: ShownCell, shared: Mapping[str, Any]) -> dict[str, Any]:
        """Returns what the page of a cell shows.

        Args:
            cell: the cell.
            shared: from `dataset_payload`, empty where the family has none.
        """

    def evidence(self, cell: ShownCell, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Returns the sentences behind numbers, those that matter most first: as many are carried as fit."""


SCALE = 10_000
"""Numbers of the page are whole ten-thousandths."""


def scaled(values: pl.Series | float | None) -> Any:
    """Returns numbers as whole ten-thousandths, None where there is none: a list of those of a series."""
    if isinstance(values, pl.Series):
        whole = (values * SCALE).fill_nan(None)
        # Floats that are infinite have no place in JSON.
        return whole.set(~whole.is_finite().fill_null(value=True), None).round().cast(pl.Int64).to_list()
    return None if values is None or not isfinite(values) else round(values * SCALE)
