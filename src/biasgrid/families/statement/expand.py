"""Turns a pack into the table of its statements: numbers of combinations become columns of values and texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from biasgrid.base.arrays import BoolArray, IntArray
from biasgrid.base.faults import InputError
from biasgrid.families.expansion import Expansion
from biasgrid.families.sampling import sample_faults
from biasgrid.families.statement.keys import KEYS
from biasgrid.families.statement.packs.combinations import allowed, places_of
from biasgrid.families.statement.packs.pack import STATEMENT, Pack, Template
from biasgrid.families.statement.sampled import chosen_of_each
from biasgrid.families.statement.texts import texts
from biasgrid.tables.instances import instances_schema
from biasgrid.tables.keys import Digests, Repetitions, digest_rows

OPTIONS = ("Yes", "No")
"""The answers, candidates of every instance."""
LISTS = ("domains", "names", "classes")
PART_ROWS = 2**15
COLUMNS = {"text": pl.String} | {f"candidate{place}": pl.Categorical for place in range(1, len(OPTIONS) + 1)}


def expand(pack: Pack, rows: int = PART_ROWS) -> Expansion:
    """Expands a pack into instances: each statement, its negation behind it, as often as it is repeated.

    Args:
        pack: the pack.
        rows: about how many instances a part has, so that memory does not grow with the pack.

    Returns:
        The instances by template and values, those of the last parameter varying fastest; where files are read as APES
        reads them, in the order of its templates, and else without statements that have the text of an earlier one.
    """
    schema, repetitions = instances_schema(KEYS, COLUMNS), Repetitions()
    parts = (
        table.with_columns(repetitions.keys(digest_rows(table))).select(list(schema.columns))
        for table in numbered(tables(pack, rows))
    )
    prompt = {"parameters": list(pack.parameters), "prompt": pack.files.prompt}
    return Expansion(schema, parts, prompt)


def numbered(parts: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Numbers the instances of parts."""
    count = 0
    for part in parts:
        yield part.with_columns(instance=pl.int_range(count, count + pl.len(), dtype=pl.UInt32))
        count += len(part)


def tables(pack: Pack, rows: int) -> Iterator[pl.DataFrame]:
    """Yields the statements, part by part, without numbers and keys."""
    asked = combinations_asked(pack)
    paired = [len(combinations) if len(places) > 1 else 0 for places, combinations in asked]
    firsts = np.cumsum([0, *paired])
    blocks = [(number, places) for number, (places, _) in enumerate(asked)]
    if pack.files.as_original:
        blocks = sorted(((number, (place,)) for number, places in blocks for place in places), key=lambda one: one[1])
    for number, places in blocks:
        combinations = asked[number][1]
        step = max(1, rows // (len(places) * pack.files.repetitions))
        for start in range(0, len(combinations), step):
            chosen = combinations[start : start + step]
            pairs = firsts[number] + np.arange(start, start + len(chosen)) if paired[number] else None
            yield statements(pack, places, chosen, pairs)


def combinations_asked(pack: Pack) -> list[tuple[tuple[int, ...], IntArray]]:
    """Returns templates, each with its negation if it has one, and the combinations of their values that are asked."""
    kept = [allowed(pack, pack.templates[places[0]]) for places in pack.statements]
    if not pack.files.as_original:
        kept = distinct(pack, kept)
    if pack.files.sample is not None:
        check_sample(pack, sum(map(len, kept)))
        chosen = chosen_of_each(pack, kept, pack.files.sample)
        kept = [combinations[each] for combinations, each in zip(kept, chosen, strict=True)]
    return list(zip(pack.statements, kept, strict=True))


def check_sample(pack: Pack, statements: int) -> None:
    """Refuses a sample of more statements than there are of different texts.

    Raises:
        InputError: with how many there are.
    """
    sample = pack.files.sample
    if faults := list(sample_faults("the config", "sample", sample, statements, "statements of different texts")):
        raise InputError(faults)


def distinct(pack: Pack, kept: Sequence[IntArray]) -> list[IntArray]:
    """Leaves out statements whose text, or that of whose negation, is the text of an earlier one."""
    asked = zip(pack.statements, kept, strict=True)
    digests = [digests_of(pack, pack.templates[place], each) for places, each in asked for place in places]
    is_first = iter(np.split(first_of_each(digests), np.cumsum([len(each) for each in digests])[:-1]))
    return [
        combinations[np.all([next(is_first) for _ in places], axis=0)]
        for places, combinations in zip(pack.statements, kept, strict=True)
    ]


def first_of_each(digests: Sequence[Digests]) -> BoolArray:
    """Says of all digests, one part after another, whether each is met for the first time."""
    met: BoolArray = pl.Series(np.concatenate(digests)).is_first_distinct().to_numpy()
    return met


def digests_of(pack: Pack, template: Template, combinations: IntArray) -> Digests:
    """Digests the texts of combinations of a template's values, few at a time."""
    slices = (combinations[start : start + PART_ROWS] for start in range(0, len(combinations), PART_ROWS))
    digests = [filled(pack, template, each).hash().to_numpy() for each in slices]
    return np.concatenate([np.zeros(0, np.uint64), *digests])


def filled(pack: Pack, template: Template, combinations: IntArray) -> pl.Series:
    """Returns the texts of combinations of a template's values."""
    values = zip(pack.values_of(template), places_of(pack, template, combinations), strict=True)
    names = [pl.Series([value.name for value in domain]).gather(place) for domain, place in values]
    if not names:
        return pl.Series([template.text] * len(combinations), dtype=pl.String)
    return texts(template.text, pack.parameters, names, pack.files.as_original)


def statements(pack: Pack, places: Sequence[int], combinations: IntArray, pairs: IntArray | None) -> pl.DataFrame:
    """Returns the statements of a template and, behind each of them, its negation, as often as they are repeated.

    Args:
        pack: the pack.
        places: the places of the template and its negation, or of one of them.
        combinations: shape (statements,), the combinations of their values.
        pairs: shape (statements,), the number of each with its negation; None where there is none.
    """
    height, count, repetitions = len(combinations), len(places), pack.files.repetitions
    row = np.repeat(np.arange(height), count * repetitions)
    which = np.tile(np.repeat(np.arange(count), repetitions), height)
    templates = [pack.templates[place] for place in places]
    texts_of_all = pl.concat([filled(pack, template, combinations) for template in templates])
    of_templates = {
        "template": pl.Series(places, dtype=pl.UInt16),
        "template_id": pl.Series([template.identifier for template in templates], dtype=pl.Categorical),
        "negated": pl.Series([pack.is_negation(place) for place in places]),
        "label": pl.Series([template.label for template in templates], dtype=pl.Categorical),
    }
    columns = {
        "text": texts_of_all.gather(which * height + row),
        "pair": pl.Series([None] * len(row) if pairs is None else pairs[row], dtype=pl.UInt32),
        "repetition": pl.Series(np.tile(np.arange(repetitions), height * count), dtype=pl.UInt16),
        **{name: values.gather(which) for name, values in of_templates.items()},
        **values_in_lists(pack, templates[0], combinations[row]),
    }
    before, behind = (pl.lit(text) for text in pack.files.prompt.split(STATEMENT))
    return pl.DataFrame(columns).with_columns(
        text=pl.concat_str([before, "text", behind]),
        system=pl.lit(pack.files.system, pl.Categorical),
        text_pair=pl.lit(None, pl.Categorical),
        **{f"candidate{number}": pl.lit(option, pl.Categorical) for number, option in enumerate(OPTIONS, start=1)},
    )


def values_in_lists(pack: Pack, template: Template, combinations: IntArray) -> dict[str, pl.Series]:
    """Returns domain, name and class of the value of each parameter, in lists."""
    if not template.domains:
        return dict.fromkeys(LISTS, pl.Series([[]] * len(combinations), dtype=pl.List(pl.Categorical)))
    domains = list(zip(template.domains, pack.values_of(template), strict=True))
    values = [(domain, *value) for domain, of_domain in domains for value in of_domain]
    starts = np.cumsum([0, *(len(of_domain) for _, of_domain in domains)])
    places = places_of(pack, template, combinations)
    flat = np.stack([start + place for start, place in zip(starts, places, strict=False)], axis=1).ravel()
    shape = (len(combinations), len(domains))
    texts_of = dict(zip(LISTS, zip(*values, strict=True), strict=True))
    return {
        name: pl.Series(texts, dtype=pl.Categorical).gather(flat).reshape(shape).arr.to_list()
        for name, texts in texts_of.items()
    }
