"""Turns templates and word lists, or a sample of them, into the instances table.

Texts are built once per distinct segment; the rows gather them, part by part, so that their number
takes no memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from math import gcd
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.base.faults import UserError
from biasgrid.families.expansion import Expansion, coverage_of_design
from biasgrid.families.family import TokenCounts
from biasgrid.families.sampler import first_units, numbered_strata, seeded_hashes
from biasgrid.families.sampling import BlockSample, Sample
from biasgrid.families.underspecified.keys import KEYS, NAME_FACTS
from biasgrid.families.underspecified.lists.subjects import Subjects, facts_of_names
from biasgrid.families.underspecified.pack import (
    AttributeRow,
    Design,
    DesignItem,
    QuestionPrompt,
    WordLists,
    design_of,
    fill_attribute,
)
from biasgrid.tables.claims.facts import COMPARISONS, ROWS
from biasgrid.tables.instances import PROMPT_FORMAT, instances_schema
from biasgrid.tables.keys import (
    Digests,
    Repetitions,
    digest_rows,
    digest_texts,
    mix_bits,
    repeated_digests,
)

SUBJECT_FORM = re.compile(r"\[subj[12](?::[a-z]+)?\]")
INSTANCES_AT_ONCE = 1_000_000
"""How many rows a part has, about: all questions of some pairs."""


def ordered_pairs(design: Design) -> pl.DataFrame:
    """Returns all ordered pairs: every pair of the design, then every pair swapped.

    The columns are `pair`, `swapped`, `group1`, `group2` and each form of both subjects, such as
    `[subj1:dem]`.
    """
    sides = []
    for position, side in enumerate(design.sides):
        rows = [pair[position] for pair in design.pairs]
        columns: dict[str, list[str | None]] = {"subject_group": [side.groups[row] for row in rows]}
        columns |= {head: [terms[row] for row in rows] for head, terms in side.forms.items()}
        sides.append(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))

    def beside(one: pl.DataFrame, two: pl.DataFrame, swapped: bool) -> pl.DataFrame:
        return pl.concat(
            [columns_by_slot(one, 1), columns_by_slot(two, 2)], how="horizontal"
        ).with_columns(swapped=pl.lit(swapped), pair=pl.int_range(pl.len()))

    shared = [column for column in sides[0].columns if column in sides[1].columns]
    one, two = sides[0].select(shared), sides[1].select(shared)
    return pl.concat([beside(one, two, False), beside(two, one, True)], rechunk=True)


def columns_by_slot(side: pl.DataFrame, which: int) -> pl.DataFrame:
    """Names the columns of one side of the pairs after the slots that they fill: `[subj:dem]` ->
    `[subj1:dem]`.
    """
    return side.rename(
        lambda name: (
            f"group{which}" if name == "subject_group" else name.replace("subj", f"subj{which}")
        )
    )


def split_slots(text: str, attribute: AttributeRow, article: str | None) -> list[str]:
    """Fills in the attribute and splits what remains at its slots: literal, slot, literal, ...,
    literal.

    `article` is the pattern of an article that follows its noun's first letter, None where there is
    none.
    """
    for head, term in attribute.texts.items():
        if article and term[:1] in VOWELS:
            text = re.sub(rf"({article[:-1]})(?= {re.escape(head)})", r"\1n", text)
    text = fill_attribute(text, attribute)
    literals, slots = SUBJECT_FORM.split(text), SUBJECT_FORM.findall(text)
    return [part for pair in zip_longest(literals, slots) for part in pair if part is not None]


def join_parts(parts: list[str], article: str | None) -> pl.Expr:
    """Concatenates literals (even places) and slots (odd places), which are columns of the pairs;
    see `split_slots`.
    """
    pieces = [pl.col(part) if place % 2 else pl.lit(part) for place, part in enumerate(parts)]
    for place in range(0, len(parts) - 1, 2):
        before = parts[place] if place == 0 else f"]{parts[place]}"
        if article and re.search(f"{article}$", before):
            is_vowel = pl.col(parts[place + 1]).str.slice(0, 1).is_in([*VOWELS])
            pieces[place] = (
                pl.when(is_vowel).then(pl.lit(f"{parts[place][:-1]}n ")).otherwise(pieces[place])
            )
    return pl.concat_str(pieces)


VOWELS = "aeiouAEIOU"
ARTICLE, ARTICLE_AT_START = " [aA] ", "(?:^| )[aA] "
"""The article of a template that becomes `an` where what fills the slot behind it begins with a
vowel letter.

As in UnQover by letter, and never back. At the very beginning of a question UnQover does not see
it, behind a tab.
"""


@dataclass(frozen=True)
class TextSegments:
    """The distinct texts of all items, and where to find them.

    Attributes:
        rows: the texts, one row per pair for each text with a subject in it, and a single row for
            the others.
        digests: shape (rows,), what each row adds to the digests of instances.
        start: shape (items,), the first row of each item's text.
        stride: shape (items,), 1 where the text has a row per pair, else 0.
    """

    rows: pl.DataFrame
    digests: Digests
    start: IntArray
    stride: IntArray

    def places(self, pairs: IntArray) -> IntArray:
        """Returns the rows of the texts of all items for the given pairs, an array that fits
        (pairs, items).
        """
        # Where no text depends on the pair, one row says it of all.
        pairs = pairs if self.stride.any() else pairs[:1]
        return np.asarray(self.start + self.stride * pairs[:, np.newaxis])


def build_segments(
    items: list[DesignItem],
    texts: list[str],
    build: Callable[[DesignItem, str], pl.DataFrame],
    *finish: pl.Expr,
) -> TextSegments:
    """Builds each distinct text once; texts are distinct by template, prompt, content and the
    attribute in them.

    Args:
        items: what every pair is asked.
        texts: the text of each item, with its slots.
        build: makes the rows of one of them.
        finish: makes the columns of all rows, where `build` leaves them unfinished.
    """
    blocks: dict[tuple[int, QuestionPrompt | None, str, str], int] = {}
    clusters: list[pl.DataFrame] = []
    block_of: list[int] = []
    for item, text in zip(items, texts, strict=True):
        has_attribute = any(head in text for head in item.attribute.texts)
        key = (item.template, item.prompt, text, item.attribute.name if has_attribute else "")
        if key not in blocks:
            blocks[key] = len(clusters)
            clusters.append(build(item, text))
        block_of.append(blocks[key])
    heights = np.array([cluster.height for cluster in clusters])
    starts = np.concatenate([[0], np.cumsum(heights)[:-1]])
    # Gathering from one chunk takes a third of the time of gathering from a chunk for each text.
    rows = pl.concat(clusters, rechunk=True).select(finish or pl.all())
    return TextSegments(
        rows, digest_rows(rows), starts[block_of], (heights > 1).astype(np.int64)[block_of]
    )


def build_contexts(design: Design, pairs: pl.DataFrame) -> TextSegments:
    """Builds contexts (`text_pair`), with candidate (as written there) and position (in characters)
    of both subjects.

    Where masked language models are asked for pronouns, those of both subjects are candidates too.
    The candidates of generative models are letters, which have no place there.
    """
    templates, lead = design.templates, design.lead
    article = ARTICLE_AT_START if design.is_english else None

    def build(item: DesignItem, text: str) -> pl.DataFrame:
        parts = split_slots(text, item.attribute, article)
        context = pl.lit(lead) + join_parts(parts, article)
        letters = item.prompt.letters(templates[item.template]) if item.prompt else None
        columns = {"text_pair": context.cast(pl.Categorical)}
        for which in (1, 2):
            slot = templates[item.template].subject_form(which).replace("subj", f"subj{which}")
            until = join_parts(parts[: parts.index(slot) + 1], article).str.len_chars()
            position = until.cast(pl.Int64) - pl.col(slot).str.len_chars() + len(lead)
            letter = pl.lit(letters[which - 1]) if letters else None
            columns[f"position{which}"] = (
                pl.lit(None, pl.UInt16) if item.prompt else position.cast(pl.UInt16)
            )
            columns[f"candidate{which}"] = (pl.col(slot) if letter is None else letter).cast(
                pl.Categorical
            )
            if design.pronouns:
                pronoun = pl.col(f"group{which}").replace_strict(
                    design.pronouns, default=None, return_dtype=pl.String
                )
                columns[f"candidate{which + 2}"] = pronoun.cast(pl.Categorical)
        return pairs.select(**columns)

    return build_segments(
        design.items, [templates[item.template].context for item in design.items], build
    )


def build_questions(design: Design, pairs: pl.DataFrame) -> TextSegments:
    """Builds `text`: the question or, for masked language models, the statement with their mask
    token.

    Generative models have a prompt there, and before it the text of `system`.
    """
    article = ARTICLE if design.is_english else None

    def build(item: DesignItem, text: str) -> pl.DataFrame:
        parts = split_slots(text, item.attribute, article)
        rows = (
            pairs.select(text=join_parts(parts, article))
            if len(parts) > 1
            else pl.DataFrame({"text": parts})
        )
        return rows.with_columns(
            system=pl.lit(item.prompt.system if item.prompt else None, pl.String)
        )

    finish = (pl.col(name).cast(pl.Categorical) for name in ("text", "system"))
    return build_segments(
        design.items, [design.question(item) for item in design.items], build, *finish
    )


def asked_groups(design: Design, sample: Sample) -> BoolArray:
    """Says which swap groups are in a sample: whole blocks, or of rows each template and attribute
    has its share.

    Of rows, an item with all of its pairs is a stratum. All of these have one size, so each has as
    many swap groups as the others, and the rest is shared out among items whose templates take
    turns. Its pairs come in the rounds of `order_of_pairs`.

    Returns:
        Shape (swap groups,), by pair and item.
    """
    if isinstance(sample, BlockSample):
        return design.blocks.chosen(len(design.pairs))
    items, count = design.items[::2], sample.count(design.swap_groups)
    chosen = np.zeros((len(design.pairs), len(items)), dtype=np.bool_)
    templates = numbered_strata([(item.template, item.prompt) for item in items])
    digests, pairs = (
        item_digests(design, items),
        np.array(design.pairs, dtype=np.int64).reshape(-1, 2),
    )
    names = [
        digest_texts(pl.Series(side.forms["[subj]"], dtype=pl.String)) for side in design.sides
    ]
    for rank, item in enumerate(
        first_units(templates, seeded_hashes(digests, sample.seed), len(items))
    ):
        asked = (count + len(items) - 1 - rank) // len(items)
        hashes = [seeded_hashes(side + digests[item], sample.seed) for side in names]
        chosen[order_of_pairs(pairs, *hashes)[:asked], item] = True
    return chosen.ravel()


def order_of_pairs(pairs: IntArray, first: Digests, second: Digests) -> IntArray:
    """Returns the order in which pairs are asked an item: in rounds, in each of which a subject is
    once at most.

    A round has the pairs of which the ranks add up to one number, modulo the number of subjects of
    the longer list. Of this list it has as many neighbours as the other one has subjects; the next
    round begins behind these, so that all are asked about equally often.

    Args:
        pairs: shape (pairs, 2), the subjects of each, as rows of the first and of the last list.
        first: shape (subjects,), a hash of each subject of the first list.
        second: of the last list, which may be the first one again.
    """
    ranks = [
        np.argsort(np.argsort(hashes, kind="stable"), kind="stable") for hashes in (first, second)
    ]
    shorter, longer = sorted((len(first), len(second)))
    turns = np.arange(longer)
    # After one lap, or several, a round would begin where the first one did.
    laps = turns * gcd(shorter, longer) // max(longer, 1)
    turn_of_sum = np.argsort((turns * shorter + laps) % max(longer, 1))
    sums = (ranks[0][pairs[:, 0]] + ranks[1][pairs[:, 1]]) % max(longer, 1)
    within = mix_bits(first)[pairs[:, 0]] + mix_bits(second)[pairs[:, 1]]
    # One number holds both, as sorting by two takes three times as long: the turn, and 40 bits of
    # the hash.
    return np.argsort(
        (turn_of_sum[sums].astype(np.uint64) << np.uint64(40)) | (within >> np.uint64(24))
    )


def item_digests(design: Design, items: Sequence[DesignItem]) -> Digests:
    """Digests what items ask: template, prompt format and attribute; shape (items,)."""
    parts = [
        [design.templates[item.template].text for item in items],
        [item.prompt.text if item.prompt else "" for item in items],
        [item.attribute.name for item in items],
    ]
    digests = np.zeros(len(items), np.uint64)
    for texts in parts:
        digests = mix_bits(digests + digest_texts(pl.Series(texts, dtype=pl.String)))
    return digests


def expand(lists: WordLists, token_counts: TokenCounts | None = None) -> Expansion:
    """Expands word lists into instances, in the order of UnQover's source files.

    Args:
        lists: the word lists.
        token_counts: says of texts how many tokens each is, which may decide what is asked; see
            `pack.design_of`.

    Returns:
        The instances (the questions of an example stand next to each other, plain first), in
        `dropped_subjects` the names of the dropped subjects, and how much of the lists is asked.
    """
    rows = InstanceRows(design_of(lists, token_counts))
    if rows.design.refusal is not None:
        raise UserError("; expected ".join(rows.design.refusal))
    schema = instances_schema(KEYS, {**rows.contexts.rows.schema, **rows.items.schema})
    whole = design_of(replace(lists, limit={}, sample=None, balance=None))
    coverage = coverage_of_design(
        counts_of_design(rows.design, rows.asked), counts_of_design(whole, None)
    )
    facts = {"dropped_subjects": rows.design.dropped, **coverage}
    if names := facts_of_names(
        asked_subjects(rows.design, rows.asked), None if lists.one_token else token_counts
    ):
        facts[NAME_FACTS] = names
    return Expansion(schema, rows.tables([*schema.columns]), facts, rows.requests_at)


def counts_of_design(design: Design, asked: BoolArray | None) -> dict[str, int]:
    """Returns how many subjects, attributes, templates and rows of a design are asked.

    Args:
        design: the design.
        asked: shape (swap groups,), which swap groups are asked, None for all.
    """
    items = design.items
    if asked is not None:
        of_items = asked.reshape(len(design.pairs), len(items) // 2).any(axis=0)
        items = [items[2 * place] for place in np.flatnonzero(of_items)]
    return {
        "subjects": sum(len(side.groups) for side in asked_subjects(design, asked)),
        "attributes": len({item.attribute.name for item in items}),
        "templates": len({item.template for item in items}),
        # A swap group has four: both orders of the question and of its negation.
        COMPARISONS: design.instances // 4,
        ROWS: design.instances,
    }


def asked_subjects(design: Design, asked: BoolArray | None) -> list[Subjects]:
    """Returns the subjects of each list that are asked.

    Args:
        design: the design.
        asked: shape (swap groups,), which swap groups are asked, None for all.
    """
    pairs = np.array(design.pairs, dtype=np.int64).reshape(-1, 2)
    if asked is not None:
        pairs = pairs[asked.reshape(len(pairs), len(design.items) // 2).any(axis=1)]
    rows = [pairs] if len(design.subjects) == 1 else [pairs[:, 0], pairs[:, 1]]
    found = [
        np.isin(np.arange(len(side.groups)), of_side)
        for side, of_side in zip(design.subjects, rows, strict=True)
    ]
    return [side.keep(each.tolist()) for side, each in zip(design.subjects, found, strict=True)]


class InstanceRows:
    """What the instances of a design are gathered from: pairs outside, items inside.

    Attributes:
        design: the design.
        pairs: the columns of the ordered pairs.
        pair_numbers: shape (ordered pairs,), the pair of each in the design.
        items: the columns of the items.
        contexts: the texts with the subjects.
        questions: the texts of the questions.
        asked: shape (swap groups,), which of them are asked, None for all.
    """

    def __init__(self, design: Design):
        """Builds all of it."""
        pairs = ordered_pairs(design)
        self.design = design
        self.pairs = pairs.select(
            "swapped",
            *(
                pl.col(f"[subj{which}]").cast(pl.Categorical).alias(f"subject{which}")
                for which in (1, 2)
            ),
            *(pl.col(f"group{which}").cast(pl.Categorical) for which in (1, 2)),
        )
        self.pair_numbers = pairs["pair"].to_numpy()
        self.items = item_columns(design)
        self.contexts, self.questions = (
            build_contexts(design, pairs),
            build_questions(design, pairs),
        )
        self.asked = None if design.asked is None else asked_groups(design, design.asked)

    def parts(self) -> Iterator[IntArray]:
        """Yields the pairs whose rows are a part, by their numbers; no pairs are one part without
        rows.
        """
        step = max(1, INSTANCES_AT_ONCE // max(1, self.items.height))
        for start in range(0, max(1, self.pairs.height), step):
            yield np.arange(start, min(start + step, self.pairs.height))

    def swap_groups(self, pairs: IntArray) -> IntArray:
        """Returns the swap groups that all items have with some pairs, shape (pairs, items)."""
        items = self.items.height
        return np.asarray(
            self.pair_numbers[pairs, np.newaxis] * (items // 2) + np.arange(items) // 2
        )

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

    @property
    def asks_each_once(self) -> bool:
        """Whether it shows in the texts that no two rows ask the same: in each context each
        question is another one.
        """
        contexts, questions = self.contexts, self.questions
        if not contexts.stride.all() or questions.stride.any():
            return False
        of_items = contexts.digests[contexts.start] + questions.digests[questions.start]
        return not any(
            len(repeated_digests([each], len(each))) for each in (contexts.digests, of_items)
        )

    def digests_of(self, pairs: IntArray) -> Digests:
        """Returns the digests of the rows of some pairs, shape (rows,)."""
        context, question = (
            each.digests[each.places(pairs)] for each in (self.contexts, self.questions)
        )
        digests: Digests = self.chosen(pairs, context + question)
        return digests

    def texts(self, pairs: IntArray) -> pl.DataFrame:
        """Returns what models read of the rows of some pairs."""
        segments = (self.contexts, self.questions)
        rows = (each.rows[self.chosen(pairs, each.places(pairs))] for each in segments)
        texts: pl.DataFrame = pl.concat(rows, how="horizontal")
        return texts

    def requests_at(self, numbers: IntArray) -> pl.DataFrame:
        """Returns `instance` and the texts of some rows by their numbers, for which only their
        pairs are built.
        """
        all_pairs = np.arange(self.pairs.height)
        whole = np.full(self.pairs.height, self.items.height)
        heights = (
            whole if self.asked is None else self.asked[self.swap_groups(all_pairs)].sum(axis=1)
        )
        ends = np.cumsum(heights)
        there = numbers[numbers < ends[-1:].sum()]
        pairs = np.searchsorted(ends, there, side="right")
        tables: list[pl.DataFrame] = []
        for pair in np.unique(pairs):
            of_pair = there[pairs == pair]
            texts = self.texts(all_pairs[pair : pair + 1])[of_pair - (ends[pair] - heights[pair])]
            tables.append(texts.select(pl.Series("instance", of_pair, dtype=pl.UInt32), pl.all()))
        none = self.texts(all_pairs[:0]).select(
            pl.Series("instance", [], dtype=pl.UInt32), pl.all()
        )
        return pl.concat([none, *tables])

    def tables(self, columns: list[str]) -> Iterator[pl.DataFrame]:
        """Yields the instances, part by part.

        Args:
            columns: their columns, in this order.
        """
        digests = [] if self.asks_each_once else map(self.digests_of, self.parts())
        repetitions, first = Repetitions(repeated_digests(digests, self.design.instances)), 0
        items = np.arange(self.items.height)
        for pairs in self.parts():
            gathered = (
                self.pairs[self.chosen(pairs, pairs[:, np.newaxis])],
                self.items[self.chosen(pairs, items)],
                self.texts(pairs),
            )
            asked_before = repetitions.asked_before(self.digests_of(pairs))
            numbers = pl.DataFrame(
                {
                    "instance": np.arange(first, first + len(asked_before), dtype=np.uint32),
                    "swap_group": self.chosen(pairs, self.swap_groups(pairs)).astype(np.uint32),
                }
            )
            table = pl.concat([numbers, *gathered], how="horizontal")
            yield table.with_columns(asked_before).select(columns)
            first += len(asked_before)


def item_columns(design: Design) -> pl.DataFrame:
    """Returns the columns of what every pair is asked, a row per item."""
    items, several = design.items, len(design.prompts) > 1
    of_format = (
        {PROMPT_FORMAT: [design.prompts.index(item.prompt) for item in items]} if several else {}
    )
    return pl.DataFrame(
        {
            "negated": [item.negated for item in items],
            "template": [item.template for item in items],
            "attribute": [item.attribute.name for item in items],
            "attribute_group": [item.attribute.group for item in items],
            **of_format,
        },
        schema={
            "negated": pl.Boolean,
            "template": pl.UInt16,
            "attribute": pl.Categorical,
            "attribute_group": pl.Categorical,
            **dict.fromkeys(of_format, pl.UInt8),
        },
    )
