"""Writes small packs into a folder and reads them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.faults import InputError
from biasgrid.families.counterfactual.pack import CasePack, CasePackFiles
from biasgrid.families.counterfactual.read import read

HEADER = {"group_token": "<group>", "input_names": ["text"], "label_name": "label"}
BIASES = {
    "gender": {"male": ["man", "boy"], "female": ["woman"]},
    "age": {"young": ["kid"], "old": ["elder"]},
}


def pack_of(*templates: Mapping[str, Any], **header: Any) -> dict[str, Any]:
    """The content of a template file; templates hold `label: 1` if they say nothing else."""
    return {
        **HEADER,
        **header,
        "templates": [{"label": 1} | dict(template) for template in templates],
    }


def write_pack(
    folder: Path,
    templates: Any,
    fillings: Mapping[str, str | bytes] | None = None,
    biases: Any = BIASES,
) -> CasePackFiles:
    """Writes the files of a pack.

    Args:
        folder: where to write.
        templates: the content of the template file, text or what is written as JSON; or, as
            `{"x.json": content}`, of the files of a folder.
        fillings: the contents of the filling files, by their paths in the folder of fillings.
        biases: the content of the bias file.
    """
    names = (
        [name for name in templates if name.endswith(".json")]
        if isinstance(templates, dict)
        else []
    )
    for name in names:
        write(folder / "templates" / name, templates[name])
    if not names:
        write(folder / "templates.json", templates)
    write(folder / "biases.json", biases)
    for name, content in (fillings or {}).items():
        write(folder / "fillings" / name, content)
    source = folder / ("templates" if names else "templates.json")
    return CasePackFiles(
        source, None if fillings is None else folder / "fillings", folder / "biases.json"
    )


def write(file: Path, content: Any) -> None:
    """Writes bytes and text as they are, and anything else as JSON."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not isinstance(content, str | bytes):
        content = json.dumps(content)
    file.write_bytes(content if isinstance(content, bytes) else content.encode())


def make_pack(folder: Path, *args: Any, **options: Any) -> CasePack:
    """Writes a pack and reads it; see `write_pack`."""
    return read_pack(write_pack(folder, *args, **options))


def read_pack(files: CasePackFiles) -> CasePack:
    """Reads a pack.

    Raises:
        InputError: with every fault that is in its files.
    """
    pack, faults = read(files)
    if faults:
        raise InputError(faults)
    return pack


def targets_of(row: dict[str, Any]) -> list[str] | None:
    """The target words of an instance."""
    words = [
        value for name, value in row.items() if name.startswith("candidate") and value is not None
    ]
    return words or None
