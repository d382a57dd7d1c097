"""Figures: one module each, with `CAPTION` and `figure`, found by its name; only these modules import plotnine."""

from __future__ import annotations

from importlib import import_module

GRID = "grid"
"""In place of a dataset's name, what compares all of them."""


def caption_of(figure: str) -> str:
    """Returns what one sees in a figure and what it does not mean; the report puts it below the figure."""
    caption: str = import_module(f"biasgrid.plots.{figure}").CAPTION
    return caption
