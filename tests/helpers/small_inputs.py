"""What rules are given of small grids, without Snakemake."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

from project import ROOT
from small_grid import read_grid, write_general_grid, write_grid

from biasgrid.config import Config, load_word_lists
from biasgrid.runs.inputs.grid import GridInputs
from biasgrid.runs.layout import Layout


class JobWildcards(SimpleNamespace):
    """The wildcards of a job."""

    def get(self, name: str, default: Any = None) -> Any:
        return getattr(self, name, default)


def job(**names: str) -> Any:
    """The wildcards of a job, by name."""
    return JobWildcards(**names)


def inputs_of(grid: Config, with_lists: bool = False) -> GridInputs:
    """What rules are given of a config, whose word lists need not be there unless they are read."""
    return GridInputs(grid, Layout(grid), load_word_lists(grid) if with_lists else {}, ROOT)


def small_inputs(folder: Path, **changes: Any) -> GridInputs:
    """What rules are given of a small grid with word lists, in a folder of its own; see `write_grid`."""
    folder.mkdir(exist_ok=True)
    return inputs_of(read_grid(write_grid(folder, **changes)), with_lists=True)


def general_inputs(folder: Path, **changes: Any) -> GridInputs:
    """The same without a built-in family; see `write_general_grid`."""
    folder.mkdir(exist_ok=True)
    return inputs_of(read_grid(write_general_grid(folder, **changes)), with_lists=True)
