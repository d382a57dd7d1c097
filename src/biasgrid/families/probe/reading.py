"""Reads the probe of a dataset, and says what makes its prompts and what is wrong with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
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
        """A digest of what makes the instances; what is made of the answers does not count."""
        head = self.probe.head.model_dump(
            mode="json", include={"system", "question", "options", "orders", "seed"}
        )
        sample = self.files.sample.model_dump() if self.files.sample else None
        deciding = [
            head,
            self.probe.items,
            self.candidates,
            self.files.answers,
            self.files.repetitions,
            sample,
        ]
        return sha256(json.dumps(deciding).encode()).hexdigest()[:16]


def read(files: ProbeFiles) -> tuple[ProbeRequests | None, list[Fault]]:
    """Reads a probe and returns it with every fault that is in it."""
    loaded = load_probe(files.probe)
    if loaded.probe is None:
        return None, list(loaded.faults)
    faults = [*loaded.faults, *ProbeChecks(files.probe, loaded.probe).all()]
    requests = ProbeRequests(files, replace(loaded.probe, language=language_words(files.language)))
    if files.answers == SCORED and not requests.candidates:
        problem = (
            f"the evaluator {loaded.probe.head.evaluator.name!r} has no options, so there are no "
            "probabilities to read"
        )
        faults.append(Fault(str(files.probe), "", problem, "`answers: written` of the dataset"))
    return requests, list(dict.fromkeys(faults))


FaultAt = Callable[[NodePlace, str, str], Fault]
"""Makes a fault of a place in the probe's file, a problem, and what was expected."""
BRACES_EXPECTED = "braces only around the name of a key, such as {topic}"


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
        """Returns a fault of a key or an item, in the file that has it."""
        part = self.probe.shared.get(str(place[0]))
        file, document = (part.file, part.document) if part else (self.file, self.probe.document)
        return document.fault(file, place, problem, expected)

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
        """Yields prompts that are none, and keys whose values are no text or number."""
        for number, item in enumerate(self.probe.head.items):
            prompts = item.get(PROMPTS_KEY, [])
            are_prompts = (
                isinstance(prompts, list)
                and prompts
                and all(isinstance(each, dict) for each in prompts)
            )
            if PROMPTS_KEY in item and not are_prompts:
                yield self.fault(
                    ("items", number, PROMPTS_KEY),
                    value_text(prompts),
                    "a list of mappings, one per prompt",
                )
        for place, keys in self.places():
            for key, value in keys.items():
                if isinstance(value, bool) or not isinstance(value, str | int | float):
                    yield self.fault(
                        (*place, key),
                        value_text(value),
                        "text or a number; put words such as `no` in quotes, because YAML gives "
                        "them a meaning of their own",
                    )

    def places(self) -> Iterator[tuple[NodePlace, dict[str, object]]]:
        """Yields the items and their prompts, each with its place and own keys."""
        head = self.probe.head
        for number, prompt in enumerate(head.prompts):
            yield ("prompts", number), prompt
        for number, item in enumerate(head.items):
            yield (
                ("items", number),
                {key: value for key, value in item.items() if key != PROMPTS_KEY},
            )
            prompts = item.get(PROMPTS_KEY, [])
            for which, prompt in enumerate(prompts if isinstance(prompts, list) else []):
                if isinstance(prompt, dict):
                    yield ("items", number, PROMPTS_KEY, which), prompt

    def texts(self) -> Iterator[tuple[NodePlace, str]]:
        """Yields the texts with placeholders."""
        head = self.probe.head
        yield ("question",), head.question
        yield from ((("options", name), text) for name, text in head.options.items())
        if isinstance(head.evaluator, FirstName | WordCounts):
            names = head.evaluator.names.items()
            yield from (
                (("evaluator", "names", label), name)
                for label, of_label in names
                for name in of_label
            )

    def text_faults(self) -> Iterator[Fault]:
        """Yields braces that are no placeholders, placeholders of no key, and items without a key
        that is needed.
        """
        present = {key for keys in self.probe.keys for key in keys}
        for place, text in self.texts():
            if has_stray_brace(text):
                yield self.fault(
                    place, f"{value_text(text)} has a brace outside a placeholder", BRACES_EXPECTED
                )
            for key in placeholders(text):
                if key not in present and (key, place) != (OPTIONS_PLACEHOLDER, ("question",)):
                    problem = f"unknown placeholder {{{key}}}{nearest_name(key, present)}"
                    yield self.fault(place, problem, one_of([*present, OPTIONS_PLACEHOLDER]))
        wanted = dict.fromkeys(
            key for _, text in self.texts() for key in placeholders(text) if key in present
        )
        yield from self.lacking(list(wanted), "which the question needs")

    def lacking(self, wanted: list[str], why: str) -> Iterator[Fault]:
        """Yields items that have a prompt without a key."""
        for number, item in enumerate(self.probe.items):
            for key in wanted:
                if any(key not in keys for keys in item):
                    yield self.fault(
                        ("items", number),
                        f"has no key {key!r}, {why}",
                        f"{key} in every item or prompt",
                    )

    def option_faults(self) -> Iterator[Fault]:
        """Yields options that are not asked, and orders that there are not."""
        head = self.probe.head
        asked = OPTIONS_PLACEHOLDER in placeholders(head.question)
        if head.options and not asked:
            yield self.fault(
                ("question",),
                f"{value_text(head.question)} lacks {{{OPTIONS_PLACEHOLDER}}}",
                "it at the place of the options",
            )
        if asked and not head.options:
            yield self.fault(
                ("question",),
                f"has {{{OPTIONS_PLACEHOLDER}}}, but there are none",
                "`options` with a text for each",
            )
        if len(head.options) == 1:
            yield self.fault(
                ("options",), f"{next(iter(head.options))!r} alone", "two or more, or none"
            )
        if head.evaluator.OF_OPTIONS and not head.options:
            yield self.fault(
                ("evaluator",),
                f"{head.evaluator.name} without options",
                "`options` with a text for each",
            )
        if isinstance(head.orders, int) and head.orders > factorial(len(head.options)):
            most = factorial(len(head.options))
            yield self.fault(
                ("orders",),
                f"{head.orders} orders of {len(head.options)} options",
                f"at most {most}, or all",
            )

    def expected_faults(self) -> Iterator[Fault]:
        """Yields what is expected but no label of the evaluator."""
        if not self.probe.labels:
            return
        for place, keys in self.places():
            value = keys.get(EXPECTED_KEY)
            if value is not None and value not in self.probe.labels:
                problem = f"{value_text(value)}{nearest_name(str(value), self.probe.labels)}"
                yield self.fault((*place, EXPECTED_KEY), problem, one_of(self.probe.labels))

    def source_faults(self) -> Iterator[Fault]:
        """Yields items that do not say on which evidence they state a stereotype, where the probe
        names any.
        """
        known = self.probe.head.sources
        if not known:
            return
        yield from self.lacking([SOURCE_KEY], "so nothing says why this is a stereotype")
        for place, keys in self.places():
            value = keys.get(SOURCE_KEY)
            if value is not None and value not in known:
                yield self.fault(
                    (*place, SOURCE_KEY),
                    f"{value_text(value)}{nearest_name(str(value), known)}",
                    one_of(known),
                )

    def metric_faults(self, name: str, metric: Metric) -> Iterator[Fault]:
        """Yields what a metric needs and does not have."""
        place, labels = ("metric", name), self.probe.labels
        if metric.expects:
            yield from self.lacking([EXPECTED_KEY], f"which the metric {name!r} needs")
        for key in ("label", "other"):
            label = getattr(metric, key, None)
            if label is not None and labels and label not in labels:
                yield self.fault(
                    (*place, key),
                    f"{value_text(label)}{nearest_name(label, labels)}",
                    one_of(labels),
                )
        if isinstance(metric, WordShare) and not isinstance(self.probe.head.evaluator, WordCounts):
            problem = (
                f"'word-share', but the evaluator {self.probe.head.evaluator.name!r} "
                "counts no words"
            )
            yield self.fault(place, problem, "the evaluator 'words'")
        if isinstance(metric, CategoryScores):
            yield from self.category_faults(place, metric)
        if isinstance(metric, CombinedMetric):
            metrics = self.probe.head.metric
            # What a class returns is no sum over items, as all others are.
            above = [
                one
                for one in list(metrics)[: list(metrics).index(name)]
                if metrics[one].kind != "own"
            ]
            for one in (one for one in metric.of if one not in above):
                problem = (
                    f"{one!r} is not a metric that is defined above it and computed by "
                    f"biasgrid{nearest_name(one, above)}"
                )
                yield self.fault((*place, "of"), problem, one_of(above))
        if isinstance(metric, CovariateLine):
            yield from self.covariate_faults(place, metric.covariate)
        if isinstance(metric, ObservationMetric):
            for key, value in metric.where.items():
                yield from self.value_faults((*place, "where"), key, [value])
        key = metric.by if isinstance(metric, GroupComparison) else GROUP_KEY
        known = yield from self.value_faults(place, key, getattr(metric, "groups", None) or ())
        if isinstance(metric, GroupComparison) and len(known) < 2:
            yield self.fault(
                place,
                f"the key {key!r} has {len(known)} values to compare",
                "two or more in items or prompts",
            )

    def value_faults(
        self, place: NodePlace, key: str, wanted: Iterable[str]
    ) -> Generator[Fault, None, list[str]]:
        """Yields values of a key that no prompt has, and returns those that there are."""
        known = list(dict.fromkeys(str(keys[key]) for keys in self.probe.keys if key in keys))
        for one in (one for one in wanted if one not in known):
            yield self.fault(
                place, f"no prompt has the {key} {one!r}{nearest_name(one, known)}", one_of(known)
            )
        return known

    def category_faults(self, place: NodePlace, metric: CategoryScores) -> Iterator[Fault]:
        """Yields labels that there are not, and categories that no item has."""
        labels = self.probe.labels
        for label in (label for label in metric.scores if labels and label not in labels):
            yield self.fault(
                (*place, "scores"),
                f"{value_text(label)}{nearest_name(label, labels)}",
                one_of(labels),
            )
        if metric.by:
            yield from self.value_faults(place, metric.by, (*metric.high, *metric.low))

    def covariate_faults(self, place: NodePlace, covariate: str) -> Iterator[Fault]:
        """Yields a covariate that items lack, is no number, or the same everywhere."""
        yield from self.lacking([covariate], f"which {place_text(place)} needs")
        values = [keys[covariate] for keys in self.probe.keys if covariate in keys]
        if any(not isinstance(value, int | float) for value in values):
            yield self.fault(
                place, f"{covariate!r} is not a number everywhere", "a number in every item"
            )
        elif values and len(set(values)) == 1:
            yield self.fault(place, f"{covariate!r} is the same everywhere", "different numbers")

    def mark_faults(self) -> Iterator[Fault]:
        """Yields marks of metrics that there are not, and second ones."""
        first: set[str] = set()
        known, are_several = (
            self.probe.head.metric,
            isinstance(self.probe.document.content.get("marks"), list),
        )
        for number, marks in enumerate(self.probe.head.marks):
            place: NodePlace = ("marks", number) if are_several else ("marks",)
            if marks.measure not in known:
                problem = f"unknown metric {marks.measure!r}{nearest_name(marks.measure, known)}"
                yield self.fault((*place, "measure"), problem, one_of(known))
            if marks.placebo is not None and marks.placebo not in known:
                problem = f"unknown metric {marks.placebo!r}{nearest_name(marks.placebo, known)}"
                yield self.fault((*place, "placebo"), problem, one_of(known))
            if marks.measure in first:
                yield self.fault(
                    (*place, "measure"),
                    f"{marks.measure!r} has marks already",
                    "marks only once per metric",
                )
            first.add(marks.measure)

    def name_faults(self) -> Iterator[Fault]:
        """Yields a key of names that no prompt has."""
        key, known = (
            self.probe.head.names,
            list(dict.fromkeys(key for keys in self.probe.keys for key in keys)),
        )
        if "names" in self.probe.head.model_fields_set and key not in known:
            yield self.fault(
                ("names",),
                f"no prompt has the key {key!r}{nearest_name(key, known)}",
                one_of(known),
            )

    def class_faults(self) -> Iterator[Fault]:
        """Yields what a class alone can do, of a probe that is none."""
        if self.probe.own is not None:
            return
        if isinstance(self.probe.head.evaluator, OwnEvaluator):
            yield self.fault(
                ("evaluator",),
                "'own', which needs a method of a Python class",
                "a different evaluator, or a Python file",
            )
        for name, metric in self.probe.head.metric.items():
            if metric.kind == "own":
                yield self.fault(
                    ("metric", name),
                    "'own', which needs a method of a Python class",
                    "a different kind, or a Python file",
                )


def ambiguous_option_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields options that have one text: where that holds keys, of the first item in which it is
    so.
    """
    reported: set[tuple[str, str]] = set()
    options = probe.head.options
    for number, item in enumerate(probe.items):
        for keys in item:
            first: dict[str, str] = {}
            for option, text in options.items():
                if any(key not in keys for key in placeholders(text)):
                    continue
                written = fill_keys(text, keys)
                other = first.setdefault(normal_form(written.strip()), option)
                if other != option and (other, option) not in reported:
                    reported.add((other, option))
                    is_fixed = not placeholders(text) and not placeholders(options[other])
                    place: NodePlace = ("options", option) if is_fixed else ("items", number)
                    problem = f"the options {other!r} and {option!r} are both {value_text(written)}"
                    yield fault(place, problem, "different texts")


def ambiguous_label_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields labels without texts, with texts of another label, or that look like others."""
    evaluator = probe.head.evaluator
    for name, other in similar_names(probe.labels):
        problem = f"the label {name!r} differs from {other!r} only in case or normal form"
        yield fault(("evaluator",), problem, "different labels")
    texts_of = dict[str, Mapping[str, list[str]]]()
    if isinstance(evaluator, Phrases):
        texts_of["phrases"] = evaluator.phrases
    if isinstance(evaluator, FirstName | WordCounts):
        texts_of["names"] = evaluator.names
    if isinstance(evaluator, WordCounts):
        texts_of["lists"] = {
            name: words for name, words in evaluator.lists.items() if isinstance(words, list)
        }
        if evaluator.names and evaluator.count == "most":
            yield fault(
                ("evaluator", "count"),
                "'most' beside `names`",
                "`each`, because names are matched one by one",
            )
    for key, lists in texts_of.items():
        first: dict[str, str] = {}
        for label, texts in lists.items():
            place = ("evaluator", key, label)
            if not texts or not all(text.strip() for text in texts):
                yield fault(place, value_text(texts), f"{key} that are not blank, and at least one")
            for text in texts:
                other = first.setdefault(fold_name(text), label)
                # Words may count for several lists.
                if other != label and key != "lists":
                    yield fault(
                        place,
                        f"{text!r} already stands for {other!r}",
                        "each text for only one label",
                    )


def ambiguous_group_faults(probe: Probe, fault: FaultAt) -> Iterator[Fault]:
    """Yields groups and other values that metrics compare, and that look like others."""
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
