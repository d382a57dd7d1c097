"""What of a probe could not be distinguishable, by a model or by those who read its answers: options, labels, groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from biasgrid.base.faults import Fault, value_text
from biasgrid.base.names import alike, fold_name, normal_form
from biasgrid.base.yaml import NodePlace
from biasgrid.families.probe.files.evaluators import FirstName, Phrases, Words
from biasgrid.families.probe.files.metrics import GROUP, Between, OfCategories
from biasgrid.families.probe.files.probe import Probe
from biasgrid.families.probe.files.texts import filled, placeholders

FaultAt = Callable[[NodePlace, str, str], Fault]
"""Makes a fault of a place in the probe's file, a problem, and what was expected."""


def look_alike_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields all of it."""
    yield from option_faults(probe, fault)
    yield from label_faults(probe, fault)
    yield from group_faults(probe, fault)


def option_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields options that have one text: where that holds keys, of the first item in which it is so."""
    told: set[tuple[str, str]] = set()
    options = probe.head.options
    for number, item in enumerate(probe.items):
        for keys in item:
            first: dict[str, str] = {}
            for option, text in options.items():
                if any(key not in keys for key in placeholders(text)):
                    continue
                written = filled(text, keys)
                other = first.setdefault(normal_form(written.strip()), option)
                if other != option and (other, option) not in told:
                    told.add((other, option))
                    is_fixed = not placeholders(text) and not placeholders(options[other])
                    place: NodePlace = ("options", option) if is_fixed else ("items", number)
                    problem = f"the options {other!r} and {option!r} are both {value_text(written)}"
                    yield fault(place, problem, "texts that differ")


def label_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields labels that nothing stands for, or the same as for another one, or that look like others."""
    evaluator = probe.head.evaluator
    for name, other in alike(probe.labels):
        problem = f"the label {name!r} is {other!r} but for case or normal form"
        yield fault(("evaluator",), problem, "labels that differ")
    key, lists = "", dict[str, list[str]]()
    if isinstance(evaluator, Phrases):
        key, lists = "phrases", evaluator.phrases
    elif isinstance(evaluator, FirstName):
        key, lists = "names", evaluator.names
    elif isinstance(evaluator, Words):
        key, lists = "lists", {name: told for name, told in evaluator.lists.items() if isinstance(told, list)}
    first: dict[str, str] = {}
    for label, texts in lists.items():
        place = ("evaluator", key, label)
        if not texts or not all(text.strip() for text in texts):
            yield fault(place, value_text(texts), f"{key} that are not blank, one at least")
        for text in texts:
            other = first.setdefault(fold_name(text), label)
            # Words may count for several lists.
            if other != label and key != "lists":
                yield fault(place, f"{text!r} stands for {other!r} too", "every text for one label")


def group_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields groups and other values that metrics compare, and that look like others."""
    compared = [GROUP]
    for metric in probe.head.metric.values():
        if isinstance(metric, Between | OfCategories) and metric.by:
            compared.append(metric.by)
    for key in dict.fromkeys(compared):
        places: dict[str, NodePlace] = {}
        for number, item in enumerate(probe.items):
            for keys in item:
                if key in keys:
                    places.setdefault(str(keys[key]), ("items", number))
        for name, other in alike(places):
            problem = f"the {key} {name!r} is {other!r} but for case or normal form"
            yield fault(places[name], problem, f"every {key} spelled alike")
