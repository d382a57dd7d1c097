"""What all workers of a test session share: whoever needs it first makes it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """Returns a folder that is made once in a session, however many workers run it.

    Args:
        factory: pytest's own, which knows the session's folder.
        name: the folder's name.
        make: makes the folder's content; the folder itself is not there yet. If it fails, the next
            one to ask tries again.
    """
    own = factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "shared" / name
    done = folder.with_name(f"{name}.done")
    folder.parent.mkdir(exist_ok=True)
    with FileLock(folder.with_name(f"{name}.lock")):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)
            make(folder)
            done.touch()
    return folder
