"""Trees of tokens: tokens with which several texts begin are read once.

A node is a token behind all tokens on its way from the root, the end of a prefix. The model reads a
tree as a row, in which a node sees the nodes on its way and the prefix alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, permutations

import numpy as np

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.inference.models.generation.options import Tokens

OptionSequences = tuple[tuple[Tokens, ...], ...]
"""For each option of a request its sequences."""
KEPT_OPTIONS = 2**13
"""How many options have their nested sequences kept: many prompts in a row have the same ones."""
ROOT = -1
"""The parent of a node directly behind the prefix."""


class TokenTree:
    """A tree to which texts are added.

    Attributes:
        tokens: the token of each node; a node comes after its parent.
        parents: the node before each one, or `ROOT`.
    """

    def __init__(self) -> None:
        """Begins without nodes."""
        self.tokens: list[int] = []
        self.parents: list[int] = []
        self._children: dict[tuple[int, int], int] = {}

    def add(self, tokens: Sequence[int], start: int = ROOT) -> list[int]:
        """Adds a text, and returns the node of each of its tokens.

        Args:
            tokens: the text.
            start: the node that it begins behind.
        """
        nodes = []
        parent = start
        for token in tokens:
            node = self._children.setdefault((parent, token), len(self.tokens))
            if node == len(self.tokens):
                self.tokens.append(token)
                self.parents.append(parent)
            nodes.append(node)
            parent = node
        return nodes


@dataclass(frozen=True)
class TreeRow:
    """The nodes of a tree in the order in which the model reads them.

    Nodes whose logits are read come last, so that few logits are computed.

    Attributes:
        begin: the number of tokens in the prefix.
        tokens: the token of each place.
        parents: shape (places,), the place before each one in its own text, or `ROOT`.
        parents_first: shape (places,), the places in an order in which each comes after its parent.
        read_count: the number of places whose logits are read.
    """

    begin: int
    tokens: list[int]
    parents: IntArray
    parents_first: IntArray
    read_count: int

    @property
    def length(self) -> int:
        """The number of tokens, with those of the prefix."""
        return self.begin + len(self.tokens)

    @cached_property
    def has_branches(self) -> bool:
        """Whether the tokens are not one text, each behind the one before it."""
        return bool((self.parents != np.arange(len(self.parents)) - 1).any())

    def depths_and_sight(self) -> tuple[IntArray, BoolArray]:
        """Returns how far each place is behind the prefix, and the places that it sees.

        Returns:
            Shape (places,), from 0 on; and shape (places, places), with a row for the place that
            sees. It sees itself and the places before it in its own text.
        """
        places = len(self.tokens)
        depths = np.zeros(places, dtype=np.int64)
        sees = np.eye(places, dtype=np.bool_)
        for place in self.parents_first:
            parent = self.parents[place]
            if parent != ROOT:
                depths[place] = depths[parent] + 1
                sees[place] |= sees[parent]
        return depths, sees


def tree_row(tree: TokenTree, begin: int, read_nodes: Collection[int]) -> TreeRow:
    """Returns a tree as a row; `parents_first` has the place of each node, node by node.

    Args:
        tree: the tree.
        begin: the number of tokens in the prefix.
        read_nodes: the nodes whose logits are read.
    """
    is_read = np.zeros(len(tree.tokens), dtype=np.bool_)
    is_read[list(read_nodes)] = True
    order = np.argsort(is_read, kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    parent_nodes = np.array(tree.parents, dtype=np.int64)[order]
    # The node `ROOT` is the last one of the longer array, where it has the place `ROOT`.
    parents = np.append(places, ROOT)[parent_nodes]
    tokens = [tree.tokens[node] for node in order]
    return TreeRow(begin, tokens, parents, places, int(is_read.sum()))


def without_beginnings(sequences: Collection[Tokens]) -> list[Tokens]:
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


@lru_cache(maxsize=KEPT_OPTIONS)
def nested_sequences(options: OptionSequences) -> tuple[tuple[int, int], ...]:
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
