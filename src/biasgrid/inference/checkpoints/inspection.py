"""Finds problems of a checkpoint in a local folder by file names and headers."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.inference.checkpoints.checkpoint import first_line
from biasgrid.inference.checkpoints.classes import class_problems
from biasgrid.inference.checkpoints.files import (
    CONFIG,
    PICKLED_WEIGHTS,
    SAFE_WEIGHTS,
    VOCABULARIES,
    file_names,
    matching,
    read_checkpoint_json,
    weights_among,
)
from biasgrid.inference.checkpoints.unsupported import (
    CHECKPOINT,
    FolderProblem,
    missing_config,
    other_tokenizer,
    other_weights,
    quantisation,
    unsupported_files,
)


class CheckpointUse(NamedTuple):
    """The use that a config makes of a checkpoint.

    Attributes:
        allow_pickle: whether its weights may be pickled files.
        allow_remote_code: whether code that comes with it may be run.
        served: whether a server loads it.
        classes: the names that a classifier's classes must have; empty for other models.
        scored: the classes that a scorer needs; empty for other models.
        activation: the activation of a scorer; None if the checkpoint decides.
    """

    allow_pickle: bool = False
    allow_remote_code: bool = False
    served: bool = False
    classes: Collection[str] = ()
    scored: Collection[str] = ()
    activation: str | None = None


def inspect_folder(folder: str, use: CheckpointUse) -> Iterator[FolderProblem]:
    """Yields the problems that keep a folder from being the checkpoint of a model."""
    try:
        yield from checkpoint_problems(folder, use)
    except UserError as error:
        yield FolderProblem(
            f"contains a file that cannot be read ({first_line(error)})",
            "files written by transformers",
        )


def checkpoint_problems(folder: str, use: CheckpointUse) -> Iterator[FolderProblem]:
    """Yields the same as `inspect_folder`; raises UserError if a file is not JSON."""
    names = file_names(folder)
    unsupported = list(
        unsupported_files(folder, names, Path(folder), allow_remote_code=use.allow_remote_code)
    )
    yield from unsupported
    if CONFIG not in names:
        # An adapter in place of a model has no config.json: one problem is enough.
        if not unsupported:
            yield problem_without_config(folder, names)
        return
    if not matching(names, VOCABULARIES):
        yield other_tokenizer(names) or FolderProblem(
            "contains no tokenizer", f"one of {', '.join(VOCABULARIES)} beside config.json"
        )
    weights = weights_among(names, allow_pickle=use.allow_pickle)
    if not weights:
        yield problem_without_weights(names)
    for name in matching(weights, ["*.safetensors"]):
        yield from weights_damage(Path(folder, name))
    # Servers load quantised weights.
    if not use.served:
        fault = quantisation(folder, names, Path(folder))
        if fault:
            yield fault
    config = read_checkpoint_json(folder, Path(folder, CONFIG))
    yield from class_problems(config, use.classes, use.scored, use.activation)


def problem_without_config(folder: str, names: Collection[str]) -> FolderProblem:
    """Returns the problem of a path without config.json, which may be no folder at all."""
    if not Path(folder).is_dir():
        return FolderProblem("is not a folder", CHECKPOINT)
    return missing_config(names)


def problem_without_weights(names: Collection[str]) -> FolderProblem:
    """Returns the problem of a folder without usable weights: pickles, other formats, or none."""
    pickled = matching(names, PICKLED_WEIGHTS)
    if pickled:
        return FolderProblem(
            f"contains weights in pickled files only ({', '.join(pickled[:3])})",
            f"{SAFE_WEIGHTS[0]}, or `allow_pickle: true` if you trust them, because they can run "
            "code when they are loaded",
        )
    nothing = FolderProblem("contains no weights", " or ".join(SAFE_WEIGHTS[:2]))
    return other_weights(names) or nothing


def weights_damage(file: Path) -> Iterator[FolderProblem]:
    """Yields a problem if a safetensors file is damaged or incomplete."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy"):
            pass
    except (SafetensorError, OSError) as error:
        yield FolderProblem(
            f"contains a {file.name} that is damaged or incomplete ({first_line(error)})",
            "the complete file",
        )
