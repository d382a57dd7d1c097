"""Which figures a grid has."""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from types import ModuleType

from biasgrid.config import Config
from biasgrid.groups.figures import FIGURES as GROUP_FIGURES
from biasgrid.plots import GRID

PLANTED = "planted"
"""The figure of what was planted beside what was measured."""


def figures_of(config: Config) -> dict[str, tuple[str, ...]]:
    """Returns the names of the figures of the grid and of each dataset that is measured: of modules of `plots`."""
    measured = dict.fromkeys(dataset for _, dataset in config.cells())
    families = {dataset: family_figures(config.datasets[dataset].family) for dataset in measured}
    of_grid = chain.from_iterable(family.GRID_FIGURES for family in families.values())
    planted = (PLANTED,) if any(dataset in config.learned_datasets(model) for model, dataset in config.cells()) else ()
    return {GRID: (*dict.fromkeys(of_grid), *planted)} | {
        dataset: (*family.FIGURES, *(GROUP_FIGURES if config.compares_groups(dataset) else ()))
        for dataset, family in families.items()
    }


def family_figures(family: str) -> ModuleType:
    """Returns what a family says of its figures: `FIGURES` and `GRID_FIGURES`."""
    return import_module(f"biasgrid.families.{family}.figures")
