"""What of the rows lies on the device, where batches of them are put together, and how answers come
back from it.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch

from biasgrid.base.arrays import Int32Array, IntArray
from biasgrid.inference.engine.encoding import TokenRows

if TYPE_CHECKING:
    from transformers import PreTrainedModel


def to_device(values: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    """Returns an array as a tensor on a device; on a GPU the copy is made while the program goes
    on.
    """
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


@dataclass(frozen=True)
class Batch:
    """Rows of one length.

    Attributes:
        rows: shape (rows,), their numbers, on the device.
        length: how many tokens each has.
    """

    rows: torch.Tensor
    length: int

    def split(self, sizes: list[int]) -> list[Batch]:
        """Returns the batch in pieces of so many rows each."""
        return [Batch(rows, self.length) for rows in torch.split(self.rows, sizes)]


@dataclass(frozen=True)
class DeviceRows:
    """Rows on the device.

    Attributes:
        ids, types: shape (tokens,), int32, the tokens of all segments one behind the other, the
            first ones before the second ones; types are None where the model takes none.
        begins: shape (segments,), where each segment begins there; int32, or int64 where there are
            more tokens.
        lengths: shape (segments,), int32, how many tokens each has.
        first_of, second_of: shape (rows,), int32, each row's segments; the second ones are counted
            by themselves.
        firsts: how many first segments there are.
    """

    ids: torch.Tensor
    types: torch.Tensor | None
    begins: torch.Tensor
    lengths: torch.Tensor
    first_of: torch.Tensor
    second_of: torch.Tensor
    firsts: int

    @classmethod
    def of(cls, rows: TokenRows, model: PreTrainedModel) -> DeviceRows:
        """Moves rows to the device of the model that is to answer them."""
        first, second, device = rows.first, rows.second, model.device
        types = None
        if first.types is not None and second.types is not None and takes_types(model):
            types = to_device(np.concatenate([first.types, second.types]), device)
        ids = np.concatenate([first.ids, second.ids])
        begins = np.concatenate([first.begins, second.begins + len(first.ids)])
        lengths = np.concatenate([first.lengths, second.lengths])
        return cls(
            ids=to_device(ids, device),
            types=types,
            begins=to_device(narrow_places(begins, len(ids)), device),
            lengths=to_device(lengths.astype(np.int32), device),
            first_of=to_device(rows.first_of, device),
            second_of=to_device(rows.second_of, device),
            firsts=len(first.lengths),
        )

    def second_start(self, batch: Batch) -> torch.Tensor:
        """Where the second segment begins in each row of a batch; shape (rows,)."""
        return self.lengths[self.first_of[batch.rows]]

    def inputs(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Returns a model's inputs for a batch: ids, and token types if it takes them.

        Returns:
            Tensors of shape (rows, length) by the names of the model's arguments.
        """
        # On a CPU `index_select` takes half of the time of an index in brackets.
        first = self.first_of.index_select(0, batch.rows)
        second = self.second_of.index_select(0, batch.rows) + self.firsts
        first_begin = self.begins.index_select(0, first)[:, None]
        second_begin = self.begins.index_select(0, second)[:, None]
        first_length = self.lengths.index_select(0, first)[:, None]
        place = torch.arange(batch.length, dtype=first_length.dtype, device=first_length.device)
        is_first = place < first_length
        source = place + torch.where(is_first, first_begin, second_begin - first_length)
        tokens = source.flatten()
        inputs = {"input_ids": self.ids.index_select(0, tokens).view(source.shape).long()}
        if self.types is not None:
            types = self.types.index_select(0, tokens)
            inputs["token_type_ids"] = types.view(source.shape).long()
        return inputs


def narrow_places(places: IntArray, count: int) -> Int32Array | IntArray:
    """Returns places among `count` tokens in 32 bits, which are gathered faster, if they fit."""
    return places.astype(np.int32) if count <= np.iinfo(np.int32).max else places


def takes_types(model: PreTrainedModel) -> bool:
    """Whether a model is given token types."""
    return "token_type_ids" in inspect.signature(model.forward).parameters


@dataclass(frozen=True)
class ColumnTransfer:
    """Numbers on their way from the device.

    Attributes:
        values: shape (rows, numbers), the bytes of all columns as int32, where the program can read
            them.
        columns: of each column its type, and its shape behind the rows.
        done: when they are there; None on a CPU.
    """

    values: torch.Tensor
    columns: Mapping[str, tuple[torch.dtype, tuple[int, ...]]]
    done: torch.cuda.Event | None

    @classmethod
    def of(cls, outcomes: Sequence[Mapping[str, torch.Tensor]]) -> ColumnTransfer:
        """Copies what batches gave from the device, all of it at once, while the program goes on.

        Args:
            outcomes: of each batch the columns, whose first dimension are the rows, of numbers of 4
                bytes.
        """
        columns = {}
        for name, column in outcomes[0].items():
            columns[name] = (column.dtype, tuple(column.shape[1:]))
        wide = []
        for outcome in outcomes:
            numbers = [as_numbers(column) for column in outcome.values()]
            wide.append(torch.cat(numbers, dim=1))
        values = torch.cat(wide)
        if values.device.type != "cuda":
            return cls(values, columns, None)
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record(torch.cuda.current_stream(values.device))
        return cls(host, columns, done)

    def read(self, order: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """Waits for the numbers and returns the columns.

        Args:
            order: shape (rows,), where each of the rows belongs.
        """
        if self.done is not None:
            self.done.synchronize()
        values = np.empty(self.values.shape, dtype=np.int32)
        values[order] = self.values.numpy()
        read, begin = {}, 0
        for name, (dtype, shape) in self.columns.items():
            width = prod(shape)
            column = np.ascontiguousarray(values[:, begin : begin + width])
            read[name] = column.view(NUMPY_TYPES[dtype]).reshape(len(column), *shape)
            begin += width
        return read


def as_numbers(column: torch.Tensor) -> torch.Tensor:
    """Returns the bytes of a column as int32; shape (rows, numbers)."""
    return column.reshape(len(column), prod(column.shape[1:])).view(torch.int32)


NUMPY_TYPES = {torch.float32: np.float32, torch.int32: np.int32}
