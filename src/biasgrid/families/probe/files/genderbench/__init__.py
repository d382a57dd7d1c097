"""GenderBench's own probes, of the logs that it writes of them.

A log has each prompt as it is asked, with what the probe knows of it (its metadata), so that none of GenderBench's
texts is needed here; what a log does not tell of names, jobs and words comes of files that stand beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError, first_few, one_of
from biasgrid.families.probe.files.genderbench.data import INVENTORIES, NAMES, Data
from biasgrid.families.probe.files.genderbench.formulas import Values
from biasgrid.families.probe.files.genderbench.probes import PROBES, Known
from biasgrid.families.probe.files.log import Item, read_log
from biasgrid.families.probe.files.section import PROMPTS, Keys

UNTOLD = {NAMES: "the gender of names", INVENTORIES: "the words that are counted"}
BESIDE = "a YAML file with the keys 'log'"


def probe_of_log(path: Path, data: Data | None = None) -> dict[str, Any]:
    """Returns the probe of a log, as a file of YAML would have it.

    Args:
        path: the log.
        data: what the log does not tell.

    Raises:
        InputError: it is no log, or of a probe that cannot be made of it.
    """
    data = data or {}
    state = read_log(path, answered=False)
    if state.name not in PROBES:
        raise InputError([Fault(str(path), "class", repr(state.name), one_of(PROBES))])
    known = PROBES[state.name]
    faults = list(data_faults(path, state.name, data))
    items = []
    for place, item in enumerate(state.probe_items):
        try:
            items.append(keys_of(item, known, data))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            problem = f"other metadata than those of {state.name} ({type(error).__name__}: {error})"
            faults.append(Fault(str(path), f"probe_items[{place}]", problem, "a log of GenderBench 0.5"))
    faults += unknown_faults(items, known, data, path.name)
    if faults:
        raise InputError(faults)
    lists = data[INVENTORIES].values if INVENTORIES in data else {}
    metrics = known.metrics(values_of(items, lists))
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
            yield Fault(str(path), "class", f"{name!r}, whose log does not tell {UNTOLD[key]}", f"{BESIDE} and {key!r}")
    used = [*dict.fromkeys([*known.needs, *(each.data for each in known.looked_up.values())])]
    for key, table in data.items():
        if key not in used:
            yield Fault(
                str(table.file), "", f"{key!r}, which {name} does not use", f"{one_of(used) if used else 'no data'}"
            )


def unknown_faults(items: Iterable[Keys], known: Known, data: Data, log: str) -> Iterator[Fault]:
    """Yields names and jobs of the log that its data lack."""
    prompts = [prompt for item in items for prompt in item[PROMPTS]]
    for key, look_up in known.looked_up.items():
        if look_up.data not in data:
            continue
        lacking = list(dict.fromkeys(prompt[look_up.by] for prompt in prompts if key not in prompt))
        if lacking:
            problem = f"lacks {first_few([*map(repr, lacking)])}, of {log}"
            yield Fault(str(data[look_up.data].file), "", problem, f"a row for each of the {look_up.data} in the log")


def keys_of(item: Item, known: Known, data: Data) -> Keys:
    """Returns an item with the keys of its prompts; what data lack, the prompt lacks, too."""
    own = item.metadata or {}
    found = {
        key: data[look_up.data].values[own[look_up.by]]
        for key, look_up in known.looked_up.items()
        if look_up.data in data and own[look_up.by] in data[look_up.data].values
    }
    return {PROMPTS: [{"text": each.text, **known.keys(own, each.metadata or {}), **found} for each in item.prompts]}


def values_of(items: Iterable[Keys], lists: Iterable[str]) -> Values:
    """Returns what tells the values of a key, in the order in which they first stand; of inventories the lists."""
    prompts = [prompt for item in items for prompt in item[PROMPTS]]

    def values(key: str) -> list[str]:
        if key == INVENTORIES:
            return list(lists)
        return list(dict.fromkeys(str(prompt[key]) for prompt in prompts if key in prompt))

    return values
