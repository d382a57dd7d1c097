"""Faults of a probe's file, in its order: items, texts, options, labels, metrics, marks, names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import factorial
from pathlib import Path

from biasgrid.base.faults import Fault, nearest_name, one_of, value_text
from biasgrid.base.messages import KeyPath, place_text
from biasgrid.base.names import fold_name, normal_form, similar_names
from biasgrid.families.probe.definitions import (
    EXPECTED_KEY,
    GROUP_KEY,
    OPTIONS_PLACEHOLDER,
    PROMPTS_KEY,
    SOURCE_KEY,
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
    Probe,
    WordCounts,
    WordShare,
    fill_keys,
    has_stray_brace,
    placeholders,
)

BRACES_EXPECTED = "braces only around the name of a key, such as {topic}"
PLAIN_VALUE_EXPECTED = (
    "text or a number; put words such as `no` in quotes, because YAML gives them a meaning of "
    "their own"
)
CLASS_NEEDED = "'own', which needs a method of a Python class"


@dataclass(frozen=True)
class ProbeChecks:
    """Finds the faults of a probe.

    Attributes:
        file: its file.
        probe: the probe.
    """

    file: Path
    probe: Probe

    def fault(self, place: KeyPath, problem: str, expected: str) -> Fault:
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
        yield from self.equal_option_faults()
        yield from self.label_faults()
        yield from self.group_faults()
        yield from self.expected_faults()
        yield from self.source_faults()
        for name, metric in self.probe.head.metric.items():
            yield from self.metric_faults(name, metric)
        yield from self.mark_faults()
        yield from self.name_faults()
        yield from self.class_faults()

    # Items and prompts

    def item_faults(self) -> Iterator[Fault]:
        """Yields prompts that are no list of mappings, and values that are no text or number."""
        for number, item in enumerate(self.probe.head.items):
            if PROMPTS_KEY in item and not are_prompts(item[PROMPTS_KEY]):
                place: KeyPath = ("items", number, PROMPTS_KEY)
                problem = value_text(item[PROMPTS_KEY])
                yield self.fault(place, problem, "a list of mappings, one per prompt")
        for place, keys in self.places():
            for key, value in keys.items():
                # True and False are numbers in Python.
                if isinstance(value, bool) or not isinstance(value, str | int | float):
                    yield self.fault((*place, key), value_text(value), PLAIN_VALUE_EXPECTED)

    def places(self) -> Iterator[tuple[KeyPath, dict[str, object]]]:
        """Yields place and own keys of the common prompts, the items and the prompts of items."""
        for number, prompt in enumerate(self.probe.head.prompts):
            yield ("prompts", number), prompt
        for number, item in enumerate(self.probe.head.items):
            own = {key: value for key, value in item.items() if key != PROMPTS_KEY}
            yield ("items", number), own
            prompts = item.get(PROMPTS_KEY)
            # `item_faults` refuses everything else.
            if isinstance(prompts, list):
                for position, prompt in enumerate(prompts):
                    if isinstance(prompt, dict):
                        yield ("items", number, PROMPTS_KEY, position), prompt

    def missing_key_faults(self, needed_keys: Iterable[str], reason: str) -> Iterator[Fault]:
        """Yields items with a prompt that lacks a key, by item.

        Args:
            needed_keys: the keys.
            reason: a clause that says who needs them, for messages.
        """
        for number, item in enumerate(self.probe.items):
            for key in needed_keys:
                if any(key not in keys for keys in item):
                    problem = f"has no key {key!r}, {reason}"
                    yield self.fault(("items", number), problem, f"{key} in every item or prompt")

    def choice_faults(
        self, place: KeyPath, value: object, choices: Iterable[str]
    ) -> Iterator[Fault]:
        """Yields a value that is none of those allowed."""
        names = list(choices)
        if value not in names:
            problem = f"{value_text(value)}{nearest_name(str(value), names)}"
            yield self.fault(place, problem, one_of(names))

    def key_choice_faults(self, key: str, choices: Iterable[str]) -> Iterator[Fault]:
        """Yields values of a key of items and prompts that are none of those allowed."""
        for place, keys in self.places():
            if keys.get(key) is not None:
                yield from self.choice_faults((*place, key), keys[key], choices)

    def similar_value_faults(self, key: str) -> Iterator[Fault]:
        """Yields values of a key that differ from another one only in case or normal form."""
        places: dict[str, KeyPath] = {}
        for number, item in enumerate(self.probe.items):
            for keys in item:
                if key in keys:
                    places.setdefault(str(keys[key]), ("items", number))
        for name, other in similar_names(places):
            problem = f"the {key} {name!r} differs from {other!r} only in case or normal form"
            yield self.fault(places[name], problem, f"each {key} with one spelling")

    def group_faults(self) -> Iterator[Fault]:
        """Yields groups, and other values that are compared, that are hardly different."""
        compared_keys = [GROUP_KEY]
        for metric in self.probe.head.metric.values():
            if isinstance(metric, GroupComparison | CategoryScores):
                compared_keys.append(metric.compared_key)
        for key in dict.fromkeys(compared_keys):
            yield from self.similar_value_faults(key)

    def expected_faults(self) -> Iterator[Fault]:
        """Yields expected answers that are no label of the evaluator."""
        if self.probe.labels:
            yield from self.key_choice_faults(EXPECTED_KEY, self.probe.labels)

    def source_faults(self) -> Iterator[Fault]:
        """Yields items without evidence of their stereotype, if the probe names sources of any."""
        sources = self.probe.head.sources
        if sources:
            reason = "so nothing says why this is a stereotype"
            yield from self.missing_key_faults([SOURCE_KEY], reason)
            yield from self.key_choice_faults(SOURCE_KEY, sources)

    def name_faults(self) -> Iterator[Fault]:
        """Yields a key of names that no prompt has, if the probe's file gives one."""
        head = self.probe.head
        present = list(dict.fromkeys(chain.from_iterable(self.probe.prompts)))
        # The default key need not be there: then items alone are random factors.
        if "names" in head.model_fields_set and head.names not in present:
            problem = f"no prompt has the key {head.names!r}{nearest_name(head.names, present)}"
            yield self.fault(("names",), problem, one_of(present))

    # Question, options and evaluator

    def texts(self) -> Iterator[tuple[KeyPath, str]]:
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
        present = set(chain.from_iterable(self.probe.prompts))
        needed_keys: dict[str, None] = {}
        for place, text in self.texts():
            if has_stray_brace(text):
                problem = f"{value_text(text)} has a brace outside a placeholder"
                yield self.fault(place, problem, BRACES_EXPECTED)
            for key in placeholders(text):
                if key in present:
                    needed_keys[key] = None
                elif (key, place) != (OPTIONS_PLACEHOLDER, ("question",)):
                    problem = f"unknown placeholder {{{key}}}{nearest_name(key, present)}"
                    yield self.fault(place, problem, one_of([*present, OPTIONS_PLACEHOLDER]))
        yield from self.missing_key_faults(needed_keys, "which the question needs")

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

    def equal_option_faults(self) -> Iterator[Fault]:
        """Yields pairs of options with the same text, each pair once.

        If a text depends on keys of items, the fault is at the first item in which both are alike.
        """
        reported_pairs: set[tuple[str, str]] = set()
        options = self.probe.head.options
        for number, item in enumerate(self.probe.items):
            for keys in item:
                first: dict[str, str] = {}
                for option, text in options.items():
                    # A missing key is a fault of its own; see `text_faults`.
                    if any(key not in keys for key in placeholders(text)):
                        continue
                    full_text = fill_keys(text, keys)
                    other = first.setdefault(normal_form(full_text.strip()), option)
                    if other == option or (other, option) in reported_pairs:
                        continue
                    reported_pairs.add((other, option))
                    is_fixed = not placeholders(text) and not placeholders(options[other])
                    place: KeyPath = ("options", option) if is_fixed else ("items", number)
                    problem = (
                        f"the options {other!r} and {option!r} are both {value_text(full_text)}"
                    )
                    yield self.fault(place, problem, "different texts")

    def label_faults(self) -> Iterator[Fault]:
        """Yields labels without texts, with texts of another label, or with similar names."""
        evaluator = self.probe.head.evaluator
        for name, other in similar_names(self.probe.labels):
            problem = f"the label {name!r} differs from {other!r} only in case or normal form"
            yield self.fault(("evaluator",), problem, "different labels")
        if isinstance(evaluator, WordCounts) and evaluator.names and evaluator.count == "most":
            expected = "`each`, because names are matched one by one"
            yield self.fault(("evaluator", "count"), "'most' beside `names`", expected)
        for key, lists in label_texts(evaluator).items():
            yield from self.label_text_faults(key, lists)

    def label_text_faults(self, key: str, lists: Mapping[str, list[str]]) -> Iterator[Fault]:
        """Yields labels with no text or a blank one, and texts that stand for two labels.

        Args:
            key: the key of the evaluator's section.
            lists: the texts of each label.
        """
        first: dict[str, str] = {}
        for label, texts in lists.items():
            place = ("evaluator", key, label)
            if not texts or not all(text.strip() for text in texts):
                expected = f"{key} that are not blank, and at least one"
                yield self.fault(place, value_text(texts), expected)
            for text in texts:
                other = first.setdefault(fold_name(text), label)
                # Words may count for several lists.
                if other != label and key != "lists":
                    problem = f"{text!r} already stands for {other!r}"
                    yield self.fault(place, problem, "each text for only one label")

    # Metrics and marks

    def metric_faults(self, name: str, metric: Metric) -> Iterator[Fault]:
        """Yields labels, keys, groups and other metrics that a metric needs and the probe lacks."""
        place = ("metric", name)
        if metric.expects:
            yield from self.missing_key_faults([EXPECTED_KEY], f"which the metric {name!r} needs")
        for key in ("label", "other"):
            yield from self.metric_label_faults((*place, key), getattr(metric, key, None))
        match metric:
            case WordShare():
                yield from self.word_share_faults(place)
            case CategoryScores():
                for label in metric.scores:
                    yield from self.metric_label_faults((*place, "scores"), label)
            case CombinedMetric():
                yield from self.combined_faults(name, metric)
            case CovariateLine():
                yield from self.covariate_faults(place, metric.covariate)
        if isinstance(metric, ObservationMetric):
            yield from self.compared_faults(place, metric)

    def metric_label_faults(self, place: KeyPath, label: str | None) -> Iterator[Fault]:
        """Yields a label of a metric that the evaluator never gives."""
        # An evaluator of numbers, or one of a Python class, has no list of labels.
        if label is not None and self.probe.labels:
            yield from self.choice_faults(place, label, self.probe.labels)

    def word_share_faults(self, place: KeyPath) -> Iterator[Fault]:
        """Yields an evaluator that counts no words, for a metric that is a share of words."""
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

    def covariate_faults(self, place: KeyPath, covariate: str) -> Iterator[Fault]:
        """Yields a covariate that items lack, that is no number, or that never differs."""
        yield from self.missing_key_faults([covariate], f"which {place_text(place)} needs")
        values = [keys[covariate] for keys in self.probe.prompts if covariate in keys]
        if any(not isinstance(value, int | float) for value in values):
            problem = f"{covariate!r} is not a number everywhere"
            yield self.fault(place, problem, "a number in every item")
        elif values and len(set(values)) == 1:
            # A line through points above one another has no slope.
            yield self.fault(place, f"{covariate!r} is the same everywhere", "different numbers")

    def compared_faults(self, place: KeyPath, metric: ObservationMetric) -> Iterator[Fault]:
        """Yields values that no prompt has, and comparisons of fewer than two values."""
        for key, value in metric.where.items():
            yield from self.value_faults((*place, "where"), key, [value])
        yield from self.value_faults(place, metric.compared_key, metric.named_values)
        if isinstance(metric, GroupComparison):
            count = len(self.probe.values(metric.by))
            if count < 2:
                problem = f"the key {metric.by!r} has {count} values to compare"
                yield self.fault(place, problem, "two or more in items or prompts")

    def value_faults(
        self, place: KeyPath, key: str, needed_values: Iterable[str]
    ) -> Iterator[Fault]:
        """Yields needed values of a key that no prompt has."""
        values = self.probe.values(key)
        for value in needed_values:
            if value not in values:
                problem = f"no prompt has the {key} {value!r}{nearest_name(value, values)}"
                yield self.fault(place, problem, one_of(values))

    def mark_faults(self) -> Iterator[Fault]:
        """Yields marks of metrics that the probe lacks, and second marks of one metric."""
        metrics = self.probe.head.metric
        # A single mapping stands for a list of one; only a list has numbers in places.
        are_several = isinstance(self.probe.document.content.get("marks"), list)
        marked_metrics: set[str] = set()
        for number, marks in enumerate(self.probe.head.marks):
            place: KeyPath = ("marks", number) if are_several else ("marks",)
            for key in ("measure", "placebo"):
                name = getattr(marks, key)
                if name is not None and name not in metrics:
                    problem = f"unknown metric {name!r}{nearest_name(name, metrics)}"
                    yield self.fault((*place, key), problem, one_of(metrics))
            if marks.measure in marked_metrics:
                problem = f"{marks.measure!r} has marks already"
                yield self.fault((*place, "measure"), problem, "marks only once per metric")
            marked_metrics.add(marks.measure)

    def class_faults(self) -> Iterator[Fault]:
        """Yields evaluators and metrics of the kind `own` in a probe that is no Python class."""
        if self.probe.own is not None:
            return
        if isinstance(self.probe.head.evaluator, OwnEvaluator):
            expected = "a different evaluator, or a Python file"
            yield self.fault(("evaluator",), CLASS_NEEDED, expected)
        for name, metric in self.probe.head.metric.items():
            if metric.kind == "own":
                expected = "a different kind, or a Python file"
                yield self.fault(("metric", name), CLASS_NEEDED, expected)


def are_prompts(value: object) -> bool:
    """Whether the value of `prompts` in an item is a list of at least one mapping."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(prompt, dict) for prompt in value)


def label_texts(evaluator: Evaluator) -> dict[str, Mapping[str, list[str]]]:
    """Returns the texts that stand for labels, by the evaluator's key and the label.

    Empty if the evaluator looks for no texts. Word lists that name a file are left out: `read`
    reads these.
    """
    texts: dict[str, Mapping[str, list[str]]] = {}
    if isinstance(evaluator, Phrases):
        texts["phrases"] = evaluator.phrases
    if isinstance(evaluator, FirstName | WordCounts):
        texts["names"] = evaluator.names
    if isinstance(evaluator, WordCounts):
        lists = evaluator.lists.items()
        texts["lists"] = {name: words for name, words in lists if isinstance(words, list)}
    return texts
