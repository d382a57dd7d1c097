"""The rows in which a model reads prompts with their options, and the logits to read in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, FloatArray, IntArray
from biasgrid.inference.models.generation.options import (
    OptionRequest,
    Tokens,
    shared_beginning,
)
from biasgrid.inference.models.generation.token_tree import (
    TokenTree,
    TreeRow,
    nested_sequences,
    tree_row,
    without_beginnings,
)

SHORTEST_BEGINNING = 32
"""Prompts that begin with so many equal tokens behind the prefix of all share a row."""
SHARED_ROW = 512
"""The largest number of tokens in a row of several prompts: attention takes their square."""


@dataclass(frozen=True)
class RowLimits:
    """The rows that a model takes.

    Attributes:
        shared: the number of tokens that all prompts begin with, and that no row has again.
        longest_tree: the largest number of tokens in a row with branches, those of the prefix
            included; 0 if the model takes none.
        reuses_keys: whether several rows of a prompt stand behind its context, of which they have
            the last token alone. Otherwise each has the whole context.
    """

    shared: int
    longest_tree: float
    reuses_keys: bool


class TokenRead(NamedTuple):
    """The probability of one token of a sequence.

    Attributes:
        node: the node of the row's tree behind which the token is predicted.
        token: the token.
        sequence: the place of the sequence among all sequences of all requests.
    """

    node: int
    token: int
    sequence: int


class RowBuilder:
    """A tree to which requests are added, and what is read in it.

    Attributes:
        begin: the number of tokens of each context that are not in the tree.
        tree: the tree.
        ends: by request, the node of the last token of its context.
        reads: what is read.
    """

    def __init__(self, begin: int):
        """Begins without requests."""
        self.begin = begin
        self.tree = TokenTree()
        self.ends: dict[int, int] = {}
        self.reads: list[TokenRead] = []

    def add(
        self, request: int, context: Sequence[int], sequences: Collection[tuple[int, Tokens]]
    ) -> None:
        """Adds a request.

        Args:
            request: its place among all requests.
            context: its context.
            sequences: some of its sequences, each with its place among all sequences.
        """
        end = self.tree.add(context[self.begin :])[-1]
        self.ends[request] = end
        for number, tokens in sequences:
            # The last token of a sequence is only predicted, and not read by the model.
            nodes = self.tree.add(tokens[:-1], end)
            for node, token in zip([end, *nodes], tokens, strict=True):
                self.reads.append(TokenRead(node, token, number))

    def row(self) -> TreeRow:
        """Returns the tree as a row."""
        read_nodes = {read.node for read in self.reads}
        return tree_row(self.tree, self.begin, read_nodes | {*self.ends.values()})


@dataclass(frozen=True)
class OptionReads:
    """The rows of option requests, and the logits to read in them.

    A row is a tree of prompts with their options. The probability of a sequence is the product of
    one read for each of its tokens.

    Attributes:
        rows: the rows.
        end_request: shape (ends,), the request of each end of a context in a row. A request has an
            end in each of its rows.
        end_row: shape (ends,), the row, in rising order.
        end_back: shape (ends,), how far before the last place of its row it is.
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

    rows: list[TreeRow]
    end_request: IntArray
    end_row: IntArray
    end_back: IntArray
    read_begins: IntArray
    back: IntArray
    token: IntArray
    sequence: IntArray
    sequences: list[tuple[int, int]]
    sequence_begins: IntArray
    nested: IntArray

    @classmethod
    def from_requests(cls, requests: Sequence[OptionRequest], limits: RowLimits) -> OptionReads:
        """Returns the rows of requests, at least one row for each.

        Args:
            requests: the requests.
            limits: the rows that the model takes.
        """
        sequences: list[tuple[int, int]] = []
        numbered: list[list[tuple[int, Tokens]]] = []
        nested: list[tuple[int, int]] = []
        for place, request in enumerate(requests):
            begin = len(sequences)
            for short, long in nested_sequences(request.options):
                nested.append((begin + short, begin + long))
            numbered.append(list(enumerate(chain(*request.options), start=begin)))
            for option, option_sequences in enumerate(request.options):
                sequences += [(place, option)] * len(option_sequences)
        builders = list(row_builders(requests, numbered, limits))
        rows = [builder.row() for builder in builders]
        ends: list[tuple[int, int, int]] = []
        reads: list[tuple[int, int, int, int]] = []
        for number, (builder, row) in enumerate(zip(builders, rows, strict=True)):
            back = (len(row.tokens) - 1 - row.parents_first).tolist()
            ends += [(request, number, back[node]) for request, node in builder.ends.items()]
            reads += [
                (number, back[read.node], read.token, read.sequence) for read in builder.reads
            ]
        end_request, end_row, end_back = np.array(ends, dtype=np.int64).reshape(-1, 3).T
        read_row, read_back, tokens, owners = np.array(reads, dtype=np.int64).reshape(-1, 4).T
        sequence_owner = [request_place for request_place, _ in sequences]
        return cls(
            rows=rows,
            end_request=end_request,
            end_row=end_row,
            end_back=end_back,
            read_begins=np.searchsorted(read_row, np.arange(len(rows) + 1)),
            back=read_back,
            token=tokens,
            sequence=owners,
            sequences=sequences,
            sequence_begins=np.searchsorted(sequence_owner, np.arange(len(requests) + 1)),
            nested=np.array(nested, dtype=np.int64).reshape(-1, 2),
        )

    def row_reads(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Returns the reads of some rows, and for each read the place of its row in `rows`."""
        reads = [np.arange(self.read_begins[row], self.read_begins[row + 1]) for row in rows]
        sizes = list(map(len, reads))
        return np.concatenate(reads), np.repeat(np.arange(len(rows)), sizes)

    def row_ends(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Returns the ends in some rows, and for each end the place of its row in `rows`."""
        begins = np.searchsorted(self.end_row, [rows, rows + 1])
        ends = [np.arange(begin, end) for begin, end in begins.T]
        sizes = list(map(len, ends))
        return np.concatenate(ends), np.repeat(np.arange(len(rows)), sizes)

    @cached_property
    def lengths(self) -> IntArray:
        """The number of tokens in each row, with those of its prefix; shape (rows,)."""
        return np.array([row.length for row in self.rows], dtype=np.int64)

    @cached_property
    def read_counts(self) -> IntArray:
        """The number of places in each row whose logits are read; shape (rows,)."""
        return np.array([row.read_count for row in self.rows], dtype=np.int64)

    @cached_property
    def has_branches(self) -> BoolArray:
        """Whether a row has branches; shape (rows,)."""
        return np.array([row.has_branches for row in self.rows], dtype=np.bool_)

    def rows_by_prefix(self, shared: int) -> Iterator[tuple[int | None, IntArray]]:
        """Yields rows that stand behind the same prefix.

        Args:
            shared: the number of tokens that all prompts begin with.

        Yields:
            A request and its rows behind its own context; and before these, None and all rows
            behind the shared beginning.
        """
        begins = np.array([row.begin for row in self.rows])
        yield None, np.flatnonzero(begins == shared)
        is_own = begins[self.end_row] > shared
        for request in np.unique(self.end_request[is_own]).tolist():
            yield request, self.end_row[is_own & (self.end_request == request)]

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


def row_builders(
    requests: Sequence[OptionRequest],
    sequences: Sequence[Sequence[tuple[int, Tokens]]],
    limits: RowLimits,
) -> Iterator[RowBuilder]:
    """Yields the rows of requests.

    Args:
        requests: the requests.
        sequences: for each request its sequences, each with its place among all sequences.
        limits: the rows that the model takes.
    """
    is_tree = [most_nodes(request) <= limits.longest_tree for request in requests]
    for group in groups_of_requests(requests, is_tree, limits):
        builder = RowBuilder(limits.shared)
        for place in group:
            builder.add(place, requests[place].context, sequences[place])
        yield builder
    for place in np.flatnonzero(~np.array(is_tree)).tolist():
        yield from rows_without_branches(place, requests[place].context, sequences[place], limits)


def rows_without_branches(
    place: int,
    context: Sequence[int],
    sequences: Sequence[tuple[int, Tokens]],
    limits: RowLimits,
) -> Iterator[RowBuilder]:
    """Yields the rows of a request whose options have no row together.

    Args:
        place: the place of the request among all requests.
        context: its context.
        sequences: its sequences, each with its place among all sequences.
        limits: the rows that the model takes.
    """
    endings = without_beginnings({tokens[:-1] for _, tokens in sequences} or {()})
    is_behind = limits.reuses_keys and len(endings) > 1
    begin = len(context) - 1 if is_behind else limits.shared
    by_ending: dict[Tokens, list[tuple[int, Tokens]]] = {ending: [] for ending in endings}
    for number, tokens in sequences:
        ending = next(ending for ending in endings if is_beginning(tokens[:-1], ending))
        by_ending[ending].append((number, tokens))
    for own_sequences in by_ending.values():
        builder = RowBuilder(begin)
        builder.add(place, context, own_sequences)
        yield builder


def is_beginning(beginning: Tokens, tokens: Tokens) -> bool:
    """Whether some tokens begin with others, or are these."""
    return tokens[: len(beginning)] == beginning


def most_nodes(request: OptionRequest) -> int:
    """Returns the number of tokens in a row of a request if its sequences share none."""
    return len(request.context) + sum(len(tokens) - 1 for tokens in chain(*request.options))


def groups_of_requests(
    requests: Sequence[OptionRequest], is_tree: Sequence[bool], limits: RowLimits
) -> Iterator[list[int]]:
    """Yields the requests that share a row.

    Args:
        requests: the requests.
        is_tree: whether a request has a row with all of its options; others are left out.
        limits: the rows that the model takes.
    """
    most_tokens = min(SHARED_ROW, limits.longest_tree)
    places = [place for place in range(len(requests)) if is_tree[place]]
    places.sort(key=lambda place: requests[place].context)
    group = places[:1]
    size = most_nodes(requests[group[0]]) if group else 0
    for previous, place in pairwise(places):
        common = shared_beginning(requests[previous].context, requests[place].context)
        added = most_nodes(requests[place]) - common
        is_alike = common - limits.shared >= SHORTEST_BEGINNING
        if is_alike and size + added <= most_tokens:
            group.append(place)
            size += added
        else:
            yield group
            group, size = [place], most_nodes(requests[place])
    if group:
        yield group
