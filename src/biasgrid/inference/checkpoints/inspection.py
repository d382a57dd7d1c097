"""What is wrong with a checkpoint in a local folder, told from names and headers, before anything
is loaded.
"""

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
    """What a checkpoint is wanted for.

    Attributes:
        allow_pickle: whether its weights may be pickled files.
        allow_remote_code: whether code that comes with it may be run.
        served: whether a server loads it.
        classes: of classifiers, what its classes should be called.
        scored: of scorers, some of its classes.
        activation: of scorers, what makes probabilities of its outputs; None where the checkpoint
            decides.
    """

    allow_pickle: bool = False
    allow_remote_code: bool = False
    served: bool = False
    classes: Collection[str] = ()
    scored: Collection[str] = ()
    activation: str | None = None


def inspect_folder(folder: str, wanted: CheckpointUse) -> Iterator[FolderProblem]:
    """Yields what keeps a folder from being the checkpoint of a model."""
    try:
        yield from checkpoint_problems(folder, wanted)
    except UserError as error:
        yield FolderProblem(
            f"contains a file that cannot be read ({first_line(error)})",
            "files written by transformers",
        )


def checkpoint_problems(folder: str, wanted: CheckpointUse) -> Iterator[FolderProblem]:
    """Yields the same; raises an error where a file of it is not JSON."""
    names = file_names(folder)
    unread = list(unsupported_files(folder, names, Path(folder), wanted.allow_remote_code))
    yield from unread
    if unread and CONFIG not in names:
        return
    if CONFIG not in names:
        yield (
            missing_config(names)
            if Path(folder).is_dir()
            else FolderProblem("is not a folder", CHECKPOINT)
        )
        return
    if not matching(names, VOCABULARIES):
        nothing = FolderProblem(
            "contains no tokenizer", f"one of {', '.join(VOCABULARIES)} beside config.json"
        )
        yield other_tokenizer(names) or nothing
    chosen = weights_among(names, wanted.allow_pickle)
    pickled = matching(names, PICKLED_WEIGHTS)
    if not chosen and pickled:
        expected = (
            f"{SAFE_WEIGHTS[0]}, or `allow_pickle: true` if you trust them, because they can run "
            "code when they are loaded"
        )
        yield FolderProblem(
            f"contains weights in pickled files only ({', '.join(pickled[:3])})", expected
        )
    elif not chosen:
        yield other_weights(names) or FolderProblem(
            "contains no weights", " or ".join(SAFE_WEIGHTS[:2])
        )
    for name in matching(chosen, ["*.safetensors"]):
        yield from damage_of(Path(folder, name))
    if not wanted.served and (quantised := quantisation(folder, names, Path(folder))):
        yield quantised
    config = read_checkpoint_json(folder, Path(folder, CONFIG))
    yield from class_problems(config, wanted.classes, wanted.scored, wanted.activation)


def damage_of(file: Path) -> Iterator[FolderProblem]:
    """Yields that a file of weights is cut off, or none."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="numpy"):
            pass
    except (SafetensorError, OSError) as error:
        yield FolderProblem(
            f"contains a {file.name} that is damaged or incomplete ({first_line(error)})",
            "the complete file",
        )
