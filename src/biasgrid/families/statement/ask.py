"""Turns a pack into instances: which statements are asked, their values and their texts.

Combinations of values are numbers until they become columns. Samples are balanced over templates
and over the classes of the values in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import polars as pl

from biasgrid.base.arrays import IntArray
from biasgrid.base.faults import InputError
from biasgrid.families.expansion import Expansion, coverage_of_design
from biasgrid.families.sampler import sampled_strata, seeded_hashes
from biasgrid.families.sampling import sample_faults
from biasgrid.families.statement.constraints import ParameterValues, places_of_values
from biasgrid.families.statement.pack import (
    STATEMENT,
    STATEMENT_LABELS,
    UNUSED,
    YES,
    StatementPack,
    StatementTemplate,
)
from biasgrid.families.statement.read import StatementMode
from biasgrid.families.synthetic import (
    SyntheticBias,
    corpus_of_answers,
    known_effect_rows,
    shares_of_rows,
)
from biasgrid.tables.files import means_by
from biasgrid.tables.instances import OF_FORMAT, PROMPT_FORMAT, instances_schema
from biasgrid.tables.keys import Digests, Repetitions, digest_rows, digest_texts, mix_bits
from biasgrid.tables.schema import column

KEYS = {
    "template": column(pl.UInt16, description="the template, numbered from 0"),
    "template_id": column(pl.Categorical, description="the template's id in its file"),
    "pair": column(
        pl.UInt32,
        description="number that a statement and its negation share; null if there is no negation",
        nullable=True,
    ),
    "negated": column(pl.Boolean, description="whether the statement is the negation"),
    "repetition": column(pl.UInt16, description="0 if the text is asked for the first time"),
    "domains": column(pl.List(pl.Categorical), description="domain of each parameter"),
    "names": column(pl.List(pl.Categorical), description="value of each parameter"),
    "classes": column(pl.List(pl.Categorical), description="class of each value"),
    "label": column(pl.Categorical, description="the right answer"),
    **OF_FORMAT,
}

LIST_COLUMNS = ("domains", "names", "classes")
STATEMENTS_AT_ONCE = 2**15
CANDIDATES = [f"candidate{number}" for number in range(1, len(STATEMENT_LABELS) + 1)]
STATEMENT_COLUMNS = {"text": pl.String, **dict.fromkeys(CANDIDATES, pl.Categorical)}


class AskedTemplate(NamedTuple):
    """A template, with its negation if it has one, and the statements that are made of it.

    Attributes:
        places: its place in the pack, and that of its negation.
        combinations: shape (statements,), ascending: the combinations of values; see
            `constraints.places_of_values`.
    """

    places: tuple[int, ...]
    combinations: IntArray


def expand(pack: StatementPack, rows: int = STATEMENTS_AT_ONCE) -> Expansion:
    """Expands a pack into instances: each statement, then its negation, in all repetitions.

    Args:
        pack: the pack.
        rows: about how many instances a part has, so that memory does not grow with the pack.

    Returns:
        The instances by template and values, those of the last parameter varying fastest; of files
        that are checked, without statements that have the text of an earlier one.

    Raises:
        InputError: the sample has more statements than there are of different texts.
    """
    has_formats = len(pack.prompts) > 1
    format_types = {PROMPT_FORMAT: pl.UInt8} if has_formats else {}
    schema = instances_schema(KEYS, STATEMENT_COLUMNS | format_types)
    allowed = allowed_statements(pack)
    templates = sampled_statements(pack, allowed)
    coverage = coverage_of_design(count_asked(pack, templates), count_asked(pack, allowed))
    prompt = {"parameters": list(pack.parameters), "prompt": pack.prompts[0].text}
    parts = number_instances(statement_tables(pack, templates, rows), list(schema.columns))
    return Expansion(schema, parts, prompt | coverage)


def number_instances(
    parts: Iterable[pl.DataFrame], columns: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Yields the columns of instances, their numbers and `asked_before` included."""
    repetitions = Repetitions()
    count = 0
    for part in parts:
        instance = pl.int_range(count, count + pl.len(), dtype=pl.UInt32)
        numbered = part.with_columns(instance=instance)
        count += len(part)
        counted = numbered.with_columns(repetitions.asked_before(digest_rows(numbered)))
        yield counted.select(columns)


def count_asked(pack: StatementPack, asked_templates: Sequence[AskedTemplate]) -> dict[str, int]:
    """Returns the numbers of templates and of instances of a part of a pack."""
    templates = rows = 0
    for places, combinations in asked_templates:
        # Templates without a combination left are not asked at all.
        if len(combinations):
            templates += len(places)
        rows += len(combinations) * len(places) * pack.repetitions
    return {"templates": templates, "rows": rows}


# Which statements are asked


def allowed_statements(pack: StatementPack) -> list[AskedTemplate]:
    """Returns the statements that the constraints of templates allow.

    In a pack that is checked, statements with the text of an earlier one are left out.
    """
    allowed = []
    for places in pack.statements:
        combinations = pack.allowed(pack.templates[places[0]])
        allowed.append(AskedTemplate(places, combinations))
    if StatementMode.of(pack.files.mode).checks:
        return drop_repeated_texts(pack, allowed)
    return allowed


def drop_repeated_texts(
    pack: StatementPack, allowed: Sequence[AskedTemplate]
) -> list[AskedTemplate]:
    """Returns templates without the statements whose text is the text of an earlier one.

    A statement goes with its negation: both are kept, or neither.
    """
    digests = []
    for places, combinations in allowed:
        for place in places:
            digests.append(text_digests(pack, pack.templates[place], combinations))
    is_first = pl.Series(np.concatenate(digests)).is_first_distinct().to_numpy()
    distinct = []
    start = 0
    for places, combinations in allowed:
        end = start + len(places) * len(combinations)
        # The texts of all statements of a template, then those of its negation.
        of_templates = is_first[start:end].reshape(len(places), len(combinations))
        distinct.append(AskedTemplate(places, combinations[of_templates.all(axis=0)]))
        start = end
    return distinct


def text_digests(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> Digests:
    """Returns the digests of the texts of combinations, shape (combinations,)."""
    digests = [np.zeros(0, np.uint64)]
    # A few at a time: a digest takes less memory than its text.
    for start in range(0, len(combinations), STATEMENTS_AT_ONCE):
        chunk = combinations[start : start + STATEMENTS_AT_ONCE]
        digests.append(fill_combinations(pack, template, chunk).hash().to_numpy())
    return np.concatenate(digests)


def sampled_statements(
    pack: StatementPack, allowed: Sequence[AskedTemplate]
) -> Sequence[AskedTemplate]:
    """Returns the statements of the sample, or all of them without one.

    Each template has its share of the sample, and of the statements of a template so have the
    classes of their values; see `families.sampler`.

    Raises:
        InputError: the sample has more statements than there are of different texts.
    """
    sample = pack.files.sample
    if sample is None:
        return allowed
    sizes = [len(combinations) for _, combinations in allowed]
    name = "statements with different texts"
    faults = list(sample_faults("the config", "sample", sample, sum(sizes), name))
    if faults:
        raise InputError(faults)
    classes, digests = [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for (place, *_), combinations in allowed:
        template = pack.templates[place]
        classes.append(classes_of_values(pack.values_of(template), combinations))
        digests.append(statement_digests(pack, template, combinations))
    template_numbers = np.repeat(np.arange(len(sizes)), sizes)
    strata = np.stack([template_numbers, np.concatenate(classes)], axis=1)
    hashes = seeded_hashes(np.concatenate(digests), sample.seed)
    is_sampled = np.zeros(len(hashes), dtype=np.bool_)
    is_sampled[sampled_strata(strata, hashes, sample)] = True
    sampled = []
    parts = np.split(is_sampled, np.cumsum(sizes)[:-1])
    for (places, combinations), is_chosen in zip(allowed, parts, strict=True):
        sampled.append(AskedTemplate(places, combinations[is_chosen]))
    return sampled


def classes_of_values(values: ParameterValues, combinations: IntArray) -> IntArray:
    """Returns a number for the classes of the values of combinations, all parameters together.

    Shape (combinations,); combinations with the same classes have the same number.
    """
    numbers = np.zeros(len(combinations), np.int64)
    for domain, place in zip(values, places_of_values(values, combinations), strict=True):
        groups = list(dict.fromkeys(value.group for value in domain))
        group_of_value = np.array([groups.index(value.group) for value in domain], np.int64)
        numbers = numbers * len(groups) + group_of_value[place]
    return numbers


def statement_digests(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> Digests:
    """Returns digests of the template and the values of combinations, shape (combinations,).

    They do not depend on the order of values in their files.
    """
    (digest,) = digest_texts(pl.Series([template.text]))
    digests = np.full(len(combinations), digest)
    values = pack.values_of(template)
    for domain, place in zip(values, places_of_values(values, combinations), strict=True):
        names = digest_texts(pl.Series([value.name for value in domain], dtype=pl.String))
        digests = mix_bits(digests + names[place])
    return digests


# Their rows


def statement_tables(
    pack: StatementPack, templates: Sequence[AskedTemplate], rows: int
) -> Iterator[pl.DataFrame]:
    """Yields the statements, part by part, without numbers; see `expand`."""
    # A pair is a statement with its negation; pairs are numbered through the whole pack.
    paired = [len(combinations) if len(places) > 1 else 0 for places, combinations in templates]
    firsts = np.cumsum([0, *paired])
    for number, places in StatementMode.of(pack.files.mode).blocks(pack):
        combinations = templates[number].combinations
        step = max(1, rows // (len(places) * pack.repetitions))
        for start in range(0, len(combinations), step):
            chosen = combinations[start : start + step]
            pairs = None
            if paired[number]:
                pairs = firsts[number] + np.arange(start, start + len(chosen))
            yield statement_rows(pack, places, chosen, pairs)


def statement_rows(
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
        **value_columns(pack, templates[0], combinations[statement]),
    }
    rows = pl.DataFrame(columns)
    rows = rows.hstack(template_keys(pack, places)[template_place])
    rows = rows.hstack(prompt_texts(pack)[prompt])
    text = pl.concat_str("before", "text", "behind")
    return rows.with_columns(text=text, text_pair=pl.lit(None, pl.Categorical))


def fill_combinations(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> pl.Series:
    """Returns the texts of combinations of a template's values."""
    values = pack.values_of(template)
    # Nothing to fill: the same text for each combination.
    if not values:
        return pl.Series([template.text] * len(combinations), dtype=pl.String)
    names = []
    for domain, place in zip(values, places_of_values(values, combinations), strict=True):
        names.append(pl.Series([value.name for value in domain]).gather(place))
    return StatementMode.of(pack.files.mode).fill_text(template.text, pack.parameters, names)


def template_keys(pack: StatementPack, places: Sequence[int]) -> pl.DataFrame:
    """Returns the keys of some templates, a row for each."""
    mode = StatementMode.of(pack.files.mode)
    rows = []
    for place in places:
        template = pack.templates[place]
        is_negation = mode.is_negation(pack, place)
        rows.append((place, template.identifier, is_negation, template.label))
    names = ("template", "template_id", "negated", "label")
    types = {name: KEYS[name].dtype.type for name in names}
    return pl.DataFrame(rows, schema=types, orient="row")


def prompt_texts(pack: StatementPack) -> pl.DataFrame:
    """Returns the texts of prompts, a row for each.

    Returns:
        `before` and `behind`, the text around the statement; `system`; and the candidates, the
        answers that the prompt asks for.
    """
    rows = []
    for prompt in pack.prompts:
        before, behind = prompt.text.split(STATEMENT)
        rows.append((before, behind, prompt.system, *pack.requested_answers(prompt)))
    names = ["before", "behind", "system", *CANDIDATES]
    table = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    return table.cast(dict.fromkeys(["system", *CANDIDATES], pl.Categorical))


def value_columns(
    pack: StatementPack, template: StatementTemplate, combinations: IntArray
) -> dict[str, pl.Series]:
    """Returns domain, name and class of the value of each parameter of the file, in lists.

    A parameter that a template leaves out is in them, with empty texts (`UNUSED`), so that places
    in lists are those of parameters.
    """
    values = pack.values_of(template)
    if not values:
        empty = pl.Series([[]] * len(combinations), dtype=pl.List(pl.Categorical))
        return dict.fromkeys(LIST_COLUMNS, empty)
    # The values of all domains in one list, in which those of each domain begin at its start.
    rows: list[tuple[str, str, str]] = []
    starts = []
    for name, domain in zip(template.domains, values, strict=True):
        starts.append(len(rows))
        rows += [(name, value.name, value.group) for value in domain]
    places = np.stack(places_of_values(values, combinations), axis=1)
    flat = (places + np.array(starts)).ravel()
    shape = (len(combinations), len(values))
    columns = {}
    for name, texts in zip(LIST_COLUMNS, zip(*rows, strict=True), strict=True):
        series = pl.Series(texts, dtype=pl.Categorical)
        columns[name] = series.gather(flat).reshape(shape).arr.to_list()
    return columns


# Values that statements are about


def instance_values(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns a row for each value that an instance is about.

    Returns:
        `instance`; `place`, the place of the value's parameter; `domain`; `group`, the value's
        class; and `subject`, the value.
    """
    lists = {"domain": "domains", "group": "classes", "subject": "names"}
    values = instances.select("instance", **lists).explode(*lists)
    place = pl.int_range(pl.len(), dtype=pl.UInt8).over("instance")
    values = values.with_columns(pl.col(*lists).cast(pl.String), place=place)
    # A parameter that a template leaves out has no domain.
    return values.filter(pl.col("domain") != UNUSED)


def by_class(instances: pl.DataFrame) -> pl.DataFrame:
    """Returns instances, or observations of them, once for each value that they are about.

    Returns:
        Their columns with `bias_type`, the value's domain, and its parameter where a template
        has several of the domain; `group`, its class; `subject`, the value; and `place`, the
        parameter's place.
    """
    values = instance_values(instances)
    is_single = pl.len().over("instance", "domain") == 1
    numbered = pl.format("{} #{}", "domain", pl.col("place").cast(pl.Int64) + 1)
    role = pl.when(is_single).then("domain").otherwise(numbered)
    values = values.select("instance", "place", "group", "subject", bias_type=role)
    values = values.sort("place", maintain_order=True)
    return values.join(instances, on="instance", how="left", maintain_order="left")


# Known effects: models learn to agree with wrong statements on some classes

BIASED_CLASS = ("bias_type", "group")


def known_effects(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Returns the bias of each class, of a model that has learned the corpus.

    It is the probability of Yes to wrong statements less its probability to right ones, and equals
    the prejudice b of the class: the corpus says Yes to wrong statements at probability
    1/2 + b / 2, to right ones at 1/2 - b / 2, so that it never contradicts itself. In each domain b
    is 0 for one class, the strength for another, and of the others in even steps between; if the
    strength has a part by name, each value has some of that beside. Of statements with several
    values it is the mean.

    Args:
        instances: the statements.
        bias: its strength is the largest prejudice, from 0 (Yes and No are as probable) to 1
            (whatever is wrong of a class is agreed with, and nothing that is right).

    Returns:
        The bias of each class of whose statements some are right and some are wrong (schema
        `SYNTHETIC`).
    """
    rows = by_class(with_yes_probability(instances, bias))
    is_true = pl.col("is_true")
    wrong = means_by(rows.filter(~is_true), BIASED_CLASS, "probability")
    right = means_by(rows.filter(is_true), BIASED_CLASS, "probability")
    both = wrong.join(right, on=BIASED_CLASS, suffix="_right")
    difference = pl.col("probability") - pl.col("probability_right")
    return known_effect_rows(both.with_columns(value=difference).sort(BIASED_CLASS), bias, "bias")


def with_yes_probability(instances: pl.DataFrame, bias: SyntheticBias) -> pl.DataFrame:
    """Adds `is_true` (Yes is right), `probability`, the synthetic one of Yes, and `all_classes`.

    Texts and keys, categorical in the instances table, come out as strings.
    """
    rows = instances.with_columns(pl.col(pl.Categorical).cast(pl.String)).sort("instance")
    values = instance_values(rows).rename({"domain": "bias_type"})
    names = values.select(*BIASED_CLASS, name="subject")
    shares = shares_of_rows(values.select(BIASED_CLASS), names, bias)
    prejudices = means_by(values.with_columns(prejudice=shares), ["instance"], "prejudice")
    rows = rows.join(prejudices, on="instance", how="left", maintain_order="left")
    is_true = pl.col("label") == YES
    prejudice = pl.col("prejudice").fill_null(0.0)
    signed = pl.when(is_true).then(-prejudice).otherwise(prejudice)
    rows = rows.with_columns(
        all_classes=pl.col("classes").cast(pl.List(pl.String)).list.join("\t"),
        is_true=is_true,
        probability=0.5 + signed / 2,
    )
    return rows.drop("prejudice")


# The statements of the same classes, right or wrong, are drawn together.
corpus = corpus_of_answers(with_yes_probability, together=("all_classes", "is_true"))
