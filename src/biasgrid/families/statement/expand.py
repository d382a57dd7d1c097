"""Turns a pack into the table of its statements: which are asked, their values and their texts.

Combinations of values are numbers until they become columns. Samples are balanced over templates
and over the classes of the values in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.base.faults import InputError
from biasgrid.families.expansion import Expansion, coverage_of_design
from biasgrid.families.sampler import sampled_strata, seeded_hashes
from biasgrid.families.sampling import Sample, sample_faults
from biasgrid.families.statement.keys import KEYS
from biasgrid.families.statement.pack import (
    STATEMENT,
    StatementPack,
    StatementTemplate,
    allowed_combinations,
    places_of_values,
)
from biasgrid.families.statement.reading import StatementMode
from biasgrid.tables.instances import PROMPT_FORMAT, instances_schema
from biasgrid.tables.keys import Digests, Repetitions, digest_rows, digest_texts, mix_bits

ANSWER_OPTIONS = ("Yes", "No")
"""The right answers of templates; candidates of every instance are the words for them that its
prompt asks for.
"""
LIST_COLUMNS = ("domains", "names", "classes")
STATEMENTS_AT_ONCE = 2**15
STATEMENT_COLUMNS = {"text": pl.String} | {
    f"candidate{place}": pl.Categorical for place in range(1, len(ANSWER_OPTIONS) + 1)
}
AskedStatements = Sequence[tuple[tuple[int, ...], IntArray]]
"""Templates, each with its negation if it has one, and combinations of their values."""


def expand(pack: StatementPack, rows: int = STATEMENTS_AT_ONCE) -> Expansion:
    """Expands a pack into instances: each statement, its negation behind it, as often as it is
    repeated.

    Args:
        pack: the pack.
        rows: about how many instances a part has, so that memory does not grow with the pack.

    Returns:
        The instances by template and values, those of the last parameter varying fastest; of files
        that are checked, without statements that have the text of an earlier one.
    """
    of_format = {PROMPT_FORMAT: pl.UInt8} if len(pack.prompts) > 1 else {}
    schema, repetitions = instances_schema(KEYS, STATEMENT_COLUMNS | of_format), Repetitions()
    kept = combinations_of_pack(pack)
    asked = combinations_asked(pack, kept)
    parts = (
        table.with_columns(repetitions.asked_before(digest_rows(table))).select(
            list(schema.columns)
        )
        for table in number_instances(statement_tables(pack, asked, rows))
    )
    prompt = {"parameters": list(pack.parameters), "prompt": pack.prompts[0].text}
    counts = (counts_of_statements(pack, each) for each in ([each for _, each in asked], kept))
    return Expansion(schema, parts, prompt | coverage_of_design(*counts))


def counts_of_statements(pack: StatementPack, combinations: Sequence[IntArray]) -> dict[str, int]:
    """Returns how many templates and rows some combinations of the values of each template have."""
    sizes = [
        (len(each), len(places)) for each, places in zip(combinations, pack.statements, strict=True)
    ]
    rows = sum(count * of_each for count, of_each in sizes) * pack.repetitions
    return {"templates": sum(of_each for count, of_each in sizes if count), "rows": rows}


def number_instances(parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Numbers the instances of parts."""
    count = 0
    for part in parts:
        yield part.with_columns(instance=pl.int_range(count, count + pl.len(), dtype=pl.UInt32))
        count += len(part)


def statement_tables(
    pack: StatementPack, asked: AskedStatements, rows: int
) -> Iterator[pl.DataFrame]:
    """Yields the statements, part by part, without numbers; `asked` is from
    `combinations_asked`.
    """
    paired = [len(combinations) if len(places) > 1 else 0 for places, combinations in asked]
    firsts = np.cumsum([0, *paired])
    for number, places in StatementMode.of(pack.files.mode).blocks(pack):
        combinations = asked[number][1]
        step = max(1, rows // (len(places) * pack.repetitions))
        for start in range(0, len(combinations), step):
            chosen = combinations[start : start + step]
            pairs = (
                firsts[number] + np.arange(start, start + len(chosen)) if paired[number] else None
            )
            yield rows_of_statements(pack, places, chosen, pairs)


def combinations_of_pack(pack: StatementPack) -> list[IntArray]:
    """Returns the combinations of the values of each template, but for statements with the text of
    an earlier one.
    """
    kept = [allowed_combinations(pack, pack.templates[places[0]]) for places in pack.statements]
    return drop_repeated_texts(pack, kept) if StatementMode.of(pack.files.mode).checks else kept


def combinations_asked(pack: StatementPack, kept: Sequence[IntArray]) -> AskedStatements:
    """Returns templates, each with its negation if it has one, and the combinations of their values
    that are asked.

    Args:
        pack: the pack.
        kept: from `combinations_of_pack`.

    Raises:
        InputError: the sample has more statements than there are of different texts.
    """
    if pack.files.sample is not None:
        statements, what = sum(map(len, kept)), "statements with different texts"
        if faults := list(
            sample_faults("the config", "sample", pack.files.sample, statements, what)
        ):
            raise InputError(faults)
        chosen = sampled_statements(pack, kept, pack.files.sample)
        kept = [combinations[each] for combinations, each in zip(kept, chosen, strict=True)]
    return list(zip(pack.statements, kept, strict=True))


def drop_repeated_texts(pack: StatementPack, kept: Sequence[IntArray]) -> list[IntArray]:
    """Leaves out statements whose text, or that of whose negation, is the text of an earlier
    one.
    """
    asked = zip(pack.statements, kept, strict=True)
    digests = [
        text_digests(pack, pack.templates[place], each)
        for places, each in asked
        for place in places
    ]
    met_first = pl.Series(np.concatenate(digests)).is_first_distinct().to_numpy()
    is_first = iter(np.split(met_first, np.cumsum([len(each) for each in digests])[:-1]))
    return [
        combinations[np.all([next(is_first) for _ in places], axis=0)]
        for places, combinations in zip(pack.statements, kept, strict=True)
    ]


def text_digests(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> Digests:
    """Digests the texts of combinations of a template's values, few at a time."""
    slices = (
        combinations[start : start + STATEMENTS_AT_ONCE]
        for start in range(0, len(combinations), STATEMENTS_AT_ONCE)
    )
    digests = [fill_combinations(pack, template, each).hash().to_numpy() for each in slices]
    return np.concatenate([np.zeros(0, np.uint64), *digests])


def fill_combinations(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> pl.Series:
    """Returns the texts of combinations of a template's values."""
    values = zip(
        pack.values_of(template), places_of_values(pack, template, combinations), strict=True
    )
    names = [pl.Series([value.name for value in domain]).gather(place) for domain, place in values]
    if not names:
        return pl.Series([template.text] * len(combinations), dtype=pl.String)
    return StatementMode.of(pack.files.mode).fill_text(template.text, pack.parameters, names)


def rows_of_statements(
    pack: StatementPack, places: Sequence[int], combinations: IntArray, pairs: IntArray | None
) -> pl.DataFrame:
    """Returns the statements of a template, each in all prompts, and its negation, as often as they
    are repeated.

    Args:
        pack: the pack.
        places: the places of the template and its negation, or of one of them.
        combinations: shape (statements,), the combinations of their values.
        pairs: shape (statements,), the number of each with its negation; None where there is none.
    """
    height, count, repetitions, formats = (
        len(combinations),
        len(places),
        pack.files.repetitions,
        len(pack.prompts),
    )
    mode, row = (
        StatementMode.of(pack.files.mode),
        np.repeat(np.arange(height), count * pack.repetitions),
    )
    which = np.tile(np.repeat(np.arange(count), pack.repetitions), height)
    prompt = np.tile(np.repeat(np.arange(formats), repetitions), height * count)
    templates = [pack.templates[place] for place in places]
    texts_of_all = pl.concat(
        [fill_combinations(pack, template, combinations) for template in templates]
    )
    of_templates = {
        "template": pl.Series(places, dtype=pl.UInt16),
        "template_id": pl.Series(
            [template.identifier for template in templates], dtype=pl.Categorical
        ),
        "negated": pl.Series([mode.is_negation(pack, place) for place in places]),
        "label": pl.Series([template.label for template in templates], dtype=pl.Categorical),
    }
    columns = {
        "text": texts_of_all.gather(which * height + row),
        "pair": pl.Series([None] * len(row) if pairs is None else pairs[row], dtype=pl.UInt32),
        "repetition": pl.Series(
            np.tile(np.arange(repetitions), height * count * formats), dtype=pl.UInt16
        ),
        PROMPT_FORMAT: pl.Series(prompt, dtype=pl.UInt8),
        **{name: values.gather(which) for name, values in of_templates.items()},
        **values_in_lists(pack, templates[0], combinations[row]),
    }
    before, behind = (
        pl.Series(texts).gather(prompt)
        for texts in zip(*(each.text.split(STATEMENT) for each in pack.prompts), strict=True)
    )
    systems = pl.Series([each.system for each in pack.prompts], dtype=pl.Categorical)
    answers = zip(*(pack.requested_answers(each) for each in pack.prompts), strict=True)
    return pl.DataFrame(columns).with_columns(
        text=pl.concat_str([pl.lit(before), "text", pl.lit(behind)]),
        system=systems.gather(prompt),
        text_pair=pl.lit(None, pl.Categorical),
        **{
            f"candidate{number}": pl.Series(words, dtype=pl.Categorical).gather(prompt)
            for number, words in enumerate(answers, start=1)
        },
    )


def values_in_lists(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> dict[str, pl.Series]:
    """Returns domain, name and class of the value of each parameter, in lists."""
    if not template.domains:
        return dict.fromkeys(
            LIST_COLUMNS, pl.Series([[]] * len(combinations), dtype=pl.List(pl.Categorical))
        )
    domains = list(zip(template.domains, pack.values_of(template), strict=True))
    values = [(domain, *value) for domain, of_domain in domains for value in of_domain]
    starts = np.cumsum([0, *(len(of_domain) for _, of_domain in domains)])
    places = places_of_values(pack, template, combinations)
    flat = np.stack(
        [start + place for start, place in zip(starts, places, strict=False)], axis=1
    ).ravel()
    shape = (len(combinations), len(domains))
    texts_of = dict(zip(LIST_COLUMNS, zip(*values, strict=True), strict=True))
    return {
        name: pl.Series(texts, dtype=pl.Categorical).gather(flat).reshape(shape).arr.to_list()
        for name, texts in texts_of.items()
    }


def sampled_statements(
    pack: StatementPack, kept: Sequence[IntArray], sample: Sample
) -> list[BoolArray]:
    """Says which statements of each template are in a sample.

    Each template has its share of it, and of the statements of a template so have the classes of
    their values; see `families.sampler`.

    Args:
        pack: the pack.
        kept: the combinations of the values of each template of `pack.statements`, in ascending
            order.
        sample: the sample.

    Returns:
        For each template an array of shape (combinations that are kept,).
    """
    templates = [pack.templates[place] for place, *_ in pack.statements]
    sizes = [len(combinations) for combinations in kept]
    of_template = np.repeat(np.arange(len(sizes)), sizes)
    of_classes = [classes_of_values(pack, *each) for each in zip(templates, kept, strict=True)]
    digests = [statement_keys(pack, *each) for each in zip(templates, kept, strict=True)]
    strata = np.stack([of_template, np.concatenate([of_template[:0], *of_classes])], axis=1)
    hashes = seeded_hashes(np.concatenate([np.zeros(0, np.uint64), *digests]), sample.seed)
    chosen = np.zeros(len(hashes), dtype=np.bool_)
    chosen[sampled_strata(strata, hashes, sample)] = True
    return np.split(chosen, np.cumsum(sizes)[:-1])


def classes_of_values(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> IntArray:
    """Numbers the classes of the values of combinations, all parameters together; shape
    (combinations,).
    """
    numbers = np.zeros(len(combinations), np.int64)
    places = places_of_values(pack, template, combinations)
    for values, place in zip(pack.values_of(template), places, strict=True):
        groups = list(dict.fromkeys(value.group for value in values))
        of_values = np.array([groups.index(value.group) for value in values], np.int64)
        numbers = numbers * len(groups) + of_values[place]
    return numbers


def statement_keys(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> Digests:
    """Digests the template and the values of combinations, whatever order their files have; shape
    (combinations,).
    """
    (digest,) = digest_texts(pl.Series([template.text]))
    digests = np.full(len(combinations), digest)
    places = places_of_values(pack, template, combinations)
    for values, place in zip(pack.values_of(template), places, strict=True):
        names = digest_texts(pl.Series([value.name for value in values], dtype=pl.String))
        digests = mix_bits(digests + names[place])
    return digests
