"""One run at a time in a folder of results, which must be one that can be written to."""

from __future__ import annotations

import os
from pathlib import Path

from filelock import FileLock, Timeout

from biasgrid.faults import UserError

_held: list[FileLock] = []


def lock_results(folder: str | Path) -> None:
    """Keeps other runs out of a folder of results until this process ends, however it ends.

    Raises:
        UserError: another run is at work there, or nothing can be written there.
    """
    path = Path(folder, ".lock")
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(
            f"{folder}: another run is at work there; wait for it, or set `results` to another folder"
        ) from None
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be written to ({error.strerror}); make it writable, or set `results` to another folder"
        ) from None
    _held.append(lock)


def check_records() -> None:
    """Refuses a working folder in which Snakemake cannot keep its records, of which it says so less clearly.

    Raises:
        UserError: nothing can be written there.
    """
    records = Path(".snakemake").absolute()
    if not os.access(records if records.exists() else records.parent, os.W_OK):
        raise UserError(
            f"{records}: cannot be written to; Snakemake keeps its records there, so run it in a writable folder"
        )
