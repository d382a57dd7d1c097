"""Turns a pack into the table of its statements: which are asked, their values and their texts.

Combinations of values are numbers until they become columns. Samples are balanced over templates
and over the classes of the values in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

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
    """Expands a pack into instances: each statement, then its negation, in all repetitions.

    Args:
        pack: the pack.
        rows: about how many instances a part has, so that memory does not grow with the pack.

    Returns:
        The instances by template and values, those of the last parameter varying fastest; of files
        that are checked, without statements that have the text of an earlier one.
    """
    of_format = {PROMPT_FORMAT: pl.UInt8} if len(pack.prompts) > 1 else {}
    schema = instances_schema(KEYS, STATEMENT_COLUMNS | of_format)
    kept = combinations_of_pack(pack)
    asked = combinations_asked(pack, kept)
    sampled = [combinations for _, combinations in asked]
    coverage = coverage_of_design(
        counts_of_statements(pack, sampled), counts_of_statements(pack, kept)
    )
    prompt = {"parameters": list(pack.parameters), "prompt": pack.prompts[0].text}
    tables = number_instances(statement_tables(pack, asked, rows))
    return Expansion(schema, count_repetitions(tables, list(schema.columns)), prompt | coverage)


def count_repetitions(
    tables: Iterable[pl.DataFrame], columns: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Yields the columns of instances, with the number of earlier instances that ask the same."""
    repetitions = Repetitions()
    for table in tables:
        counted = table.with_columns(repetitions.asked_before(digest_rows(table)))
        yield counted.select(columns)


def counts_of_statements(pack: StatementPack, combinations: Sequence[IntArray]) -> dict[str, int]:
    """Returns the numbers of templates and of rows of a part of a pack.

    Args:
        pack: the pack.
        combinations: for each of `pack.statements`, the combinations of values; templates without
            any do not count.
    """
    # Templates without a combination left are not asked at all.
    templates = rows = 0
    for places, of_template in zip(pack.statements, combinations, strict=True):
        if len(of_template):
            templates += len(places)
        rows += len(of_template) * len(places) * pack.repetitions
    return {"templates": templates, "rows": rows}


def number_instances(parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Numbers the instances of parts."""
    count = 0
    for part in parts:
        yield part.with_columns(instance=pl.int_range(count, count + pl.len(), dtype=pl.UInt32))
        count += len(part)


def statement_tables(
    pack: StatementPack, asked: AskedStatements, rows: int
) -> Iterator[pl.DataFrame]:
    """Yields the statements, part by part, without numbers.

    Args:
        pack: the pack.
        asked: from `combinations_asked`.
        rows: about how many rows a part has.
    """
    # A pair is a statement with its negation; pairs are numbered through the whole pack.
    paired = [len(combinations) if len(places) > 1 else 0 for places, combinations in asked]
    firsts = np.cumsum([0, *paired])
    for number, places in StatementMode.of(pack.files.mode).blocks(pack):
        _, combinations = asked[number]
        step = max(1, rows // (len(places) * pack.repetitions))
        for start in range(0, len(combinations), step):
            chosen = combinations[start : start + step]
            pairs = None
            if paired[number]:
                pairs = firsts[number] + np.arange(start, start + len(chosen))
            yield rows_of_statements(pack, places, chosen, pairs)


def combinations_of_pack(pack: StatementPack) -> list[IntArray]:
    """Returns the combinations of values of each template that its constraint allows.

    In a pack that is checked, statements with the text of an earlier one are left out.
    """
    allowed = [allowed_combinations(pack, pack.templates[places[0]]) for places in pack.statements]
    if StatementMode.of(pack.files.mode).checks:
        return drop_repeated_texts(pack, allowed)
    return allowed


def combinations_asked(pack: StatementPack, kept: Sequence[IntArray]) -> AskedStatements:
    """Returns templates, each with its negation if it has one, and the combinations that are asked.

    Args:
        pack: the pack.
        kept: from `combinations_of_pack`.

    Raises:
        InputError: the sample has more statements than there are of different texts.
    """
    sample = pack.files.sample
    if sample is not None:
        statements = sum(map(len, kept))
        name = "statements with different texts"
        faults = list(sample_faults("the config", "sample", sample, statements, name))
        if faults:
            raise InputError(faults)
        sampled = sampled_statements(pack, kept, sample)
        pairs = zip(kept, sampled, strict=True)
        kept = [combinations[is_sampled] for combinations, is_sampled in pairs]
    return list(zip(pack.statements, kept, strict=True))


def drop_repeated_texts(pack: StatementPack, kept: Sequence[IntArray]) -> list[IntArray]:
    """Returns combinations without statements whose text is the text of an earlier one.

    A statement goes with its negation: both are kept, or neither.
    """
    digests = []
    for places, combinations in zip(pack.statements, kept, strict=True):
        for place in places:
            digests.append(text_digests(pack, pack.templates[place], combinations))
    is_first = pl.Series(np.concatenate(digests)).is_first_distinct().to_numpy()
    distinct = []
    start = 0
    for places, combinations in zip(pack.statements, kept, strict=True):
        end = start + len(places) * len(combinations)
        # The texts of all statements of a template, then those of its negation.
        of_templates = is_first[start:end].reshape(len(places), len(combinations))
        distinct.append(combinations[of_templates.all(axis=0)])
        start = end
    return distinct


def text_digests(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> Digests:
    """Returns the digests of the texts of combinations; shape (combinations,)."""
    digests = [np.zeros(0, np.uint64)]
    # A few at a time: a digest takes less memory than its text.
    for start in range(0, len(combinations), STATEMENTS_AT_ONCE):
        chunk = combinations[start : start + STATEMENTS_AT_ONCE]
        digests.append(fill_combinations(pack, template, chunk).hash().to_numpy())
    return np.concatenate(digests)


def fill_combinations(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> pl.Series:
    """Returns the texts of combinations of a template's values."""
    domains = pack.values_of(template)
    # Nothing to fill: the same text for each combination.
    if not domains:
        return pl.Series([template.text] * len(combinations), dtype=pl.String)
    names = []
    for domain, place in zip(domains, places_of_values(pack, template, combinations), strict=True):
        names.append(pl.Series([value.name for value in domain]).gather(place))
    return StatementMode.of(pack.files.mode).fill_text(template.text, pack.parameters, names)


def rows_of_statements(
    pack: StatementPack, places: Sequence[int], combinations: IntArray, pairs: IntArray | None
) -> pl.DataFrame:
    """Returns the rows of a template and its negation, in all prompts and repetitions.

    Args:
        pack: the pack.
        places: the places of the template and its negation, or of one of them.
        combinations: shape (statements,), the combinations of their values.
        pairs: shape (statements,), the number of each with its negation; None where there is none.
    """
    height, count = len(combinations), len(places)
    repetitions, formats = pack.files.repetitions, len(pack.prompts)
    # From the outermost on, rows follow statements, templates, prompts and repetitions.
    statement = np.repeat(np.arange(height), count * pack.repetitions)
    template_place = np.tile(np.repeat(np.arange(count), pack.repetitions), height)
    prompt = np.tile(np.repeat(np.arange(formats), repetitions), height * count)
    repetition = np.tile(np.arange(repetitions), height * count * formats)
    pair = [None] * len(statement) if pairs is None else pairs[statement]

    templates = [pack.templates[place] for place in places]
    texts = pl.concat([fill_combinations(pack, template, combinations) for template in templates])
    columns = {
        "text": texts.gather(template_place * height + statement),
        "pair": pl.Series(pair, dtype=pl.UInt32),
        "repetition": pl.Series(repetition, dtype=pl.UInt16),
        PROMPT_FORMAT: pl.Series(prompt, dtype=pl.UInt8),
    }
    for name, values in columns_of_templates(pack, places).items():
        columns[name] = values.gather(template_place)
    columns |= values_in_lists(pack, templates[0], combinations[statement])
    return in_prompts(pl.DataFrame(columns), pack, prompt)


def columns_of_templates(pack: StatementPack, places: Sequence[int]) -> dict[str, pl.Series]:
    """Returns number, id, negation and right answer of some templates, in columns."""
    mode = StatementMode.of(pack.files.mode)
    templates = [pack.templates[place] for place in places]
    identifiers = [template.identifier for template in templates]
    labels = [template.label for template in templates]
    return {
        "template": pl.Series(places, dtype=pl.UInt16),
        "template_id": pl.Series(identifiers, dtype=pl.Categorical),
        "negated": pl.Series([mode.is_negation(pack, place) for place in places]),
        "label": pl.Series(labels, dtype=pl.Categorical),
    }


def in_prompts(rows: pl.DataFrame, pack: StatementPack, prompt: IntArray) -> pl.DataFrame:
    """Puts statements into prompts, and adds the system text and the answers that these ask for.

    Args:
        rows: with `text`, the statement.
        pack: the pack.
        prompt: shape (rows,), the place of each row's prompt.
    """
    before, behind, systems, answers = [], [], [], []
    for wording in pack.prompts:
        start, end = wording.text.split(STATEMENT)
        before.append(start)
        behind.append(end)
        systems.append(wording.system)
        answers.append(pack.requested_answers(wording))
    parts = [
        pl.lit(pl.Series(before).gather(prompt)),
        pl.col("text"),
        pl.lit(pl.Series(behind).gather(prompt)),
    ]
    candidates = {}
    for number, words in enumerate(zip(*answers, strict=True), start=1):
        of_prompts = pl.Series(words, dtype=pl.Categorical)
        candidates[f"candidate{number}"] = of_prompts.gather(prompt)
    return rows.with_columns(
        text=pl.concat_str(parts),
        system=pl.Series(systems, dtype=pl.Categorical).gather(prompt),
        text_pair=pl.lit(None, pl.Categorical),
        **candidates,
    )


def values_in_lists(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> dict[str, pl.Series]:
    """Returns domain, name and class of the value of each parameter, in lists."""
    domains = pack.values_of(template)
    if not domains:
        empty = pl.Series([[]] * len(combinations), dtype=pl.List(pl.Categorical))
        return dict.fromkeys(LIST_COLUMNS, empty)
    # The values of all domains in one list, in which those of each domain begin at its start.
    values: list[tuple[str, str, str]] = []
    starts = []
    for name, of_domain in zip(template.domains, domains, strict=True):
        starts.append(len(values))
        values += [(name, value.name, value.group) for value in of_domain]
    places = np.stack(places_of_values(pack, template, combinations), axis=1)
    flat = (places + np.array(starts)).ravel()
    shape = (len(combinations), len(domains))
    columns = {}
    for name, texts in zip(LIST_COLUMNS, zip(*values, strict=True), strict=True):
        series = pl.Series(texts, dtype=pl.Categorical)
        columns[name] = series.gather(flat).reshape(shape).arr.to_list()
    return columns


def sampled_statements(
    pack: StatementPack, kept: Sequence[IntArray], sample: Sample
) -> list[BoolArray]:
    """Returns which statements of each template are in a sample.

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
    classes, digests = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for (place, *_), combinations in zip(pack.statements, kept, strict=True):
        template = pack.templates[place]
        classes.append(classes_of_values(pack, template, combinations))
        digests.append(statement_keys(pack, template, combinations))
    sizes = [len(combinations) for combinations in kept]
    template_numbers = np.repeat(np.arange(len(sizes)), sizes)
    strata = np.stack([template_numbers, np.concatenate(classes)], axis=1)
    hashes = seeded_hashes(np.concatenate(digests), sample.seed)
    is_sampled = np.zeros(len(hashes), dtype=np.bool_)
    is_sampled[sampled_strata(strata, hashes, sample)] = True
    return np.split(is_sampled, np.cumsum(sizes)[:-1])


def classes_of_values(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> IntArray:
    """Returns a number for the classes of the values of combinations, all parameters together.

    Shape (combinations,); combinations with the same classes have the same number.
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
    """Returns digests of the template and the values of combinations; shape (combinations,).

    They do not depend on the order of values in their files.
    """
    (digest,) = digest_texts(pl.Series([template.text]))
    digests = np.full(len(combinations), digest)
    places = places_of_values(pack, template, combinations)
    for values, place in zip(pack.values_of(template), places, strict=True):
        names = digest_texts(pl.Series([value.name for value in values], dtype=pl.String))
        digests = mix_bits(digests + names[place])
    return digests
