"""Trained models that are there already: a training is not paid for twice because code or names have changed.

Snakemake removes a job's output before the job, so each trained model is also kept beside the results, by a digest of
all that makes it what it is; as hard links, which take no room, where the file system has them.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from biasgrid.base.files import write_text
from biasgrid.tables.provenance import digest

logger = logging.getLogger(__name__)

RECIPE = 1
"""Is raised where the same data and settings train another model than before."""
EARLIER = "earlier"
"""The folder of a model that was trained before version 0.2.0, which did not say with what settings."""
FACTS = "training.json"


def digest_training(data_sha256: str, **settings: Any) -> str:
    """Digests what a trained model is made of: its data, and all settings, which can be written as JSON."""
    return digest({"recipe": RECIPE, "data_sha256": data_sha256, **settings})


def keep_earlier_models(trained: Path, kept: Path, names: Sequence[str]) -> None:
    """Keeps models of earlier versions, which a run would train again.

    Args:
        trained: the folder of trained models.
        kept: where they are kept.
        names: the files of a trained model.
    """
    for facts in trained.glob(f"*/{FACTS}"):
        files = [facts.parent / name for name in (*names, FACTS)]
        if all(file.is_file() for file in files) and "training" not in json.loads(facts.read_text()):
            keep_model(files, kept / facts.parent.name / EARLIER)


def keep_model(files: Sequence[Path], folder: Path) -> None:
    """Links the files of a model into a folder, which is there as a whole or not at all."""
    made = folder.with_name(f".{folder.name}.{uuid4().hex}")
    link_files(files, made)
    shutil.rmtree(folder, ignore_errors=True)
    made.rename(folder)


def restore_model(kept: Path, wanted: str, data_sha256: str, folder: Path) -> bool:
    """Puts a trained model that is kept where it belongs.

    Args:
        kept: the folder of what is kept of the model.
        wanted: from `digest_training`.
        data_sha256: digest of the data alone: a model of an earlier version is taken for one of the same settings.
        folder: where it belongs.

    Returns:
        Whether there was one.
    """
    found, earlier = kept / wanted, kept / EARLIER
    if not found.is_dir() and earlier.is_dir():
        facts = json.loads((earlier / FACTS).read_text())
        if facts.get("data_sha256") != data_sha256:
            return False
        logger.warning(
            "%s was trained on the same data by an earlier version. It is kept, on the assumption that the settings "
            "were those of the config. To train it again, remove the folder %s",
            *(folder, kept),
        )
        # From now on it is a model of these settings, and of no others.
        write_text(earlier / FACTS, json.dumps(facts | {"training": wanted}, indent=2, sort_keys=True) + "\n")
        earlier.rename(found)
    if not found.is_dir():
        return False
    link_files(sorted(found.iterdir()), folder)
    return True


def link_files(files: Sequence[Path], folder: Path) -> None:
    """Links files into a folder, or copies them where there are no hard links."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        target = folder / file.name
        target.unlink(missing_ok=True)
        with suppress(OSError):
            os.link(file, target)
        if not target.exists():
            shutil.copy2(file, target)
