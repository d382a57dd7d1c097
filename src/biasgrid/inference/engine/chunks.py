"""Instances are tokenized piece by piece where a device computes meanwhile, so that it begins after
the first one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

FIRST, GROWTH = 2**14, 4
"""Instances of the first piece, and how much larger each further one is: a device takes longer for
a piece than the program for the next, and many small ones cost more than few large ones. Both keep
parts of a shard in one piece.
"""

Encoded = TypeVar("Encoded")


class Chunk(Generic[Encoded]):
    """Some instances that are tokenized once, by whoever needs them first; another thread may ask
    beforehand.
    """

    def __init__(self, instances: pl.DataFrame, encode: Callable[[pl.DataFrame], Encoded]):
        """Tokenizes nothing yet."""
        self.instances = instances
        self.encode = encode
        self.lock = threading.Lock()
        self.done: list[Encoded] = []

    def encoded(self) -> Encoded:
        """Returns the encoded instances; waits where another thread is at them."""
        with self.lock:
            if not self.done:
                self.done.append(self.encode(self.instances))
            return self.done[0]


class Chunks(Generic[Encoded]):
    """What a back end was opened with, in pieces."""

    def __init__(
        self,
        instances: pl.DataFrame,
        encode: Callable[[pl.DataFrame], Encoded],
        device: torch.device,
    ):
        """Divides instances, whose numbers ascend, for a device; nothing is tokenized yet."""
        self.numbers: npt.NDArray[np.uint32] = instances["instance"].to_numpy()
        self.begins = chunk_beginnings(len(instances), device)
        ends = [*self.begins[1:], len(instances)]
        slices = zip(self.begins, ends, strict=True)
        self.pieces = [Chunk(instances.slice(begin, end - begin), encode) for begin, end in slices]

    def of(self, instances: pl.DataFrame) -> tuple[Chunk[Encoded], npt.NDArray[np.int64]] | None:
        """Returns the piece that holds some instances, and their places in it; None where no single
        one does.
        """
        places = np.searchsorted(self.numbers, instances["instance"].to_numpy())
        first, last = np.searchsorted(self.begins, places[[0, -1]], side="right") - 1
        return (self.pieces[first], places - self.begins[first]) if first == last else None


def chunk_beginnings(count: int, device: torch.device) -> list[int]:
    """Returns where pieces begin: all is one on a CPU, which would have to compute and tokenize at
    the same time.
    """
    begins, size = [0], FIRST
    while device.type != "cpu" and begins[-1] + size < count:
        begins.append(begins[-1] + size)
        size *= GROWTH
    return begins
