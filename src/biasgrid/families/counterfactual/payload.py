"""What the page of a cell of cases shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from biasgrid.families.counterfactual.evidence import EXPLAINED
from biasgrid.families.payload import CellTables, example_payloads, explain_options, tables_of_groups, unit_payload


def cell_payload(cell: CellTables, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of groups, pairs of groups, templates and failures; see `families.payload`."""
    return {"tables": tables_of_groups(cell.measures)}


def evidence(cell: CellTables, shared: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns cases; of each is explained how far apart the two groups are that it shows."""
    return example_payloads(cell.examples, unit=case_of)


def case_of(rows: pl.DataFrame) -> dict[str, Any]:
    """Gathers what is shown of a case."""
    explain = explain_options(rows.rename({"unit": "case"}), (*EXPLAINED, "other", "case"))
    return unit_payload(rows) | {"explain": explain, "what": "both groups are apart by"}
