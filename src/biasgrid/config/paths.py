"""Finds the files that a config names: beside it, in the working folder, or in the workflow's."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, UserError, nearest_name
from biasgrid.base.messages import KeyPath, place_text
from biasgrid.base.yaml import Document

PACKAGE_FOLDER = Path(__file__).parents[1]
SHIPPED = PACKAGE_FOLDER / "shipped"
WORKFLOW = SHIPPED if SHIPPED.is_dir() else PACKAGE_FOLDER.parents[1]
"""The folder of the workflow: in an installed package, or the root of a repository."""
OF_WORKFLOW = ("word_lists", "report")
"""The keys of paths that may be in the workflow: word lists, and references in `reference/`."""


def workflow_folder() -> Path:
    """Returns the folder with the Snakefile, `config/` and `word_lists/`.

    It is `shipped/` in an installed package, and the root of a checkout.

    Raises:
        UserError: the folder has no Snakefile, as in a copy of the package alone.
    """
    if not (WORKFLOW / "Snakefile").is_file():
        raise UserError(
            f"there is no Snakefile in {WORKFLOW}; expected biasgrid from a wheel or "
            "from its repository"
        )
    return WORKFLOW


def source_folder(rules: str) -> Path:
    """Returns the folder of the workflow whose rules Snakemake reads, even in another workflow.

    Snakemake downloads single files of a remote workflow, so it has no folder. The installed
    package, which the rules import, has the same files.

    Args:
        rules: the path or address of its folder `rules/`.
    """
    folder = Path(rules).parent
    return folder if (folder / "Snakefile").is_file() else workflow_folder()


@dataclass(frozen=True)
class ConfigFolders:
    """The folders in which the files that a config names are looked for.

    Attributes:
        beside: the folders of the config's files, in descending precedence, "." for the working
            folder; empty for a config without a file. `find` searches them in this order, and then
            the working folder.
        given: keys that were given on the command line. Their paths are looked for in the working
            folder only.
        workflow: the workflow's folder, whose word lists and references are found from everywhere;
            None for a config without a file.
        notes: what is said about paths that are in two places (from `find`), or begin with `~`.
    """

    beside: Sequence[str] = ()
    given: frozenset[str] = frozenset()
    workflow: Path | None = None
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, files: Iterable[str | Path], given: Iterable[str] = (), workflow: Path = WORKFLOW
    ) -> ConfigFolders:
        """Returns the folders of a config.

        Args:
            files: the files of the config; later ones take precedence.
            given: keys that were given on the command line.
            workflow: the workflow's folder.
        """
        folders = [os.path.relpath(Path(file).parent) for file in files]
        by_precedence = dict.fromkeys(reversed(folders))
        return cls(list(by_precedence), frozenset(given), workflow)

    def find(self, where: str, path: str) -> str:
        """Returns a path relative to the working folder; unchanged if it is only there or nowhere.

        Args:
            where: the key that has it.
            path: the path.
        """
        key = outermost(where)
        if key in self.given or Path(path).is_absolute():
            return path
        for folder in self.beside:
            if not Path(folder, path).exists():
                continue
            if folder == ".":
                return path
            place = os.path.relpath(Path(folder, path))
            if Path(path).exists() and not Path(path).samefile(place):
                self.notes.append(
                    f"{where}: {path!r} is both {place} beside the config and {path} in this "
                    "folder; the first one is used"
                )
            return place
        if self.workflow and key in OF_WORKFLOW and not Path(path).exists():
            shipped = Path(self.workflow, path)
            if shipped.exists():
                return os.path.relpath(shipped)
        return path

    def found(self, document: Document, paths: Mapping[str, str]) -> Document:
        """Returns a config with paths relative to the working folder.

        Args:
            document: the config.
            paths: its paths, by key; see `checks.config_paths`.
        """
        changed = {}
        for where, path in paths.items():
            whole = with_home(path)
            if whole != path:
                self.notes.append(f"{where}: {path!r} is read as {whole}")
            place = self.find(where, whole)
            if place != path:
                changed[where] = place
        if not changed:
            return document
        content = deepcopy(document.content)
        # A config need not have `word_lists`, whose default is a path as well.
        for *around, last in [("word_lists",), *leaves(content)]:
            new_path = changed.get(place_text((*around, last)))
            if new_path:
                section: Any = content
                for key in around:
                    section = section[key]
                section[last] = new_path
        return document._replace(content=content)

    def explain(self, fault: Fault, paths: Mapping[str, str]) -> Fault:
        """Adds to the fault of a missing path the nearest name and the folders that were searched.

        Args:
            fault: any fault; it is not changed unless it is of a path that does not exist.
            paths: the paths of the config, by key; see `checks.config_paths`.
        """
        path = paths.get(fault.where)
        if path is None or Path(path).exists():
            return fault
        whole = os.path.expandvars(path)
        if whole != path:
            expected = f"the path written out, as no variable is filled in here: {whole}"
            return replace(fault, expected=expected)
        folders = self.searched_folders(fault.where, path)
        names: list[str] = []
        for folder in folders:
            parent = Path(folder, path).parent
            if parent.is_dir():
                names += [file.name for file in parent.iterdir()]
        hint = nearest_name(Path(path).name, names)
        searched = ""
        if len(folders) > 1:
            folder_names = ["this folder" if folder == "." else folder for folder in folders]
            searched = f" (looked for in {' and '.join(folder_names)})"
        return replace(fault, problem=f"{fault.problem}{hint}{searched}")

    def searched_folders(self, where: str, path: str) -> list[str]:
        """Returns the folders in which a path is looked for, in order; [""] if it is absolute.

        Args:
            where: the key that has it.
            path: the path.
        """
        if Path(path).is_absolute():
            return [""]
        folders = [*self.beside, "."]
        if self.workflow and outermost(where) in OF_WORKFLOW:
            folders.append(os.path.relpath(self.workflow))
        return list(dict.fromkeys(folders))


def with_home(path: str) -> str:
    """Returns a path with the home folder in place of a `~` at its beginning.

    Unchanged if there is a file or folder of that name here, or if the home is not known.
    """
    if not path.startswith("~") or Path(path).exists():
        return path
    try:
        return str(Path(path).expanduser())
    except RuntimeError:
        return path


def outermost(where: str) -> str:
    """Returns the outermost key of a place in a config."""
    return where.partition(".")[0].partition("[")[0]


def leaves(content: Any, around: KeyPath = ()) -> Iterator[KeyPath]:
    """Yields the places of all values that are neither mappings nor lists.

    Args:
        content: a value of a config.
        around: its own place.
    """
    if isinstance(content, dict):
        for key, value in content.items():
            yield from leaves(value, (*around, key))
    elif isinstance(content, list):
        for number, value in enumerate(content):
            yield from leaves(value, (*around, number))
    else:
        yield around
