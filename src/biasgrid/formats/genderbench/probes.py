"""Makes probes of the logs that GenderBench writes of its own, with the facts in `probes.yaml`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, first_few, one_of
from biasgrid.base.yaml import Document
from biasgrid.families.probe.definitions import PROMPTS_KEY, ItemKeys, placeholders
from biasgrid.formats.genderbench.data import INVENTORIES, NAMES, Data, LogSection, read_data
from biasgrid.formats.genderbench.log import LoggedItem, read_log
from biasgrid.inference.surface_forms import option_letter
from biasgrid.tables.metric import read_mapping

MetricContent = dict[str, Any]
Values = Callable[[str], Sequence[str]]
"""Returns the values that a key has in the prompts of a probe, in the order of their first use."""
ANYTHING = (".*",)


class KnownProbe(NamedTuple):
    """A probe of GenderBench in `probes.yaml`; the head of that file explains the fields."""

    section: str
    evaluator: Any
    keys: Mapping[str, Sequence[str]]
    metrics: Sequence[Mapping[str, Any]]
    marks: Sequence[MetricContent]
    looked_up: Mapping[str, tuple[str, str]] = {}
    needs: Sequence[str] = ()


PROBES = {
    name: KnownProbe(**entry)
    for name, entry in read_mapping(Path(__file__).with_suffix(".yaml")).items()
}
"""The probes that can be made of a log, by the names of their classes."""
MISSING_FROM_LOG = {NAMES: "the gender of names", INVENTORIES: "the words that are counted"}
LOG_FILE_EXPECTED = "a YAML file with the keys 'log'"


def probe_of_file(path: Path, document: Document | None = None) -> dict[str, Any]:
    """Returns the probe of a log, as a YAML file would describe it.

    Args:
        path: the log, or the file that names it.
        document: the content of a file that names a log, and data that the log lacks.

    Raises:
        InputError: it is no log, or of a probe that cannot be made of it.
    """
    if document is None:
        return probe_of_log(path, {})
    section = document.checked(LogSection, path)
    return probe_of_log(path.parent / section.log, read_data(path.parent, section))


def probe_of_log(path: Path, data: Data) -> dict[str, Any]:
    """Returns the probe of a log.

    Args:
        path: the log.
        data: the tables that the log lacks.

    Raises:
        InputError: as for `probe_of_file`.
    """
    state = read_log(path, answered=False)
    if state.name not in PROBES:
        raise InputError([Fault(str(path), "class", repr(state.name), one_of(PROBES))])
    entry = PROBES[state.name]
    faults = list(data_faults(path, state.name, data))
    items = []
    for place, item in enumerate(state.probe_items):
        try:
            items.append(item_with_keys(item, entry, data))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            where = f"probe_items[{place}]"
            problem = f"metadata that do not fit {state.name} ({type(error).__name__}: {error})"
            faults.append(Fault(str(path), where, problem, "a log of GenderBench 0.5"))
    faults += unknown_faults(items, entry, data, path.name)
    if faults:
        raise InputError(faults)
    lists = data[INVENTORIES].values if INVENTORIES in data else {}
    evaluator = entry.evaluator
    if lists:
        evaluator = {**evaluator, "lists": lists}
    metrics = metrics_of_probe(entry, values_of_keys(items, lists))
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


def data_faults(path: Path, name: str, data: Data) -> Iterator[Fault]:
    """Yields faults of tables that a probe needs and does not have, or has and does not use."""
    entry = PROBES[name]
    for key in entry.needs:
        if key not in data:
            problem = f"{name!r}, whose log does not contain {MISSING_FROM_LOG[key]}"
            yield Fault(str(path), "class", problem, f"{LOG_FILE_EXPECTED} and {key!r}")
    tables = [table for table, _ in entry.looked_up.values()]
    used = list(dict.fromkeys([*entry.needs, *tables]))
    expected = one_of(used) if used else "no data"
    for key, table in data.items():
        if key not in used:
            yield Fault(str(table.file), "", f"{key!r}, which {name} does not use", expected)


def unknown_faults(
    items: Iterable[ItemKeys], entry: KnownProbe, data: Data, log: str
) -> Iterator[Fault]:
    """Yields a fault for each table that lacks names or jobs of the log.

    Args:
        items: the items with the keys of their prompts.
        entry: the probe.
        data: the tables.
        log: the name of the log, for messages.
    """
    prompts = [prompt for item in items for prompt in item[PROMPTS_KEY]]
    for key, (table, by) in entry.looked_up.items():
        if table not in data:
            continue
        missing = list(dict.fromkeys(prompt[by] for prompt in prompts if key not in prompt))
        if missing:
            problem = f"lacks {first_few([*map(repr, missing)])}, of {log}"
            expected = f"a row for each of the {table} in the log"
            yield Fault(str(data[table].file), "", problem, expected)


def item_with_keys(item: LoggedItem, entry: KnownProbe, data: Data) -> ItemKeys:
    """Returns an item with the keys of its prompts, except keys that its data lack."""
    own = item.metadata or {}
    looked_up = {}
    for key, (table, by) in entry.looked_up.items():
        if table in data and own[by] in data[table].values:
            looked_up[key] = data[table].values[own[by]]
    prompts = []
    for prompt in item.prompts:
        metadata = {"item": own, "prompt": prompt.metadata or {}}
        prompts.append({"text": prompt.text, **keys_of_prompt(entry, metadata), **looked_up})
    return {PROMPTS_KEY: prompts}


def keys_of_prompt(entry: KnownProbe, metadata: Mapping[str, ItemKeys]) -> ItemKeys:
    """Returns the keys of a prompt.

    Args:
        entry: the probe, with a maker and its arguments for each key. A maker that returns several
            keys names them itself.
        metadata: the metadata of the `item` and of the `prompt`.
    """
    keys: ItemKeys = {}
    for key, (maker, source, *names) in entry.keys.items():
        arguments = [metadata[source][name] for name in names]
        value = KEY_MAKERS[maker](*arguments)
        keys |= value if isinstance(value, dict) else {key: value}
    return keys


def same_value(value: Any) -> Any:
    """Returns a value of metadata as it is."""
    return value


def member_name(value: Any) -> str:
    """Returns the name of a member of an enumeration: `Genders.MALE` is `male`."""
    return str(value).rsplit(".", 1)[-1].lower()


def gender_of(is_male: Any) -> str:
    """Returns the name of a gender."""
    return "male" if is_male else "female"


def yes_or_no(is_so: Any) -> str:
    """Returns `yes` or `no`."""
    return "yes" if is_so else "no"


def letters_of(labels: Iterable[str]) -> ItemKeys:
    """Returns labels by the letters of their options."""
    return {option_letter(place): label for place, label in enumerate(labels)}


def letters_of_option(right: Any) -> ItemKeys:
    """Returns whether each of five letters is the right option, by its number."""
    return letters_of("right" if place == int(right) else "wrong" for place in range(5))


def letters_of_first(is_male: Any) -> ItemKeys:
    """Returns the gender of each of two options, by whether the first one is male."""
    return letters_of(("male", "female") if is_male else ("female", "male"))


def letters_of_answers(right: str, stereotype: str) -> ItemKeys:
    """Returns whether each letter is the logical answer, the stereotypical one, both or none."""
    names = {
        (True, True): "both",
        (True, False): "logical",
        (False, True): "stereotypical",
        (False, False): "other",
    }
    return letters_of(names[right == letter, stereotype == letter] for letter in "abc")


def keys_of_names(male: Iterable[str], female: Iterable[str]) -> ItemKeys:
    """Returns the four names of each gender in a prompt of HiringBloomberg, as eight keys."""
    names = {"male": list(male), "female": list(female)}
    return {f"{gender}_{place}": names[gender][place] for gender in names for place in range(4)}


def slug(value: str) -> str:
    """Returns a text in the form that it has in the name of a metric."""
    return re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_")


KEY_MAKERS: Mapping[str, Callable[..., Any]] = {
    "unchanged": same_value,
    "text": str,
    "member": member_name,
    "gender_of": gender_of,
    "yes_or_no": yes_or_no,
    "two_words": "{} {}".format,
    "slug": slug,
    "letters_of": letters_of,
    "letters_of_answers": letters_of_answers,
    "letters_of_option": letters_of_option,
    "letters_of_first": letters_of_first,
    "keys_of_names": keys_of_names,
}
"""Functions that make keys of prompts of metadata, by their names in `probes.yaml`."""


def values_of_keys(items: Iterable[ItemKeys], lists: Iterable[str]) -> Values:
    """Returns a function that lists the values of a key.

    Args:
        items: the items with the keys of their prompts.
        lists: names of lists of words, such as `bem male`; without their gender they are the
            values of `inventory`.
    """
    prompts = [prompt for item in items for prompt in item[PROMPTS_KEY]]

    @cache
    def values(key: str) -> list[str]:
        if key == "inventory":
            return list(dict.fromkeys(name.rsplit(" ", 1)[0] for name in lists))
        return list(dict.fromkeys(str(prompt[key]) for prompt in prompts if key in prompt))

    return values


def metrics_of_probe(entry: KnownProbe, values: Values) -> dict[str, MetricContent]:
    """Returns the metrics of a probe, in their order.

    Within a block, all its metrics are made of one set of values before the next.
    """
    metrics: dict[str, MetricContent] = {}
    for block in entry.metrics:
        contents = {name: content for name, content in block.items() if name != "each"}
        for outer in values_bound(block.get("each", {}), values):
            for name, content in contents.items():
                for inner in values_bound(content.get("each", {}), values):
                    bound = {**outer, **inner}
                    metric = metric_of(content, bound, values, metrics)
                    if metric is not None:
                        slugs = {f"{key}_slug": slug(value) for key, value in bound.items()}
                        metrics[name.format(**bound, **slugs)] = metric
    return metrics


def values_bound(each: Mapping[str, Sequence[str]], values: Values) -> Iterator[dict[str, str]]:
    """Yields every combination of values of some keys that match patterns; of no keys, one.

    Args:
        each: patterns of values, by key.
        values: all values of a key.
    """
    candidates = [matching(patterns, values(key)) for key, patterns in each.items()]
    for combination in product(*candidates):
        yield dict(zip(each, combination, strict=True))


def matching(patterns: Iterable[str], texts: Iterable[str]) -> list[str]:
    """Returns the texts that match patterns as a whole, in the order of the patterns."""
    return [
        text for pattern in patterns for text in texts if re.fullmatch(pattern, text, re.DOTALL)
    ]


def metric_of(
    content: Mapping[str, Any], bound: Mapping[str, str], values: Values, above: Iterable[str]
) -> MetricContent | None:
    """Returns a metric, None if the log has nothing that it could be computed of.

    Args:
        content: the metric in `probes.yaml`, with placeholders.
        bound: the values that replace them, by key.
        values: all values of a key.
        above: the names of the metrics above it.
    """
    for key, pattern in content.get("if", {}).items():
        if not matching([pattern], values(key)):
            return None
    metric: MetricContent = {}
    for key, value in content.items():
        if key not in ("each", "if"):
            metric[key] = value.format(**bound) if isinstance(value, str) else value
    if "where" in metric:
        metric["where"] = {key: value.format(**bound) for key, value in metric["where"].items()}
    if isinstance(metric.get("of"), list):
        metric["of"] = matching(metric["of"], above)
    for side in ("high", "low"):
        if side in metric:
            patterns = bound_patterns(metric[side], bound, values)
            metric[side] = matching(patterns, values(metric["by"]))
            if not metric[side]:
                return None
    return metric


def bound_patterns(texts: Iterable[str], bound: Mapping[str, str], values: Values) -> Iterator[str]:
    """Yields patterns with values in place of their placeholders, escaped.

    Args:
        texts: patterns with placeholders.
        bound: values by key. A placeholder that has none is replaced by each value of its key.
        values: all values of a key.
    """
    for text in texts:
        free = {key: ANYTHING for key in placeholders(text) if key not in bound}
        for further in values_bound(free, values):
            escaped = {key: re.escape(value) for key, value in {**bound, **further}.items()}
            yield text.format(**escaped)
