"""Log-probabilities of options behind prompts, in batches of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.inference.models.generation.options import FIRST_TOKENS, OptionRequest, Tokens
from biasgrid.inference.models.generation.prefix import Prefix, only_last

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class OptionReads:
    """What is read of a model's logits.

    Attributes:
        rows: the token ids of each row: a prompt, and behind it the beginning of an option of
            several tokens.
        owner: shape (rows,), the instance that each is of.
        begun: shape (rows,), how many of a row's tokens are of an option.
        first: shape (rows + 1,), where the reads of each row begin, and where they end.
        back: shape (reads,), how many places before the row's last one.
        token: shape (reads,), of which token.
        option: shape (reads,), of which sequence of tokens it is a factor.
        sequences: for each sequence its instance and its place among the options.
        first_sequence: shape (instances + 1,), where the sequences of each instance begin, and
            where they end.
        within: shape (pairs, 2), sequences that begin another one, and the other one.
    """

    rows: list[list[int]]
    owner: IntArray
    begun: IntArray
    first: IntArray
    back: IntArray
    token: IntArray
    option: IntArray
    sequences: list[tuple[int, int]]
    first_sequence: IntArray
    within: IntArray

    @classmethod
    def of(cls, asked: Sequence[OptionRequest]) -> OptionReads:
        """Finds the rows that some instances need: what several options begin with is read once."""
        rows: list[list[int]] = []
        owner: list[int] = []
        lengths: list[int] = []
        reads: list[tuple[int, int, int, int]] = []
        sequences: list[tuple[int, int]] = []
        within: list[tuple[int, int]] = []
        for number, one in enumerate(asked):
            within += [
                (len(sequences) + short, len(sequences) + long)
                for short, long in beginnings(one.options)
            ]
            begun = longest({tokens[:-1] for spelled in one.options for tokens in spelled} or {()})
            first = len(rows)
            rows += [[*one.context, *tokens] for tokens in begun]
            owner += [number] * len(begun)
            lengths += map(len, begun)
            for place, spelled in enumerate(one.options):
                for tokens in spelled:
                    inside = next(
                        which
                        for which, row in enumerate(begun)
                        if row[: len(tokens) - 1] == tokens[:-1]
                    )
                    reads += [
                        (first + inside, len(begun[inside]) - step, token, len(sequences))
                        for step, token in enumerate(tokens)
                    ]
                    sequences.append((number, place))
        row, back, token, option = np.array(sorted(reads), dtype=np.int64).reshape(-1, 4).T
        first_of = np.searchsorted(row, np.arange(len(rows) + 1))
        pairs = np.array(within, dtype=np.int64).reshape(-1, 2)
        owners, begins = (np.array(values, dtype=np.int64) for values in (owner, lengths))
        numbers = [number for number, _ in sequences]
        first_sequence = np.searchsorted(numbers, np.arange(len(asked) + 1))
        return cls(
            rows, owners, begins, first_of, back, token, option, sequences, first_sequence, pairs
        )

    def of_rows(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Returns the reads of some rows, and for each the place of its row among them."""
        chosen = [np.arange(self.first[row], self.first[row + 1]) for row in rows]
        return np.concatenate(chosen), np.repeat(
            np.arange(len(rows)), [len(each) for each in chosen]
        )

    @property
    def is_first(self) -> BoolArray:
        """Whether a row is the first one of its instance; shape (rows,)."""
        return np.diff(self.owner, prepend=-1) > 0

    def probabilities(self, values: FloatArray) -> FloatArray:
        """Returns the probability of every sequence: the product over its tokens.

        Where a sequence begins that of another option, as `1` begins `10`, what the other one has
        is not its own.

        Args:
            values: shape (reads,), the log-probabilities.

        Returns:
            Shape (sequences,).
        """
        joint = np.exp(np.bincount(self.option, values, minlength=len(self.sequences)))
        own = joint.copy()
        np.subtract.at(own, self.within[:, 0], joint[self.within[:, 1]])
        return own.clip(min=0)

    def sums_of_options(self, probabilities: FloatArray, shape: tuple[int, int]) -> FloatArray:
        """Returns the probability of every option: the sum over its sequences.

        Args:
            probabilities: shape (sequences,).
            shape: (instances, options).

        Returns:
            Of that shape, 0 where there is no option.
        """
        sums = np.zeros(shape)
        np.add.at(
            sums, tuple(np.array(self.sequences, dtype=np.int64).reshape(-1, 2).T), probabilities
        )
        return sums


@cache
def beginnings(options: tuple[tuple[Tokens, ...], ...]) -> tuple[tuple[int, int], ...]:
    """Finds sequences that begin those of other options: their places among all, the shorter one
    first.

    Of `1`, `10` and `100` the first is not paired with the last, which is within the second one.
    """
    flat = [tokens for spelled in options for tokens in spelled]
    pairs = [
        (short, long)
        for short, long in permutations(range(len(flat)), 2)
        if goes_on(flat[long], flat[short])
    ]
    return tuple(
        (short, long)
        for short, long in pairs
        if not any(
            goes_on(flat[long], flat[other])
            for one, other in pairs
            if one == short and other != long
        )
    )


def goes_on(tokens: Tokens, beginning: Tokens) -> bool:
    """Says whether a sequence begins with a shorter one."""
    return len(tokens) > len(beginning) and tokens[: len(beginning)] == beginning


def longest(sequences: Iterable[Tokens]) -> list[Tokens]:
    """Leaves out sequences with which another one begins."""
    ordered = sorted(sequences, reverse=True)
    return [
        tokens
        for place, tokens in enumerate(ordered)
        if not place or ordered[place - 1][: len(tokens)] != tokens
    ]


def batches(rows: Sequence[Sequence[int]], token_budget: int) -> Iterator[IntArray]:
    """Yields batches of rows of one length.

    Args:
        rows: the tokens of each row, with those of a shared prefix: a batch holds their keys and
            values.
        token_budget: how many tokens a batch may have; a row that has more is a batch of its own.
    """
    lengths = np.array([len(row) for row in rows])
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        size = max(1, token_budget // int(length))
        yield from (members[start : start + size] for start in range(0, len(members), size))


class ScoredRows(NamedTuple):
    """What is read of a batch.

    Attributes:
        reads: the reads that these are.
        values: shape (reads,), their log-probabilities.
        first_tokens: by instance the likeliest first tokens of its answer with their probabilities;
            of those instances whose first row is in the batch.
    """

    reads: IntArray
    values: FloatArray
    first_tokens: dict[int, list[tuple[int, float]]]


def read_scores(
    model: PreTrainedModel, reads: OptionReads, prefix: Prefix, rows: IntArray
) -> ScoredRows:
    """Reads what is wanted of a batch.

    Args:
        model: the model.
        reads: what is read.
        prefix: what all rows begin with.
        rows: the rows of the batch, of one length.
    """
    chosen, place = reads.of_rows(rows)
    back, token = (
        torch.from_numpy(values[chosen]).to(model.device) for values in (reads.back, reads.token)
    )
    keep = int(reads.back[chosen].max()) + 1
    own = torch.tensor([reads.rows[row][prefix.length :] for row in rows], device=model.device)
    past = prefix.for_rows(len(rows))
    firsts = np.flatnonzero(reads.is_first[rows])
    begun = torch.from_numpy(reads.begun[rows[firsts]]).to(model.device)
    with torch.inference_mode():
        logits = model(input_ids=own, use_cache=bool(past), **past, **only_last(model, keep)).logits
        wanted = logits[torch.from_numpy(place).to(model.device), -1 - back].float()
        values = wanted.gather(1, token[:, None]).squeeze(1) - wanted.logsumexp(dim=1)
        # The first row of an instance reads first tokens of options, so the logits there are among
        # those kept.
        starts = (
            logits[torch.from_numpy(firsts).to(model.device), -1 - begun].float().softmax(dim=1)
        )
        likeliest = starts.topk(min(FIRST_TOKENS, starts.shape[1]), dim=1)
    pairs = map(zip, likeliest.indices.tolist(), likeliest.values.tolist())
    first_tokens = dict(zip(reads.owner[rows[firsts]].tolist(), map(list, pairs), strict=True))
    return ScoredRows(chosen, values.double().cpu().numpy(), first_tokens)
