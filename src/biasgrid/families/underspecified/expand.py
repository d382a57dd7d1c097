"""Turns templates and word lists into the instances table.

Texts are built once per distinct segment; the rows gather them, part by part, so that their number takes no memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.families.expansion import Expansion
from biasgrid.families.family import OneToken
from biasgrid.families.underspecified.design import Design, design_of
from biasgrid.families.underspecified.keys import KEYS
from biasgrid.families.underspecified.sampled import chosen_groups
from biasgrid.families.underspecified.segments import Segments, build_contexts, build_questions, ordered_pairs
from biasgrid.families.underspecified.word_lists import WordLists
from biasgrid.tables.instances import instances_schema
from biasgrid.tables.keys import Digests, Repetitions, repeated_digests

PART = 1_000_000
"""How many rows a part has, about: all questions of some pairs."""


def expand(lists: WordLists, one_token: OneToken | None = None) -> Expansion:
    """Expands word lists into instances, in the order of UnQover's source files.

    Args:
        lists: the word lists.
        one_token: says of texts whether each is a single token; subjects of which a needed form is not are
            dropped. None keeps all subjects.

    Returns:
        The instances (the questions of an example stand next to each other, plain first), and in `dropped_subjects`
        the names of the dropped subjects.
    """
    rows = rows_of(design_of(lists, one_token))
    schema = instances_schema(KEYS, rows.contexts.rows.schema)
    return Expansion(schema, rows.tables([*schema.columns]), {"dropped_subjects": rows.design.dropped})


@dataclass(frozen=True)
class Rows:
    """What the instances of a design are gathered from: pairs outside, items inside.

    Attributes:
        design: the design.
        pairs: the columns of the ordered pairs.
        pair_numbers: shape (ordered pairs,), the pair of each in the design.
        items: the columns of the items.
        contexts: the texts with the subjects.
        questions: the texts of the questions.
    """

    design: Design
    pairs: pl.DataFrame
    pair_numbers: IntArray
    items: pl.DataFrame
    contexts: Segments
    questions: Segments

    @cached_property
    def asked(self) -> BoolArray | None:
        """Which swap groups are asked, None for all."""
        sample = self.design.asked
        return None if sample is None else chosen_groups(self.design, sample)

    def parts(self) -> Iterator[IntArray]:
        """Yields the pairs whose rows are a part, by their numbers; no pairs are one part without rows."""
        step = max(1, PART // max(1, self.items.height))
        for start in range(0, max(1, self.pairs.height), step):
            yield np.arange(start, min(start + step, self.pairs.height))

    def swap_groups(self, pairs: IntArray) -> IntArray:
        """Returns the swap groups that all items have with some pairs, shape (pairs, items)."""
        items = self.items.height
        return np.asarray(self.pair_numbers[pairs, np.newaxis] * (items // 2) + np.arange(items) // 2)

    def chosen(self, pairs: IntArray, of_items: IntArray | Digests) -> Any:
        """Returns what is said of the items with some pairs for those alone that are asked.

        Args:
            pairs: the pairs.
            of_items: an array that fits the shape (pairs, items).

        Returns:
            Shape (rows,).
        """
        each = np.broadcast_to(of_items, (len(pairs), self.items.height))
        return each.reshape(-1) if self.asked is None else each[self.asked[self.swap_groups(pairs)]]

    def digests(self) -> Iterator[Digests]:
        """Yields the digests of the rows, part by part."""
        return map(self.digests_of, self.parts())

    def digests_of(self, pairs: IntArray) -> Digests:
        """Returns the digests of the rows of some pairs, shape (rows,)."""
        context, question = (each.digests[each.places(pairs)] for each in (self.contexts, self.questions))
        digests: Digests = self.chosen(pairs, context + question)
        return digests

    def tables(self, columns: list[str]) -> Iterator[pl.DataFrame]:
        """Yields the instances, part by part.

        Args:
            columns: their columns, in this order.
        """
        repetitions, first = Repetitions(repeated_digests(self.digests, self.design.instances)), 0
        items = np.arange(self.items.height)
        for pairs in self.parts():
            gathered = (
                self.pairs[self.chosen(pairs, pairs[:, np.newaxis])],
                self.items[self.chosen(pairs, items)],
                self.contexts.rows[self.chosen(pairs, self.contexts.places(pairs))],
                self.questions.rows[self.chosen(pairs, self.questions.places(pairs))],
            )
            keys = repetitions.keys(self.digests_of(pairs))
            numbers = pl.DataFrame(
                {
                    "instance": np.arange(first, first + len(keys), dtype=np.uint32),
                    "swap_group": self.chosen(pairs, self.swap_groups(pairs)).astype(np.uint32),
                }
            )
            table = pl.concat([numbers, *gathered], how="horizontal")
            yield table.with_columns(keys).select(columns)
            first += len(keys)


def rows_of(design: Design) -> Rows:
    """Builds all that the instances of a design are gathered from."""
    pairs = ordered_pairs(design)
    pair_columns = pairs.select(
        "swapped",
        *(pl.col(f"[subj{which}]").cast(pl.Categorical).alias(f"subject{which}") for which in (1, 2)),
        *(pl.col(f"group{which}").cast(pl.Categorical) for which in (1, 2)),
    )
    numbers = pairs["pair"].to_numpy()
    contexts, questions = build_contexts(design, pairs), build_questions(design, pairs)
    return Rows(design, pair_columns, numbers, item_columns(design), contexts, questions)


def item_columns(design: Design) -> pl.DataFrame:
    """Returns the columns of what every pair is asked, a row per item."""
    items = design.items
    return pl.DataFrame(
        {
            "negated": [item.negated for item in items],
            "template": [item.template for item in items],
            "attribute": [item.attribute.name for item in items],
            "attribute_group": [item.attribute.group for item in items],
        },
        schema={
            "negated": pl.Boolean,
            "template": pl.UInt16,
            "attribute": pl.Categorical,
            "attribute_group": pl.Categorical,
        },
    )
