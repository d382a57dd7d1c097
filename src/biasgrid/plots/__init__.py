"""Figures: one module each, with `CAPTION` and `figure`, found by its name; only these modules import plotnine."""

from __future__ import annotations

GRID = "grid"
"""In place of a dataset's name, what compares all of them."""
