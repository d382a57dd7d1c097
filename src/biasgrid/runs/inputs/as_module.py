"""The workflow as a module of another one: what Snakemake then does otherwise, and what the rules
need to know.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError

HANDLERS = ("onstart", "onsuccess", "onerror")
Names = Mapping[str, Any]


def join_handlers(workflow: Any, results: str, names: Names) -> None:
    """Lets a run call the handlers of a module, after those that the workflow which uses it has so
    far.

    Snakemake calls those of the main Snakefile alone. Without ours nothing would lock the results,
    or refuse those of another config. Where `use rule ... with` changes a rule the module is read
    once more, for this rule alone: the handlers of the first reading, which knows all rules, are
    called.

    Args:
        workflow: Snakemake's own object.
        results: the folder of results, of which each grid has its own.
        names: all names that the rules have defined, including their handlers.
    """
    if workflow.modifier.is_main_snakefile():
        return
    joined: dict[str, Names] = vars(workflow).setdefault("handlers_of_grids", {})
    if not joined:
        for name in HANDLERS:
            first = getattr(workflow, f"_{name}")
            setattr(workflow, f"_{name}", _all_of(name, first, joined))
    joined.setdefault(results, names)


def _all_of(
    name: str, first: Callable[[Any], None], joined: Mapping[str, Names]
) -> Callable[[Any], None]:
    """Returns a handler that calls one and then those of all grids."""

    def call(log: Any) -> None:
        first(log)
        for names in joined.values():
            names[name](log=log)

    return call


def name_of_config(files: Iterable[str | Path], given: Iterable[str], snakefile: str) -> str:
    """Returns the name of the config in messages, report and manifest.

    Its paths are relative to the working folder.

    Args:
        files: its files, of which the later ones add to the earlier ones; none if a Snakefile has
            made it.
        given: keys that were given on the command line, such as --config word_lists=FOLDER.
        snakefile: the main Snakefile.
    """
    name = " + ".join(map(os.path.relpath, files)) or os.path.relpath(snakefile)
    return f"{name} and --config" if list(given) else name


def refuse_moved_paths(moved: str, path: str) -> None:
    """Refuses a module whose paths Snakemake changes, because the jobs would look for their files
    elsewhere.

    Args:
        moved: the path as Snakemake changes it.
        path: the path.

    Raises:
        UserError: it is another one.
    """
    if moved != path:
        raise UserError(
            f"the module's `prefix` or `replace_prefix` turns {path} into {moved}; expected a "
            "module without them: set `results` in its config to choose where everything is written"
        )
