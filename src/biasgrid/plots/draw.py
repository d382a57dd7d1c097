"""Draws the figures of a grid into a folder, each as SVG and PNG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
from plotnine import ggplot

from biasgrid.plots import associations, bipartite, errors, heat_map, intensity, planted, ranks
from biasgrid.plots.theme import save


def draw_grid(summary: pl.DataFrame, titles: Mapping[str, str], folder: Path) -> None:
    """Draws the figures that compare all cells.

    Args:
        summary: one row per cell (schema `SUMMARY`).
        titles: titles of the datasets, by name.
        folder: where the figures go.
    """
    draw(intensity.figure(summary, "mu", titles), folder / "intensity_mu")
    draw(intensity.figure(summary, "eta", titles), folder / "intensity_eta")
    draw(errors.figure(summary, titles), folder / "errors")


def draw_dataset(measures: pl.DataFrame, summary: pl.DataFrame, dataset: str, title: str, folder: Path) -> None:
    """Draws the figures of one dataset.

    Args:
        measures: the measures of its cells (schema `MEASURES`).
        summary: one row per cell of it (schema `SUMMARY`).
        dataset: its name.
        title: its title.
        folder: where the figures go.
    """
    draw(ranks.figure(measures, summary, dataset, title), folder / "ranks")
    draw(heat_map.figure(measures, summary, dataset, title), folder / "heat_map")
    draw(associations.figure(measures, summary, dataset, title), folder / "associations")
    draw(bipartite.figure(measures, dataset, title), folder / "bipartite")


def draw_planted(
    measures: pl.DataFrame,
    planted_bias: pl.DataFrame,
    summary: pl.DataFrame,
    strengths: Mapping[str, str],
    titles: Mapping[str, str],
    folder: Path,
) -> None:
    """Draws measured against planted associations.

    Args:
        measures: the measures of all cells (schema `MEASURES`).
        planted_bias: the planted associations (schema `PLANTED`).
        summary: one row per cell (schema `SUMMARY`).
        strengths: the strength that each model was trained with, by the model's name.
        titles: titles of the datasets, by name.
        folder: where the figure goes.
    """
    draw(planted.figure(measures, planted_bias, summary, strengths, titles), folder / "planted")


def draw(figure: ggplot, path: Path) -> None:
    """Saves a figure as SVG and PNG."""
    save(figure, path.with_suffix(".svg"), path.with_suffix(".png"))
