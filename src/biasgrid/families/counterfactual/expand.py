"""Turns a pack into the table of its cases.

The text between identity terms is built once per case, and is once in memory for all of its terms:
the rows are no more than a cross join of cases and terms, and a concatenation of strings.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import zip_longest

import numpy as np
import pandera.polars as pa
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.families.counterfactual.keys import KEYS
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
from biasgrid.tables.files import empty_table
from biasgrid.tables.instances import ASKED_BEFORE, TEXTS, instances_schema
from biasgrid.tables.keys import Digests, Repetitions, digest_rows, digest_texts, mix_bits

CASE_ROWS_A_PART = 2**18
SegmentRun = GroupSlot | tuple[str | Slot, ...]
"""What a text is made of: an identity term, or what is between two of them."""


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
    cases = max(1, rows // most_terms)
    repetitions, schema = Repetitions(), schema_of_pack(pack)
    tables: Iterable[pl.DataFrame] = (
        expand_cases(pack, first, first + cases) for first in range(0, pack.cases, cases)
    )
    chosen = np.ones(pack.cases, dtype=np.bool_)
    if pack.sample is not None:
        chosen = cases_of_sample(pack, pack.sample)
        tables = renumber_sample(tables, chosen)
    parts = (
        table.with_columns(repetitions.asked_before(digest_rows(table))).select(
            list(schema.columns)
        )
        for table in tables
    )
    asked, whole = (
        counts_of_cases(pack, chosen),
        counts_of_cases(pack, np.ones(pack.cases, dtype=np.bool_)),
    )
    return Expansion(schema, parts, coverage_of_design(asked, whole))


def counts_of_cases(pack: CasePack, chosen: BoolArray) -> dict[str, int]:
    """Returns how many templates, cases and rows some cases of a pack have; `chosen` says which,
    shape (cases,).
    """
    cases = [
        int(chosen[block.first_case : block.first_case + block.cases].sum())
        for block in pack.blocks
    ]
    rows = sum(count * block.terms for count, block in zip(cases, pack.blocks, strict=True))
    return {"templates": sum(count > 0 for count in cases), "cases": sum(cases), "rows": rows}


def cases_of_sample(pack: CasePack, sample: Sample) -> BoolArray:
    """Says which cases are in a sample, of which each template has its share; see
    `families.sampler`.

    Returns:
        Shape (cases,).
    """
    templates = np.repeat(np.arange(len(pack.blocks)), [block.cases for block in pack.blocks])
    digests = np.concatenate(
        [np.zeros(0, np.uint64), *(case_digests(pack, block) for block in pack.blocks)]
    )
    chosen = np.zeros(pack.cases, dtype=np.bool_)
    chosen[
        sampled_strata(templates[:, np.newaxis], seeded_hashes(digests, sample.seed), sample)
    ] = True
    return chosen


def case_digests(pack: CasePack, block: CaseBlock) -> Digests:
    """Digests the texts of a template and of what fills its slots, in each of its cases; shape
    (cases,).
    """
    template = pack.templates[block.template]
    content = [
        *map(readable_text, template.inputs),
        template.label,
        template.targets,
        template.answer,
    ]
    (digest,) = digest_texts(pl.Series([repr(content)]))
    digests = np.full(1, digest)
    for slot in template.slots:
        fillings = digest_texts(pl.Series(pack.fillings[slot.token], dtype=pl.String))
        digests = mix_bits(digests[:, np.newaxis] + fillings).ravel()
    return digests


def renumber_sample(tables: Iterable[pl.DataFrame], chosen: BoolArray) -> Iterator[pl.DataFrame]:
    """Yields the instances of chosen cases, numbered anew; a swapped case that is not asked is
    none.

    Args:
        tables: the instances of all cases.
        chosen: shape (cases,), whether each is asked.
    """
    asked, count = pl.Series(np.flatnonzero(chosen), dtype=pl.UInt32).implode(), 0
    for table in tables:
        kept = table.filter(pl.col("case").is_in(asked))
        partner = pl.when(pl.col("swapped_case").is_in(asked)).then("swapped_case")
        numbers = pl.int_range(count, count + pl.len(), dtype=pl.UInt32)
        yield kept.with_columns(instance=numbers, swapped_case=partner)
        count += len(kept)


def schema_of_pack(pack: CasePack) -> pa.DataFrameSchema:
    """Returns the schema of a pack's instances: few of their texts are alike, and target words are
    candidates.
    """
    return instances_schema(
        KEYS, dict.fromkeys(TEXTS, pl.String) | dict.fromkeys(candidates_of(pack), pl.Categorical)
    )


def candidates_of(pack: CasePack) -> list[str]:
    """Names the columns of target words, as many as the template has that has the most."""
    most = max((len(template.targets or ()) for template in pack.templates), default=0)
    return [f"candidate{place + 1}" for place in range(most)]


def expand_cases(pack: CasePack, first_case: int, last_case: int) -> pl.DataFrame:
    """Expands some cases of a pack, from the first one to that before the last one.

    Returns:
        Their instances, without `asked_before`. Numbers are those in the whole pack: the tables of
        consecutive ranges make up the table of all cases.
    """
    clusters = [empty_table(schema_of_pack(pack)).drop(ASKED_BEFORE)]
    identities: dict[tuple[str, ...], pl.DataFrame] = {}
    for block in pack.blocks:
        cases = np.arange(
            max(first_case, block.first_case), min(last_case, block.first_case + block.cases)
        )
        if len(cases):
            tokens = pack.tokens(pack.templates[block.template])
            if tokens not in identities:
                identities[tokens] = identity_table(pack, tokens)
            rows = expand_block(pack, block, cases - block.first_case, identities[tokens])
            clusters.append(rows.select(clusters[0].columns))
    return pl.concat(clusters)


def identity_table(pack: CasePack, tokens: tuple[str, ...]) -> pl.DataFrame:
    """Returns `bias_type`, `group`, `term`, and for each group token a column with the terms that
    replace it.
    """
    rows = [
        (JOIN.join(one.bias_types), JOIN.join(one.groups), JOIN.join(one.terms), *one.terms)
        for one in pack.identities(tokens)
    ]
    names = dict.fromkeys(("bias_type", "group", "term"), pl.Categorical)
    return pl.DataFrame(
        rows, schema=names | {term_column(token): pl.String for token in tokens}, orient="row"
    )


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
    """
    template = pack.templates[block.template]
    runs = {name: runs_of(text) for name, text in template_texts(template).items()}
    segments = [
        pl.concat_str(
            [pl.col(str(part)) if isinstance(part, Slot) else pl.lit(part) for part in run]
        ).alias(segment_column(name, place))
        for name, parts in runs.items()
        for place, run in enumerate(parts)
        if not isinstance(run, GroupSlot)
    ]
    rows = (
        fill_slots(pack, template, cases)
        .select(
            (pl.col("case", "swapped_case") + block.first_case).cast(pl.UInt32),
            *segments,
        )
        .join(identities, how="cross", maintain_order="left_right")
    )
    first = block.first_instance + int(cases[0]) * block.terms
    columns = {
        "instance": pl.int_range(first, first + pl.len(), dtype=pl.UInt32),
        "template": pl.lit(block.template, pl.UInt16),
        "system": pl.lit(None, pl.Categorical),
        "text_pair": pl.lit(None, pl.String),
        "label": pl.lit(template.label, pl.Int16),
        "answer": pl.lit(None, pl.String),
    }
    words = zip_longest(candidates_of(pack), template.targets or ())
    columns |= {name: pl.lit(word, pl.Categorical) for name, word in words}
    columns |= {name: row_text(pack, name, parts) for name, parts in runs.items()}
    return rows.with_columns(**columns)


def template_texts(template: CaseTemplate) -> dict[str, TemplateText]:
    """Returns the texts of a template by the column that holds them."""
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
    """Returns `case`, `swapped_case` and a column for each slot with what fills it; the last slot
    varies fastest.
    """
    strides, size = {}, 1
    for slot in reversed(template.slots):
        strides[slot] = size
        size *= len(pack.fillings[slot.token])
    places = {
        slot: cases // strides[slot] % len(pack.fillings[slot.token]) for slot in template.slots
    }
    swapped = sum(
        (places[slot] * strides[other] for slot, other in opposite_slots(template)),
        np.zeros_like(cases),
    )
    columns = {"case": cases, "swapped_case": np.where(swapped == cases, -1, swapped)}
    fillings = {
        str(slot): pl.Series(pack.fillings[slot.token], dtype=pl.String) for slot in template.slots
    }
    texts = {str(slot): fillings[str(slot)].gather(place) for slot, place in places.items()}
    return pl.DataFrame({**columns, **texts}).with_columns(pl.col("swapped_case").replace(-1, None))


def opposite_slots(template: CaseTemplate) -> Iterator[tuple[Slot, Slot]]:
    """Yields each slot with the one that takes its filling where those of each placeholder are in
    reversed order.
    """
    for token in {slot.token for slot in template.slots}:
        slots = [slot for slot in template.slots if slot.token == token]
        yield from zip(slots, reversed(slots), strict=True)


def segment_column(name: str, place: int) -> str:
    """Names the column with one run of a text."""
    return f"{name}, part {place}"


def row_text(pack: CasePack, name: str, runs: list[SegmentRun]) -> pl.Expr:
    """Concatenates the runs of a text with the identity terms of its row."""
    parts = [
        pl.col(term_column(run.token))
        if isinstance(run, GroupSlot)
        else with_terms(pack, pl.col(segment_column(name, place)), run)
        for place, run in enumerate(runs)
    ]
    return pl.concat_str([pl.lit(""), *parts])


def with_terms(pack: CasePack, segment: pl.Expr, run: tuple[str | Slot, ...]) -> pl.Expr:
    """Fills the group tokens that came into a segment with fillings."""
    held = [
        token
        for part in run
        if isinstance(part, Slot)
        for token in pack.tokens_in_fillings[part.token]
    ]
    for token in dict.fromkeys(held):
        segment = segment.str.replace_all(token, pl.col(term_column(token)), literal=True)
    return segment
