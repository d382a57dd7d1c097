"""The GPUs of a job: each job leases those that it needs of the visible ones, and waits if none is
free.

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
    """Returns how many threads a job that predicts has, where there are so many processors.

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
        count: how many are needed.
        device: `auto`, `cpu` or `cuda`; with `cpu` nothing is leased.
        jobs_per_gpu: how many jobs may have one GPU at a time.

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
        taken = lease_all(gpus, count, jobs_per_gpu, lease_folder(), held)
        logger.info("GPU %s leased (%s=%s)", ",".join(taken), VISIBLE, before)
        os.environ[VISIBLE] = ",".join(taken)
        try:
            yield
        finally:
            os.environ.pop(VISIBLE)
            if before is not None:
                os.environ[VISIBLE] = before


def usable_gpus() -> dict[str, str]:
    """Returns the GPUs that this process may use, none where torch is built without CUDA."""
    import torch

    return visible_gpus() if torch.backends.cuda.is_built() else {}  # type: ignore[no-untyped-call]


def lease_all(
    gpus: Mapping[str, str], count: int, jobs_per_gpu: int, folder: Path, held: ExitStack
) -> list[str]:
    """Takes several GPUs; one job after the other does, so that no two wait for what the other one
    holds.
    """
    taken: list[str] = []
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / "several") if count > 1 else nullcontext():
        while len(taken) < count:
            gpu, lock = lease(
                {name: of for name, of in gpus.items() if name not in taken}, jobs_per_gpu, folder
            )
            held.callback(lock.release)
            taken.append(gpu)
    return taken


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

    The lock's name is the UUID where nvidia-smi tells it: two jobs of a cluster may both see their
    own GPU as number 0. CUDA is handed its own names on, since it may number GPUs in another order
    than nvidia-smi.
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
        logger.warning("nvidia-smi failed: %s", (answer.stderr or answer.stdout).strip())
        return {}
    lines = (line.partition(",") for line in answer.stdout.splitlines())
    return {number.strip(): uuid.strip() for number, _, uuid in lines}
