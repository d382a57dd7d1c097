"""Figures: one module each, with `CAPTION` and `figure`, found by its name; only these modules import plotnine."""

from __future__ import annotations

from functools import cache
from pathlib import Path

GRID = "grid"
"""In place of a dataset's name, what compares all of them."""


@cache
def figures() -> dict[str, str]:
    """Returns the modules of figures by their names: all that stand in folders, but for what figures share."""
    files = sorted(path for path in Path(__file__).parent.glob("*/*.py") if path.stem != "__init__")
    folders = {path.stem: path.parent.name for path in files if path.parent.name != "drawing"}
    return {name: f"{__name__}.{folder}.{name}" for name, folder in folders.items()}
