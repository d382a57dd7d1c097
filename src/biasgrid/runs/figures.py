"""Which figures a grid has, and which of its cells are controls."""

from __future__ import annotations

from biasgrid.config import Config
from biasgrid.report.figures import GRID
from biasgrid.tables.metric import Controls

PLANTED = "planted"
"""The figure of what was planted beside what was measured."""

CONTROLS = "controls"
"""The figure of the tests of datasets beside those of their controls."""


def figures_of(config: Config) -> dict[str, dict[str, str]]:
    """Returns the figures of the grid and of each dataset that is measured: their references by name, in order."""
    measured = dict.fromkeys(dataset for _, dataset in config.cells())
    of_grid = [name for dataset in measured for name in config.family(dataset).grid_figures]
    if any(dataset in config.learned_datasets(model) for model, dataset in config.cells()):
        of_grid.append(PLANTED)
    if any(controls_of(config)):
        of_grid.append(CONTROLS)
    names = {GRID: of_grid} | {dataset: config.figures_of(dataset) for dataset in measured}
    return {of: {name: config.registry.figure(name) for name in figures} for of, figures in names.items()}


def drawn_in(config: Config, figure: str) -> list[str]:
    """Returns the datasets that a figure of the grid is about: all, unless it is one of some families alone."""
    families = {dataset: config.family(dataset).grid_figures for _, dataset in config.cells()}
    own = [dataset for dataset, figures in families.items() if figure in figures]
    return own or list(families)


def controls_of(config: Config) -> Controls:
    """Returns which of the selected datasets and models are negative controls."""
    of = {name: config.datasets[name].control_of for name in config.run.datasets}
    datasets = {name: about for name, about in of.items() if about in config.run.datasets}
    return Controls(datasets, [name for name in config.run.models if config.models[name].source == "random"])
