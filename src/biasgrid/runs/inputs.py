"""Files that jobs read at the beginning of a run, read when a config is validated as those jobs will read them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.references import found
from biasgrid.config import Config
from biasgrid.training.squad import read_squad

LARGEST = 256 * 2**20
"""Up to how many bytes a file is read before its job does: about half a minute."""
Reading = tuple[Path, Callable[[], Any]]
"""A file, and what reads it."""


def check_inputs(config: Config) -> list[str]:
    """Refuses dumps and training data of selected models that their jobs would refuse.

    Returns:
        Those that were not read: files that are larger than `LARGEST`. What is downloaded is not there yet.

    Raises:
        InputError: with the faults of each file.
    """
    faults: list[Fault] = []
    unread: list[str] = []
    for path, read in [*dumps_of(config), *training_data(config)]:
        if path.stat().st_size > LARGEST:
            unread.append(str(path))
            continue
        try:
            read()
        except InputError as error:
            faults += error.faults
    if faults:
        raise InputError(faults)
    return list(dict.fromkeys(unread))


def dumps_of(config: Config) -> Iterator[Reading]:
    """Yields the dumps of selected cells."""
    for model, dataset in config.cells():
        section, read = config.models[model], config.back_end_of(model).check
        dump = section.predictions[dataset] if section.predictions else None
        if dump is not None and dump.file is not None and read:
            lists = [Path(file) for file in config.files(dataset, section.variant or "").subjects]
            # A dump needs no lists.
            known = lists if all(map(Path.is_file, lists)) else []
            yield Path(dump.file), partial(found(read), Path(dump.file), dump.sha256, section.task, known)


def training_data(config: Config) -> Iterator[Reading]:
    """Yields the questions that selected models are trained on; of other data the tokenizer decides what is right."""
    for model in config.run.models:
        section = config.models[model]
        if section.task == "question-answering" and section.train is not None and section.train.data is not None:
            yield Path(section.train.data), partial(read_squad, section.train.data)
