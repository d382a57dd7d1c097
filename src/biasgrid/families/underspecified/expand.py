"""Turns templates and word lists, or a sample of them, into the instances table.

Texts are built once per distinct segment; the rows gather them, part by part, so that their number
takes no memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
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
        for head, terms in side.forms.items():
            columns[head] = [terms[row] for row in rows]
        sides.append(pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String)))
    # Templates use only forms that both lists have.
    shared = [column for column in sides[0].columns if column in sides[1].columns]
    first, last = sides[0].select(shared), sides[1].select(shared)
    tables = [
        join_sides(first, last).with_columns(swapped=pl.lit(value=False)),
        join_sides(last, first).with_columns(swapped=pl.lit(value=True)),
    ]
    return pl.concat(tables, rechunk=True)


def join_sides(first: pl.DataFrame, second: pl.DataFrame) -> pl.DataFrame:
    """Puts both sides of pairs next to each other and numbers the pairs.

    Args:
        first: the subjects that are named first, one row per pair.
        second: the subjects that are named second, in the same order.
    """
    sides = [columns_by_slot(first, 1), columns_by_slot(second, 2)]
    return pl.concat(sides, how="horizontal").with_columns(pair=pl.int_range(pl.len()))


def columns_by_slot(side: pl.DataFrame, which: int) -> pl.DataFrame:
    """Names the columns of a side after the slots that they fill: `[subj:dem]` -> `[subj1:dem]`."""
    names = {name: name.replace("subj", f"subj{which}") for name in side.columns}
    names["subject_group"] = f"group{which}"
    return side.rename(names)


def split_slots(text: str, attribute: AttributeRow, article: str | None) -> list[str]:
    """Fills in the attribute and splits a text at its slots: literal, slot, ..., literal.

    Args:
        text: the text.
        attribute: its attribute.
        article: the pattern of an article that follows its noun's first letter, None if there is
            none.
    """
    for head, term in attribute.texts.items():
        if article and term[:1] in VOWELS:
            text = re.sub(rf"({article[:-1]})(?= {re.escape(head)})", r"\1n", text)
    text = fill_attribute(text, attribute)
    literals, slots = SUBJECT_FORM.split(text), SUBJECT_FORM.findall(text)
    parts = [literals[0]]
    for slot, literal in zip(slots, literals[1:], strict=True):
        parts += [slot, literal]
    return parts


def join_parts(parts: list[str], article: str | None) -> pl.Expr:
    """Concatenates the parts of a text, with `an` in place of an article before a vowel.

    Args:
        parts: literals (even places) and slots (odd places), which are columns of the pairs; see
            `split_slots`.
        article: as in `split_slots`.
    """
    texts = []
    for place, part in enumerate(parts):
        if place % 2:
            texts.append(pl.col(part))
            continue
        literal = pl.lit(part)
        # The bracket keeps a literal behind a slot from being taken for the start of the text.
        context = part if place == 0 else f"]{part}"
        is_last = place + 1 == len(parts)
        if article and not is_last and re.search(f"{article}$", context):
            is_vowel = pl.col(parts[place + 1]).str.slice(0, 1).is_in([*VOWELS])
            literal = pl.when(is_vowel).then(pl.lit(f"{part[:-1]}n ")).otherwise(literal)
        texts.append(literal)
    return pl.concat_str(texts)


VOWELS = "aeiouAEIOU"
ARTICLE, ARTICLE_AT_START = " [aA] ", "(?:^| )[aA] "
"""The article of a template that becomes `an` if the slot behind it is filled with a vowel first.

As in UnQover it follows the letter, and `an` never becomes `a`. At the very beginning of a question
UnQover does not see it, behind a tab.
"""


@dataclass(frozen=True)
class TextSegments:
    """The distinct texts of all items, and their rows in a table.

    Attributes:
        rows: the texts, one row per pair for each text with a subject in it, and a single row for
            each of the others.
        digests: shape (rows,), the digest that each row adds to that of an instance.
        start: shape (items,), the first row of each item's text.
        stride: shape (items,), 1 where the text has a row per pair, else 0.
    """

    rows: pl.DataFrame
    digests: Digests
    start: IntArray
    stride: IntArray

    def places(self, pairs: IntArray) -> IntArray:
        """Returns the rows of the texts of all items for some pairs.

        Returns:
            An array that broadcasts to (pairs, items).
        """
        # If no text depends on the pair, the places of all pairs are equal.
        distinct_pairs = pairs if self.stride.any() else pairs[:1]
        return np.asarray(self.start + self.stride * distinct_pairs[:, np.newaxis])


def build_segments(
    items: list[DesignItem],
    texts: list[str],
    build: Callable[[DesignItem, str], pl.DataFrame],
    *finish: pl.Expr,
) -> TextSegments:
    """Builds each distinct text once.

    Texts are distinct by template, prompt, content and the attribute in them.

    Args:
        items: the questions that every pair is asked.
        texts: the text of each item, with its slots.
        build: returns the rows of one of them.
        finish: the columns of all rows, if `build` leaves them unfinished.
    """
    block_of_key: dict[tuple[int, QuestionPrompt | None, str, str], int] = {}
    tables: list[pl.DataFrame] = []
    blocks: list[int] = []
    for item, text in zip(items, texts, strict=True):
        has_attribute = any(head in text for head in item.attribute.texts)
        key = (item.template, item.prompt, text, item.attribute.name if has_attribute else "")
        if key not in block_of_key:
            block_of_key[key] = len(tables)
            tables.append(build(item, text))
        blocks.append(block_of_key[key])
    heights = np.array([table.height for table in tables])
    starts = np.concatenate([[0], np.cumsum(heights)[:-1]])
    strides = (heights > 1).astype(np.int64)
    # Gathering from one chunk takes a third of the time of gathering from a chunk for each text.
    rows = pl.concat(tables, rechunk=True).select(finish or pl.all())
    return TextSegments(rows, digest_rows(rows), starts[blocks], strides[blocks])


def build_contexts(design: Design, pairs: pl.DataFrame) -> TextSegments:
    """Builds contexts (`text_pair`), with candidate and position of both subjects.

    A candidate is written as in the context, and its position counts characters. If masked language
    models are asked for pronouns, those of both subjects are candidates, too. The candidates of
    generative models are letters, which have no position.

    Args:
        design: the design.
        pairs: the ordered pairs.
    """
    article = ARTICLE_AT_START if design.is_english else None

    def build(item: DesignItem, text: str) -> pl.DataFrame:
        template, prompt = design.templates[item.template], item.prompt
        parts = split_slots(text, item.attribute, article)
        context = pl.lit(design.lead) + join_parts(parts, article)
        letters = prompt.letters(template) if prompt else None
        columns = {"text_pair": context.cast(pl.Categorical)}
        for which in (1, 2):
            slot = template.subject_form(which).replace("subj", f"subj{which}")
            candidate, position = pl.col(slot), pl.lit(None, pl.UInt16)
            if letters:
                candidate = pl.lit(letters[which - 1])
            else:
                up_to_subject = join_parts(parts[: parts.index(slot) + 1], article)
                end = up_to_subject.str.len_chars().cast(pl.Int64)
                start = end - pl.col(slot).str.len_chars() + len(design.lead)
                position = start.cast(pl.UInt16)
            columns[f"position{which}"] = position
            columns[f"candidate{which}"] = candidate.cast(pl.Categorical)
            if design.pronouns:
                pronoun = pl.col(f"group{which}").replace_strict(
                    design.pronouns, default=None, return_dtype=pl.String
                )
                columns[f"candidate{which + 2}"] = pronoun.cast(pl.Categorical)
        return pairs.select(**columns)

    contexts = [design.templates[item.template].context for item in design.items]
    return build_segments(design.items, contexts, build)


def build_questions(design: Design, pairs: pl.DataFrame) -> TextSegments:
    """Builds `text`: the question or, for masked language models, the statement with their mask.

    For generative models the prompt is around it, and the text of `system` stands before it.

    Args:
        design: the design.
        pairs: the ordered pairs.
    """
    article = ARTICLE if design.is_english else None

    def build(item: DesignItem, text: str) -> pl.DataFrame:
        parts = split_slots(text, item.attribute, article)
        system = pl.lit(item.prompt.system if item.prompt else None, pl.String)
        if len(parts) == 1:
            return pl.DataFrame({"text": parts}).with_columns(system=system)
        return pairs.select(text=join_parts(parts, article)).with_columns(system=system)

    questions = [design.question(item) for item in design.items]
    categorical = [pl.col(name).cast(pl.Categorical) for name in ("text", "system")]
    return build_segments(design.items, questions, build, *categorical)


def asked_groups(design: Design, sample: Sample) -> BoolArray:
    """Returns which swap groups are in a sample: whole blocks, or a share of each item's pairs.

    In a sample of rows, an item with all of its pairs is a stratum. All strata have one size, so
    each has as many swap groups as the others, and the rest is shared out among items whose
    templates take turns. The pairs of an item come in the rounds of `order_of_pairs`.

    Returns:
        Shape (swap groups,), by pair and item.
    """
    if isinstance(sample, BlockSample):
        return design.blocks.chosen(len(design.pairs))
    # Both questions of an example are in the same swap group.
    items = design.items[::2]
    count = sample.count(design.swap_groups)
    templates = numbered_strata([(item.template, item.prompt) for item in items])
    digests = item_digests(design, items)
    item_order = first_units(templates, seeded_hashes(digests, sample.seed), len(items))
    name_digests = []
    for side in design.sides:
        name_digests.append(digest_texts(pl.Series(side.forms["[subj]"], dtype=pl.String)))
    pairs = np.array(design.pairs, dtype=np.int64).reshape(-1, 2)
    chosen = np.zeros((len(pairs), len(items)), dtype=np.bool_)
    for rank, item in enumerate(item_order):
        # The first items of the order have one pair more than the last ones.
        pairs_asked = (count + len(items) - 1 - rank) // len(items)
        first, last = (seeded_hashes(names + digests[item], sample.seed) for names in name_digests)
        chosen[order_of_pairs(pairs, first, last)[:pairs_asked], item] = True
    return chosen.ravel()


def order_of_pairs(pairs: IntArray, first: Digests, second: Digests) -> IntArray:
    """Returns the order in which an item is asked of pairs: in rounds without repeated subjects.

    A round has the pairs of which the ranks add up to one number, modulo the number of subjects of
    the longer list. Of this list it has as many neighbours as the other one has subjects; the next
    round begins behind these, so that all are asked about equally often.

    Args:
        pairs: shape (pairs, 2), the subjects of each, as rows of the first and of the last list.
        first: shape (subjects,), a hash of each subject of the first list.
        second: the same of the last list, which may be the first one again.
    """
    first_rank, second_rank = (
        np.argsort(np.argsort(hashes, kind="stable"), kind="stable") for hashes in (first, second)
    )
    first_row, second_row = pairs[:, 0], pairs[:, 1]
    shorter, longer = sorted((len(first), len(second)))
    # Lists may be empty, but nothing is divided by 0.
    modulus = max(longer, 1)
    rounds = np.arange(longer)
    # After one lap, or several, a round would begin where the first one did.
    laps = rounds * gcd(shorter, longer) // modulus
    round_of_sum = np.argsort((rounds * shorter + laps) % modulus)
    sums = (first_rank[first_row] + second_rank[second_row]) % modulus
    within = mix_bits(first)[first_row] + mix_bits(second)[second_row]
    # One number holds both, as sorting by two takes three times as long: the round, and 40 bits of
    # the hash.
    high_bits = round_of_sum[sums].astype(np.uint64) << np.uint64(40)
    return np.argsort(high_bits | (within >> np.uint64(24)))


def item_digests(design: Design, items: Sequence[DesignItem]) -> Digests:
    """Digests the template, prompt format and attribute of items; shape (items,)."""
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
        token_counts: returns how many tokens each of some texts is, which may decide which subjects
            are asked about; see `pack.design_of`.

    Returns:
        The instances (the questions of an example stand next to each other, plain first), in
        `dropped_subjects` the names of the dropped subjects, and how much of the lists is asked.

    Raises:
        UserError: balance leaves too few subjects in a group.
    """
    design = design_of(lists, token_counts)
    if design.refusal is not None:
        problem, expected = design.refusal
        raise UserError(f"{problem}; expected {expected}")
    rows = InstanceRows(design)
    schema = instances_schema(KEYS, {**rows.contexts.rows.schema, **rows.items.schema})
    all_lists = replace(lists, limit={}, sample=None, balance=None)
    available = counts_of_design(design_of(all_lists), None)
    coverage = coverage_of_design(counts_of_design(design, rows.asked), available)
    facts = {"dropped_subjects": design.dropped, **coverage}
    # If all subjects are one token, their groups do not differ in it.
    counted = None if lists.one_token else token_counts
    names = facts_of_names(asked_subjects(design, rows.asked), counted)
    if names:
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
        is_asked = asked.reshape(len(design.pairs), len(items) // 2).any(axis=0)
        # Of both questions of an example, the plain one.
        items = [items[2 * place] for place in np.flatnonzero(is_asked)]
    return {
        "subjects": sum(len(side.groups) for side in asked_subjects(design, asked)),
        "attributes": len({item.attribute.name for item in items}),
        "templates": len({item.template for item in items}),
        # A swap group has four: both orders of the question and of its negation.
        COMPARISONS: design.instances // 4,
        ROWS: design.instances,
    }


def asked_subjects(design: Design, asked: BoolArray | None) -> list[Subjects]:
    """Returns the subjects of each list that are asked about.

    Args:
        design: the design.
        asked: shape (swap groups,), which swap groups are asked, None for all.
    """
    pairs = np.array(design.pairs, dtype=np.int64).reshape(-1, 2)
    if asked is not None:
        pairs = pairs[asked.reshape(len(pairs), len(design.items) // 2).any(axis=1)]
    rows_of_sides = [pairs] if len(design.subjects) == 1 else [pairs[:, 0], pairs[:, 1]]
    subjects = []
    for side, rows in zip(design.subjects, rows_of_sides, strict=True):
        is_asked = np.isin(np.arange(len(side.groups)), rows)
        subjects.append(side.keep(is_asked.tolist()))
    return subjects


class InstanceRows:
    """The columns from which the instances of a design are gathered: pairs outside, items inside.

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
        """Builds all texts of a design."""
        pairs = ordered_pairs(design)
        subjects = [pl.col(f"[subj{which}]").alias(f"subject{which}") for which in (1, 2)]
        groups = [pl.col("group1"), pl.col("group2")]
        categorical = [column.cast(pl.Categorical) for column in (*subjects, *groups)]
        self.design = design
        self.pairs = pairs.select("swapped", *categorical)
        self.pair_numbers = pairs["pair"].to_numpy()
        self.items = item_columns(design)
        self.contexts = build_contexts(design, pairs)
        self.questions = build_questions(design, pairs)
        self.asked = None if design.asked is None else asked_groups(design, design.asked)

    def parts(self) -> Iterator[IntArray]:
        """Yields the numbers of the ordered pairs of each part; without pairs, one empty part."""
        step = max(1, INSTANCES_AT_ONCE // max(1, self.items.height))
        for start in range(0, max(1, self.pairs.height), step):
            yield np.arange(start, min(start + step, self.pairs.height))

    def swap_groups(self, pairs: IntArray) -> IntArray:
        """Returns the swap groups that all items have with some pairs, shape (pairs, items)."""
        items = self.items.height
        # Both questions of an example, which are neighbours, are in one swap group.
        first_of_pairs = self.pair_numbers[pairs, np.newaxis] * (items // 2)
        return np.asarray(first_of_pairs + np.arange(items) // 2)

    def chosen(self, pairs: IntArray, values: IntArray | Digests) -> Any:
        """Returns the values of the items and pairs that are asked.

        Args:
            pairs: the pairs.
            values: an array that broadcasts to (pairs, items).

        Returns:
            Shape (rows,).
        """
        table = np.broadcast_to(values, (len(pairs), self.items.height))
        if self.asked is None:
            return table.reshape(-1)
        return table[self.asked[self.swap_groups(pairs)]]

    @property
    def asks_each_once(self) -> bool:
        """Whether the texts show that no two rows ask the same.

        They do if contexts depend on the pair, questions do not, and no context is asked the same
        question twice. Otherwise all rows must be compared.
        """
        contexts, questions = self.contexts, self.questions
        if not contexts.stride.all() or questions.stride.any():
            return False
        items = contexts.digests[contexts.start] + questions.digests[questions.start]
        return not has_repeated(contexts.digests) and not has_repeated(items)

    def digests_of(self, pairs: IntArray) -> Digests:
        """Returns the digests of the rows of some pairs, shape (rows,)."""
        contexts = self.contexts.digests[self.contexts.places(pairs)]
        questions = self.questions.digests[self.questions.places(pairs)]
        digests: Digests = self.chosen(pairs, contexts + questions)
        return digests

    def texts(self, pairs: IntArray) -> pl.DataFrame:
        """Returns the texts of the rows of some pairs."""
        tables = []
        for segments in (self.contexts, self.questions):
            places = self.chosen(pairs, segments.places(pairs))
            tables.append(segments.rows[places])
        texts: pl.DataFrame = pl.concat(tables, how="horizontal")
        return texts

    def requests_at(self, numbers: IntArray) -> pl.DataFrame:
        """Returns `instance` and the texts of some rows, of which only the pairs are built.

        Args:
            numbers: the numbers of the rows; those beyond the last row are left out.
        """
        all_pairs = np.arange(self.pairs.height)
        if self.asked is None:
            heights = np.full(self.pairs.height, self.items.height)
        else:
            heights = self.asked[self.swap_groups(all_pairs)].sum(axis=1)
        ends = np.cumsum(heights)
        # Without pairs there are no ends, and their sum is 0.
        instances = numbers[numbers < ends[-1:].sum()]
        pairs = np.searchsorted(ends, instances, side="right")
        tables = [with_instances(self.texts(all_pairs[:0]), instances[:0])]
        for pair in np.unique(pairs):
            instances_of_pair = instances[pairs == pair]
            first = ends[pair] - heights[pair]
            texts = self.texts(all_pairs[pair : pair + 1])[instances_of_pair - first]
            tables.append(with_instances(texts, instances_of_pair))
        return pl.concat(tables)

    def tables(self, columns: list[str]) -> Iterator[pl.DataFrame]:
        """Yields the instances, part by part.

        Args:
            columns: their columns, in this order.
        """
        digests = [] if self.asks_each_once else map(self.digests_of, self.parts())
        repetitions = Repetitions(repeated_digests(digests, self.design.instances))
        items = np.arange(self.items.height)
        first = 0
        for pairs in self.parts():
            pair_columns = self.pairs[self.chosen(pairs, pairs[:, np.newaxis])]
            columns_of_items = self.items[self.chosen(pairs, items)]
            texts = self.texts(pairs)
            asked_before = repetitions.asked_before(self.digests_of(pairs))
            swap_groups = self.chosen(pairs, self.swap_groups(pairs)).astype(np.uint32)
            last = first + len(asked_before)
            instances = np.arange(first, last, dtype=np.uint32)
            numbers = pl.DataFrame({"instance": instances, "swap_group": swap_groups})
            tables = [numbers, pair_columns, columns_of_items, texts]
            table = pl.concat(tables, how="horizontal")
            yield table.with_columns(asked_before).select(columns)
            first = last


def has_repeated(digests: Digests) -> bool:
    """Whether a digest occurs more than once."""
    return len(repeated_digests([digests], len(digests))) > 0


def with_instances(texts: pl.DataFrame, instances: IntArray) -> pl.DataFrame:
    """Puts the number of the instance of each row before its texts."""
    return texts.select(pl.Series("instance", instances, dtype=pl.UInt32), pl.all())


def item_columns(design: Design) -> pl.DataFrame:
    """Returns the columns of the items, one row per item."""
    items = design.items
    columns: dict[str, list[Any]] = {
        "negated": [item.negated for item in items],
        "template": [item.template for item in items],
        "attribute": [item.attribute.name for item in items],
        "attribute_group": [item.attribute.group for item in items],
    }
    types: dict[str, Any] = {
        "negated": pl.Boolean,
        "template": pl.UInt16,
        "attribute": pl.Categorical,
        "attribute_group": pl.Categorical,
    }
    # Tables of a single prompt format have no column of formats.
    if len(design.prompts) > 1:
        prompts: Sequence[QuestionPrompt | None] = design.prompts
        columns[PROMPT_FORMAT] = [prompts.index(item.prompt) for item in items]
        types[PROMPT_FORMAT] = pl.UInt8
    return pl.DataFrame(columns, schema=types)
