"""The rows that score options, and their log-probabilities, in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.inference.engine.segments import owner_begins
from biasgrid.inference.models.generation.option_tree import (
    OptionTree,
    nested_sequences,
    trees_of_options,
)
from biasgrid.inference.models.generation.options import FIRST_TOKENS, OptionRequest
from biasgrid.inference.models.generation.prefix import Prefix, only_last

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
class OptionReads:
    """The rows of option requests, and the logits to read in them.

    A row is a context and a tree of its options behind it. The probability of a sequence is the
    product of one read for each of its tokens.

    Attributes:
        rows: the token ids of each row.
        trees: the tree of each row.
        owner: shape (rows,), the request of each row; see `owner_begins` for its order.
        read_begins: shape (rows + 1,), the first read of each row, then the number of reads.
        back: shape (reads,), how far before the last place of its row a read is.
        token: shape (reads,), the token whose probability is read there.
        sequence: shape (reads,), the sequence that it is a factor of.
        sequences: for each sequence its request and its place among the options.
        sequence_begins: shape (requests + 1,), the first sequence of each request, then their
            number.
        nested: shape (pairs, 2), a sequence and a longer one of the same request that begins with
            it; see `nested_sequences`.
    """

    rows: list[list[int]]
    trees: list[OptionTree]
    owner: IntArray
    read_begins: IntArray
    back: IntArray
    token: IntArray
    sequence: IntArray
    sequences: list[tuple[int, int]]
    sequence_begins: IntArray
    nested: IntArray

    @classmethod
    def from_requests(
        cls, requests: Sequence[OptionRequest], longest_tree: float = np.inf
    ) -> OptionReads:
        """Returns the rows of requests, at least one row for each.

        Args:
            requests: the requests.
            longest_tree: the largest number of tokens in a row whose tree has branches. Options
                that would have a longer row have several rows without branches; 0 gives all
                options such rows.
        """
        rows: list[list[int]] = []
        trees: list[OptionTree] = []
        owner: list[int] = []
        reads: list[IntArray] = []
        sequences: list[tuple[int, int]] = []
        nested: list[tuple[int, int]] = []
        for place, request in enumerate(requests):
            for short, long in nested_sequences(request.options):
                nested.append((len(sequences) + short, len(sequences) + long))
            of_options = trees_of_options(request.options, one_tree=True)
            if len(request.context) + len(of_options.trees[0].beginnings) > longest_tree:
                of_options = trees_of_options(request.options, one_tree=False)
            # Both the trees and the sequences of a request are counted from 0.
            reads.append(of_options.reads + np.array([len(rows), 0, 0, len(sequences)]))
            for tree in of_options.trees:
                rows.append([*request.context, *tree.tokens])
                trees.append(tree)
                owner.append(place)
            for option, option_sequences in enumerate(request.options):
                sequences += [(place, option)] * len(option_sequences)
        row, tree_place, token_ids, sequence = np.concatenate(reads).T
        node_counts = np.array([len(tree.beginnings) for tree in trees])
        sequence_owner = [request_place for request_place, _ in sequences]
        return cls(
            rows=rows,
            trees=trees,
            owner=np.array(owner, dtype=np.int64),
            read_begins=np.searchsorted(row, np.arange(len(rows) + 1)),
            back=node_counts[row] - tree_place,
            token=token_ids,
            sequence=sequence,
            sequences=sequences,
            sequence_begins=np.searchsorted(sequence_owner, np.arange(len(requests) + 1)),
            nested=np.array(nested, dtype=np.int64).reshape(-1, 2),
        )

    def row_reads(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Returns the reads of some rows, and for each read the place of its row in `rows`."""
        reads = [np.arange(self.read_begins[row], self.read_begins[row + 1]) for row in rows]
        sizes = list(map(len, reads))
        return np.concatenate(reads), np.repeat(np.arange(len(rows)), sizes)

    @cached_property
    def is_first_row(self) -> BoolArray:
        """Whether a row is the first one of its request; shape (rows,)."""
        is_first = np.zeros(len(self.owner), dtype=np.bool_)
        is_first[owner_begins(self.owner)] = True
        return is_first

    @cached_property
    def lengths(self) -> IntArray:
        """The number of tokens in each row; shape (rows,)."""
        return np.array(list(map(len, self.rows)), dtype=np.int64)

    @cached_property
    def node_counts(self) -> IntArray:
        """The number of tokens in each row behind its context; shape (rows,)."""
        return np.array([len(tree.beginnings) for tree in self.trees], dtype=np.int64)

    @cached_property
    def has_branches(self) -> BoolArray:
        """Whether the tree of a row has branches; shape (rows,)."""
        return np.array([tree.has_branches for tree in self.trees], dtype=np.bool_)

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Returns the probability of each sequence without longer ones that begin with it.

        The product over the tokens of `1` contains the probability of `10`, if that is a sequence
        of the request, too. It is subtracted.

        Args:
            values: shape (reads,), the log-probabilities.

        Returns:
            Shape (sequences,); at least 0, as a difference may be less by rounding.
        """
        products = np.exp(np.bincount(self.sequence, values, minlength=len(self.sequences)))
        own = products.copy()
        np.subtract.at(own, self.nested[:, 0], products[self.nested[:, 1]])
        return own.clip(min=0)

    def sum_over_forms(self, probabilities: FloatArray, shape: tuple[int, int]) -> FloatArray:
        """Returns the probability of each option: the sum over its sequences.

        Args:
            probabilities: shape (sequences,).
            shape: (requests, options).

        Returns:
            An array of that shape, 0 for a missing option.
        """
        sums = np.zeros(shape)
        request, option = np.array(self.sequences, dtype=np.int64).reshape(-1, 2).T
        np.add.at(sums, (request, option), probabilities)
        return sums


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
        logit_places = 1 + max(int(reads.node_counts[place]) for place in (*batch, row))
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
            their probabilities. Only for requests whose first row is in the batch.
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
    first_rows = np.flatnonzero(reads.is_first_row[rows])
    contexts_end = reads.node_counts[rows[first_rows]]
    logit_places = 1 + int(reads.node_counts[rows].max())
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
        starts = logits[on_device(first_rows), on_device(logit_places - 1 - contexts_end)]
        top = starts.float().softmax(dim=1).topk(min(FIRST_TOKENS, starts.shape[1]), dim=1)
    first_tokens = {}
    top_tokens, probabilities = top.indices.tolist(), top.values.tolist()
    for place, request in enumerate(reads.owner[rows[first_rows]].tolist()):
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
        Shape (rows, places, vocabulary), with at least the end of each context and its tree.
    """
    logit_places = 1 + int(reads.node_counts[rows].max())
    own_lengths = reads.lengths[rows] - prefix.length
    ids = np.zeros((len(rows), own_lengths.max()), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, -own_lengths[place] :] = reads.rows[row][prefix.length :]
    past = prefix.for_rows(len(rows))
    arguments = {**past, **only_last(model, logit_places)}
    if reads.has_branches[rows].any() or own_lengths.min() < own_lengths.max():
        trees = [reads.trees[row] for row in rows]
        arguments |= tree_arguments(model, trees, prefix.length, own_lengths)
    input_ids = torch.from_numpy(ids).to(model.device)
    logits: torch.Tensor = model(input_ids=input_ids, use_cache=bool(past), **arguments).logits
    return logits


def tree_arguments(
    model: PreTrainedModel, trees: Sequence[OptionTree], prefix_length: int, lengths: IntArray
) -> dict[str, torch.Tensor]:
    """Returns the model's arguments for rows in which a token does not see all tokens before it.

    Shorter rows have padding before their own tokens. It sees itself alone, and only itself.

    Args:
        model: the model.
        trees: the tree of each row.
        prefix_length: the number of tokens before the rows, which all tokens see.
        lengths: shape (rows,), the number of tokens in each row, without padding.

    Returns:
        `position_ids`, shape (rows, columns), in which a node has the position that it has in its
        own text; and `attention_mask`, shape (rows, 1, columns, prefix_length + columns), which is
        added to the scores of attention.
    """
    columns = int(lengths.max())
    positions = np.zeros((len(trees), columns), dtype=np.int64)
    sees = np.tile(np.eye(columns, dtype=np.bool_), (len(trees), 1, 1))
    for row, (tree, length) in enumerate(zip(trees, lengths, strict=True)):
        own, end = columns - length, columns - len(tree.beginnings)
        context_length = end - own
        positions[row, own:end] = np.arange(context_length)
        positions[row, end:] = context_length - 1 + tree.depths
        sees[row, own:, own:] = np.tri(length, dtype=np.bool_)
        sees[row, end:, end:] = tree.sees
    is_hidden = torch.from_numpy(~sees)[:, None].to(model.device)
    own_mask = torch.zeros(is_hidden.shape, dtype=model.dtype, device=model.device)
    own_mask.masked_fill_(is_hidden, torch.finfo(model.dtype).min)
    mask = torch.nn.functional.pad(own_mask, (prefix_length, 0))
    return {
        "position_ids": torch.from_numpy(prefix_length + positions).to(model.device),
        "attention_mask": mask,
    }
