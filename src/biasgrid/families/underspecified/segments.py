"""The distinct texts of a design: a context per template and ordered pair, a question per template and attribute.

The rows of the instances only gather them, so that millions of instances are integer arithmetic.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.families.underspecified.design import Design, Item, fill_attribute
from biasgrid.families.underspecified.word_lists import Attribute
from biasgrid.tables.keys import Digests, digest_rows

SLOT = re.compile(r"\[subj[12](?::[a-z]+)?\]")


def ordered_pairs(design: Design) -> pl.DataFrame:
    """Returns all ordered pairs: every pair of the design, then every pair swapped.

    The columns are `pair`, `swapped`, `group1`, `group2` and each form of both subjects, such as `[subj1:dem]`.
    """
    sides = []
    for position, side in enumerate(design.sides):
        rows = [pair[position] for pair in design.pairs]
        columns: dict[str, list[str | None]] = {"subject_group": [side.groups[row] for row in rows]}
        columns |= {head: [terms[row] for row in rows] for head, terms in side.forms.items()}
        sides.append(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))

    def beside(one: pl.DataFrame, two: pl.DataFrame, swapped: bool) -> pl.DataFrame:
        return pl.concat([numbered(one, 1), numbered(two, 2)], how="horizontal").with_columns(
            swapped=pl.lit(swapped), pair=pl.int_range(pl.len())
        )

    shared = [column for column in sides[0].columns if column in sides[1].columns]
    one, two = sides[0].select(shared), sides[1].select(shared)
    return pl.concat([beside(one, two, False), beside(two, one, True)], rechunk=True)


def numbered(side: pl.DataFrame, which: int) -> pl.DataFrame:
    """Names the columns of one side of the pairs after the slots that they fill: `[subj:dem]` -> `[subj1:dem]`."""
    return side.rename(
        lambda name: f"group{which}" if name == "subject_group" else name.replace("subj", f"subj{which}")
    )


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
        digests: shape (rows,), what each row adds to the digests of instances.
        start: shape (items,), the first row of each item's text.
        stride: shape (items,), 1 where the text has a row per pair, else 0.
    """

    rows: pl.DataFrame
    digests: Digests
    start: IntArray
    stride: IntArray

    def places(self, pairs: IntArray) -> IntArray:
        """Returns the rows of the texts of all items for the given pairs, an array that fits (pairs, items)."""
        # Where no text depends on the pair, one row says it of all.
        pairs = pairs if self.stride.any() else pairs[:1]
        return np.asarray(self.start + self.stride * pairs[:, np.newaxis])


def build_segments(
    items: list[Item], texts: list[str], build: Callable[[Item, str], pl.DataFrame], *finish: pl.Expr
) -> Segments:
    """Builds each distinct text once; texts are distinct by template, content and the attribute in them.

    Args:
        items: what every pair is asked.
        texts: the text of each item, with its slots.
        build: makes the rows of one of them.
        finish: makes the columns of all rows, where `build` leaves them unfinished.
    """
    blocks: dict[tuple[int, str, str], int] = {}
    clusters: list[pl.DataFrame] = []
    block_of: list[int] = []
    for item, text in zip(items, texts, strict=True):
        has_attribute = any(head in text for head in item.attribute.texts)
        key = (item.template, text, item.attribute.name if has_attribute else "")
        if key not in blocks:
            blocks[key] = len(clusters)
            clusters.append(build(item, text))
        block_of.append(blocks[key])
    heights = np.array([cluster.height for cluster in clusters])
    starts = np.concatenate([[0], np.cumsum(heights)[:-1]])
    # Gathering from one chunk takes a third of the time of gathering from a chunk for each text.
    rows = pl.concat(clusters, rechunk=True).select(finish or pl.all())
    return Segments(rows, digest_rows(rows), starts[block_of], (heights > 1).astype(np.int64)[block_of])


def build_contexts(design: Design, pairs: pl.DataFrame) -> Segments:
    """Builds contexts (`text_pair`), with candidate (as written there) and position (in characters) of both subjects.

    Where masked language models are asked for pronouns, those of both subjects are candidates too. The candidates of
    generative models are letters, which have no place there.
    """
    templates, lead = design.templates, design.lead

    def build(item: Item, text: str) -> pl.DataFrame:
        parts = split_slots(text, item.attribute)
        context = pl.lit(lead) + smooth_articles(joined(parts), at_start=True)
        letters = design.prompt.letters(templates[item.template]) if design.prompt else None
        columns = {"text_pair": context.cast(pl.Categorical)}
        for which in (1, 2):
            slot = templates[item.template].subject_form(which).replace("subj", f"subj{which}")
            # The articles before a subject are settled by its first letter, so the text up to there tells the position.
            until = pl.concat_str([joined([*parts[: parts.index(slot)]]), pl.col(slot).str.slice(0, 1)])
            position = smooth_articles(until, at_start=True).str.len_chars() + (len(lead) - 1)
            letter = pl.lit(letters[which - 1]) if letters else None
            columns[f"position{which}"] = pl.lit(None, pl.UInt16) if design.prompt else position.cast(pl.UInt16)
            columns[f"candidate{which}"] = (pl.col(slot) if letter is None else letter).cast(pl.Categorical)
            if design.pronouns:
                pronoun = pl.col(f"group{which}").replace_strict(design.pronouns, default=None, return_dtype=pl.String)
                columns[f"candidate{which + 2}"] = pronoun.cast(pl.Categorical)
        return pairs.select(**columns)

    return build_segments(design.items, [templates[item.template].context for item in design.items], build)


def build_questions(design: Design, pairs: pl.DataFrame) -> Segments:
    """Builds `text`: the question or, for masked language models, the statement with their mask token.

    Generative models have a prompt there, and before it the text of `system`.
    """

    def build(item: Item, text: str) -> pl.DataFrame:
        parts = split_slots(text, item.attribute)
        return pairs.select(text=joined(parts)) if len(parts) > 1 else pl.DataFrame({"text": parts})

    text = smooth_articles(pl.col("text"), at_start=False).cast(pl.Categorical)
    system = pl.lit(design.prompt.system if design.prompt else None, pl.Categorical).alias("system")
    return build_segments(design.items, [design.question(item) for item in design.items], build, text, system)
