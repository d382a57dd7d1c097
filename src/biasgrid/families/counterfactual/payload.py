"""What the page of a cell of cases shows beside its numbers as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from biasgrid.families.grouped import tables_of_groups
from biasgrid.families.shown import ShownCell


def cell_payload(cell: ShownCell, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Returns tables of groups, pairs of groups, templates and failures; see `families.shown.Payload`."""
    return {"tables": tables_of_groups(cell.measures)}
