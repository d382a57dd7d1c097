"""Which GPU a job uses: each leases one of those that are visible, and waits where none is free.

A lease is a lock on a file, which the system drops when the process ends, however it ends.
"""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

logger = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
SECONDS_BETWEEN_TRIES = 0.5


@contextmanager
def one_gpu(device: str, jobs_per_gpu: int) -> Iterator[None]:
    """Leases a GPU for as long as the context lasts, and makes it the only one that CUDA sees.

    Where there is none, or torch is built without CUDA, nothing is leased: the device is then chosen as ever. Must be
    entered before CUDA is.

    Args:
        device: `auto`, `cpu` or `cuda`; with `cpu` nothing is leased.
        jobs_per_gpu: how many jobs may have one GPU at a time.
    """
    import torch

    gpus = visible_gpus() if device != "cpu" and torch.backends.cuda.is_built() else {}  # type: ignore[no-untyped-call]
    if not gpus:
        yield
        return
    before = os.environ.get(VISIBLE)
    gpu, lock = lease(gpus, jobs_per_gpu, lease_folder())
    logger.info("GPU %s leased (%s=%s)", gpu, VISIBLE, before)
    os.environ[VISIBLE] = gpu
    try:
        yield
    finally:
        lock.release()
        os.environ.pop(VISIBLE)
        if before is not None:
            os.environ[VISIBLE] = before


def lease_folder() -> Path:
    """Returns the folder of lock files: on this machine, since that is where its GPUs are."""
    return Path(tempfile.gettempdir(), f"biasgrid-gpus-{os.getuid()}")


def lease(gpus: Mapping[str, str], jobs_per_gpu: int, folder: Path) -> tuple[str, FileLock]:
    """Takes a GPU, first of those without a job, and waits until one has room.

    Args:
        gpus: what CUDA calls each, with the name of its lock.
        jobs_per_gpu: how many jobs may have one GPU at a time.
        folder: where the lock files are.

    Returns:
        The GPU and the lock, to be released.
    """
    folder.mkdir(parents=True, exist_ok=True)
    waiting = False
    while True:
        for place in range(jobs_per_gpu):
            for gpu, name in gpus.items():
                # A lease belongs to the process, not to the thread that took it.
                lock = FileLock(folder / f"{name}.{place}", thread_local=False)
                try:
                    lock.acquire(timeout=0)
                except Timeout:
                    continue
                return gpu, lock
        if not waiting:
            logger.info("waiting for one of the GPUs %s", ", ".join(gpus))
            waiting = True
        time.sleep(SECONDS_BETWEEN_TRIES)


def visible_gpus() -> dict[str, str]:
    """Returns the GPUs that this process may use as CUDA calls them, each with a name for its lock.

    The lock's name is the UUID where nvidia-smi tells it: two jobs of a cluster may both see their own GPU as number 0.
    CUDA is handed its own names on, since it may number GPUs in another order than nvidia-smi.
    """
    uuids = list_gpus()
    visible = os.environ.get(VISIBLE)
    if visible is None:
        return {uuid: uuid for uuid in uuids.values()}
    gpus: dict[str, str] = {}
    for entry in (part.strip() for part in visible.split(",")):
        # As CUDA does: what stands behind a name that means no device does not count.
        if entry in ("", "-1") or (uuids and entry.isdigit() and entry not in uuids):
            break
        gpus[entry] = uuids.get(entry, entry)
    return gpus


def list_gpus() -> dict[str, str]:
    """Returns the UUIDs of this machine's GPUs by number, none where there is no nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        return {}
    query = ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    if answer.returncode:
        logger.warning("nvidia-smi fails: %s", (answer.stderr or answer.stdout).strip())
        return {}
    lines = (line.partition(",") for line in answer.stdout.splitlines())
    return {number.strip(): uuid.strip() for number, _, uuid in lines}
