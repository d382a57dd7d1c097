"""Token rows on the device: batches are put together there, and results are copied back from it."""

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
    """Returns an array as a tensor on a device; for a GPU, without waiting for the copy."""
    tensor = torch.from_numpy(np.ascontiguousarray(values))
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor


@dataclass(frozen=True)
class Batch:
    """Rows of one length.

    Attributes:
        rows: shape (rows,), on the device: the places of the rows among all encoded rows.
        length: the number of tokens in each row.
    """

    rows: torch.Tensor
    length: int

    def split(self, sizes: list[int]) -> list[Batch]:
        """Splits the batch; `sizes` are the numbers of rows of the parts."""
        return [Batch(rows, self.length) for rows in torch.split(self.rows, sizes)]


@dataclass(frozen=True)
class DeviceRows:
    """Token rows on the device; see `encoding.TokenRows`.

    First and second segments are in the same arrays, all first segments before the second ones.

    Attributes:
        ids, types: shape (tokens,), int32, token ids and types; types are None if the model takes
            none.
        begins: shape (segments,), where each segment begins in `ids`; int32 if all places fit.
        lengths: shape (segments,), int32, the number of tokens in each segment.
        first_index, second_index: shape (rows,), int32, the segments of each row; both count
            from 0.
        first_count: the number of first segments.
    """

    ids: torch.Tensor
    types: torch.Tensor | None
    begins: torch.Tensor
    lengths: torch.Tensor
    first_index: torch.Tensor
    second_index: torch.Tensor
    first_count: int

    @classmethod
    def from_rows(cls, rows: TokenRows, model: PreTrainedModel) -> DeviceRows:
        """Copies rows to a model's device."""
        first, second, device = rows.first_segments, rows.second_segments, model.device
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
            first_index=to_device(rows.first_index, device),
            second_index=to_device(rows.second_index, device),
            first_count=len(first.lengths),
        )

    def second_start(self, batch: Batch) -> torch.Tensor:
        """Returns where the second segment begins in each row of a batch; shape (rows,)."""
        return self.lengths[self.first_index[batch.rows]]

    def inputs(self, batch: Batch) -> dict[str, torch.Tensor]:
        """Returns a model's arguments for a batch: `input_ids` and, if it takes them, token types.

        Returns:
            int64 tensors of shape (rows, length), by the names of the arguments.
        """
        # On a CPU `index_select` takes half of the time of an index in brackets.
        first = self.first_index.index_select(0, batch.rows)
        second = self.second_index.index_select(0, batch.rows) + self.first_count
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


def narrow_places(places: IntArray, token_count: int) -> Int32Array | IntArray:
    """Returns places among tokens as int32, which is gathered faster, if all of them fit."""
    return places.astype(np.int32) if token_count <= np.iinfo(np.int32).max else places


def takes_types(model: PreTrainedModel) -> bool:
    """Whether a model's `forward` has an argument for token types."""
    return "token_type_ids" in inspect.signature(model.forward).parameters


@dataclass(frozen=True)
class ColumnTransfer:
    """Columns of results that are being copied from the device.

    Attributes:
        values: shape (rows, width), the bytes of all columns as int32, in the host's memory.
        columns: for each column its type, and its shape without the rows.
        done: the event that ends the copy; None on a CPU, where nothing is copied.
    """

    values: torch.Tensor
    columns: Mapping[str, tuple[torch.dtype, tuple[int, ...]]]
    done: torch.cuda.Event | None

    @classmethod
    def start(cls, outcomes: Sequence[Mapping[str, torch.Tensor]]) -> ColumnTransfer:
        """Starts to copy the results of batches, all in one transfer, without waiting for it.

        Args:
            outcomes: the columns of each batch, at least one batch. All have the same columns;
                their first dimension are the rows, their type is float32 or int32.
        """
        columns = {}
        for name, column in outcomes[0].items():
            columns[name] = (column.dtype, tuple(column.shape[1:]))
        rows = []
        for outcome in outcomes:
            parts = [as_int32(column) for column in outcome.values()]
            rows.append(torch.cat(parts, dim=1))
        values = torch.cat(rows)
        if values.device.type != "cuda":
            return cls(values, columns, None)
        host = torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record(torch.cuda.current_stream(values.device))
        return cls(host, columns, done)

    def read(self, order: npt.NDArray[np.int64]) -> dict[str, npt.NDArray[Any]]:
        """Waits for the copy and returns the columns, with their rows in another order.

        Args:
            order: shape (rows,), a permutation: the place in the result of each copied row.
        """
        if self.done is not None:
            self.done.synchronize()
        values = np.empty(self.values.shape, dtype=np.int32)
        values[order] = self.values.numpy()
        columns, begin = {}, 0
        for name, (dtype, shape) in self.columns.items():
            width = prod(shape)
            column = np.ascontiguousarray(values[:, begin : begin + width])
            columns[name] = column.view(NUMPY_TYPES[dtype]).reshape(len(column), *shape)
            begin += width
        return columns


def as_int32(column: torch.Tensor) -> torch.Tensor:
    """Returns the bytes of a column of 4-byte numbers as int32; shape (rows, width)."""
    return column.reshape(len(column), prod(column.shape[1:])).view(torch.int32)


NUMPY_TYPES = {torch.float32: np.float32, torch.int32: np.int32}
