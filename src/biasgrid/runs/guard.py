"""Which config a folder of results is made with: outputs of two in one folder would take each other's place."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from biasgrid.base.faults import UserError
from biasgrid.base.files import read_made, write_text

NOTE = ".made_with.json"


def remember_configs(results: str | Path, configs: Sequence[str]) -> None:
    """Notes in a folder of results the config files that it is made with, and refuses to go on there with others.

    They are known by their places as seen from the folder: an edited config is the same one, and so is one that was
    moved together with its results.

    Args:
        results: the folder.
        configs: paths of the files, later ones adding to earlier ones.

    Raises:
        UserError: the folder was made with other files, or cannot be written to.
    """
    note = Path(results, NOTE)
    if not note.exists():
        write_text(note, json.dumps([os.path.relpath(config, results) for config in configs]) + "\n")
        return
    made_with = [Path(os.path.normpath(Path(results, config))) for config in noted(note)]
    if len(made_with) == len(configs) and all(map(is_same_file, made_with, map(Path, configs))):
        return
    before, now = (" and ".join(os.path.relpath(file) for file in files) for files in (made_with, configs))
    raise UserError(
        f"{results}: made with {before}, but this run is of {now}, and would overwrite those outputs; set "
        f"`results` in {now} to another folder, or remove {note} to go on in this one"
    )


def noted(note: Path) -> list[str]:
    """Reads which config files a note names.

    Raises:
        UserError: it is damaged.
    """
    names = read_made(note, "a list of config files")
    return [str(name) for name in names] if isinstance(names, list) else []


def is_same_file(first: Path, second: Path) -> bool:
    """Says whether two paths are of one file, or of one place where there is no file."""
    return first.absolute() == second.absolute() or (first.exists() and second.exists() and first.samefile(second))
