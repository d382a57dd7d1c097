"""The precision in which models answered, and how far their answers are from float32."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from biasgrid.tables.provenance import pooled_audit

EXACT = "float32"
"""The precision that the audit compares others with."""
Predictions = Mapping[str, Any]
"""The provenance of a cell's predictions. Those of a server or a dump have no `precision`, and
`audit` is None if no row was audited, as of written texts.
"""


def precision_names(cells: Iterable[Predictions]) -> str:
    """Returns the precisions in which cells were answered, mostly a single one; "" for none."""
    names = [predictions.get("precision") for predictions in cells]
    return ", ".join(dict.fromkeys(filter(None, names)))


def is_inexact(predictions: Predictions) -> bool:
    """Whether a cell was answered in another precision than float32."""
    precision: str = predictions.get("precision", EXACT)
    return precision != EXACT


def drift_text(cells: Iterable[Predictions]) -> str:
    """Describes how far answers are from float32; "" if all are in float32, or of servers."""
    inexact_cells = list(filter(is_inexact, cells))
    if not inexact_cells:
        return ""
    audit = pooled_audit([cell["audit"] for cell in inexact_cells if cell.get("audit")])
    if audit is None:
        return f"no scores were compared with {EXACT}"
    return (
        f"the scores of {audit['rows']:,} audited rows differ by up to "
        f"{audit['largest_drift']:.2g} from those in {EXACT} ({audit['mean_drift']:.2g} on average)"
    )
