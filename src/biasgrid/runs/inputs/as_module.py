"""The workflow as a module of another workflow, in which Snakemake calls no handlers of ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError

HANDLERS = ("onstart", "onsuccess", "onerror")
Names = Mapping[str, Any]
"""The global names of a workflow's rules, including its handlers by the names in `HANDLERS`."""


def join_handlers(workflow: Any, results: str, names: Names) -> None:
    """Makes a run call the handlers of this module as well; does nothing in the main workflow.

    Snakemake calls only the handlers of the main Snakefile. Without ours nothing would lock the
    results, or refuse results of another config. They are called after the handlers of the main
    workflow that are defined above its `module`.

    If `use rule ... with` changes a rule, Snakemake reads the module again, for this rule alone.
    The handlers of the first reading stay, since only they know all rules.

    Args:
        workflow: Snakemake's own object.
        results: the folder of results, which identifies the grid.
        names: the global names of the rules.
    """
    if workflow.modifier.is_main_snakefile():
        return
    grids: dict[str, Names] = vars(workflow).setdefault("handlers_of_grids", {})
    if not grids:
        for handler in HANDLERS:
            main_handler = getattr(workflow, f"_{handler}")
            setattr(workflow, f"_{handler}", _with_grids(handler, main_handler, grids))
    grids.setdefault(results, names)


def _with_grids(
    handler: str, main_handler: Callable[[Any], None], grids: Mapping[str, Names]
) -> Callable[[Any], None]:
    """Returns a handler that calls the one of the main workflow and then those of all grids.

    Args:
        handler: one of `HANDLERS`.
        main_handler: the handler of the main workflow.
        grids: the names of each grid by its folder of results. It is filled later, so it is read at
            each call and must not be copied.
    """

    def call(log: Any) -> None:
        main_handler(log)
        for names in grids.values():
            names[handler](log=log)

    return call


def name_config(files: Iterable[str | Path], settings: Iterable[str], snakefile: str) -> str:
    """Returns the name of the config in messages, report and manifest.

    These are the paths of its files relative to the working folder, or of the Snakefile if there
    are none, and ` and --config` if there are settings. `runs.audit.command` reads it.

    Args:
        files: its files, in their order on the command line; none if a Snakefile has the config.
        settings: the keys of the option --config.
        snakefile: the main Snakefile.
    """
    name = " + ".join(map(os.path.relpath, files)) or os.path.relpath(snakefile)
    return f"{name} and --config" if list(settings) else name


def refuse_moved_paths(moved: str, path: str) -> None:
    """Refuses a module whose paths Snakemake changes.

    Only the paths of rules would change, and jobs would look for other files in the old places.

    Args:
        moved: a path as Snakemake changes it.
        path: the path.

    Raises:
        UserError: they differ.
    """
    if moved != path:
        raise UserError(
            f"the module's `prefix` or `replace_prefix` turns {path} into {moved}; expected a "
            "module without them: set `results` in its config to choose where everything is written"
        )
