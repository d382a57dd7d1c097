"""Measures social bias in language models over a grid: models down, datasets across.

In scripts and notebooks: `biasgrid.run(config)` runs a config, `biasgrid.open(results)` reads its
tables.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from biasgrid.base.version import package_version

if TYPE_CHECKING:
    from biasgrid.runs.results import Results

__all__ = ["__version__", "open", "run"]


def __getattr__(name: str) -> str:
    """Returns `__version__`, the version of the installed package; it is read when it is asked
    for.
    """
    if name == "__version__":
        return package_version()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def open(results: str | Path) -> Results:
    """Opens a folder of results, whose tables are read when they are asked for; see
    `runs.results.Results`.

    Raises:
        UserError: there is no such folder.
    """
    from biasgrid.runs.results import Results

    return Results(results)


def run(
    config: str | Path, cores: int | None = None, snakefile: str | Path | None = None
) -> Results:
    """Runs a config to the end and opens its results; see `runs.workflow.run_config`.

    Raises:
        UserError: the config has faults, there is no workflow, or a job has failed.
    """
    from biasgrid.runs.workflow import run_config

    return run_config(config, cores, snakefile)
