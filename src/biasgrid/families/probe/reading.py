"""Reads the probe of a dataset: all that decides its instances, and its faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from math import factorial
from pathlib import Path

from biasgrid.base.faults import Fault, nearest_name, one_of, value_text
from biasgrid.base.languages import ENGLISH, language_words
from biasgrid.base.messages import place_text
from biasgrid.base.names import fold_name, normal_form, similar_names
from biasgrid.base.yaml import NodePlace
from biasgrid.families.probe.definitions import (
    EXPECTED_KEY,
    GROUP_KEY,
    CategoryScores,
    CombinedMetric,
    CovariateLine,
    Evaluator,
    FirstName,
    GroupComparison,
    Metric,
    ObservationMetric,
    OwnEvaluator,
    Phrases,
    WordCounts,
    WordShare,
)
from biasgrid.families.probe.pack import Probe, load_probe
from biasgrid.families.probe.section import (
    OPTIONS_PLACEHOLDER,
    PROMPTS_KEY,
    SOURCE_KEY,
    fill_keys,
    has_stray_brace,
    placeholders,
)
from biasgrid.families.sampling import Sample

WRITTEN, SCORED = "written", "scored"


@dataclass(frozen=True)
class ProbeFiles:
    """What makes the instances of a dataset.

    Attributes:
        probe: the probe's file.
        answers: `written` or `scored`.
        repetitions: how often each prompt is asked.
        sample: which items are asked, None for all.
        language: the language of its texts.
    """

    probe: Path
    answers: str
    repetitions: int
    sample: Sample | None
    language: str = ENGLISH


@dataclass(frozen=True)
class ProbeRequests:
    """What is asked.

    Attributes:
        files: what makes the instances.
        probe: the probe.
    """

    files: ProbeFiles
    probe: Probe

    @property
    def count(self) -> int:
        """How many instances all items have."""
        head = self.probe.head
        orders = factorial(len(head.options)) if head.orders == "all" else head.orders
        return self.files.repetitions * orders * sum(map(len, self.probe.items))

    @property
    def candidates(self) -> dict[str, str]:
        """The texts whose probabilities are read, by label; none where answers are written."""
        return self.probe.candidates if self.files.answers == SCORED else {}

    def digest(self) -> str:
        """Returns a digest of all that decides the instances; metrics do not."""
        head = self.probe.head.model_dump(
            mode="json", include={"system", "question", "options", "orders", "seed"}
        )
        files = self.files
        sample = files.sample.model_dump() if files.sample else None
        deciding = [
            head,
            self.probe.items,
            self.candidates,
            files.answers,
            files.repetitions,
            sample,
        ]
        return sha256(json.dumps(deciding).encode()).hexdigest()[:16]


def read(files: ProbeFiles) -> tuple[ProbeRequests | None, list[Fault]]:
    """Reads a probe and returns its requests, with every fault of the file.

    The requests are None if the file is no probe at all.
    """
    loaded = load_probe(files.probe)
    probe = loaded.probe
    if probe is None:
        return None, list(loaded.faults)
    faults = [*loaded.faults, *ProbeChecks(files.probe, probe).all()]
    requests = ProbeRequests(files, replace(probe, language=language_words(files.language)))
    if files.answers == SCORED and not requests.candidates:
        problem = (
            f"the evaluator {probe.head.evaluator.name!r} has no options, so there are no "
            "probabilities to read"
        )
        faults.append(Fault(str(files.probe), "", problem, "`answers: written` of the dataset"))
    return requests, list(dict.fromkeys(faults))


FaultAt = Callable[[NodePlace, str, str], Fault]
"""Makes a fault of a place in the probe's file, a problem, and what was expected."""
BRACES_EXPECTED = "braces only around the name of a key, such as {topic}"


def are_prompts(value: object) -> bool:
    """Whether the value of `prompts` in an item is a list of at least one mapping."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(prompt, dict) for prompt in value)


@dataclass(frozen=True)
class ProbeChecks:
    """Looks for faults of a probe.

    Attributes:
        file: its file.
        probe: the probe.
    """

    file: Path
    probe: Probe

    def fault(self, place: NodePlace, problem: str, expected: str) -> Fault:
        """Returns a fault of a key or an item, in the file that contains it."""
        part = self.probe.shared.get(str(place[0]))
        if part is None:
            return self.probe.document.fault(self.file, place, problem, expected)
        return part.document.fault(part.file, place, problem, expected)

    def all(self) -> Iterator[Fault]:
        """Yields all faults."""
        yield from self.item_faults()
        yield from self.text_faults()
        yield from self.option_faults()
        yield from ambiguous_option_faults(self.probe, self.fault)
        yield from ambiguous_label_faults(self.probe, self.fault)
        yield from ambiguous_group_faults(self.probe, self.fault)
        yield from self.expected_faults()
        yield from self.source_faults()
        for name, metric in self.probe.head.metric.items():
            yield from self.metric_faults(name, metric)
        yield from self.mark_faults()
        yield from self.name_faults()
        yield from self.class_faults()

    def item_faults(self) -> Iterator[Fault]:
        """Yields lists of prompts that are none, and values of keys that are no text or number."""
        for number, item in enumerate(self.probe.head.items):
            if PROMPTS_KEY in item and not are_prompts(item[PROMPTS_KEY]):
                yield self.fault(
                    ("items", number, PROMPTS_KEY),
                    value_text(item[PROMPTS_KEY]),
                    "a list of mappings, one per prompt",
                )
        for place, keys in self.places():
            for key, value in keys.items():
                # True and False are numbers in Python.
                if isinstance(value, bool) or not isinstance(value, str | int | float):
                    yield self.fault(
                        (*place, key),
                        value_text(value),
                        "text or a number; put words such as `no` in quotes, because YAML gives "
                        "them a meaning of their own",
                    )

    def places(self) -> Iterator[tuple[NodePlace, dict[str, object]]]:
        """Yields the common prompts, the items and their prompts: the place and the own keys."""
        head = self.probe.head
        for number, prompt in enumerate(head.prompts):
            yield ("prompts", number), prompt
        for number, item in enumerate(head.items):
            own = {key: value for key, value in item.items() if key != PROMPTS_KEY}
            yield ("items", number), own
            prompts = item.get(PROMPTS_KEY)
            # Prompts that are none are found by `item_faults`.
            if not isinstance(prompts, list):
                continue
            for position, prompt in enumerate(prompts):
                if isinstance(prompt, dict):
                    yield ("items", number, PROMPTS_KEY, position), prompt

    def texts(self) -> Iterator[tuple[NodePlace, str]]:
        """Yields the texts that may contain placeholders, each with its place."""
        head = self.probe.head
        yield ("question",), head.question
        for option, text in head.options.items():
            yield ("options", option), text
        if isinstance(head.evaluator, FirstName | WordCounts):
            for label, names in head.evaluator.names.items():
                for name in names:
                    yield ("evaluator", "names", label), name

    def text_faults(self) -> Iterator[Fault]:
        """Yields stray braces, placeholders of no key, and items that lack the key of one."""
        present = {key for keys in self.probe.keys for key in keys}
        wanted: dict[str, None] = {}
        for place, text in self.texts():
            if has_stray_brace(text):
                problem = f"{value_text(text)} has a brace outside a placeholder"
                yield self.fault(place, problem, BRACES_EXPECTED)
            for key in placeholders(text):
                if key in present:
                    wanted[key] = None
                elif (key, place) != (OPTIONS_PLACEHOLDER, ("question",)):
                    problem = f"unknown placeholder {{{key}}}{nearest_name(key, present)}"
                    yield self.fault(place, problem, one_of([*present, OPTIONS_PLACEHOLDER]))
        yield from self.lacking(list(wanted), "which the question needs")

    def lacking(self, wanted: list[str], why: str) -> Iterator[Fault]:
        """Yields items with a prompt that lacks a key.

        Args:
            wanted: the keys.
            why: the reason that the key is needed, for messages.
        """
        for number, item in enumerate(self.probe.items):
            for key in wanted:
                if any(key not in keys for keys in item):
                    problem = f"has no key {key!r}, {why}"
                    yield self.fault(("items", number), problem, f"{key} in every item or prompt")

    def option_faults(self) -> Iterator[Fault]:
        """Yields options that are not asked, placeholders without options, and too many orders."""
        head = self.probe.head
        count = len(head.options)
        shows_options = OPTIONS_PLACEHOLDER in placeholders(head.question)
        if head.options and not shows_options:
            problem = f"{value_text(head.question)} lacks {{{OPTIONS_PLACEHOLDER}}}"
            yield self.fault(("question",), problem, "it at the place of the options")
        if shows_options and not head.options:
            problem = f"has {{{OPTIONS_PLACEHOLDER}}}, but there are none"
            yield self.fault(("question",), problem, "`options` with a text for each")
        if count == 1:
            problem = f"{next(iter(head.options))!r} alone"
            yield self.fault(("options",), problem, "two or more, or none")
        if head.evaluator.OF_OPTIONS and not head.options:
            problem = f"{head.evaluator.name} without options"
            yield self.fault(("evaluator",), problem, "`options` with a text for each")
        most = factorial(count)
        if isinstance(head.orders, int) and head.orders > most:
            problem = f"{head.orders} orders of {count} options"
            yield self.fault(("orders",), problem, f"at most {most}, or all")

    def expected_faults(self) -> Iterator[Fault]:
        """Yields expected answers that are no label of the evaluator."""
        labels = self.probe.labels
        if not labels:
            return
        for place, keys in self.places():
            value = keys.get(EXPECTED_KEY)
            if value is not None and value not in labels:
                problem = f"{value_text(value)}{nearest_name(str(value), labels)}"
                yield self.fault((*place, EXPECTED_KEY), problem, one_of(labels))

    def source_faults(self) -> Iterator[Fault]:
        """Yields items without evidence of their stereotype, if the probe names sources of any."""
        sources = self.probe.head.sources
        if not sources:
            return
        yield from self.lacking([SOURCE_KEY], "so nothing says why this is a stereotype")
        for place, keys in self.places():
            value = keys.get(SOURCE_KEY)
            if value is not None and value not in sources:
                problem = f"{value_text(value)}{nearest_name(str(value), sources)}"
                yield self.fault((*place, SOURCE_KEY), problem, one_of(sources))

    def metric_faults(self, name: str, metric: Metric) -> Iterator[Fault]:
        """Yields labels, keys, groups and other metrics that a metric needs and the probe lacks."""
        place = ("metric", name)
        if metric.expects:
            yield from self.lacking([EXPECTED_KEY], f"which the metric {name!r} needs")
        yield from self.metric_label_faults(place, metric)
        match metric:
            case WordShare():
                yield from self.word_share_faults(place)
            case CategoryScores():
                yield from self.category_faults(place, metric)
            case CombinedMetric():
                yield from self.combined_faults(name, metric)
            case CovariateLine():
                yield from self.covariate_faults(place, metric.covariate)
        if isinstance(metric, ObservationMetric):
            for key, value in metric.where.items():
                yield from self.value_faults((*place, "where"), key, [value])
        yield from self.compared_value_faults(place, metric)

    def metric_label_faults(self, place: NodePlace, metric: Metric) -> Iterator[Fault]:
        """Yields labels of a metric that the evaluator never gives."""
        labels = self.probe.labels
        # An evaluator of numbers, or one of a Python class, has no list of labels.
        if not labels:
            return
        for key in ("label", "other"):
            label = getattr(metric, key, None)
            if label is not None and label not in labels:
                problem = f"{value_text(label)}{nearest_name(label, labels)}"
                yield self.fault((*place, key), problem, one_of(labels))

    def word_share_faults(self, place: NodePlace) -> Iterator[Fault]:
        """Yields that an evaluator counts no words, of which a metric is a share."""
        evaluator = self.probe.head.evaluator
        if not isinstance(evaluator, WordCounts):
            problem = f"'word-share', but the evaluator {evaluator.name!r} counts no words"
            yield self.fault(place, problem, "the evaluator 'words'")

    def combined_faults(self, name: str, metric: CombinedMetric) -> Iterator[Fault]:
        """Yields the parts of a combined metric that are not defined above it."""
        metrics = self.probe.head.metric
        names = list(metrics)
        # The number that a class returns is no sum over items, as all others are.
        usable = [above for above in names[: names.index(name)] if metrics[above].kind != "own"]
        for part in metric.of:
            if part not in usable:
                problem = (
                    f"{part!r} is not a metric that is defined above it and computed by "
                    f"biasgrid{nearest_name(part, usable)}"
                )
                yield self.fault(("metric", name, "of"), problem, one_of(usable))

    def compared_value_faults(self, place: NodePlace, metric: Metric) -> Iterator[Fault]:
        """Yields groups that no prompt has, and comparisons of fewer than two values."""
        groups = getattr(metric, "groups", None) or ()
        if not isinstance(metric, GroupComparison):
            yield from self.value_faults(place, GROUP_KEY, groups)
            return
        yield from self.value_faults(place, metric.by, groups)
        count = len(self.values_of_key(metric.by))
        if count < 2:
            problem = f"the key {metric.by!r} has {count} values to compare"
            yield self.fault(place, problem, "two or more in items or prompts")

    def values_of_key(self, key: str) -> list[str]:
        """Returns the values that prompts have in a key, as text and in the order of the file."""
        return list(dict.fromkeys(str(keys[key]) for keys in self.probe.keys if key in keys))

    def value_faults(self, place: NodePlace, key: str, wanted: Iterable[str]) -> Iterator[Fault]:
        """Yields wanted values of a key that no prompt has."""
        values = self.values_of_key(key)
        for value in wanted:
            if value not in values:
                problem = f"no prompt has the {key} {value!r}{nearest_name(value, values)}"
                yield self.fault(place, problem, one_of(values))

    def category_faults(self, place: NodePlace, metric: CategoryScores) -> Iterator[Fault]:
        """Yields scores of labels that the evaluator never gives, and categories of no item."""
        labels = self.probe.labels
        for label in metric.scores:
            if labels and label not in labels:
                problem = f"{value_text(label)}{nearest_name(label, labels)}"
                yield self.fault((*place, "scores"), problem, one_of(labels))
        if metric.by:
            yield from self.value_faults(place, metric.by, (*metric.high, *metric.low))

    def covariate_faults(self, place: NodePlace, covariate: str) -> Iterator[Fault]:
        """Yields a covariate that items lack, that is no number, or that never differs."""
        yield from self.lacking([covariate], f"which {place_text(place)} needs")
        values = [keys[covariate] for keys in self.probe.keys if covariate in keys]
        if any(not isinstance(value, int | float) for value in values):
            problem = f"{covariate!r} is not a number everywhere"
            yield self.fault(place, problem, "a number in every item")
        elif values and len(set(values)) == 1:
            # A line through points above one another has no slope.
            yield self.fault(place, f"{covariate!r} is the same everywhere", "different numbers")

    def mark_faults(self) -> Iterator[Fault]:
        """Yields marks of metrics that the probe lacks, and second marks of one metric."""
        metrics = self.probe.head.metric
        # A single mapping stands for a list of one; only a list has numbers in places.
        are_several = isinstance(self.probe.document.content.get("marks"), list)
        marked: set[str] = set()
        for number, marks in enumerate(self.probe.head.marks):
            place: NodePlace = ("marks", number) if are_several else ("marks",)
            if marks.measure not in metrics:
                problem = f"unknown metric {marks.measure!r}{nearest_name(marks.measure, metrics)}"
                yield self.fault((*place, "measure"), problem, one_of(metrics))
            if marks.placebo is not None and marks.placebo not in metrics:
                problem = f"unknown metric {marks.placebo!r}{nearest_name(marks.placebo, metrics)}"
                yield self.fault((*place, "placebo"), problem, one_of(metrics))
            if marks.measure in marked:
                problem = f"{marks.measure!r} has marks already"
                yield self.fault((*place, "measure"), problem, "marks only once per metric")
            marked.add(marks.measure)

    def name_faults(self) -> Iterator[Fault]:
        """Yields a key of names that no prompt has, if the probe's file gives one."""
        head = self.probe.head
        present = list(dict.fromkeys(key for keys in self.probe.keys for key in keys))
        # The default key need not be there: then items alone are random factors.
        if "names" in head.model_fields_set and head.names not in present:
            problem = f"no prompt has the key {head.names!r}{nearest_name(head.names, present)}"
            yield self.fault(("names",), problem, one_of(present))

    def class_faults(self) -> Iterator[Fault]:
        """Yields evaluators and metrics of the kind `own` in a probe that is no Python class."""
        if self.probe.own is not None:
            return
        problem = "'own', which needs a method of a Python class"
        if isinstance(self.probe.head.evaluator, OwnEvaluator):
            yield self.fault(("evaluator",), problem, "a different evaluator, or a Python file")
        for name, metric in self.probe.head.metric.items():
            if metric.kind == "own":
                yield self.fault(("metric", name), problem, "a different kind, or a Python file")


def ambiguous_option_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields pairs of options with the same text, each pair once.

    If the text depends on keys of items, the fault is at the first item in which both are alike.
    """
    reported: set[tuple[str, str]] = set()
    options = probe.head.options
    for number, item in enumerate(probe.items):
        for keys in item:
            first: dict[str, str] = {}
            for option, text in options.items():
                # A missing key is a fault of its own; see `ProbeChecks.text_faults`.
                if any(key not in keys for key in placeholders(text)):
                    continue
                written = fill_keys(text, keys)
                other = first.setdefault(normal_form(written.strip()), option)
                if other == option or (other, option) in reported:
                    continue
                reported.add((other, option))
                is_fixed = not placeholders(text) and not placeholders(options[other])
                place: NodePlace = ("options", option) if is_fixed else ("items", number)
                problem = f"the options {other!r} and {option!r} are both {value_text(written)}"
                yield fault(place, problem, "different texts")


def ambiguous_label_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields labels without texts, with texts of another label, or with names like another's."""
    evaluator = probe.head.evaluator
    for name, other in similar_names(probe.labels):
        problem = f"the label {name!r} differs from {other!r} only in case or normal form"
        yield fault(("evaluator",), problem, "different labels")
    if isinstance(evaluator, WordCounts) and evaluator.names and evaluator.count == "most":
        yield fault(
            ("evaluator", "count"),
            "'most' beside `names`",
            "`each`, because names are matched one by one",
        )
    for key, lists in texts_of_labels(evaluator).items():
        yield from label_text_faults(key, lists, fault)


def texts_of_labels(evaluator: Evaluator) -> dict[str, Mapping[str, list[str]]]:
    """Returns the texts that stand for labels, by the evaluator's key and the label.

    Empty if the evaluator looks for no texts. Word lists that name a file are left out: `pack`
    reads these.
    """
    texts: dict[str, Mapping[str, list[str]]] = {}
    if isinstance(evaluator, Phrases):
        texts["phrases"] = evaluator.phrases
    if isinstance(evaluator, FirstName | WordCounts):
        texts["names"] = evaluator.names
    if isinstance(evaluator, WordCounts):
        texts["lists"] = {
            name: words for name, words in evaluator.lists.items() if isinstance(words, list)
        }
    return texts


def label_text_faults(key: str, lists: Mapping[str, list[str]], fault: FaultAt) -> Iterator[Fault]:
    """Yields labels with no text or a blank one, and texts that stand for two labels.

    Args:
        key: the key of the evaluator's section.
        lists: the texts of each label.
        fault: makes the faults.
    """
    first: dict[str, str] = {}
    for label, texts in lists.items():
        place = ("evaluator", key, label)
        if not texts or not all(text.strip() for text in texts):
            yield fault(place, value_text(texts), f"{key} that are not blank, and at least one")
        for text in texts:
            other = first.setdefault(fold_name(text), label)
            # Words may count for several lists.
            if other != label and key != "lists":
                problem = f"{text!r} already stands for {other!r}"
                yield fault(place, problem, "each text for only one label")


def ambiguous_group_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields values of compared keys that differ from another value only in case or normal form."""
    compared = [GROUP_KEY]
    for metric in probe.head.metric.values():
        if isinstance(metric, GroupComparison | CategoryScores) and metric.by:
            compared.append(metric.by)
    for key in dict.fromkeys(compared):
        places: dict[str, NodePlace] = {}
        for number, item in enumerate(probe.items):
            for keys in item:
                if key in keys:
                    places.setdefault(str(keys[key]), ("items", number))
        for name, other in similar_names(places):
            problem = f"the {key} {name!r} differs from {other!r} only in case or normal form"
            yield fault(places[name], problem, f"each {key} with one spelling")
