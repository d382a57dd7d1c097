"""Runs encoded instances through a model in batches of one length.

Rows of one length need no padding and no attention mask, which would change the last digits.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl
import torch

from biasgrid.base.arrays import BoolArray, Int32Array, IntArray
from biasgrid.base.faults import out_of_memory
from biasgrid.inference.checkpoints.checkpoint import ModelError, first_line
from biasgrid.inference.engine.device_rows import Batch, to_device
from biasgrid.inference.engine.encoding import TokenRows
from biasgrid.inference.engine.hardware import MemoryTrimmer

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast

logger = logging.getLogger(__name__)


class EncodedInstances(Protocol):
    """Encoded instances: their token rows, and whatever else a back end's `run` reads."""

    @property
    def rows(self) -> TokenRows:
        """The tokens of all rows."""


class Runner(Protocol):
    """Runs a batch: the part of `local.LocalBackEnd` that knows a task."""

    model: PreTrainedModel

    def run(self, encoding: Any, batch: Batch, *, plain: bool = False) -> dict[str, torch.Tensor]:
        """Predicts rows of one length; see `local.LocalBackEnd.run`."""


@dataclass(frozen=True)
class BatchPart:
    """The rows of some encoded instances, and the order in which they are run.

    Attributes:
        instances: shape (instances,), the places of the instances among all encoded ones.
        rows: shape (rows,), the places of their rows among all encoded rows, one instance after the
            other.
        owner: shape (rows,), the instance of each row: its place in `instances`.
        order: shape (rows,), the order in which the rows are run, by length: places in `rows`.
        lengths: shape (rows,), the lengths of the rows in the order in which they are run.
    """

    instances: IntArray
    rows: IntArray
    owner: IntArray
    order: IntArray
    lengths: Int32Array

    @classmethod
    def from_instances(cls, rows: TokenRows, instances: IntArray) -> BatchPart:
        """Returns the rows of some encoded instances.

        Args:
            rows: all encoded rows.
            instances: shape (instances,), places among the encoded instances, in any order.
        """
        own_rows, owner = rows.instance_rows(instances)
        lengths = rows.lengths[own_rows]
        order = np.argsort(lengths, kind="stable")
        return cls(instances, own_rows, owner, order, lengths[order])

    def filter(self, is_included: BoolArray) -> BatchPart:
        """Returns the part of those instances for which `is_included`, shape (instances,), holds.

        Their rows are run in the same order as before.
        """
        is_row = is_included[self.owner]
        order = self.order[is_row[self.order]]
        new_place = np.cumsum(is_included) - 1
        new_row = np.cumsum(is_row) - 1
        return BatchPart(
            self.instances[is_included],
            self.rows[is_row],
            new_place[self.owner[is_row]],
            new_row[order],
            self.lengths[is_row[self.order]],
        )

    def cuts(self, token_budget: int) -> Iterator[tuple[int, int]]:
        """Yields where each batch begins and ends in `order`.

        The rows of a batch have one length. It has at most `token_budget` tokens, but at least one
        row.
        """
        ends = [*(np.flatnonzero(np.diff(self.lengths)) + 1).tolist(), len(self.lengths)]
        begin = 0
        for end in ends:
            size = max(1, token_budget // int(self.lengths[begin]))
            for start in range(begin, end, size):
                yield start, min(start + size, end)
            begin = end


class RanBatch(NamedTuple):
    """A batch that was run.

    Attributes:
        begin, end: its place in the `order` of its part.
        outcomes: the columns that `Runner.run` returned, still on the device; several if the batch
            had to be split.
    """

    begin: int
    end: int
    outcomes: list[dict[str, torch.Tensor]]


def run_part(
    back_end: Runner,
    encoding: EncodedInstances,
    part: BatchPart,
    is_answered: BoolArray,
    token_budget: int,
    report_batch: Callable[[RanBatch], None],
    trimmer: MemoryTrimmer | None,
) -> None:
    """Runs the batches of a part; a batch that does not fit into memory is split.

    Args:
        back_end: runs a batch.
        encoding: the encoded instances.
        part: the rows to run, of at least one instance.
        is_answered: shape (instances,), whether an instance has an answer already. A batch of such
            instances alone is skipped.
        token_budget: the largest number of tokens in a batch.
        report_batch: called with each batch after it was run.
        trimmer: returns freed memory to the system between batches; None on a GPU, where batches
            free next to nothing.
    """
    rows = to_device(part.rows[part.order], back_end.model.device)
    is_done = is_answered[part.owner[part.order]]
    for begin, end in part.cuts(token_budget):
        if is_done[begin:end].all():
            continue
        batch = Batch(rows[begin:end], int(part.lengths[begin]))
        report_batch(RanBatch(begin, end, run_or_split(back_end, encoding, batch)))
        if trimmer:
            trimmer.check()


def run_or_split(
    back_end: Runner, encoding: EncodedInstances, batch: Batch
) -> list[dict[str, torch.Tensor]]:
    """Runs a batch, in smaller ones if it does not fit into memory or the model refuses it.

    Returns:
        The columns of each smaller batch; together they have the rows in the order of the batch.
    """
    try:
        return [back_end.run(encoding, batch)]
    except (RuntimeError, ValueError, MemoryError) as error:
        parts = smaller_batches(batch, error)
        if len(parts) < 2:
            raise
    torch.cuda.empty_cache()
    outcomes = []
    for part in parts:
        outcomes += run_or_split(back_end, encoding, part)
    return outcomes


def smaller_batches(batch: Batch, error: Exception) -> list[Batch]:
    """Returns the halves of a batch that did not fit into memory, or the rows of a refused one.

    A batch that cannot be split, or failed otherwise, is returned as it is.

    Some models take only one row at a time, such as GPT-2 as a classifier without a padding token.
    Others take several only if they are alike in more than their length, such as BART as a
    classifier.
    """
    row_count = len(batch.rows)
    if isinstance(error, ValueError) and row_count > 1:
        warn_once(
            f"the model cannot process a batch ({first_line(error)}), so its rows are run one at a "
            "time, which is slow"
        )
        return batch.split([1] * row_count)
    if out_of_memory(error) and row_count > 1:
        logger.warning("%s rows do not fit into memory; trying %s", row_count, row_count // 2)
        return batch.split([row_count // 2, row_count - row_count // 2])
    return [batch]


@cache
def warn_once(message: str) -> None:
    """Logs a warning at its first call for a message, as it may be true of many batches."""
    logger.warning(message)


def check_finite(columns: dict[str, npt.NDArray[Any]], instances: pl.Series, model: str) -> None:
    """Refuses scores that are not finite.

    Args:
        columns: results of `Runner.run`; their first dimension are the rows.
        instances: shape (rows,), the column `instance` for each row, for the message.
        model: the model's name, for the message.

    Raises:
        ModelError: names the first instance with such a score.
    """
    for values in columns.values():
        if not np.isfinite(values).all():
            instance = instances[int(np.argwhere(~np.isfinite(values))[0, 0])]
            raise ModelError(
                f"model {model} returned non-finite scores on instance "
                f"{instance}; expected probabilities"
            )


POSITIONS = (
    "max_position_embeddings",
    "max_encoder_position_embeddings",
    "max_target_positions",
    "max_seq_len",
    "seq_length",
    "max_sequence_length",
    "n_positions",
    "n_ctx",
)
"""Keys of a model's config for the number of its positions, the first one with a value counts."""


def longest_input(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """Returns the largest number of tokens that both the model and its tokenizer allow.

    Without a limit it is a very large number, which transformers uses for that.
    """
    positions = position_count(model.config)
    if positions is None:
        return int(tokenizer.model_max_length)
    return int(min(positions - reserved_positions(model), tokenizer.model_max_length))


def position_count(config: PretrainedConfig) -> int | None:
    """Returns the number of positions in a model's config, or in its part for texts.

    None means no limit: the config has no such key, or the positions are relative to each other.
    """
    # Raised if there are several parts for texts.
    with suppress(ValueError):
        config = config.get_text_config()
    values = [getattr(config, key, None) for key in POSITIONS]
    if values[0] is None and getattr(config, "relative_attention_num_buckets", None):
        return None
    # Some configs have -1 for no limit.
    return next((value for value in values if isinstance(value, int) and value > 0), None)


def reserved_positions(model: PreTrainedModel) -> int:
    """Returns the number of positions that no token gets.

    In RoBERTa and similar models, positions are counted from the one after the padding's.
    """
    embeddings = [
        module for name, module in model.named_modules() if name.endswith("position_embeddings")
    ]
    paddings = [getattr(embedding, "padding_idx", None) for embedding in embeddings]
    return max((padding + 1 for padding in paddings if padding is not None), default=0)
