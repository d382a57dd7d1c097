"""Reads figures that others have published, to put ours beside them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from biasgrid.faults import Fault, InputError

PUBLISHED = pl.Schema(
    {
        "dataset": pl.String,
        "kind": pl.String,
        "label": pl.String,
        "measure": pl.String,
        "subject": pl.String,
        "value": pl.Float64,
        "tolerance": pl.Float64,
    }
)


def read_published(path: str | Path) -> pl.DataFrame:
    """Reads published figures.

    Args:
        path: a JSON file with `about` (where the figures are from) and `figures`, a list of objects with the
            keys `dataset`, `kind` and `label` (which name the cell), `measure` (mu, eta, margin or gamma),
            `subject` (null for a measure of the whole cell), `value` and `tolerance` (how far it may be
            off, null if unknown).

    Returns:
        One row per figure, with these keys as columns (schema `PUBLISHED`).

    Raises:
        InputError: the file cannot be read or is no such JSON, with every faulty figure.
    """
    figures = read_figures(Path(path))
    faults = [
        Fault(str(path), f"figure {number}", f"{figure!r}", "an object with the keys " + ", ".join(PUBLISHED))
        for number, figure in enumerate(figures, start=1)
        if not isinstance(figure, dict) or set(figure) != set(PUBLISHED)
    ]
    if faults:
        raise InputError(faults)
    try:
        return pl.DataFrame(figures, schema=PUBLISHED)
    except (TypeError, pl.exceptions.PolarsError) as error:
        expected = "texts, and numbers for value and tolerance"
        raise InputError([Fault(str(path), "figures", str(error).splitlines()[0], expected)]) from None


def read_figures(path: Path) -> list[Any]:
    """Returns what stands under `figures`, unchecked."""
    expected = "JSON with a list under the key 'figures'"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError([Fault(str(path), "", f"cannot be read ({error.strerror})", expected)]) from None
    except ValueError as error:
        raise InputError([Fault(str(path), "", f"not JSON ({error})", expected)]) from None
    figures = content.get("figures") if isinstance(content, dict) else None
    if not isinstance(figures, list):
        raise InputError([Fault(str(path), "", "no list of figures", expected)])
    return figures
