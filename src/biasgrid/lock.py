"""One run at a time in a folder of results."""

from __future__ import annotations

import fcntl
from pathlib import Path
from typing import TextIO

from biasgrid.faults import UserError

_held: list[TextIO] = []


def lock_results(folder: str) -> None:
    """Keeps other runs out of a folder of results until this process ends, however it ends.

    Raises:
        UserError: another run is at work there.
    """
    path = Path(folder, ".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = path.open("w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        handle.close()
        raise UserError(
            f"{folder}: another run is at work there; wait for it, or set `results` to another folder"
        ) from None
    _held.append(handle)
