"""Trained models that are there already: a training is not paid for twice because code or names
have changed.

Snakemake removes a job's output before the job, so each trained model is also kept beside the
results, by a digest of all that makes it what it is; as hard links, which take no room, where the
file system has them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from biasgrid.tables.provenance import digest

RECIPE = 1
"""Increased when the same data and settings train another model than before."""


def digest_training(data_sha256: str, **settings: Any) -> str:
    """Digests a training: its data, and all settings, which must be writable as JSON."""
    return digest({"recipe": RECIPE, "data_sha256": data_sha256, **settings})


def keep_model(files: Sequence[Path], folder: Path) -> None:
    """Links the files of a model into a folder, which is there as a whole or not at all."""
    partial = folder.with_name(f".{folder.name}.{uuid4().hex}")
    link_files(files, partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def restore_model(kept: Path, wanted: str, folder: Path) -> bool:
    """Links a kept model into its folder.

    Args:
        kept: the folder with the kept trainings of the model.
        wanted: the training, from `digest_training`.
        folder: the folder of the model.

    Returns:
        Whether this training was kept.
    """
    training = kept / wanted
    if not training.is_dir():
        return False
    link_files(sorted(training.iterdir()), folder)
    return True


def link_files(files: Sequence[Path], folder: Path) -> None:
    """Links files into a folder, or copies them if there are no hard links."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        target = folder / file.name
        target.unlink(missing_ok=True)
        with suppress(OSError):
            os.link(file, target)
        if not target.exists():
            shutil.copy2(file, target)
