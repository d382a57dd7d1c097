"""File systems of their own, such as a small one that is soon full."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mounted(folder: Path, *options: str) -> Iterator[None]:
    """Mounts a file system on a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    mount = subprocess.run(["mount", *options, str(folder)], capture_output=True, text=True, check=False)
    if mount.returncode:
        pytest.skip(f"file systems cannot be mounted here: {mount.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
