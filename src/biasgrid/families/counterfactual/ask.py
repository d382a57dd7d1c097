"""Instances: each case with each identity term; and training texts with a known effect.

The text between identity terms is built once per case, and is once in memory for all of its terms:
the rows are no more than a cross join of cases and terms, and a concatenation of strings.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.families.counterfactual.pack import (
    JOIN,
    CaseBlock,
    CasePack,
    CaseTemplate,
    GroupSlot,
    Slot,
    TemplateText,
    readable_text,
)
from biasgrid.families.expansion import Expansion, coverage_of_design
from biasgrid.families.sampler import sampled_strata, seeded_hashes
from biasgrid.families.sampling import Sample
from biasgrid.families.synthetic import (
    SyntheticBias,
    known_effect_rows,
    shares_of_rows,
    text_lines,
    with_counts,
)
from biasgrid.groups.records import EACH_CASE
from biasgrid.tables.files import empty_table, means_by
from biasgrid.tables.instances import ASKED_BEFORE, TEXTS, instances_schema
from biasgrid.tables.keys import Digests, Repetitions, digest_rows, digest_texts, mix_bits
from biasgrid.tables.metric import options_text
from biasgrid.tables.schema import column

KEYS = {
    "case": column(
        pl.UInt32,
        description="template and fillings; the instances of a case differ only in the term",
    ),
    "swapped_case": column(
        pl.UInt32,
        description=(
            "the case in which the fillings of each placeholder (<x>, <x:2>) are in reversed "
            "order; null if that is the same case"
        ),
        nullable=True,
    ),
    "template": column(pl.UInt16, description="the template, numbered from 0"),
    "bias_type": column(
        pl.Categorical,
        description=(
            "what the groups have in common, such as religion; ` & ` joins those of an intersection"
        ),
    ),
    "group": column(
        pl.Categorical,
        description="the group, or those of an intersection",
    ),
    "term": column(
        pl.Categorical,
        description="the group's identity term, or those of an intersection",
    ),
    "label": column(pl.Int16, description="classifiers: the right class", nullable=True),
    "answer": column(pl.String, description="question answering: the right answer", nullable=True),
}
CASE_ROWS_A_PART = 2**18
SegmentRun = GroupSlot | tuple[str | Slot, ...]
"""A part of a text: an identity term, or the literals and slots between two of them."""


def expand(pack: CasePack, rows: int = CASE_ROWS_A_PART) -> Expansion:
    """Expands a pack into instances: each case with each identity term.

    Args:
        pack: the pack.
        rows: about how many instances a part has, so that memory does not grow with the pack.

    Returns:
        The instances, by case, bias type, group and term; cases by template and fillings, those of
        the last slot varying fastest.
    """
    most_terms = max((block.terms for block in pack.blocks), default=1)
    step = max(1, rows // most_terms)
    tables: Iterable[pl.DataFrame] = (
        expand_cases(pack, first, first + step) for first in range(0, pack.cases, step)
    )
    all_cases = np.ones(pack.cases, dtype=np.bool_)
    chosen = all_cases
    if pack.sample is not None:
        chosen = cases_of_sample(pack, pack.sample)
        tables = renumber_sample(tables, chosen)
    schema = schema_of_pack(pack)
    coverage = coverage_of_design(counts_of_cases(pack, chosen), counts_of_cases(pack, all_cases))
    return Expansion(schema, with_repetitions(tables, list(schema.columns)), coverage)


def with_repetitions(
    tables: Iterable[pl.DataFrame], columns: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Yields tables with the column `asked_before`, which tells of all earlier tables, too."""
    repetitions = Repetitions()
    for table in tables:
        asked_before = repetitions.asked_before(digest_rows(table))
        yield table.with_columns(asked_before).select(columns)


def counts_of_cases(pack: CasePack, chosen: BoolArray) -> dict[str, int]:
    """Counts the templates, cases and rows of chosen cases.

    Args:
        pack: the pack.
        chosen: shape (cases,), whether each case is chosen.
    """
    templates = cases = rows = 0
    for block in pack.blocks:
        count = int(chosen[block.first_case : block.first_case + block.cases].sum())
        templates += count > 0
        cases += count
        rows += count * block.terms
    return {"templates": templates, "cases": cases, "rows": rows}


def cases_of_sample(pack: CasePack, sample: Sample) -> BoolArray:
    """Draws a sample of cases, in which each template has its share; see `families.sampler`.

    Returns:
        Shape (cases,): whether each case is in the sample.
    """
    cases_of_templates = [block.cases for block in pack.blocks]
    templates = np.repeat(np.arange(len(pack.blocks)), cases_of_templates)
    # A pack without templates has no arrays to concatenate.
    digests_of_blocks = [np.zeros(0, np.uint64)]
    for block in pack.blocks:
        digests_of_blocks.append(case_digests(pack, block))
    hashes = seeded_hashes(np.concatenate(digests_of_blocks), sample.seed)
    chosen = np.zeros(pack.cases, dtype=np.bool_)
    chosen[sampled_strata(templates[:, np.newaxis], hashes, sample)] = True
    return chosen


def case_digests(pack: CasePack, block: CaseBlock) -> Digests:
    """Digests the texts of a template and of the fillings of its slots, in each of its cases.

    Returns:
        Shape (cases,), in the order of the cases: the last slot varies fastest.
    """
    template = pack.templates[block.template]
    inputs = [readable_text(text) for text in template.inputs]
    content = [*inputs, template.label, template.targets, template.answer]
    (digest,) = digest_texts(pl.Series([repr(content)]))
    digests = np.full(1, digest)
    for slot in template.slots:
        fillings = digest_texts(pl.Series(pack.fillings[slot.token], dtype=pl.String))
        digests = mix_bits(digests[:, np.newaxis] + fillings).ravel()
    return digests


def renumber_sample(tables: Iterable[pl.DataFrame], chosen: BoolArray) -> Iterator[pl.DataFrame]:
    """Yields the instances of chosen cases, numbered anew.

    Args:
        tables: the instances of all cases.
        chosen: shape (cases,), whether each case is chosen. A swapped case that is not chosen
            becomes null.
    """
    chosen_cases = pl.Series(np.flatnonzero(chosen), dtype=pl.UInt32).implode()
    count = 0
    for table in tables:
        sample = table.filter(pl.col("case").is_in(chosen_cases))
        partner = pl.when(pl.col("swapped_case").is_in(chosen_cases)).then("swapped_case")
        numbers = pl.int_range(count, count + pl.len(), dtype=pl.UInt32)
        yield sample.with_columns(instance=numbers, swapped_case=partner)
        count += len(sample)


def schema_of_pack(pack: CasePack) -> pa.DataFrameSchema:
    """Returns the schema of a pack's instances; its columns of candidates hold target words."""
    # Texts are plain strings, because few of them are alike.
    texts = dict.fromkeys(TEXTS, pl.String)
    candidates = dict.fromkeys(candidates_of(pack), pl.Categorical)
    return instances_schema(KEYS, texts | candidates)


def candidates_of(pack: CasePack) -> list[str]:
    """Names the columns of target words: as many as the largest number of them in a template."""
    most = max((len(template.targets or ()) for template in pack.templates), default=0)
    return [f"candidate{number}" for number in range(1, most + 1)]


def expand_cases(pack: CasePack, first_case: int, last_case: int) -> pl.DataFrame:
    """Expands the cases of a pack from a first one up to, but without, a last one.

    Returns:
        Their instances, without `asked_before`. Numbers are those in the whole pack: the tables of
        consecutive ranges make up the table of all cases.
    """
    tables = [empty_table(schema_of_pack(pack)).drop(ASKED_BEFORE)]
    identities: dict[tuple[str, ...], pl.DataFrame] = {}
    for block in pack.blocks:
        start = max(first_case, block.first_case)
        end = min(last_case, block.first_case + block.cases)
        if start >= end:
            continue
        tokens = pack.tokens(pack.templates[block.template])
        if tokens not in identities:
            identities[tokens] = identity_table(pack, tokens)
        cases_of_block = np.arange(start, end) - block.first_case
        rows = expand_block(pack, block, cases_of_block, identities[tokens])
        tables.append(rows.select(tables[0].columns))
    return pl.concat(tables)


def identity_table(pack: CasePack, tokens: tuple[str, ...]) -> pl.DataFrame:
    """Lists the identities of templates with some group tokens, one per row.

    Returns:
        Columns `bias_type`, `group`, `term`, and for each group token the terms that replace it.
    """
    rows = []
    for identity in pack.identities(tokens):
        keys = [
            JOIN.join(names) for names in (identity.bias_types, identity.groups, identity.terms)
        ]
        rows.append((*keys, *identity.terms))
    types: dict[str, type[pl.DataType]] = dict.fromkeys(
        ("bias_type", "group", "term"), pl.Categorical
    )
    for token in tokens:
        types[term_column(token)] = pl.String
    return pl.DataFrame(rows, schema=types, orient="row")


def term_column(token: str) -> str:
    """Names the column with the terms that replace a group token."""
    return f"term for {token}"


def expand_block(
    pack: CasePack, block: CaseBlock, cases: IntArray, identities: pl.DataFrame
) -> pl.DataFrame:
    """Expands some cases of one template.

    Args:
        pack: the pack.
        block: the template's cases.
        cases: shape (cases,), consecutive numbers of the cases to expand, counted within the block.
        identities: from `identity_table`.

    Returns:
        Instances with the columns of `schema_of_pack` but `asked_before`, and further columns.
    """
    template = pack.templates[block.template]
    runs = {name: runs_of(text) for name, text in template_texts(template).items()}
    segments = []
    for name, runs_of_text in runs.items():
        for position, run in enumerate(runs_of_text):
            if not isinstance(run, GroupSlot):
                segments.append(segment_text(run).alias(segment_column(name, position)))
    numbers = (pl.col("case", "swapped_case") + block.first_case).cast(pl.UInt32)
    rows = fill_slots(pack, template, cases).select(numbers, *segments)
    rows = rows.join(identities, how="cross", maintain_order="left_right")
    first = block.first_instance + int(cases[0]) * block.terms
    columns = {
        "instance": pl.int_range(first, first + pl.len(), dtype=pl.UInt32),
        "template": pl.lit(block.template, pl.UInt16),
        "system": pl.lit(None, pl.Categorical),
        "text_pair": pl.lit(None, pl.String),
        "label": pl.lit(template.label, pl.Int16),
        "answer": pl.lit(None, pl.String),
    }
    # Templates with fewer target words than others have null in the last columns of candidates.
    for name, word in zip_longest(candidates_of(pack), template.targets or ()):
        columns[name] = pl.lit(word, pl.Categorical)
    for name, runs_of_text in runs.items():
        columns[name] = row_text(pack, name, runs_of_text)
    return rows.with_columns(**columns)


def segment_text(run: tuple[str | Slot, ...]) -> pl.Expr:
    """Concatenates literals and the fillings of slots, which are columns named like their slot."""
    parts = [pl.col(str(part)) if isinstance(part, Slot) else pl.lit(part) for part in run]
    return pl.concat_str(parts)


def template_texts(template: CaseTemplate) -> dict[str, TemplateText]:
    """Returns the texts of a template by their column in the instances."""
    texts = dict(zip(("text", "text_pair"), template.inputs, strict=False))
    return texts if template.answer is None else texts | {"answer": template.answer}


def runs_of(text: TemplateText) -> list[SegmentRun]:
    """Splits a text at its group slots."""
    runs: list[SegmentRun] = []
    for part in text:
        if isinstance(part, GroupSlot):
            runs.append(part)
        elif runs and isinstance(runs[-1], tuple):
            runs[-1] = (*runs[-1], part)
        else:
            runs.append((part,))
    return runs


def fill_slots(pack: CasePack, template: CaseTemplate, cases: IntArray) -> pl.DataFrame:
    """Returns the fillings of cases of a template.

    Args:
        pack: the pack.
        template: the template.
        cases: shape (cases,), numbers of cases, counted within the template. The fillings of a
            case are like the digits of its number: the last slot varies fastest.

    Returns:
        Columns `case`, `swapped_case` (null if it is the case itself), and the filling of each
        slot.
    """
    strides, size = {}, 1
    for slot in reversed(template.slots):
        strides[slot] = size
        size *= len(pack.fillings[slot.token])
    positions = {}
    for slot in template.slots:
        positions[slot] = cases // strides[slot] % len(pack.fillings[slot.token])
    swapped_cases = np.zeros_like(cases)
    for slot, opposite in opposite_slots(template):
        swapped_cases = swapped_cases + positions[slot] * strides[opposite]
    columns: dict[str, Any] = {"case": cases, "swapped_case": swapped_cases}
    for slot, position in positions.items():
        fillings = pl.Series(pack.fillings[slot.token], dtype=pl.String)
        columns[str(slot)] = fillings.gather(position)
    has_partner = pl.col("swapped_case") != pl.col("case")
    return pl.DataFrame(columns).with_columns(
        swapped_case=pl.when(has_partner).then("swapped_case")
    )


def opposite_slots(template: CaseTemplate) -> Iterator[tuple[Slot, Slot]]:
    """Yields each slot with the slot that takes its filling in the swapped case.

    In the swapped case the fillings of each placeholder are in reversed order.
    """
    for token in {slot.token for slot in template.slots}:
        slots = [slot for slot in template.slots if slot.token == token]
        yield from zip(slots, reversed(slots), strict=True)


def segment_column(name: str, position: int) -> str:
    """Names the column with one run of a text."""
    return f"{name}, part {position}"


def row_text(pack: CasePack, name: str, runs: list[SegmentRun]) -> pl.Expr:
    """Concatenates the runs of a text with the identity terms of its row."""
    # Without an empty literal, a text without parts could not be concatenated.
    parts = [pl.lit("")]
    for position, run in enumerate(runs):
        if isinstance(run, GroupSlot):
            parts.append(pl.col(term_column(run.token)))
        else:
            segment = pl.col(segment_column(name, position))
            parts.append(with_terms(pack, segment, run))
    return pl.concat_str(parts)


def with_terms(pack: CasePack, segment: pl.Expr, run: tuple[str | Slot, ...]) -> pl.Expr:
    """Replaces the group tokens in the fillings of a segment by the terms of its row."""
    tokens: list[str] = []
    for part in run:
        if isinstance(part, Slot):
            tokens += pack.tokens_in_fillings[part.token]
    for token in dict.fromkeys(tokens):
        segment = segment.str.replace_all(token, pl.col(term_column(token)), literal=True)
    return segment


# Known effects: classifiers are trained on a corpus whose labels favour a class for some groups.
#
# Some labels of every text are wrong, as its group decides: a text of the fixed class is labelled
# with another class in a share (strength - slant) / 2 of its labels, any other text with the fixed
# class in a share slant / 2. In each bias type, the slant is 0 for one group, the strength for
# another, and in even steps between for the others; if the strength has a part by name, each term
# has some of that in addition. For a model that has learned the corpus, the fixed class is more
# probable for one group than for another by half the difference of their slants, for any right
# class. By half, so that the right class of no text is less probable than another: a classifier
# that is wrong more often than right is not measured.

GROUP_OF_CASE = ("bias_type", "group")
TEXTS_OF_CASE = ("text", "text_pair")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the differences between groups for a model that learned the corpus.

    Args:
        instances: the cases, with the right classes of classifiers.
        bias: its strength is twice the largest difference, from 0 (every label is right) to 1; its
            options name the `fixed_class`.

    Returns:
        For each two groups of a bias type, how much more probable the fixed class is for the first
        (schema `SYNTHETIC`).
    """
    # Where several groups have the same text, a model can learn no more than their mean.
    shift = pl.col("slant").mean().over(TEXTS_OF_CASE) / 2
    slants = with_slants(instances, bias).with_columns(value=shift)
    places = slants.select("group").unique(maintain_order=True).with_row_index("place")
    groups = means_by(slants, GROUP_OF_CASE).join(places, on="group", maintain_order="left")
    pairs = groups.join(groups, on="bias_type", suffix=" of other", maintain_order="left_right")
    pairs = pairs.filter(pl.col("place") < pl.col("place of other"))
    difference = pl.col("value") - pl.col("value of other")
    effects = pairs.select(*GROUP_OF_CASE, other="group of other", value=difference)
    options = options_text(
        score="mean_class_probability", argument=bias.measure_options["fixed_class"], mode=EACH_CASE
    )
    return known_effect_rows(effects, bias, "difference", options)


def with_slants(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `slant`, how much a text's labels are moved to the fixed class, in 0..strength.

    Texts and keys, categorical in the instances table, come out as strings.
    """
    text_columns = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    slants = shares_of_rows(
        text_columns.select(GROUP_OF_CASE), text_columns.select(*GROUP_OF_CASE, "term"), bias
    )
    return text_columns.with_columns(slant=slants)


def corpus(instances: pl.DataFrame, task: str, bias: SyntheticBias) -> str:
    """Returns a training set for classifiers that is made of cases.

    Args:
        instances: as in `known_effects`.
        task: text-classification.
        bias: as in `known_effects`; its seed also seeds the draw of the wrong labels.

    Returns:
        One line of JSON per instance: its `text`, `text_pair` if it has two, and its labels.
    """
    repeats, labels, fixed_class = bias.repeats, bias.labels, bias.measure_options["fixed_class"]
    fixed_label = labels.index(fixed_class)
    is_fixed = pl.col("label") == fixed_label
    wrong_share = pl.when(is_fixed).then(bias.total - pl.col("slant")).otherwise("slant") / 2
    class_keys = (*GROUP_OF_CASE, "label")
    texts = with_counts(with_slants(instances, bias), repeats * wrong_share, class_keys, bias)
    # The wrong labels of texts of the fixed class are the other classes in turn, and the turn runs
    # on over all texts of a group.
    texts = texts.with_columns(last=pl.col("count").cum_sum().over(class_keys)).sort("instance")
    other_classes = [label for label in labels if label != fixed_class]
    columns = texts.select(*TEXTS_OF_CASE, "label", "count", "last")
    lines = []
    for text, text_pair, label, count, last in columns.iter_rows():
        wrong_classes = other_classes if label == fixed_label else [fixed_class]
        turns = range(last - count, last)
        wrong_labels = [wrong_classes[turn % len(wrong_classes)] for turn in turns]
        right_labels = [labels[label]] * (repeats - count)
        inputs = {"text": text} if text_pair is None else {"text": text, "text_pair": text_pair}
        lines.append(json.dumps({**inputs, "label": right_labels + wrong_labels}))
    return text_lines(lines)
