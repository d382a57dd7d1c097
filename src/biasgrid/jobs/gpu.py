"""The GPUs of a job, which it leases among the visible ones; it waits if none is free.

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
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

from filelock import FileLock, Timeout

from biasgrid.base.faults import UserError

logger = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
SECONDS_BETWEEN_TRIES = 0.5


def threads_of_job(device: str) -> int:
    """Returns the number of threads of a job that predicts, if there are so many processors.

    Args:
        device: `auto`, `cpu` or `cuda`.
    """
    return 1 if device == "cpu" else 4


@contextmanager
def leased_gpus(count: int, device: str, jobs_per_gpu: int) -> Iterator[None]:
    """Leases GPUs for as long as the context lasts, and makes them the only ones that CUDA sees.

    If there is none, or torch is built without CUDA, nothing is leased: the device is then chosen
    as ever. Must be entered before CUDA is.

    Args:
        count: the number of GPUs that are needed.
        device: `auto`, `cpu` or `cuda`; with `cpu` nothing is leased.
        jobs_per_gpu: the number of jobs that may have one GPU at a time.

    Raises:
        UserError: there are GPUs, but not so many.
    """
    gpus = usable_gpus() if count and device != "cpu" else {}
    if not gpus:
        yield
        return
    if len(gpus) < count:
        raise UserError(
            f"the job needs {count} GPUs but sees only {len(gpus)} ({', '.join(gpus)}); expected "
            f"at least {count}: ask for fewer, or set {VISIBLE} to more of them"
        )
    before = os.environ.get(VISIBLE)
    with ExitStack() as held:
        names = ",".join(lease_all(gpus, count, jobs_per_gpu, lease_folder(), held))
        logger.info("GPU %s leased (%s=%s)", names, VISIBLE, before)
        os.environ[VISIBLE] = names
        try:
            yield
        finally:
            os.environ.pop(VISIBLE)
            if before is not None:
                os.environ[VISIBLE] = before


def usable_gpus() -> dict[str, str]:
    """Returns the GPUs that this process may use, none if torch is built without CUDA."""
    import torch

    return visible_gpus() if torch.backends.cuda.is_built() else {}  # type: ignore[no-untyped-call]


def lease_all(
    gpus: Mapping[str, str], count: int, jobs_per_gpu: int, folder: Path, held: ExitStack
) -> list[str]:
    """Takes several GPUs.

    Args:
        gpus: the names of GPUs in CUDA, with the names of their locks.
        count: the number of GPUs to take.
        jobs_per_gpu: the number of jobs that may have one GPU at a time.
        folder: the folder of the lock files.
        held: releases the locks in the end.
    """
    leased: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    # One job after the other takes several, so that no two wait for each other.
    with FileLock(folder / "several") if count > 1 else nullcontext():
        while len(leased) < count:
            others = {gpu: name for gpu, name in gpus.items() if gpu not in leased}
            gpu, lock = lease(others, jobs_per_gpu, folder)
            held.callback(lock.release)
            leased.append(gpu)
    return leased


def lease_folder() -> Path:
    """Returns the folder of lock files, which is on the machine that has the GPUs."""
    return Path(tempfile.gettempdir(), f"biasgrid-gpus-{os.getuid()}")


def lease(gpus: Mapping[str, str], jobs_per_gpu: int, folder: Path) -> tuple[str, FileLock]:
    """Takes a GPU, preferably one without a job, and waits until one has room.

    Args:
        gpus: the names of GPUs in CUDA, with the names of their locks.
        jobs_per_gpu: the number of jobs that may have one GPU at a time.
        folder: the folder of the lock files.

    Returns:
        The GPU and the lock, to be released.
    """
    is_waiting = False
    while True:
        # All GPUs are tried for their first job before any is for its second.
        for place in range(jobs_per_gpu):
            for gpu, name in gpus.items():
                # A lease belongs to the process, not to the thread that took it.
                lock = FileLock(folder / f"{name}.{place}", thread_local=False)
                try:
                    lock.acquire(timeout=0)
                except Timeout:
                    continue
                return gpu, lock
        if not is_waiting:
            logger.info("waiting for one of the GPUs %s", ", ".join(gpus))
            is_waiting = True
        time.sleep(SECONDS_BETWEEN_TRIES)


def visible_gpus() -> dict[str, str]:
    """Returns the GPUs that this process may use, by their names in CUDA, with names of locks.

    The lock's name is the UUID if nvidia-smi tells it: two jobs of a cluster may both see their own
    GPU as number 0. CUDA gets its own names again, since it may number GPUs in another order than
    nvidia-smi.
    """
    uuids = list_gpus()
    visible = os.environ.get(VISIBLE)
    if visible is None:
        return {uuid: uuid for uuid in uuids.values()}
    gpus: dict[str, str] = {}
    for entry in visible.split(","):
        name = entry.strip()
        is_unknown_number = bool(uuids) and name.isdigit() and name not in uuids
        # As in CUDA, names behind one that means no device do not count.
        if name in ("", "-1") or is_unknown_number:
            break
        gpus[name] = uuids.get(name, name)
    return gpus


def list_gpus() -> dict[str, str]:
    """Returns the UUIDs of this machine's GPUs by number, none without nvidia-smi."""
    if shutil.which("nvidia-smi") is None:
        return {}
    query = ["nvidia-smi", "--query-gpu=index,uuid", "--format=csv,noheader"]
    answer = subprocess.run(query, capture_output=True, text=True, check=False)
    if answer.returncode:
        logger.warning("nvidia-smi failed: %s", (answer.stderr or answer.stdout).strip())
        return {}
    gpus = {}
    for line in answer.stdout.splitlines():
        number, _, uuid = line.partition(",")
        gpus[number.strip()] = uuid.strip()
    return gpus
