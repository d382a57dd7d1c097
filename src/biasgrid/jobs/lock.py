"""Locks: one run at a time in a folder of results, and one job at one output."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from biasgrid.base.faults import UserError
from biasgrid.base.files import explain_refusal

logger = logging.getLogger(__name__)

# Locks of this process for `unlock_results`: a notebook runs one config after another.
_locks: list[FileLock] = []


def lock_results(folder: str | Path) -> None:
    """Keeps other runs out of a folder of results until `unlock_results` or the process ends.

    Raises:
        UserError: another run is using the folder, or it cannot be written to.
    """
    path = Path(folder, ".lock")
    lock = FileLock(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise UserError(
            f"{folder}: another run is using this folder; wait for it to end, or set `results` to "
            "a different folder"
        ) from None
    except OSError as error:
        raise UserError(
            f"{folder}: cannot be written to ({error.strerror}); make it writable, or set "
            "`results` to a different folder"
        ) from None
    _locks.append(lock)


def unlock_results() -> None:
    """Unlocks the folders that `lock_results` has locked."""
    while _locks:
        _locks.pop().release()


@contextmanager
def one_job(path: Path, longest: float) -> Iterator[None]:
    """Keeps other jobs out of a shard or training as long as the context lasts.

    Waits for a job that has the lock: it may be of a Snakemake that was killed.

    Args:
        path: the lock's file; its folder is created if it is missing.
        longest: the maximum time to wait, in seconds.

    Raises:
        UserError: the other job does not end in that time, or the file cannot be made.
    """
    lock = FileLock(path)
    with explain_refusal(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            logger.info(
                "waiting for another job that is working on the same output, perhaps from "
                "a killed run"
            )
            acquire_within(lock, longest)
    try:
        yield
    finally:
        lock.release()


def acquire_within(lock: FileLock, seconds: float) -> None:
    """Acquires a lock, which the caller must release.

    Raises:
        UserError: another job still has it after that time.
    """
    try:
        lock.acquire(timeout=seconds)
    except Timeout:
        raise UserError(
            f"{lock.lock_file}: another job has held this lock for {seconds / 60:.3g} minutes; end "
            "that job, or remove the file if there is no such job, and run again"
        ) from None


def check_records() -> None:
    """Refuses a working folder in which Snakemake cannot keep its records.

    Snakemake itself says so less clearly.

    Raises:
        UserError: nothing can be written there.
    """
    records = Path(".snakemake").absolute()
    if not os.access(records if records.exists() else records.parent, os.W_OK):
        raise UserError(
            f"{records}: cannot be written to; Snakemake keeps its records there, so run it in a "
            "writable folder"
        )
