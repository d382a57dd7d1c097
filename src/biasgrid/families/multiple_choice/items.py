"""Items of benchmarks: a context, a question about two groups, and options with one `unknown`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from hashlib import sha256
from itertools import permutations
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, InputError, one_of, value_text
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_character
from biasgrid.base.rows import OBJECT, nested_values
from biasgrid.base.text import read_text
from biasgrid.families.multiple_choice.prompts import prompt_of
from biasgrid.families.sampling import Sample, sample_content

AMBIGUOUS, DISAMBIGUATED = CONDITIONS = ("ambig", "disambig")
"""Contexts that do not answer the question, and that do."""
NEGATIVE, NON_NEGATIVE = POLARITIES = ("neg", "nonneg")
"""Questions of which a stereotype gives one answer, and those of which it gives the other one."""
OPTIONS = 3
SCORED, WRITTEN, PRECOMPUTED, TEXTS, SPANS = "scored", "written", "precomputed", "options", "spans"
"""Ways to ask: a prompt whose options are scored, or answered in writing; what was answered in
writing elsewhere, with the options in the order of the file; question, context and the texts of the
options; question and context alone, in which an answer is found.
"""
PROMPTED = (SCORED, WRITTEN)
"""Those of generative models."""
LABEL, NAME = "label", "name"
"""How groups are named: by a word for the group, or by first names."""
ROW_ENDINGS = {LABEL: "", NAME: " (names)", None: " (labels and names)"}
"""What stands behind a category by how its groups are named."""


@dataclass(frozen=True)
class ItemFiles:
    """What makes the instances of a dataset.

    Attributes:
        files: files and folders of items, and patterns of their names.
        layout: how they are written, one of `reading.LAYOUTS`.
        metadata: BBQ's `additional_metadata.csv`, None where there is none.
        prompt: the name of a prompt, or its text.
        system: the system text, None where there is none.
        orders: whether the options are asked in all orders, or as they are in the file.
        variant: how models answer: `SCORED`, `WRITTEN`, `PRECOMPUTED`, `TEXTS` or `SPANS`.
        sample: which items are asked, None for all.
    """

    files: tuple[Path, ...]
    layout: str
    metadata: Path | None
    prompt: str
    system: str | None
    orders: str
    variant: str
    sample: Sample | None


@dataclass(frozen=True)
class Item:
    """A question with its options, which are numbered from 0.

    Attributes:
        name: its category and id, unique in a dataset.
        category: its category, whose numbers are reported together.
        template: its template in the category.
        condition: one of `CONDITIONS`.
        polarity: one of `POLARITIES`.
        context: the text before the question.
        question: the question.
        options: the texts of the options.
        spoken: what the people of the options are called in the context; the options where the file
            does not say it.
        unknown: the option that says that the answer is not known.
        label: the right option.
        target: the option that agrees with the stereotype; None where there is none or where it is
            not known.
        label_type: `LABEL` or `NAME`; None where the file does not say and items may have either.
        crossed: of categories with two dimensions, in which of them the two people differ; of KoBBQ
            the kind of item.
        group: the group that the stereotype is about.
        value: the stereotype of this group.
        is_excluded: whether the item has no target where others of its kind have one, so that it
            counts nowhere.
        where: its line, for messages.
    """

    name: str
    category: str
    template: str
    condition: str
    polarity: str
    context: str
    question: str
    options: tuple[str, ...]
    spoken: tuple[str, ...]
    unknown: int
    label: int
    target: int | None = None
    label_type: str | None = None
    crossed: str | None = None
    group: str | None = None
    value: str | None = None
    is_excluded: bool = False
    where: str = ""

    @property
    def row(self) -> str:
        """The name under which the item is reported.

        Items with first names are never averaged with others.
        """
        return self.category + ROW_ENDINGS[self.label_type]

    @property
    def known(self) -> tuple[int, ...]:
        """The options that name somebody."""
        return tuple(place for place in range(OPTIONS) if place != self.unknown)


@dataclass(frozen=True)
class QuestionSet:
    """The items of a dataset.

    Attributes:
        files: where they come from, and how they are asked.
        items: the items.
    """

    files: ItemFiles
    items: tuple[Item, ...]

    @cached_property
    def templates(self) -> dict[tuple[str, str], int]:
        """The numbers of templates, by category and template."""
        numbers: dict[tuple[str, str], int] = {}
        for item in self.items:
            numbers.setdefault((item.category, item.template), len(numbers))
        return numbers

    @property
    def orders(self) -> list[tuple[int, ...]]:
        """The orders of options in which items are asked; one if prompts show no options."""
        files = self.files
        is_shown = files.variant in PROMPTED and prompt_of(files.prompt).shows_options
        orders = list(permutations(range(OPTIONS)))
        return orders if files.orders == "all" and is_shown else orders[:1]

    def digest(self) -> str:
        """Returns a digest of all that decides the instances."""
        files = self.files
        sample = sample_content(files.sample) if files.sample else None
        settings = [files.prompt, files.system, files.orders, files.variant, sample]
        # The line of an item is only for messages.
        items = [astuple(replace(item, where="")) for item in self.items]
        return sha256(json.dumps([settings, items]).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Record:
    """A row of a file, whose fields are checked as they are read; faults are added to a list.

    Attributes:
        file: the file.
        line: the number of its line.
        values: its values by field; fields of nested objects have names like `answer_info.ans0`.
        faults: list to which faults are added.
    """

    file: str
    line: int
    values: Mapping[str, Any]
    faults: list[Fault]

    def refuse(self, field: str, problem: str, expected: str) -> None:
        """Adds a fault of a field."""
        self.faults.append(Fault(self.file, f"line {self.line}, {field}", problem, expected))

    def text(self, field: str) -> str:
        """Returns a text, or a whole number as text; without one, a fault and an empty text."""
        value = self.values.get(field)
        # Not isinstance: True is an int, too.
        if type(value) is int or (isinstance(value, str) and value.strip()):
            self.check_characters(field, str(value))
            return str(value).strip()
        self.refuse(field, self.describe(field), "text")
        return ""

    def describe(self, field: str) -> str:
        """Describes the value of a field, for messages."""
        return value_text(self.values[field]) if field in self.values else "missing"

    def check_characters(self, field: str, text: str) -> None:
        r"""Refuses invisible characters: a file whose lines are JSON may have them as `\u200b`."""
        hidden = hidden_character(text)
        if hidden:
            self.refuse(field, f"contains {hidden}", VISIBLE_CHARACTERS)

    def one_of(self, field: str, allowed: Sequence[str]) -> str:
        """Returns a text that must be one of several."""
        value = self.text(field)
        if value and value not in allowed:
            self.refuse(field, repr(value), one_of(allowed))
        return value

    def texts(self, field: str) -> list[str]:
        """Returns a list of texts; without one, a fault and an empty list."""
        value = self.values.get(field)
        if isinstance(value, list) and all(isinstance(text, str) for text in value):
            self.check_characters(field, "".join(value))
            return value
        self.refuse(field, self.describe(field), "a list of texts")
        return []

    def place(self, field: str) -> int:
        """Returns the number of an option; without one, a fault and 0."""
        value = self.values.get(field)
        if type(value) is int and 0 <= value < OPTIONS:
            return value
        self.refuse(field, self.describe(field), "0, 1 or 2")
        return 0


def json_records(path: Path, faults: list[Fault]) -> Iterator[Record]:
    """Yields the objects of a file that has one in each line."""
    try:
        text = read_text(path, OBJECT)
    except InputError as error:
        faults += error.faults
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            content = json.loads(line)
        except (ValueError, RecursionError) as error:
            faults.append(Fault(str(path), f"line {number}", f"not JSON ({error})", OBJECT))
            continue
        if isinstance(content, dict):
            yield Record(str(path), number, nested_values(content), faults)
        else:
            faults.append(Fault(str(path), f"line {number}", value_text(content), OBJECT))


def unknown_option(record: Record, field: str, is_unknown: Sequence[bool]) -> int:
    """Returns the one option that says that the answer is not known; 0 if there is not one."""
    count = sum(is_unknown)
    if count != 1:
        record.refuse(field, f"{count} options are `unknown`", "exactly one")
        return 0
    return list(is_unknown).index(True)


def check_label(record: Record, field: str, condition: str, label: int, unknown: int) -> None:
    """Refuses a label that does not go with the context."""
    if condition == AMBIGUOUS and label != unknown:
        record.refuse(field, f"{label} in an ambiguous context", f"{unknown}, the option `unknown`")
    if condition == DISAMBIGUATED and label == unknown:
        problem = f"{label}, the option `unknown`, in a context that answers the question"
        record.refuse(field, problem, "a different option")
