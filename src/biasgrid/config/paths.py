"""Where the files that a config names are: beside the config, or else in the folder where the command runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, nearest_name
from biasgrid.base.messages import place_text
from biasgrid.base.yaml import Document, NodePlace


@dataclass(frozen=True)
class ConfigFolders:
    """Where the files that a config names are looked for.

    Attributes:
        beside: the folders of the config's files, those first whose keys count; none of a config that is no file.
        given: keys that were given on the command line, whose paths are looked for where it runs alone.
        both: what `validate` says of paths that are in two places; grows with each that is found.
    """

    beside: Sequence[str] = ()
    given: frozenset[str] = frozenset()
    both: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, files: Iterable[str | Path], given: Iterable[str] = ()) -> ConfigFolders:
        """Returns those of a config that is made of files, the later ones adding to the earlier ones."""
        folders = [os.path.relpath(Path(file).parent) for file in files]
        return cls([folder for folder in dict.fromkeys(reversed(folders)) if folder != "."], frozenset(given))

    def find(self, where: str, path: str) -> str:
        """Returns a path as it is seen from the working folder; as it is where it is not beside the config.

        Args:
            where: the key that has it.
            path: the path.
        """
        if where.partition(".")[0].partition("[")[0] in self.given or Path(path).is_absolute():
            return path
        places = [os.path.relpath(place) for folder in self.beside if (place := Path(folder, path)).exists()]
        if not places:
            return path
        if Path(path).exists() and not Path(path).samefile(places[0]):
            self.both.append(f"{where}: {path!r} is {places[0]} beside the config, and {path}; the first is taken")
        return places[0]

    def found(self, document: Document, paths: Mapping[str, str]) -> Document:
        """Returns a config with the paths as they are seen from the working folder.

        Args:
            document: the config.
            paths: its paths, by key; see `checks.paths_of`.
        """
        moved = {where: place for where, path in paths.items() if (place := self.find(where, path)) != path}
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
        """Returns a fault of a path that is not there with the folders it was looked for in, and the nearest name."""
        path = paths.get(fault.where)
        if path is None or Path(path).exists():
            return fault
        folders = [""] if Path(path).is_absolute() else [*self.beside, "."]
        targets = [Path(folder, path) for folder in folders]
        names = [each.name for target in targets if target.parent.is_dir() for each in target.parent.iterdir()]
        near = nearest_name(Path(path).name, names)
        seen = " and ".join("this folder" if folder == "." else folder for folder in folders)
        searched = f" (looked for in {seen})" if len(folders) > 1 else ""
        return replace(fault, problem=f"{fault.problem}{near}{searched}")


def leaves(content: Any, around: NodePlace = ()) -> Iterator[NodePlace]:
    """Yields the places of all values that hold no others."""
    if isinstance(content, dict | list):
        for key, value in content.items() if isinstance(content, dict) else enumerate(content):
            yield from leaves(value, (*around, key))
    else:
        yield around
