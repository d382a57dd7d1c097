"""Where the files that a config names are: beside it, in the folder where the command runs, or in
the workflow's.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, UserError, nearest_name
from biasgrid.base.messages import place_text
from biasgrid.base.yaml import Document, NodePlace

PACKAGE_FOLDER = Path(__file__).parents[1]
SHIPPED = PACKAGE_FOLDER / "shipped"
WORKFLOW = SHIPPED if SHIPPED.is_dir() else PACKAGE_FOLDER.parents[1]
"""Where the workflow's files are: in an installed package, or at the root of a repository."""
OF_WORKFLOW = ("word_lists", "report")
"""The keys of paths that may be files of the workflow: its word lists, and references of its
`reference/`.
"""


def workflow_folder() -> Path:
    """Returns the folder of the workflow: its Snakefile, `config/` and `word_lists/`.

    Raises:
        UserError: it is not beside the package.
    """
    if not (WORKFLOW / "Snakefile").is_file():
        raise UserError(
            f"there is no Snakefile in {WORKFLOW}; expected biasgrid from a wheel or "
            "from its repository"
        )
    return WORKFLOW


def source_folder(rules: str) -> Path:
    """Returns the folder of the workflow whose rules Snakemake reads, also where it is a module of
    another workflow.

    Of a workflow that Snakemake has downloaded it reads file after file, and there is no folder;
    the installed package, which the rules import, has the same files.

    Args:
        rules: the path or address of its folder `rules/`.
    """
    folder = Path(rules).parent
    return folder if (folder / "Snakefile").is_file() else workflow_folder()


@dataclass(frozen=True)
class ConfigFolders:
    """Where the files that a config names are looked for.

    Attributes:
        beside: the folders of the config's files, those first whose keys count; none of a config
            that is no file.
        given: keys that were given on the command line, whose paths are looked for where it runs
            alone.
        workflow: the workflow's folder, whose word lists and references are found from everywhere;
            none of a config that is no file.
        both: what `validate` says of paths that are in two places; grows with each that is found.
    """

    beside: Sequence[str] = ()
    given: frozenset[str] = frozenset()
    workflow: Path | None = None
    both: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls, files: Iterable[str | Path], given: Iterable[str] = (), workflow: Path = WORKFLOW
    ) -> ConfigFolders:
        """Returns those of a config that is made of files, the later ones adding to the earlier
        ones.
        """
        folders = [os.path.relpath(Path(file).parent) for file in files]
        return cls(
            [folder for folder in dict.fromkeys(reversed(folders)) if folder != "."],
            frozenset(given),
            workflow,
        )

    def find(self, where: str, path: str) -> str:
        """Returns a path as it is seen from the working folder; as it is where it is there, or
        nowhere.

        Args:
            where: the key that has it.
            path: the path.
        """
        key = outermost(where)
        if key in self.given or Path(path).is_absolute():
            return path
        places = [
            os.path.relpath(place)
            for folder in self.beside
            if (place := Path(folder, path)).exists()
        ]
        if not places:
            own = (
                [Path(self.workflow, path)]
                if self.workflow and key in OF_WORKFLOW and not Path(path).exists()
                else []
            )
            return next((os.path.relpath(place) for place in own if place.exists()), path)
        if Path(path).exists() and not Path(path).samefile(places[0]):
            self.both.append(
                f"{where}: {path!r} is both {places[0]} beside the config and {path} in this "
                "folder; the first one is used"
            )
        return places[0]

    def found(self, document: Document, paths: Mapping[str, str]) -> Document:
        """Returns a config with the paths as they are seen from the working folder.

        Args:
            document: the config.
            paths: its paths, by key; see `checks.paths_of`.
        """
        moved = {
            where: place
            for where, path in paths.items()
            if (place := self.find(where, path)) != path
        }
        if not moved:
            return document
        content = deepcopy(document.content)
        for *around, last in [("word_lists",), *leaves(content)]:
            if found := moved.get(place_text((*around, last))):
                section: Any = content
                for key in around:
                    section = section[key]
                section[last] = found
        return document._replace(content=content)

    def explain(self, fault: Fault, paths: Mapping[str, str]) -> Fault:
        """Returns a fault of a path that is not there with the folders it was looked for in, and
        the nearest name.
        """
        path = paths.get(fault.where)
        if path is None or Path(path).exists():
            return fault
        folders = [""] if Path(path).is_absolute() else [*self.beside, "."]
        if self.workflow and outermost(fault.where) in OF_WORKFLOW and folders != [""]:
            folders = list(dict.fromkeys([*folders, os.path.relpath(self.workflow)]))
        targets = [Path(folder, path) for folder in folders]
        names = [
            each.name
            for target in targets
            if target.parent.is_dir()
            for each in target.parent.iterdir()
        ]
        near = nearest_name(Path(path).name, names)
        seen = " and ".join("this folder" if folder == "." else folder for folder in folders)
        searched = f" (looked for in {seen})" if len(folders) > 1 else ""
        return replace(fault, problem=f"{fault.problem}{near}{searched}")


def outermost(where: str) -> str:
    """Returns the outermost key of a place in a config."""
    return where.partition(".")[0].partition("[")[0]


def leaves(content: Any, around: NodePlace = ()) -> Iterator[NodePlace]:
    """Yields the places of all values that hold no others."""
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from leaves(value, (*around, key))
    else:
        yield around
