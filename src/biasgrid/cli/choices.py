"""What there is to choose from if a command lacks its config or its folder of results."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from biasgrid.base.faults import first_few

FOLDERS = (Path(), Path("config"), Path("results"))
"""The folders in which configs and results are looked for."""
SECTION_OF_CONFIG = re.compile(rb"^(models|datasets):", re.MULTILINE)
LARGEST_CONFIG = 2**20


def config_files() -> Iterator[Path]:
    """Yields the configs in `FOLDERS`."""
    for folder in FOLDERS:
        for path in sorted(folder.glob("*.y*ml")):
            is_text = path.is_file() and path.stat().st_size <= LARGEST_CONFIG
            if is_text and SECTION_OF_CONFIG.search(path.read_bytes()):
                yield path


def results_folders() -> Iterator[Path]:
    """Yields the folders of results in `FOLDERS`."""
    from biasgrid.runs.checks import is_results

    for folder in FOLDERS:
        if folder.is_dir():
            yield from (path for path in sorted(folder.iterdir()) if is_results(path))


CHOICES: Mapping[str, tuple[str, Callable[[], Iterator[Path]]]] = {
    "config": ("`biasgrid init` or `biasgrid try` writes one", config_files),
    "results": ("`biasgrid run CONFIG` makes one", results_folders),
}
"""By argument how to get one, and what finds those that there are."""


def choice_text(argument: str) -> str:
    """Returns what there is for an argument of a command, or how to get it; "" for others."""
    if argument not in CHOICES:
        return ""
    advice, find = CHOICES[argument]
    paths = list(map(str, find()))
    return f"Here: {first_few(paths, 8)}." if paths else f"None is here; {advice}."
