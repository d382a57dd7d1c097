"""Gives freed memory back to the system.

Batches have many lengths, so their tensors have many sizes, and glibc keeps what one batch freed although it fits few
later ones: after some hundred batches it holds several times of what a batch takes.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from pathlib import Path

KEPT_BYTES = 64 * 2**20
"""How much more than after the last time the process may hold: each time, the next batch finds its pages anew."""
STATM = Path("/proc/self/statm")


class FreedMemory:
    """Gives freed memory back whenever much of it is kept; does nothing where the C library is not glibc."""

    def __init__(self, kept_bytes: int = KEPT_BYTES) -> None:
        """Gives back what has been freed before."""
        self.kept_bytes = kept_bytes
        self.trim: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if not STATM.exists():
            self.trim = None
        self._give_back()

    def check(self) -> None:
        """Gives freed memory back if the process holds much more than after the last time."""
        if self.trim and resident_bytes() > self.least + self.kept_bytes:
            self._give_back()

    def _give_back(self) -> None:
        if self.trim:
            self.trim(0)
            self.least = resident_bytes()


def resident_bytes() -> int:
    """Returns how much memory the process holds, on Linux."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
