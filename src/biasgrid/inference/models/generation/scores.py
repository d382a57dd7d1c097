"""The rows that score options, and their log-probabilities, in batches of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import chain, permutations
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.inference.engine.segments import owner_begins
from biasgrid.inference.models.generation.options import FIRST_TOKENS, OptionRequest, Tokens
from biasgrid.inference.models.generation.prefix import Prefix, only_last

if TYPE_CHECKING:
    from transformers import PreTrainedModel


@dataclass(frozen=True)
class OptionReads:
    """The rows of option requests, and the logits to read in them.

    A row is a context and the beginning of a sequence behind it. Sequences with a common beginning
    share rows. The probability of a sequence is the product of one read for each of its tokens.

    Attributes:
        rows: the token ids of each row.
        owner: shape (rows,), the request of each row; see `owner_begins` for its order.
        option_lengths: shape (rows,), the number of tokens in the row behind the context.
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
    owner: IntArray
    option_lengths: IntArray
    read_begins: IntArray
    back: IntArray
    token: IntArray
    sequence: IntArray
    sequences: list[tuple[int, int]]
    sequence_begins: IntArray
    nested: IntArray

    @classmethod
    def from_requests(cls, requests: Sequence[OptionRequest]) -> OptionReads:
        """Returns the rows of requests, at least one row for each."""
        rows: list[list[int]] = []
        owner: list[int] = []
        lengths: list[int] = []
        reads: list[tuple[int, int, int, int]] = []
        sequences: list[tuple[int, int]] = []
        nested: list[tuple[int, int]] = []
        for place, request in enumerate(requests):
            sequence_begin, row_begin = len(sequences), len(rows)
            for short, long in nested_sequences(request.options):
                nested.append((sequence_begin + short, sequence_begin + long))
            # The last token of a sequence is only predicted, and not read by the model.
            read_tokens = {tokens[:-1] for tokens in chain(*request.options)}
            endings = without_beginnings(read_tokens or {()})
            rows += [[*request.context, *ending] for ending in endings]
            owner += [place] * len(endings)
            lengths += map(len, endings)
            for option, option_sequences in enumerate(request.options):
                for tokens in option_sequences:
                    ending = row_beginning_with(endings, tokens[:-1])
                    length = len(endings[ending])
                    for step, token in enumerate(tokens):
                        reads.append((row_begin + ending, length - step, token, len(sequences)))
                    sequences.append((place, option))
        row, back, token_ids, sequence = np.array(sorted(reads), dtype=np.int64).reshape(-1, 4).T
        sequence_owner = [request_place for request_place, _ in sequences]
        return cls(
            rows=rows,
            owner=np.array(owner, dtype=np.int64),
            option_lengths=np.array(lengths, dtype=np.int64),
            read_begins=np.searchsorted(row, np.arange(len(rows) + 1)),
            back=back,
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


@cache
def nested_sequences(options: tuple[tuple[Tokens, ...], ...]) -> tuple[tuple[int, int], ...]:
    """Returns pairs of a sequence and a longer one that begins with it.

    Of `1`, `10` and `100`, the first is not paired with the last: its probability is already in
    that of the second one, which is subtracted from the first.

    Returns:
        The places of both among all sequences of all options.
    """
    sequences = list(chain(*options))
    continuations: dict[int, list[int]] = {}
    for short, long in permutations(range(len(sequences)), 2):
        if is_continued(sequences[short], sequences[long]):
            continuations.setdefault(short, []).append(long)
    pairs = []
    for short, longer in continuations.items():
        for long in longer:
            between = [sequences[other] for other in longer if other != long]
            if not any(is_continued(other, sequences[long]) for other in between):
                pairs.append((short, long))
    return tuple(pairs)


def is_continued(beginning: Tokens, tokens: Tokens) -> bool:
    """Whether `tokens` are `beginning` and at least one more token."""
    return len(tokens) > len(beginning) and tokens[: len(beginning)] == beginning


def row_beginning_with(rows: Sequence[Tokens], beginning: Tokens) -> int:
    """Returns the place of the first row that begins with some tokens; there must be one."""
    size = len(beginning)
    return next(place for place, tokens in enumerate(rows) if tokens[:size] == beginning)


def without_beginnings(sequences: Iterable[Tokens]) -> list[Tokens]:
    """Returns the sequences that begin no other one, in descending order.

    `surface_forms.without_continuations` does the opposite: it leaves out the longer ones.
    """
    longest: list[Tokens] = []
    previous: Tokens | None = None
    # In descending order, a sequence follows directly after those that continue it.
    for tokens in sorted(sequences, reverse=True):
        if previous is None or previous[: len(tokens)] != tokens:
            longest.append(tokens)
        previous = tokens
    return longest


def batches(rows: Sequence[Sequence[int]], token_budget: int) -> Iterator[IntArray]:
    """Yields batches of rows of one length; shape (rows,), places in `rows`.

    Args:
        rows: the tokens of each row, with those of a shared prefix: a batch holds their keys and
            values.
        token_budget: the largest number of tokens in a batch; a row with more is one by itself.
    """
    lengths = np.array([len(row) for row in rows])
    for length in np.unique(lengths):
        members = np.flatnonzero(lengths == length)
        size = max(1, token_budget // int(length))
        yield from (members[start : start + size] for start in range(0, len(members), size))


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
        prefix: tokens that all rows begin with.
        rows: shape (rows,), the rows of the batch, which have one length.
    """
    batch_reads, read_rows = reads.row_reads(rows)
    logit_places = int(reads.back[batch_reads].max()) + 1
    first_rows = np.flatnonzero(reads.is_first_row[rows])
    requests = reads.owner[rows[first_rows]].tolist()

    def on_device(values: IntArray) -> torch.Tensor:
        return torch.from_numpy(values).to(model.device)

    token = on_device(reads.token[batch_reads])
    back = on_device(reads.back[batch_reads])
    option_lengths = on_device(reads.option_lengths[rows[first_rows]])
    own_tokens = [reads.rows[row][prefix.length :] for row in rows]
    ids = torch.tensor(own_tokens, device=model.device)
    past = prefix.for_rows(len(rows))
    arguments = {**past, **only_last(model, logit_places)}
    with torch.inference_mode():
        logits = model(input_ids=ids, use_cache=bool(past), **arguments).logits
        read_logits = logits[on_device(read_rows), -1 - back].float()
        token_logits = read_logits.gather(1, token[:, None]).squeeze(1)
        values = token_logits - read_logits.logsumexp(dim=1)
        # The first row of a request reads first tokens of options, so the model has computed the
        # logits at the end of the context.
        starts = logits[on_device(first_rows), -1 - option_lengths].float().softmax(dim=1)
        top = starts.topk(min(FIRST_TOKENS, starts.shape[1]), dim=1)
    first_tokens = {}
    tokens, probabilities = top.indices.tolist(), top.values.tolist()
    for place, request in enumerate(requests):
        first_tokens[request] = list(zip(tokens[place], probabilities[place], strict=True))
    return ScoredRows(batch_reads, values.double().cpu().numpy(), first_tokens)
