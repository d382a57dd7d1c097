"""Leases GPUs to jobs, which wait if none is free.

A lease is a lock on a file, which the system releases when the process ends, however it ends.
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
from typing import NewType

from filelock import FileLock, Timeout

from biasgrid.base.faults import UserError

logger = logging.getLogger(__name__)

VISIBLE = "CUDA_VISIBLE_DEVICES"
SECONDS_BETWEEN_TRIES = 0.5
CudaName = NewType("CudaName", str)
"""A GPU as `CUDA_VISIBLE_DEVICES` names it: a number or a UUID."""
LockName = NewType("LockName", str)
"""The file name of a GPU's locks: its UUID, or its name in CUDA if that is not known."""


def threads_of_job(device: str) -> int:
    """Returns the number of threads of a job that predicts; Snakemake lowers it to its cores.

    Args:
        device: `auto`, `cpu` or `cuda`.
    """
    return 1 if device == "cpu" else 4


@contextmanager
def leased_gpus(gpu_count: int, device: str, jobs_per_gpu: int) -> Iterator[None]:
    """Leases GPUs as long as the context lasts, and makes them the only ones that CUDA sees.

    On a machine without GPUs, or with a torch without CUDA, nothing is leased or hidden. Must be
    entered before CUDA is initialised, because CUDA reads the variable only then.

    Args:
        gpu_count: the number of GPUs that the job needs, if the machine has any.
        device: `auto`, `cpu` or `cuda`; with `cpu` nothing is leased.
        jobs_per_gpu: the number of jobs that may share one GPU at a time.

    Raises:
        UserError: there are GPUs, but too few.
    """
    gpus = usable_gpus() if gpu_count and device != "cpu" else {}
    if not gpus:
        yield
        return
    if len(gpus) < gpu_count:
        raise UserError(
            f"the job needs {gpu_count} GPUs but sees only {len(gpus)} ({', '.join(gpus)}); "
            f"expected at least {gpu_count}: ask for fewer, or set {VISIBLE} to more of them"
        )
    before = os.environ.get(VISIBLE)
    with ExitStack() as locks:
        leased = lease_all(gpus, gpu_count, jobs_per_gpu, lease_folder(), locks)
        visible = ",".join(leased)
        logger.info("GPU %s leased (%s=%s)", visible, VISIBLE, before)
        os.environ[VISIBLE] = visible
        try:
            yield
        finally:
            os.environ.pop(VISIBLE)
            if before is not None:
                os.environ[VISIBLE] = before


def usable_gpus() -> dict[CudaName, LockName]:
    """Returns `visible_gpus`, or none if torch is built without CUDA."""
    import torch

    return visible_gpus() if torch.backends.cuda.is_built() else {}  # type: ignore[no-untyped-call]


def lease_all(
    gpus: Mapping[CudaName, LockName],
    gpu_count: int,
    jobs_per_gpu: int,
    folder: Path,
    locks: ExitStack,
) -> list[CudaName]:
    """Leases one or several GPUs, and waits until they are free.

    Args:
        gpus: the GPUs to choose from, at least `gpu_count`.
        gpu_count: the number of GPUs to lease.
        jobs_per_gpu: the number of jobs that may share one GPU at a time.
        folder: the folder of the lock files; created if it is missing.
        locks: gets the locks, which it releases when it is closed.
    """
    leased: list[CudaName] = []
    folder.mkdir(parents=True, exist_ok=True)
    # Only one job at a time leases several, so that no two jobs wait for each other's GPUs.
    with FileLock(folder / "several") if gpu_count > 1 else nullcontext():
        while len(leased) < gpu_count:
            remaining = {gpu: name for gpu, name in gpus.items() if gpu not in leased}
            gpu, lock = lease(remaining, jobs_per_gpu, folder)
            locks.callback(lock.release)
            leased.append(gpu)
    return leased


def lease_folder() -> Path:
    """Returns the folder of lock files, on a disk of the machine that has the GPUs."""
    return Path(tempfile.gettempdir(), f"biasgrid-gpus-{os.getuid()}")


def lease(
    gpus: Mapping[CudaName, LockName], jobs_per_gpu: int, folder: Path
) -> tuple[CudaName, FileLock]:
    """Leases a GPU, preferably one without a job, and waits until one is free.

    Args:
        gpus: the GPUs to choose from, at least one.
        jobs_per_gpu: the number of jobs that may share one GPU at a time.
        folder: the folder of the lock files, which must exist.

    Returns:
        The GPU, and its lock, which the caller must release.
    """
    is_waiting = False
    while True:
        # Each GPU has as many locks as jobs may share it. All GPUs are tried for a first job before
        # any is tried for a second one.
        for slot in range(jobs_per_gpu):
            for gpu, name in gpus.items():
                # A lease belongs to the process, not to the thread that took it.
                lock = FileLock(folder / f"{name}.{slot}", thread_local=False)
                try:
                    lock.acquire(timeout=0)
                except Timeout:
                    continue
                return gpu, lock
        if not is_waiting:
            logger.info("waiting for one of the GPUs %s", ", ".join(gpus))
            is_waiting = True
        time.sleep(SECONDS_BETWEEN_TRIES)


def visible_gpus() -> dict[CudaName, LockName]:
    """Returns the GPUs that this process may use.

    Locks are named by UUID, since two jobs of a cluster may both see a GPU of their own as number
    0. For CUDA the names of `CUDA_VISIBLE_DEVICES` are kept, because it may number GPUs in another
    order than nvidia-smi.
    """
    uuids = list_gpus()
    visible = os.environ.get(VISIBLE)
    if visible is None:
        return {CudaName(uuid): LockName(uuid) for uuid in uuids.values()}
    gpus: dict[CudaName, LockName] = {}
    for entry in visible.split(","):
        name = entry.strip()
        is_unknown_number = bool(uuids) and name.isdigit() and name not in uuids
        # CUDA ignores everything from the first name on that is no device.
        if name in ("", "-1") or is_unknown_number:
            break
        gpus[CudaName(name)] = LockName(uuids.get(name, name))
    return gpus


def list_gpus() -> dict[str, str]:
    """Returns the UUIDs of this machine's GPUs by their number in nvidia-smi; none without it."""
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
