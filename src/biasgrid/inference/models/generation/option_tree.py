"""The tree of a prompt's options: tokens with which several sequences begin are read once.

The model reads each beginning of a sequence, the whole one excepted: the last token of a sequence
is only predicted. Each beginning is a node, named by a place. Place 0 is the last token of the
context, behind which all sequences follow; the nodes are the places from 1 on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, permutations
from typing import NamedTuple

import numpy as np

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.inference.models.generation.options import Tokens

OptionSequences = tuple[tuple[Tokens, ...], ...]
"""For each option of a request its sequences."""
KEPT_OPTIONS = 2**13
"""How many options have their trees kept: many prompts in a row have the same ones."""


@dataclass(frozen=True)
class OptionTree:
    """Beginnings of sequences, in rising order, so that a node follows its parent.

    Attributes:
        beginnings: the tokens from the context to each node.
    """

    beginnings: tuple[Tokens, ...]

    @classmethod
    def from_endings(cls, endings: Iterable[Tokens]) -> OptionTree:
        """Returns the tree of all beginnings of some tokens behind a context."""
        beginnings = {tokens[:size] for tokens in endings for size in range(1, len(tokens) + 1)}
        return cls(tuple(sorted(beginnings)))

    @cached_property
    def places(self) -> Mapping[Tokens, int]:
        """The place of each beginning; the empty one has place 0."""
        return {(): 0} | {tokens: place for place, tokens in enumerate(self.beginnings, start=1)}

    @cached_property
    def tokens(self) -> list[int]:
        """The token of each node."""
        return [beginning[-1] for beginning in self.beginnings]

    @cached_property
    def depths(self) -> IntArray:
        """The distance of each node from the context; shape (nodes,), from 1 on."""
        return np.array(list(map(len, self.beginnings)), dtype=np.int64)

    @property
    def has_branches(self) -> bool:
        """Whether the tokens of the nodes are not one text, each behind the one before it."""
        return bool(self.beginnings) and len(self.beginnings[-1]) < len(self.beginnings)

    @cached_property
    def sees(self) -> BoolArray:
        """Whether a node sees another one: itself and those before it in its own text.

        Shape (nodes, nodes), with a row for the node that sees.
        """
        sees = np.eye(len(self.beginnings), dtype=np.bool_)
        for node, beginning in enumerate(self.beginnings):
            parent = self.places[beginning[:-1]]
            if parent:
                sees[node] |= sees[parent - 1]
        return sees


class TreesOfOptions(NamedTuple):
    """The trees of a request's options, and what is read in them.

    Attributes:
        trees: at least one.
        reads: shape (reads, 4), one for each token of each sequence, sorted by tree: the tree; the
            place in it behind which the token is predicted; the token; and the sequence, its place
            among all sequences of the request.
    """

    trees: tuple[OptionTree, ...]
    reads: IntArray


@lru_cache(maxsize=KEPT_OPTIONS)
def trees_of_options(options: OptionSequences, *, one_tree: bool) -> TreesOfOptions:
    """Returns the trees in which all sequences of some options can be read.

    Args:
        options: see `options.OptionRequest`.
        one_tree: whether one tree has all sequences. Otherwise no tree has branches: there is one
            for each ending that is not the beginning of another one.
    """
    sequences = list(chain(*options))
    endings = {tokens[:-1] for tokens in sequences} or {()}
    groups = [endings] if one_tree else [{ending} for ending in without_beginnings(endings)]
    trees = tuple(map(OptionTree.from_endings, groups))
    reads = []
    for number, tokens in enumerate(sequences):
        tree = first_tree_with(trees, tokens[:-1])
        for size, token in enumerate(tokens):
            reads.append((tree, trees[tree].places[tokens[:size]], token, number))
    return TreesOfOptions(trees, np.array(sorted(reads), dtype=np.int64).reshape(-1, 4))


def first_tree_with(trees: Sequence[OptionTree], beginning: Tokens) -> int:
    """Returns the place of the first tree that has a beginning; there must be one."""
    return next(place for place, tree in enumerate(trees) if beginning in tree.places)


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
