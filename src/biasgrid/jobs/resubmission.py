"""What a job that is submitted again gets more of: memory where memory was short, time where time was."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

Shortage = Literal["memory", "time"]
LONGEST = 1 << 20
"""How many bytes of a log are read, from its end."""

SIGNS: dict[Shortage, re.Pattern[str]] = {
    # Of control groups, of a SLURM that looks at processes now and then, and of the job itself.
    "memory": re.compile(
        r"oom[-_]kill|exceeded (job |step )?memory limit|\b(_Array)?MemoryError\b|Cannot allocate memory"
        # As `faults.out_of_memory` words it, unless it is the memory of a GPU, of which SLURM has no more to give.
        r"|^out of memory(;| \((?!CUDA|HIP))",
        re.I | re.M,
    ),
    "time": re.compile("DUE TO TIME LIMIT"),
}
"""What the log of a job in SLURM says of it; without a database of accounts nobody else remembers for long."""


def tries(short_of: Shortage, logs: Iterable[Path], attempt: int) -> int:
    """Returns by how much a job's memory or time is to be multiplied: 1, and 1 more for each time that it was short.

    Args:
        short_of: what is to be multiplied.
        logs: the logs of the job's attempts, those of earlier runs among them.
        attempt: which attempt of this run is to come, from 1.
    """
    if attempt == 1:
        return 1
    written = sorted(logs, key=lambda log: log.stat().st_mtime)
    return 1 + sum(bool(SIGNS[short_of].search(end_of(log))) for log in written[1 - attempt :])


def end_of(log: Path) -> str:
    """Returns the last part of a log, which says how the job has ended."""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - LONGEST))
        return file.read().decode(errors="replace")
