"""Runs rows of prompts and options through a model in batches, and reads log-probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from biasgrid.base.arrays import FloatArray, IntArray
from biasgrid.inference.models.generation.option_reads import OptionReads
from biasgrid.inference.models.generation.options import FIRST_TOKENS
from biasgrid.inference.models.generation.prefix import Prefix, only_last
from biasgrid.inference.models.generation.token_tree import TreeRow

if TYPE_CHECKING:
    from transformers import PreTrainedModel

LARGEST_LOGITS = 2**27
"""Logits that a batch may have: half a gigabyte in float32."""
PLACES_AT_ONCE = 8
"""How many places have their logits summed up together."""
ENOUGH_TOKENS = 1024
"""A batch with so many tokens hardly gains by more: reading the weights is then a small part."""
SPREAD = 0.25
"""How much shorter than the longest a row of a small batch may be, as a share of its length."""


@dataclass(frozen=True)
class BatchLimits:
    """The limits of batches of rows; a row beyond them is a batch by itself.

    Attributes:
        token_budget: the largest number of tokens in a batch, with those of a shared prefix and of
            padding: a batch holds their keys and values.
        vocabulary: the number of logits at a place, of which a batch has at most `LARGEST_LOGITS`.
        longest_padded: the largest number of tokens in a row beside rows of other lengths; 0 if the
            model takes no padding, see `tree_arguments`.
    """

    token_budget: int
    vocabulary: int
    longest_padded: float

    def batches(self, reads: OptionReads, rows: IntArray) -> Iterator[IntArray]:
        """Yields batches of rows, the longest first.

        Args:
            reads: all rows.
            rows: shape (rows,), the rows that are batched.
        """
        lengths, has_branches = reads.lengths[rows], reads.has_branches[rows]
        batch: list[int] = []
        for row in rows[np.lexsort((has_branches, -lengths))].tolist():
            if batch and not self._has_room(reads, batch, row):
                yield np.array(batch)
                batch = []
            batch.append(row)
        if batch:
            yield np.array(batch)

    def _has_room(self, reads: OptionReads, batch: Sequence[int], row: int) -> bool:
        """Whether a batch has room for a row that is not longer than its rows."""
        first = batch[0]
        longest = int(reads.lengths[first])
        size = len(batch) + 1
        logit_places = max(int(reads.read_counts[place]) for place in (*batch, row))
        if size * longest > self.token_budget:
            return False
        if size * logit_places * self.vocabulary > LARGEST_LOGITS:
            return False
        if reads.lengths[row] == longest and reads.has_branches[row] == reads.has_branches[first]:
            return True
        is_small = len(batch) * longest < ENOUGH_TOKENS
        is_near = reads.lengths[row] >= (1 - SPREAD) * longest
        return is_small and is_near and longest <= self.longest_padded


class ScoredRows(NamedTuple):
    """The results of a batch of rows.

    Attributes:
        reads: shape (reads,), places among all reads.
        values: shape (reads,), their log-probabilities.
        first_tokens: by request, the ids of the most probable first tokens of its answer with
            their probabilities. For all requests that have a row in the batch.
    """

    reads: IntArray
    values: FloatArray
    first_tokens: dict[int, list[tuple[int, float]]]


def read_scores(
    model: PreTrainedModel, reads: OptionReads, prefix: Prefix, rows: IntArray
) -> ScoredRows:
    """Runs the model on a batch of rows and reads log-probabilities.

    Args:
        model: the model.
        reads: all rows and reads.
        prefix: tokens that all rows begin with, fewer than those of any context.
        rows: shape (rows,), the rows of a batch, see `BatchLimits`.
    """
    batch_reads, read_rows = reads.row_reads(rows)
    ends, end_rows = reads.row_ends(rows)
    logit_places = int(reads.read_counts[rows].max())
    with torch.inference_mode():
        logits = row_logits(model, reads, prefix, rows)[:, -logit_places:]

        def on_device(values: IntArray) -> torch.Tensor:
            return torch.from_numpy(values).to(logits.device)

        # Several tokens are read at one place: its logits are summed up once.
        read_places = read_rows * logit_places + (logit_places - 1 - reads.back[batch_reads])
        places, place_of_read = np.unique(read_places, return_inverse=True)
        all_logits = logits.flatten(0, 1)
        sums = log_sums(all_logits, on_device(places))
        tokens = on_device(reads.token[batch_reads])
        token_logits = all_logits[on_device(read_places), tokens].float()
        values = token_logits - sums[on_device(place_of_read)]
        starts = logits[on_device(end_rows), on_device(logit_places - 1 - reads.end_back[ends])]
        top = starts.float().softmax(dim=1).topk(min(FIRST_TOKENS, starts.shape[1]), dim=1)
    first_tokens = {}
    top_tokens, probabilities = top.indices.tolist(), top.values.tolist()
    for place, request in enumerate(reads.end_request[ends].tolist()):
        first_tokens[request] = list(zip(top_tokens[place], probabilities[place], strict=True))
    return ScoredRows(batch_reads, values.double().cpu().numpy(), first_tokens)


def log_sums(logits: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Returns the logarithm of the sum of exponentials of the logits at some places, in float32.

    Args:
        logits: shape (all places, vocabulary).
        places: shape (places,), places in `logits`.

    Returns:
        Shape (places,).
    """
    # Few places at a time stay in the cache of a processor: this takes half of the time.
    slices = torch.split(places, PLACES_AT_ONCE)
    return torch.cat([logits[some_places].float().logsumexp(dim=1) for some_places in slices])


def row_logits(
    model: PreTrainedModel, reads: OptionReads, prefix: Prefix, rows: IntArray
) -> torch.Tensor:
    """Returns the logits of a batch of rows at their last places, or at all places.

    Args:
        model: the model.
        reads: all rows.
        prefix: tokens that all rows begin with.
        rows: shape (rows,), the rows of a batch.

    Returns:
        Shape (rows, places, vocabulary), with at least the places that are read.
    """
    tree_rows = [reads.rows[row] for row in rows]
    own_lengths = np.array([len(row.tokens) for row in tree_rows])
    ids = np.zeros((len(rows), own_lengths.max()), dtype=np.int64)
    for place, row in enumerate(tree_rows):
        ids[place, -len(row.tokens) :] = row.tokens
    past = prefix.for_rows(len(rows))
    arguments = {**past, **only_last(model, int(reads.read_counts[rows].max()))}
    if reads.has_branches[rows].any() or own_lengths.min() < own_lengths.max():
        arguments |= tree_arguments(model, tree_rows, prefix.length)
    input_ids = torch.from_numpy(ids).to(model.device)
    logits: torch.Tensor = model(input_ids=input_ids, use_cache=bool(past), **arguments).logits
    return logits


def tree_arguments(
    model: PreTrainedModel, rows: Sequence[TreeRow], prefix_length: int
) -> dict[str, torch.Tensor]:
    """Returns the model's arguments for rows in which a token does not see all tokens before it.

    Shorter rows have padding before their own tokens. It sees itself alone, and only itself.

    Args:
        model: the model.
        rows: the rows.
        prefix_length: the number of tokens before the rows, which all tokens see.

    Returns:
        `position_ids`, shape (rows, columns), in which a token has the position that it has in its
        own text; and `attention_mask`, shape (rows, 1, columns, prefix_length + columns), which is
        added to the scores of attention.
    """
    columns = max(len(row.tokens) for row in rows)
    positions = np.zeros((len(rows), columns), dtype=np.int64)
    sees = np.tile(np.eye(columns, dtype=np.bool_), (len(rows), 1, 1))
    for place, row in enumerate(rows):
        own = columns - len(row.tokens)
        positions[place, own:], sees[place, own:, own:] = row.depths_and_sight()
    is_hidden = torch.from_numpy(~sees)[:, None].to(model.device)
    own_mask = torch.zeros(is_hidden.shape, dtype=model.dtype, device=model.device)
    own_mask.masked_fill_(is_hidden, torch.finfo(model.dtype).min)
    mask = torch.nn.functional.pad(own_mask, (prefix_length, 0))
    return {
        "position_ids": torch.from_numpy(prefix_length + positions).to(model.device),
        "attention_mask": mask,
    }
