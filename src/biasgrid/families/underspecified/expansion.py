"""Turns templates and word lists into the instances table.

Texts are built once per distinct segment (a context per template and ordered pair, a question per template and
attribute); the rows only gather them, so that millions of instances are integer arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import polars as pl

from biasgrid.arrays import IntArray
from biasgrid.families.underspecified.design import Design, Item, OneToken, design_of, fill_attribute
from biasgrid.families.underspecified.word_lists import Attribute, WordLists
from biasgrid.tables.instances import INSTANCES

SLOT = re.compile(r"\[subj[12](?::[a-z]+)?\]")


def expand(lists: WordLists, one_token: OneToken | None = None) -> tuple[pl.DataFrame, list[str]]:
    """Expands word lists into instances, in the order of UnQover's source files.

    Args:
        lists: the word lists.
        one_token: says of texts whether each is a single token; subjects of which a needed form is not are
            dropped. None keeps all subjects.

    Returns:
        The instances (schema `INSTANCES`; the questions of an example stand next to each other, plain first)
        and the names of the dropped subjects.
    """
    design = design_of(lists, one_token)
    pairs = ordered_pairs(design)
    return assemble(design.items, pairs, build_contexts(design, pairs), build_questions(design, pairs)), design.dropped


def ordered_pairs(design: Design) -> pl.DataFrame:
    """Returns all ordered pairs: every pair of the design, then every pair swapped.

    The columns are `pair`, `swapped`, `cluster1`, `cluster2` and each form of both subjects, such as `[subj1:dem]`.
    """
    sides = []
    for position, side in enumerate(design.sides):
        rows = [pair[position] for pair in design.pairs]
        columns: dict[str, list[str | None]] = {"cluster": [side.clusters[row] for row in rows]}
        columns |= {head: [terms[row] for row in rows] for head, terms in side.forms.items()}
        sides.append(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))

    def beside(one: pl.DataFrame, two: pl.DataFrame, swapped: bool) -> pl.DataFrame:
        return pl.concat([numbered(one, 1), numbered(two, 2)], how="horizontal").with_columns(
            swapped=pl.lit(swapped), pair=pl.int_range(pl.len())
        )

    shared = [column for column in sides[0].columns if column in sides[1].columns]
    one, two = sides[0].select(shared), sides[1].select(shared)
    return pl.concat([beside(one, two, False), beside(two, one, True)])


def numbered(side: pl.DataFrame, which: int) -> pl.DataFrame:
    """Names the columns of one side of the pairs after the slots that they fill: `[subj:dem]` -> `[subj1:dem]`."""
    return side.rename(lambda name: f"cluster{which}" if name == "cluster" else name.replace("subj", f"subj{which}"))


def split_slots(text: str, attribute: Attribute) -> list[str]:
    """Fills in the attribute and splits what remains at its slots: literal, slot, literal, ..., literal."""
    text = fill_attribute(text, attribute)
    literals, slots = SLOT.split(text), SLOT.findall(text)
    return [part for pair in zip_longest(literals, slots) for part in pair if part is not None]


def joined(parts: list[str]) -> pl.Expr:
    """Concatenates literals (even places) and slots (odd places), which are columns of the pairs."""
    return pl.concat_str([pl.col(part) if place % 2 else pl.lit(part) for place, part in enumerate(parts)])


def smooth_articles(text: pl.Expr, at_start: bool) -> pl.Expr:
    """Turns `a` before a word that begins with a vowel letter into `an` (UnQover: by letter, never back).

    The pattern consumes the letter that follows, so a second pass finds the articles in between.
    `at_start` says whether an `a` at the very beginning counts; behind a tab UnQover does not see it.
    """
    pattern = rf"({'^|' if at_start else ''} )([aA]) ([aeiouAEIOU])"
    once = text.str.replace_all(pattern, "${1}${2}n ${3}")
    return once.str.replace_all(pattern, "${1}${2}n ${3}")


@dataclass(frozen=True)
class Segments:
    """The distinct texts of all items, and where to find them.

    Attributes:
        rows: the texts, one row per pair for each text with a subject in it, and a single row for the others.
        start: shape (items,), the first row of each item's text.
        stride: shape (items,), 1 where the text has a row per pair, else 0.
    """

    rows: pl.DataFrame
    start: IntArray
    stride: IntArray

    def gather(self, item: IntArray, pair: IntArray) -> pl.DataFrame:
        """Returns the texts of the given items for the given pairs."""
        return self.rows[self.start[item] + self.stride[item] * pair]


def build_segments(items: list[Item], texts: list[str], build: Callable[[Item, str], pl.DataFrame]) -> Segments:
    """Builds each distinct text once; texts are distinct by template, content and the attribute in them."""
    blocks: dict[tuple[int, str, str], int] = {}
    frames: list[pl.DataFrame] = []
    block_of: list[int] = []
    for item, text in zip(items, texts, strict=True):
        has_attribute = any(head in text for head in item.attribute.texts)
        key = (item.template, text, item.attribute.name if has_attribute else "")
        if key not in blocks:
            blocks[key] = len(frames)
            frames.append(build(item, text))
        block_of.append(blocks[key])
    heights = np.array([frame.height for frame in frames])
    starts = np.concatenate([[0], np.cumsum(heights)[:-1]])
    return Segments(pl.concat(frames), starts[block_of], (heights > 1).astype(np.int64)[block_of])


def build_contexts(design: Design, pairs: pl.DataFrame) -> Segments:
    """Builds `context`, and of both subjects `candidate` (as written there) and `position` (in characters)."""
    templates, lead = design.templates, design.lead

    def build(item: Item, text: str) -> pl.DataFrame:
        parts = split_slots(text, item.attribute)
        columns = {"context": pl.lit(lead) + smooth_articles(joined(parts), at_start=True)}
        for which in (1, 2):
            slot = templates[item.template].subject_form(which).replace("subj", f"subj{which}")
            # The articles before a subject are settled by its first letter, so the text up to there tells the position.
            until = pl.concat_str([joined([*parts[: parts.index(slot)]]), pl.col(slot).str.slice(0, 1)])
            position = smooth_articles(until, at_start=True).str.len_chars() + (len(lead) - 1)
            columns[f"position{which}"] = position.cast(pl.UInt16)
            columns[f"candidate{which}"] = pl.col(slot).cast(pl.Categorical)
        columns["context"] = columns["context"].cast(pl.Categorical)
        return pairs.with_columns(**columns).select(*columns)

    return build_segments(design.items, [templates[item.template].context for item in design.items], build)


def build_questions(design: Design, pairs: pl.DataFrame) -> Segments:
    """Builds `question`: the question or, for masked language models, the statement with their mask token."""

    def build(item: Item, text: str) -> pl.DataFrame:
        parts = split_slots(text, item.attribute)
        rows = pairs if len(parts) > 1 else pairs.head(1)
        return rows.with_columns(question=smooth_articles(joined(parts), at_start=False).cast(pl.Categorical)).select(
            "question"
        )

    return build_segments(design.items, [design.question(item) for item in design.items], build)


def assemble(items: list[Item], pairs: pl.DataFrame, contexts: Segments, questions: Segments) -> pl.DataFrame:
    """Gathers the instances: pairs outside, items inside."""
    pair = np.repeat(np.arange(pairs.height), len(items))
    item = np.tile(np.arange(len(items)), pairs.height)
    item_columns = pl.DataFrame(
        {
            "negated": [item.negated for item in items],
            "template": [item.template for item in items],
            "attribute": [item.attribute.name for item in items],
            "attribute_cluster": [item.attribute.cluster for item in items],
        },
        schema={
            "negated": pl.Boolean,
            "template": pl.UInt16,
            "attribute": pl.Categorical,
            "attribute_cluster": pl.Categorical,
        },
    )
    pair_columns = pairs.select(
        "swapped",
        *(pl.col(f"[subj{which}]").cast(pl.Categorical).alias(f"subject{which}") for which in (1, 2)),
        *(pl.col(f"cluster{which}").cast(pl.Categorical) for which in (1, 2)),
    )
    swap_group = pairs["pair"].to_numpy()[pair] * (len(items) // 2) + item // 2
    return pl.concat(
        [
            pl.DataFrame(
                {
                    "instance": np.arange(len(pair), dtype=np.uint32),
                    "swap_group": swap_group.astype(np.uint32),
                }
            ),
            pair_columns[pair],
            item_columns[item],
            contexts.gather(item, pair),
            questions.gather(item, pair),
        ],
        how="horizontal",
    ).select(list(INSTANCES.columns))
