"""Dumps of predictions, read when a config is validated as the jobs will read them that import them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from biasgrid.config import Config
from biasgrid.faults import Fault, InputError
from biasgrid.references import found

LARGEST = 256 * 2**20
"""Up to how many bytes a dump is read before its job does: about half a minute."""


def check_dumps(config: Config) -> list[str]:
    """Refuses dumps of selected cells that their jobs would refuse.

    Returns:
        Those that were not read: files that are larger than `LARGEST`. What is downloaded is not there yet.

    Raises:
        InputError: with the first fault of each dump.
    """
    faults: list[Fault] = []
    unread: list[str] = []
    for read, path, sha256, task, lists in dumps_of(config):
        if path.stat().st_size > LARGEST:
            unread.append(str(path))
            continue
        try:
            found(read)(path, sha256, task, lists)
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return unread


def dumps_of(config: Config) -> Iterator[tuple[str, Path, str | None, str, list[Path]]]:
    """Yields what reads the dumps of selected cells, with file, digest and task, and subject lists to compare."""
    for model, dataset in config.cells():
        section, read = config.models[model], config.back_end_of(model).check
        dump = section.predictions[dataset] if section.predictions else None
        if dump is not None and dump.file is not None and read:
            lists = [Path(file) for file in config.files(dataset, section.variant or "").subjects]
            yield read, Path(dump.file), dump.sha256, section.task, lists if all(map(Path.is_file, lists)) else []
