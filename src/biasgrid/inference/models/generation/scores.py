"""Log-probabilities of options behind prompts, in batches of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, permutations
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
    def from_requests(cls, requests: Sequence[OptionRequest]) -> OptionReads:
        """Finds the rows of instances; a beginning that several options share is read once."""
        rows: list[list[int]] = []
        owner: list[int] = []
        lengths: list[int] = []
        reads: list[tuple[int, int, int, int]] = []
        sequences: list[tuple[int, int]] = []
        within: list[tuple[int, int]] = []
        for instance, request in enumerate(requests):
            before = len(sequences)
            for short, long in beginnings(request.options):
                within.append((before + short, before + long))
            # The last token of an option is only predicted, and not read.
            read_tokens = {tokens[:-1] for tokens in chain(*request.options)}
            endings = longest(read_tokens or {()})
            first = len(rows)
            rows += [[*request.context, *ending] for ending in endings]
            owner += [instance] * len(endings)
            lengths += map(len, endings)
            for place, spelled in enumerate(request.options):
                for tokens in spelled:
                    number = row_beginning_with(endings, tokens[:-1])
                    length = len(endings[number])
                    for step, token in enumerate(tokens):
                        reads.append((first + number, length - step, token, len(sequences)))
                    sequences.append((instance, place))
        row, back, token_ids, option = np.array(sorted(reads), dtype=np.int64).reshape(-1, 4).T
        instances = [instance for instance, _ in sequences]
        return cls(
            rows=rows,
            owner=np.array(owner, dtype=np.int64),
            begun=np.array(lengths, dtype=np.int64),
            first=np.searchsorted(row, np.arange(len(rows) + 1)),
            back=back,
            token=token_ids,
            option=option,
            sequences=sequences,
            first_sequence=np.searchsorted(instances, np.arange(len(requests) + 1)),
            within=np.array(within, dtype=np.int64).reshape(-1, 2),
        )

    def of_rows(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Returns the reads of some rows, and for each the place of its row among them."""
        reads = [np.arange(self.first[row], self.first[row + 1]) for row in rows]
        counts = list(map(len, reads))
        return np.concatenate(reads), np.repeat(np.arange(len(rows)), counts)

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

    def sum_over_forms(self, probabilities: FloatArray, shape: tuple[int, int]) -> FloatArray:
        """Returns the probability of every option: the sum over its sequences.

        Args:
            probabilities: shape (sequences,).
            shape: (instances, options).

        Returns:
            Of that shape, 0 where there is no option.
        """
        sums = np.zeros(shape)
        instance, place = np.array(self.sequences, dtype=np.int64).reshape(-1, 2).T
        np.add.at(sums, (instance, place), probabilities)
        return sums


@cache
def beginnings(options: tuple[tuple[Tokens, ...], ...]) -> tuple[tuple[int, int], ...]:
    """Finds pairs of sequences of which one begins the other.

    Of `1`, `10` and `100`, the first is not paired with the last: its probability is already in
    that of the second one, which is subtracted from the first.

    Returns:
        The places of the shorter and the longer sequence among all sequences of all options.
    """
    sequences = list(chain(*options))
    continued: dict[int, list[int]] = {}
    for short, long in permutations(range(len(sequences)), 2):
        if goes_on(sequences[long], sequences[short]):
            continued.setdefault(short, []).append(long)
    pairs = []
    for short, longer in continued.items():
        for long in longer:
            others = [sequences[other] for other in longer if other != long]
            if not any(goes_on(sequences[long], other) for other in others):
                pairs.append((short, long))
    return tuple(pairs)


def goes_on(tokens: Tokens, beginning: Tokens) -> bool:
    """Returns whether a sequence begins with a shorter one."""
    return len(tokens) > len(beginning) and tokens[: len(beginning)] == beginning


def row_beginning_with(rows: Sequence[Tokens], beginning: Tokens) -> int:
    """Returns the place of the first row that begins with some tokens, which one must."""
    size = len(beginning)
    return next(number for number, tokens in enumerate(rows) if tokens[:size] == beginning)


def longest(sequences: Iterable[Tokens]) -> list[Tokens]:
    """Leaves out sequences that begin another one; returns the others in descending order."""
    kept: list[Tokens] = []
    previous: Tokens | None = None
    # In this order, a sequence follows directly after those that continue it.
    for tokens in sorted(sequences, reverse=True):
        if previous is None or previous[: len(tokens)] != tokens:
            kept.append(tokens)
        previous = tokens
    return kept


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
    """Reads the log-probabilities of a batch.

    Args:
        model: the model.
        reads: the reads of all rows.
        prefix: the tokens that all rows begin with.
        rows: shape (rows,), the rows of the batch, which have one length.
    """
    chosen, row_of_read = reads.of_rows(rows)
    kept_logits = int(reads.back[chosen].max()) + 1
    firsts = np.flatnonzero(reads.is_first[rows])
    instances = reads.owner[rows[firsts]].tolist()

    def on_device(values: IntArray) -> torch.Tensor:
        return torch.from_numpy(values).to(model.device)

    token = on_device(reads.token[chosen])
    back = on_device(reads.back[chosen])
    begun = on_device(reads.begun[rows[firsts]])
    own_tokens = [reads.rows[row][prefix.length :] for row in rows]
    ids = torch.tensor(own_tokens, device=model.device)
    past = prefix.for_rows(len(rows))
    options = {**past, **only_last(model, kept_logits)}
    with torch.inference_mode():
        logits = model(input_ids=ids, use_cache=bool(past), **options).logits
        read = logits[on_device(row_of_read), -1 - back].float()
        values = read.gather(1, token[:, None]).squeeze(1) - read.logsumexp(dim=1)
        # The first row of an instance reads first tokens of options, so the logits there are among
        # the kept ones.
        starts = logits[on_device(firsts), -1 - begun].float().softmax(dim=1)
        likeliest = starts.topk(min(FIRST_TOKENS, starts.shape[1]), dim=1)
    first_tokens = {}
    tokens, probabilities = likeliest.indices.tolist(), likeliest.values.tolist()
    for place, instance in enumerate(instances):
        first_tokens[instance] = list(zip(tokens[place], probabilities[place], strict=True))
    return ScoredRows(chosen, values.double().cpu().numpy(), first_tokens)
