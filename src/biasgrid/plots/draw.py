"""Draws the figures of a grid into a folder, each as SVG and PNG."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl
from plotnine import ggplot

from biasgrid.plots import (
    associations,
    bipartite,
    errors,
    failure_curve,
    group_pairs,
    group_scores,
    group_templates,
    heat_map,
    intensity,
    planted,
    planted_groups,
    ranks,
)
from biasgrid.plots.recovery import StrengthsOfCells
from biasgrid.plots.theme import save
from biasgrid.summary import ModelFacts


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


def draw_groups(
    measures: pl.DataFrame,
    failures: pl.DataFrame,
    models: Mapping[str, ModelFacts],
    dataset: str,
    title: str,
    threshold: float,
    folder: Path,
) -> None:
    """Draws the figures of one dataset's groups.

    Args:
        measures: the group measures of its cells (schema `GROUP_MEASURES`).
        failures: the failure rates of its cells (schema `FAILURES`).
        models: the facts of each model, in the order of the figures.
        dataset: its name.
        title: its title.
        threshold: its failure threshold.
        folder: where the figures go.
    """
    draw(group_scores.figure(measures, models, dataset, title), folder / "group_scores")
    draw(group_pairs.figure(measures, models, dataset, title), folder / "group_pairs")
    draw(group_templates.figure(measures, models, dataset, title), folder / "group_templates")
    draw(failure_curve.figure(failures, models, dataset, title, threshold), folder / "failure_curve")


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


def draw_planted_groups(
    measures: pl.DataFrame,
    planted_effects: pl.DataFrame,
    strengths: StrengthsOfCells,
    titles: Mapping[str, str],
    folder: Path,
) -> None:
    """Draws measured against planted scores of groups.

    Args:
        measures: the group measures of the trained classifiers' cells (schema `GROUP_MEASURES`).
        planted_effects: the planted group effects (schema `PLANTED_GROUPS`).
        strengths: for each dataset the strength that each classifier learned in its cases.
        titles: titles of the datasets, by name.
        folder: where the figure goes.
    """
    draw(planted_groups.figure(measures, planted_effects, strengths, titles), folder / "planted_groups")


def draw(figure: ggplot, path: Path) -> None:
    """Saves a figure as SVG and PNG."""
    save(figure, path.with_suffix(".svg"), path.with_suffix(".png"))
