"""What models are asked: the instances of word lists, and corpora that teach a known bias.

Texts are built once per distinct segment; the rows gather them, part by part, so that their number
takes no memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.base.faults import UserError
from biasgrid.families.expansion import Expansion, coverage_of_design
from biasgrid.families.family import TokenCounts
from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    counts_of_two,
    hashed_weight,
    known_effect_rows,
)
from biasgrid.families.underspecified.lists import Subjects, name_facts
from biasgrid.families.underspecified.read import Design, WordLists, planned_instances
from biasgrid.families.underspecified.samples import asked_groups, pair_rows
from biasgrid.families.underspecified.templates import (
    AttributeRow,
    DesignItem,
    QuestionPrompt,
)
from biasgrid.tables.claims.facts import COMPARISON_COUNT, ROW_COUNT
from biasgrid.tables.files import means_by
from biasgrid.tables.instances import OF_FORMAT, PROMPT_FORMAT, instances_schema
from biasgrid.tables.keys import Digests, Repetitions, digest_rows, repeated_digests
from biasgrid.tables.schema import column

NAME_FACTS = "names"
"""The fact of an instances table of how groups of subjects differ in tokens and frequency."""
KEYS = {
    "swap_group": column(
        pl.UInt32,
        description=(
            "number shared by the four instances with the same template, pair of subjects, "
            "attribute and prompt"
        ),
    ),
    "swapped": column(pl.Boolean, description="whether the two subjects are in reversed order"),
    "negated": column(pl.Boolean, description="whether the question is negated"),
    "template": column(pl.UInt16, description="the template, numbered from 0"),
    "subject1": column(pl.Categorical, description="the subject that comes first"),
    "subject2": column(pl.Categorical, description="the subject that comes second"),
    "group1": column(
        pl.Categorical, description="group of subject1, such as female", nullable=True
    ),
    "group2": column(pl.Categorical, description="group of subject2", nullable=True),
    "attribute": column(pl.Categorical, description="the attribute in its base form"),
    "attribute_group": column(
        pl.Categorical, description="group of the attribute, such as crime", nullable=True
    ),
    **OF_FORMAT,
}
"""The family's own columns of instances: subjects, attribute, and place in the swap group."""
SUBJECT_FORM = re.compile(r"\[subj[12](?::[a-z]+)?\]")
INSTANCES_AT_ONCE = 1_000_000
"""How many rows a part has, about: all questions of some pairs."""
VOWELS = "aeiouAEIOU"
ARTICLE, ARTICLE_AT_START = " [aA] ", "(?:^| )[aA] "
"""The article of a template that becomes `an` if the slot behind it is filled with a vowel first.

As in UnQover it follows the letter, and `an` never becomes `a`. At the very beginning of a question
UnQover does not see it, behind a tab.
"""

LAST_PLACE = pl.max_horizontal(pl.len() - 1, 1)
"""The last place of some rows from 0 on; 1 for a single row, since it is divided by."""


def expand(lists: WordLists, token_counts: TokenCounts | None = None) -> Expansion:
    """Expands word lists into instances, in the order of UnQover's source files.

    Args:
        lists: the word lists.
        token_counts: returns how many tokens each of some texts is, which may decide which subjects
            are asked about; see `read.planned_instances`.

    Returns:
        The instances (the questions of an example stand next to each other, plain first), in
        `dropped_subjects` the names of the dropped subjects, and how much of the lists is asked.

    Raises:
        UserError: balance leaves too few subjects in a group.
    """
    design = planned_instances(lists, token_counts)
    if design.refusal is not None:
        problem, expected = design.refusal
        raise UserError(f"{problem}; expected {expected}")
    rows = InstanceRows(design)
    schema = instances_schema(KEYS, {**rows.contexts.rows.schema, **rows.items.schema})
    all_lists = replace(lists, limit={}, sample=None, balance=None)
    available = design_counts(planned_instances(all_lists), None)
    coverage = coverage_of_design(design_counts(design, rows.group_mask), available)
    facts = {"dropped_subjects": design.dropped_subjects, **coverage}
    # If all subjects are one token, their groups do not differ in it.
    several_token_counts = None if lists.one_token else token_counts
    names = name_facts(asked_subjects(design, rows.group_mask), several_token_counts)
    if names:
        facts[NAME_FACTS] = names
    return Expansion(schema, rows.tables([*schema.columns]), facts, rows.requests_at)


def design_counts(design: Design, group_mask: BoolArray | None) -> dict[str, int]:
    """Returns how many subjects, attributes, templates and rows of a design are asked.

    Args:
        design: the design.
        group_mask: shape (pairs, plain items), which swap groups are asked, None for all.
    """
    items = design.plain_items
    if group_mask is not None:
        items = [items[place] for place in np.flatnonzero(group_mask.any(axis=0))]
    return {
        "subjects": sum(len(side.groups) for side in asked_subjects(design, group_mask)),
        "attributes": len({item.attribute.name for item in items}),
        "templates": len({item.template for item in items}),
        # A swap group has four: both orders of the question and of its negation.
        COMPARISON_COUNT: design.instances // 4,
        ROW_COUNT: design.instances,
    }


def asked_subjects(design: Design, group_mask: BoolArray | None) -> list[Subjects]:
    """Returns the subjects of each list that are asked about; see `design_counts`."""
    pairs = pair_rows(design)
    if group_mask is not None:
        pairs = pairs[group_mask.any(axis=1)]
    rows_of_sides = [pairs] if len(design.subjects) == 1 else pairs.T
    subjects = []
    for side, rows in zip(design.subjects, rows_of_sides, strict=True):
        is_asked = np.isin(np.arange(len(side.groups)), rows)
        subjects.append(side.keep(is_asked.tolist()))
    return subjects


# Texts


def ordered_pairs(design: Design) -> pl.DataFrame:
    """Returns all ordered pairs: every pair of the design, then every pair swapped.

    The columns are `pair`, `swapped`, `group1`, `group2` and each form of both subjects, such as
    `[subj1:dem]`.
    """
    sides = []
    for side, rows in zip(design.sides, pair_rows(design).T, strict=True):
        columns = {"group": side.groups, **side.forms}
        table = pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))
        sides.append(table[rows])
    # Templates use only forms that both lists have.
    forms = [name for name in sides[0].columns if name in sides[1].columns and name != "group"]
    tables: list[pl.DataFrame] = []
    for is_swapped in (False, True):
        columns_of_sides = []
        for which, table in enumerate(reversed(sides) if is_swapped else sides, start=1):
            slots = {f"group{which}": "group"}
            slots |= {form.replace("subj", f"subj{which}"): form for form in forms}
            columns_of_sides.append(table.select(**slots))
        pairs = pl.concat(columns_of_sides, how="horizontal")
        numbered_pairs = pairs.with_columns(pair=pl.int_range(pl.len()), swapped=pl.lit(is_swapped))
        tables.append(numbered_pairs)
    return pl.concat(tables, rechunk=True)


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
    # A pattern with a group keeps the slots.
    return re.split(f"({SUBJECT_FORM.pattern})", attribute.fill(text))


def join_literals(parts: Sequence[str], article: str | None) -> pl.Expr:
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
    items: Sequence[DesignItem],
    texts: Sequence[str],
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
    article = ARTICLE_AT_START if design.lists.is_english else None
    pronouns = design.lists.pronouns

    def build(item: DesignItem, text: str) -> pl.DataFrame:
        template, prompt = design.templates[item.template], item.prompt
        parts = split_slots(text, item.attribute, article)
        context = pl.lit(design.lead) + join_literals(parts, article)
        letters = prompt.letters(template) if prompt else None
        columns = {"text_pair": context.cast(pl.Categorical)}
        for which in (1, 2):
            slot = template.subject_slot(which)
            candidate, position = pl.col(slot), pl.lit(None, pl.UInt16)
            if letters:
                candidate = pl.lit(letters[which - 1])
            else:
                up_to_subject = join_literals(parts[: parts.index(slot) + 1], article)
                end = up_to_subject.str.len_chars().cast(pl.Int64)
                start = end - pl.col(slot).str.len_chars() + len(design.lead)
                position = start.cast(pl.UInt16)
            columns[f"position{which}"] = position
            columns[f"candidate{which}"] = candidate.cast(pl.Categorical)
            if pronouns:
                pronoun = pl.col(f"group{which}").replace_strict(
                    pronouns, default=None, return_dtype=pl.String
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
    article = ARTICLE if design.lists.is_english else None

    def build(item: DesignItem, text: str) -> pl.DataFrame:
        parts = split_slots(text, item.attribute, article)
        system = pl.lit(item.prompt.system if item.prompt else None, pl.String)
        if len(parts) == 1:
            return pl.DataFrame({"text": parts}).with_columns(system=system)
        return pairs.select(text=join_literals(parts, article)).with_columns(system=system)

    questions = [design.question(item) for item in design.items]
    categorical = [pl.col(name).cast(pl.Categorical) for name in ("text", "system")]
    return build_segments(design.items, questions, build, *categorical)


def item_columns(design: Design) -> pl.DataFrame:
    """Returns the columns of the items, one row per item."""
    items = design.items
    columns: dict[str, list[Any]] = {
        "negated": [item.is_negated for item in items],
        "template": [item.template for item in items],
        "attribute": [item.attribute.name for item in items],
        "attribute_group": [item.attribute.group for item in items],
    }
    # Tables of a single prompt format have no column of formats.
    prompts: Sequence[QuestionPrompt | None] = design.lists.prompts
    if len(prompts) > 1:
        columns[PROMPT_FORMAT] = [prompts.index(item.prompt) for item in items]
    types: dict[str, Any] = {name: KEYS[name].dtype.type for name in columns}
    return pl.DataFrame(columns, schema=types)


# Instances


class InstanceRows:
    """The columns from which the instances of a design are gathered: pairs outside, items inside.

    Attributes:
        design: the design.
        pairs: the columns of the ordered pairs.
        pair_numbers: shape (ordered pairs,), the pair of each in the design.
        items: the columns of the items.
        contexts: the texts with the subjects.
        questions: the texts of the questions.
        group_mask: shape (pairs, plain items), whether each swap group is asked; None if all are.
    """

    def __init__(self, design: Design) -> None:
        """Builds all texts of a design."""
        pairs = ordered_pairs(design)
        subjects = [pl.col(f"[subj{which}]").alias(f"subject{which}") for which in (1, 2)]
        names = [*subjects, pl.col("group1"), pl.col("group2")]
        self.design = design
        self.pairs = pairs.select("swapped", *(name.cast(pl.Categorical) for name in names))
        self.pair_numbers = pairs["pair"].to_numpy()
        self.items = item_columns(design)
        self.contexts = build_contexts(design, pairs)
        self.questions = build_questions(design, pairs)
        self.group_mask: BoolArray | None = None
        if design.lists.sample is not None:
            group_mask = asked_groups(design, design.lists.sample)
            self.group_mask = group_mask.reshape(len(design.pairs), len(design.plain_items))

    def parts(self) -> Iterator[IntArray]:
        """Yields the numbers of the ordered pairs of each part; without pairs, one empty part."""
        step = max(1, INSTANCES_AT_ONCE // max(1, self.items.height))
        for start in range(0, max(1, self.pairs.height), step):
            yield np.arange(start, min(start + step, self.pairs.height))

    def asked_values(self, pairs: IntArray, values: IntArray | Digests) -> Any:
        """Returns the values of the items and pairs that are asked.

        Args:
            pairs: the pairs.
            values: an array that broadcasts to (pairs, items).

        Returns:
            Shape (rows,).
        """
        table = np.broadcast_to(values, (len(pairs), self.items.height))
        if self.group_mask is None:
            return table.reshape(-1)
        # Both questions of an example, which are neighbours, are in one swap group.
        return table[np.repeat(self.group_mask[self.pair_numbers[pairs]], 2, axis=1)]

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
        return not any(
            len(repeated_digests([digests], len(digests))) for digests in (contexts.digests, items)
        )

    def row_digests(self, pairs: IntArray) -> Digests:
        """Returns the digests of the rows of some pairs, shape (rows,)."""
        contexts = self.contexts.digests[self.contexts.places(pairs)]
        questions = self.questions.digests[self.questions.places(pairs)]
        digests: Digests = self.asked_values(pairs, contexts + questions)
        return digests

    def texts(self, pairs: IntArray) -> pl.DataFrame:
        """Returns the texts of the rows of some pairs."""
        tables = []
        for segments in (self.contexts, self.questions):
            places = self.asked_values(pairs, segments.places(pairs))
            tables.append(segments.rows[places])
        texts: pl.DataFrame = pl.concat(tables, how="horizontal")
        return texts

    def requests_at(self, numbers: IntArray) -> pl.DataFrame:
        """Returns `instance` and the texts of some rows, and builds no pairs but theirs.

        Args:
            numbers: the numbers of the rows; those beyond the last row are left out.
        """
        all_pairs = np.arange(self.pairs.height)
        heights = np.full(self.pairs.height, self.items.height)
        if self.group_mask is not None:
            heights = 2 * self.group_mask[self.pair_numbers].sum(axis=1)
        ends = np.cumsum(heights)
        instances = numbers[numbers < heights.sum()]
        pairs = np.searchsorted(ends, instances, side="right")
        tables = [self.texts(all_pairs[:0])]
        for pair in np.unique(pairs):
            first = ends[pair] - heights[pair]
            texts = self.texts(all_pairs[pair : pair + 1])
            tables.append(texts[instances[pairs == pair] - first])
        # Numbers in any order are answered pair by pair.
        instances_by_pair = instances[np.argsort(pairs, kind="stable")]
        column_of_numbers = pl.Series("instance", instances_by_pair, dtype=pl.UInt32)
        return pl.concat(tables).select(column_of_numbers, pl.all())

    def tables(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """Yields the instances, part by part.

        Args:
            columns: their columns, in this order.
        """
        digests = [] if self.asks_each_once else map(self.row_digests, self.parts())
        repetitions = Repetitions(repeated_digests(digests, self.design.instances))
        items = np.arange(self.items.height)
        first = 0
        for pairs in self.parts():
            asked_before = repetitions.asked_before(self.row_digests(pairs))
            last = first + len(asked_before)
            first_groups = self.pair_numbers[pairs, np.newaxis] * (len(items) // 2)
            swap_groups = self.asked_values(pairs, first_groups + items // 2)
            numbers = pl.DataFrame(
                {
                    "instance": np.arange(first, last, dtype=np.uint32),
                    "swap_group": swap_groups.astype(np.uint32),
                }
            )
            tables = [
                numbers,
                self.pairs[self.asked_values(pairs, pairs[:, np.newaxis])],
                self.items[self.asked_values(pairs, items)],
                self.texts(pairs),
            ]
            table = pl.concat(tables, how="horizontal")
            yield table.with_columns(asked_before).select(columns)
            first = last


# Corpora with a known effect
#
# Every subject x has a weight w(x, a) for every attribute a: a part of its own, and one that it
# shares with all subjects of its group. Of a pair (x1, x2), the corpus answers the plain question
# with x1 at probability 1/2 + (w(x1, a) - w(x2, a)) / 2 and the negated one at 1/2 minus the same,
# in whichever order the context names them. A model that learned these probabilities has, in the
# words of UnQover (Li et al., Findings of EMNLP 2020), C(x1, x2) = w(x1, a) - w(x2, a) and
# gamma(x, a) = the mean of C(x, .).
#
# Of negated questions a share may be answered as the plain ones are, which takes that share off
# every C. If a share of the answers is neither subject, it takes the same share off every C, but
# not off that of preference shares.


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the gamma of a model that learned the corpus.

    Args:
        instances: the instances of the dataset, of any variant.
        bias: its strength is the bound of |C|, from 0 (no bias) to 1 (a subject is the answer
            always or never). A number is the part by name.

    Returns:
        Each gamma(subject, attribute) and gamma(group, attribute), and the same of preference
        shares (schema `SYNTHETIC`). A weight depends on nothing but the seed, the strength and the
        names of dataset, subject, group and attribute; a gamma also depends on the partners of its
        subject. If some answers are neither subject, there are preference shares alone: how many
        answers are none depends on the task.
    """
    parts = bias.parts("name")
    pairs = with_difference(instances, bias).unique("swap_group", keep="first", maintain_order=True)
    comparison = (1 - parts.unread_negation) * pl.col("difference")
    sides = []
    for own, other, sign in ((1, 2, 1), (2, 1, -1)):
        side = pairs.select(
            "attribute",
            subject=f"subject{own}",
            subject_group=f"group{own}",
            other_group=f"group{other}",
            value=sign * comparison,
        )
        sides.append(side)
    rows_of_subjects = pl.concat(sides)
    # Two subjects of one group say nothing about it.
    across = rows_of_subjects.filter(pl.col("subject_group") != pl.col("other_group"))
    measures = ("gamma", "share_gamma") if parts.mass == 1 else ("share_gamma",)
    tables = []
    for measure in measures:
        for rows, subject in ((rows_of_subjects, "subject"), (across, "subject_group")):
            means = means_by(rows, (subject, "attribute")).sort(subject, "attribute")
            tables.append(known_effect_rows(means, bias, measure))
    return pl.concat(tables)


def with_difference(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `difference`: w(subject1, a, t) - w(subject2, a, t) for an attribute and template.

    It is at most the strength and the spread together. The texts, categorical in the instances
    table, come out as strings.
    """
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String))
    weights = subject_weights(rows, bias)
    for side in (1, 2):
        own = weights.rename({"subject": f"subject{side}", "weight": f"weight{side}"})
        rows = rows.join(own, on=[f"subject{side}", "attribute", "template"])
    difference = pl.col("weight1") - pl.col("weight2")
    rows = rows.with_columns(difference=difference).drop("weight1", "weight2")
    return rows.sort("instance")


def subject_weights(rows: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the `weight` of each `subject`, `attribute` and `template`.

    Between templates the weights of a subject differ in even steps, in a random order, that add up
    to 0.

    Args:
        rows: instances, with both subjects and groups, attribute and template.
        bias: the bias.
    """
    sides = []
    for side in (1, 2):
        names = {"subject": f"subject{side}", "group": f"group{side}"}
        sides.append(rows.select("attribute", "template", **names))
    keys = pl.concat(sides).select("subject", "attribute", "template", "group")
    keys = keys.unique().sort(pl.all())
    means, order = [], []
    for subject, attribute, template, _ in keys.iter_rows():
        means.append(hashed_weight(bias, subject, attribute))
        order.append(hashed_weight(bias, subject, f"template {template}"))
    weights = keys.with_columns(mean=pl.Series(means), order=pl.Series(order))
    shared_weights = group_weights(keys, bias)
    weights = weights.join(
        shared_weights, on=["group", "attribute"], how="left", maintain_order="left"
    )
    parts = bias.parts("name")
    # A subject without a group is one of its own, so that both parts are its own.
    own = pl.when(pl.col("group").is_null()).then(parts.total).otherwise(parts.name)
    of_group = parts.group * pl.col("shared").fill_null(0.0)
    centred_rank = pl.col("order").rank() - (pl.len() + 1) / 2
    step = (centred_rank / LAST_PLACE).over("subject", "attribute")
    weight = own * pl.col("mean") + of_group + bias.spread * step
    return weights.select("subject", "attribute", "template", weight=weight)


def group_weights(keys: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the weight that each group shares for each attribute.

    The groups of an attribute stand in even steps, in a random order, between ends of opposite sign
    that are half to all of the way out: each association is there to be found, and they differ in
    size. A single group is at one end.

    Args:
        keys: `group`, null for subjects without one, and `attribute`.
        bias: the bias.

    Returns:
        `group`, `attribute` and `shared`, the weight, in -1/2..1/2.
    """
    associations = keys.select("group", "attribute").drop_nulls("group").unique().sort(pl.all())
    order, sizes = [], []
    for group, attribute in associations.iter_rows():
        order.append(hashed_weight(bias, "group", group, attribute))
        sizes.append(0.75 + hashed_weight(bias, "group", attribute) / 2)
    rows = associations.with_columns(
        pl.Series("order", order, dtype=pl.Float64),
        pl.Series("size", sizes, dtype=pl.Float64),
    )
    place = ((pl.col("order").rank() - 1) / LAST_PLACE - 0.5).over("attribute")
    return rows.select("group", "attribute", shared=place * pl.col("size"))


def with_probability(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds the probability of the subject that comes first in the alphabet.

    The columns are `low` and `high`, the subjects in alphabetical order, and `probability`, that of
    `low`.
    """
    rows = with_difference(instances, bias)
    # A negation that is read turns the preference round; the share that is not read keeps it.
    unread = bias.parts("name").unread_negation
    sign = pl.when("negated").then(2 * unread - 1).otherwise(1.0)
    of_subject1 = 0.5 + 0.5 * sign * pl.col("difference")
    is_low = pl.col("subject1") < pl.col("subject2")
    of_low = pl.when(is_low).then(of_subject1).otherwise(1 - of_subject1)
    low, high = (order("subject1", "subject2") for order in (pl.min_horizontal, pl.max_horizontal))
    return rows.with_columns(low=low, high=high, probability=of_low)


def subject_answer_counts(row: Mapping[str, Any], repeats: int) -> tuple[int, int]:
    """Returns how often each subject is the answer, subject 1 first."""
    low, high = counts_of_two(row, repeats)
    return (low, high) if row["low"] == row["subject1"] else (high, low)


# The instances of a pair, attribute and polarity (their templates and orders) are drawn together.
corpus = corpus_of_answers(
    with_probability, together=("low", "high", "attribute", "negated"), counts=subject_answer_counts
)
