"""Chunks of instances, tokenized one after the other while a device computes.

The device can begin as soon as the first chunk is tokenized.
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
"""Instances in the first chunk, and how much larger each further one is. A device takes longer for
a chunk than the program takes to tokenize the next one, and many small chunks cost more than few
large ones. Both keep parts of a shard in one chunk.
"""

Encoded = TypeVar("Encoded")


class Chunk(Generic[Encoded]):
    """Instances that are tokenized once, by the thread that needs them first."""

    def __init__(self, instances: pl.DataFrame, encode: Callable[[pl.DataFrame], Encoded]):
        """Tokenizes nothing yet."""
        self.instances = instances
        self.encode = encode
        self.lock = threading.Lock()
        # A list, as the encoding itself may be None.
        self.done: list[Encoded] = []

    def encoding(self) -> Encoded:
        """Returns the encoded instances; waits if another thread is tokenizing them.

        An error of `encode` is raised in each call, which tries again.
        """
        with self.lock:
            if not self.done:
                self.done.append(self.encode(self.instances))
            return self.done[0]


class Chunks(Generic[Encoded]):
    """All instances of a back end, in chunks.

    Attributes:
        items: the chunks, at least one.
    """

    def __init__(
        self,
        instances: pl.DataFrame,
        encode: Callable[[pl.DataFrame], Encoded],
        device: torch.device,
    ):
        """Divides instances into chunks; tokenizes nothing yet.

        Args:
            instances: the instances; their column `instance` ascends.
            encode: tokenizes a chunk.
            device: the device that will compute; see `chunk_beginnings`.
        """
        self.ids: npt.NDArray[np.uint32] = instances["instance"].to_numpy()
        self.begins = chunk_beginnings(len(instances), device)
        ends = [*self.begins[1:], len(instances)]
        slices = zip(self.begins, ends, strict=True)
        self.items = [Chunk(instances.slice(begin, end - begin), encode) for begin, end in slices]

    def find(self, instances: pl.DataFrame) -> tuple[Chunk[Encoded], npt.NDArray[np.int64]] | None:
        """Returns the chunk that contains some instances, and their places in it.

        Args:
            instances: one or more of the instances, in ascending order.

        Returns:
            None if they are in several chunks.
        """
        places = np.searchsorted(self.ids, instances["instance"].to_numpy())
        low, high = np.searchsorted(self.begins, places[[0, -1]], side="right") - 1
        if low != high:
            return None
        return self.items[low], places - self.begins[low]


def chunk_beginnings(instance_count: int, device: torch.device) -> list[int]:
    """Returns the first place of each chunk.

    On a CPU all instances are one chunk: it would have to compute and tokenize at the same time.
    """
    begins, size = [0], FIRST
    while device.type != "cpu" and begins[-1] + size < instance_count:
        begins.append(begins[-1] + size)
        size *= GROWTH
    return begins
