"""Runs instances through a model in batches of one length, so that there is no padding and no
attention mask.
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


class Encoded(Protocol):
    """Encoded instances; beside their rows it has what a task reads of them."""

    @property
    def rows(self) -> TokenRows:
        """The rows' tokens."""


class Runner(Protocol):
    """What runs a batch: the part of `local.LocalBackEnd` that knows a task."""

    model: PreTrainedModel

    def run(self, encoded: Any, batch: Batch, plain: bool = False) -> dict[str, torch.Tensor]:
        """Predicts rows of one length."""


@dataclass(frozen=True)
class BatchPart:
    """Some of the encoded instances.

    Attributes:
        instances: shape (instances,), which they are.
        rows: shape (rows,), their rows, one instance after the other.
        owner: shape (rows,), the place of each row's instance among them.
        order: shape (rows,), the places of the rows in the order in which they are run, by length.
        lengths: shape (rows,), the lengths of the rows in that order.
    """

    instances: IntArray
    rows: IntArray
    owner: IntArray
    order: IntArray
    lengths: Int32Array

    @classmethod
    def of(cls, rows: TokenRows, instances: IntArray) -> BatchPart:
        """Finds the rows of some of the encoded instances."""
        some, owner = rows.of(instances)
        lengths = rows.lengths[some]
        order = np.argsort(lengths, kind="stable")
        return cls(instances, some, owner, order, lengths[order])

    def only(self, instances: BoolArray) -> BatchPart:
        """Returns the part with some of its instances, a mask of shape (instances,)."""
        is_row = instances[self.owner]
        order = self.order[is_row[self.order]]
        return BatchPart(
            self.instances[instances],
            self.rows[is_row],
            (np.cumsum(instances) - 1)[self.owner[is_row]],
            (np.cumsum(is_row) - 1)[order],
            self.lengths[is_row[self.order]],
        )

    def cuts(self, token_budget: int) -> Iterator[tuple[int, int]]:
        """Yields where batches of one length begin and end among the rows in `order`.

        Each has at most `token_budget` tokens, but at least one row.
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
        begin, end: where it is in the `order` of its part.
        outcomes: the columns that `Runner.run` returned, of one piece or several, still on the
            device.
    """

    begin: int
    end: int
    outcomes: list[dict[str, torch.Tensor]]


def run_part(
    back_end: Runner,
    encoded: Encoded,
    part: BatchPart,
    is_answered: BoolArray,
    token_budget: int,
    ran: Callable[[RanBatch], None],
    freed: MemoryTrimmer | None,
) -> None:
    """Runs the batches of a part; out of memory halves the batch and goes on.

    Args:
        back_end: runs a batch.
        encoded: the encoded instances.
        part: which of them.
        is_answered: shape (instances,), whether an answer is there; a batch of such instances alone
            is not run.
        token_budget: how many tokens a batch may have.
        ran: is given each batch.
        freed: is given back to the system between batches; None on a GPU, where batches free next
            to nothing.
    """
    rows = to_device(part.rows[part.order], back_end.model.device)
    is_done = is_answered[part.owner[part.order]]
    for begin, end in part.cuts(token_budget):
        if is_done[begin:end].all():
            continue
        batch = Batch(rows[begin:end], int(part.lengths[begin]))
        ran(RanBatch(begin, end, run_in_parts(back_end, encoded, batch)))
        if freed:
            freed.check()


def run_in_parts(back_end: Runner, encoded: Encoded, batch: Batch) -> list[dict[str, torch.Tensor]]:
    """Runs a batch, in smaller ones where it does not fit into memory or is not what the model
    takes.
    """
    try:
        return [back_end.run(encoded, batch)]
    except (RuntimeError, ValueError, MemoryError) as error:
        pieces = smaller_batches(batch, error)
        if len(pieces) < 2:
            raise
    torch.cuda.empty_cache()
    return [outcome for piece in pieces for outcome in run_in_parts(back_end, encoded, piece)]


def smaller_batches(batch: Batch, error: Exception) -> list[Batch]:
    """Cuts a batch in two where it did not fit into memory, and into its rows where the model
    refused it.

    Some models take rows one at a time only, such as GPT-2 as a classifier without a token for
    padding, or several only if they are alike in more than their length, such as BART as a
    classifier.
    """
    count = len(batch.rows)
    if isinstance(error, ValueError) and count > 1:
        warn_once(
            f"the model cannot process a batch ({first_line(error)}), so its rows are run one at a "
            "time, which is slow"
        )
        return batch.split([1] * count)
    if out_of_memory(error) and count > 1:
        logger.warning("%s rows do not fit into memory; trying %s", count, count // 2)
        return batch.split([count // 2, count - count // 2])
    return [batch]


@cache
def warn_once(message: str) -> None:
    """Warns of what holds for many batches."""
    logger.warning(message)


def check_finite(columns: dict[str, npt.NDArray[Any]], instances: pl.Series, model: str) -> None:
    """Refuses scores that are not finite.

    Args:
        columns: what `Runner.run` returned.
        instances: the rows' instances.
        model: the model's name, for the message.

    Raises:
        ModelError: with the first such instance.
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
"""Keys of configs that say for how many tokens a model has positions."""


def longest_input(model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> int:
    """How many tokens a model takes: as many as it has positions for, and as its tokenizer says."""
    positions = position_count(model.config)
    taken = [] if positions is None else [positions - reserved_positions(model)]
    return int(min([*taken, tokenizer.model_max_length]))


def position_count(config: PretrainedConfig) -> int | None:
    """For how many tokens a model has positions by its config, or by the part of it that is about
    texts.

    Returns:
        None where it does not say, as for relative positions, of which there are none to run out
        of.
    """
    with suppress(ValueError):  # it has several parts about texts
        config = config.get_text_config()
    named = {key: getattr(config, key, None) for key in POSITIONS}
    if named[POSITIONS[0]] is None and getattr(config, "relative_attention_num_buckets", None):
        return None
    # Some say with -1 that there is no limit.
    return next((value for value in named.values() if isinstance(value, int) and value > 0), None)


def reserved_positions(model: PreTrainedModel) -> int:
    """How many positions a model gives to no token: in RoBERTa and its kin those up to the
    padding's.
    """
    embeddings = [
        module for name, module in model.named_modules() if name.endswith("position_embeddings")
    ]
    paddings = [getattr(embedding, "padding_idx", None) for embedding in embeddings]
    return max((padding + 1 for padding in paddings if padding is not None), default=0)
