"""A cache of trained models, so that renaming or changed code does not train them again.

Snakemake removes a job's outputs before it runs the job. Each trained model is therefore also kept
in `.answers`, in a folder named by a digest of its data and settings. The files are hard links,
which take no space, if the file system has these.
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
"""To be increased when new code trains another model from the same data and settings."""


def digest_training(data_sha256: str, **settings: Any) -> str:
    """Digests a training: its data and all settings, which must be data for JSON."""
    return digest({"recipe": RECIPE, "data_sha256": data_sha256, **settings})


def keep_model(files: Sequence[Path], folder: Path) -> None:
    """Links the files of a model into a folder of the cache, which appears atomically."""
    partial = folder.with_name(f".{folder.name}.{uuid4().hex}")
    link_files(files, partial)
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def restore_model(cached: Path, folder: Path) -> bool:
    """Links the files of a model from the cache into its folder of results.

    Args:
        cached: the folder of the training in the cache, as in `keep_model`.
        folder: the folder of the model in the results.

    Returns:
        Whether the training was in the cache; otherwise nothing is done.
    """
    if not cached.is_dir():
        return False
    link_files(sorted(cached.iterdir()), folder)
    return True


def link_files(files: Sequence[Path], folder: Path) -> None:
    """Links files into a folder, or copies them if the file system has no hard links."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        target = folder / file.name
        target.unlink(missing_ok=True)
        with suppress(OSError):
            os.link(file, target)
        if not target.exists():
            shutil.copy2(file, target)
