"""A pack: templates with placeholders, their fillings, and the social groups of cases.

Planning a grid imports this module, so it must not import polars.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from biasgrid.base.digests import digest_fields
from biasgrid.base.faults import Fault, InputError
from biasgrid.base.records import JsonRecord
from biasgrid.base.text import read_json
from biasgrid.families.sampling import Sample, sample_content

if TYPE_CHECKING:
    from biasgrid.groups.records import OutputType

CLASSIFICATION = "text-classification"
TASK_ANSWERS = {CLASSIFICATION: "choice", "fill-mask": "choice", "question-answering": "span"}
"""The kind of the answers."""
OUTPUT_TYPES: dict[str, OutputType] = {
    CLASSIFICATION: "classes",
    "fill-mask": "words",
    "question-answering": "answers",
}
"""The type of the records of answers, which decides the scores that can be computed."""
# Measured on the packs of word_lists/counterfactual; their instances take 6.0 to 6.6 bytes a row.
BYTES_PER_PREDICTION = {CLASSIFICATION: 10.6, "fill-mask": 29.3, "question-answering": 3.4}
"""Bytes that a row of the predictions takes, about."""
JOIN = " & "
"""Joins the parts of an intersection of bias types, such as `religion & gender`."""
CASE_PLACEHOLDER = re.compile(r"<(?P<name>\w+)(?::(?P<number>\d+))?>")
WORD_TOKEN = re.compile(r"<\w+>")
MASK_TOKEN = "[MASK]"
"""The mask in texts; models have masks of their own."""
JSON_TYPES: dict[type, str] = {
    dict: "an object",
    list: "a list",
    str: "a string",
    bool: "a truth value",
    int: "an integer",
    float: "a fraction",
    type(None): "null",
}
GroupTerms = dict[str, list[str]]


@dataclass(frozen=True)
class CasePackFiles:
    """The files that make the cases of a dataset.

    Attributes:
        templates: a JSON file, or a folder of them.
        fillings: a folder of files with one filling per line, or one such file; None for templates
            without slots.
        biases: a JSON file of bias types, their groups, and the identity terms of these.
        bias_types: the bias types to ask about; None for all.
        task: the task of the models that are asked; None if templates are not checked for a task.
        sample: the sample of cases that are asked, None for all.
    """

    templates: Path
    fillings: Path | None
    biases: Path
    bias_types: tuple[str, ...] | None = None
    task: str | None = None
    sample: Sample | None = None


@dataclass(frozen=True)
class Slot:
    """A hole for a filling of a token; slots of equal token and number hold the same filling."""

    token: str
    number: int

    def __str__(self) -> str:
        return f"<{self.token}:{self.number}>"


@dataclass(frozen=True)
class GroupSlot:
    """A hole for an identity term; all group slots of a token hold the same term."""

    token: str


TemplateText = tuple[str | Slot | GroupSlot, ...]


def readable_text(text: TemplateText) -> str:
    """Returns a text as a person reads it: group tokens without their numbers."""
    return "".join(part.token if isinstance(part, GroupSlot) else str(part) for part in text)


def placeholder_pattern(group_tokens: Sequence[str]) -> re.Pattern[str]:
    """Compiles the pattern of placeholders.

    Returns:
        A pattern whose group `group0`, `group1`, ... matches the group token of that position;
        for any other placeholder the groups of `CASE_PLACEHOLDER` match.
    """
    words, others = [], []
    for position, token in enumerate(group_tokens):
        if WORD_TOKEN.fullmatch(token):
            words.append(rf"(?P<group{position}>{re.escape(token[:-1])}(?::\d+)?>)")
        else:
            others.append(f"(?P<group{position}>{re.escape(token)})")
    # The first alternative that matches wins. Beside <who>, <who:2> may be a group token of its
    # own, which is then not <who> with a number.
    return re.compile("|".join([*others, *words, CASE_PLACEHOLDER.pattern]))


def split_texts(texts: Iterable[str], group_tokens: Sequence[str]) -> list[TemplateText]:
    """Splits the texts of one template at their placeholders.

    The n-th `<x>` over all texts is slot n of x; `<x:n>` is slot n too, wherever it is. A group
    token of the form `<word>` may carry a number, which means nothing: all of its occurrences take
    the same term.

    Args:
        texts: the template's texts, in the order in which their placeholders are counted.
        group_tokens: the tokens that identity terms replace; of any form, such as `<group>`,
            `[WHO]`.
    """
    pattern = placeholder_pattern(group_tokens)
    # The count runs on from one text to the next.
    implicit: Counter[str] = Counter()
    return [tuple(text_parts(text, pattern, group_tokens, implicit)) for text in texts]


def text_parts(
    text: str, pattern: re.Pattern[str], group_tokens: Sequence[str], implicit: Counter[str]
) -> Iterator[str | Slot | GroupSlot]:
    """Yields the parts of a text, without empty literals.

    Args:
        text: the text.
        pattern: from `placeholder_pattern`.
        group_tokens: the group tokens, in the order of the pattern's groups.
        implicit: how many placeholders without a number each token had so far; those of this text
            are added.
    """
    end = 0
    for match in pattern.finditer(text):
        if match.start() > end:
            yield text[end : match.start()]
        end = match.end()
        name, number = match["name"], match["number"]
        if name is None:
            matched = (
                position for position in range(len(group_tokens)) if match[f"group{position}"]
            )
            yield GroupSlot(group_tokens[next(matched)])
        elif number is None:
            implicit[name] += 1
            yield Slot(name, implicit[name])
        else:
            yield Slot(name, int(number))
    if end < len(text):
        yield text[end:]


def slots_of(texts: Iterable[TemplateText]) -> tuple[Slot, ...]:
    """Returns the distinct slots of texts, in the order of their first appearance."""
    return tuple(dict.fromkeys(part for text in texts for part in text if isinstance(part, Slot)))


def group_tokens_of(texts: Iterable[TemplateText]) -> set[str]:
    """Returns the group tokens in texts."""
    return {part.token for text in texts for part in text if isinstance(part, GroupSlot)}


@dataclass(frozen=True)
class Filling:
    """A filling with its file and line, counted from 1."""

    text: str
    file: str
    line: int


@dataclass(frozen=True)
class Fillings:
    """The fillings of all tokens.

    Attributes:
        of: the fillings by token, files in sorted order; a token whose files are empty has none.
        complete: whether all files could be read; else a token may have fillings that are not here.
        named: whether the dataset names a folder of them.
    """

    of: dict[str, list[Filling]]
    complete: bool
    named: bool


@dataclass(frozen=True)
class CaseTemplate:
    """A template. It has exactly one of label, targets and answer, which are to be predicted.

    Attributes:
        inputs: the one or two texts that a model reads.
        slots: the distinct slots of all its texts, in the order of their first appearance.
        label: the class of a classifier.
        targets: the target words of a masked language model.
        answer: the answer to a question, with the slots that it shares with the inputs.
    """

    inputs: tuple[TemplateText, ...]
    slots: tuple[Slot, ...]
    label: int | None = None
    targets: tuple[str, ...] | None = None
    answer: TemplateText | None = None

    @property
    def task(self) -> str:
        """The task of the models that can be asked."""
        if self.label is not None:
            return "text-classification"
        return "fill-mask" if self.targets is not None else "question-answering"


@dataclass(frozen=True)
class Identity:
    """The terms for a social group in a case; several of each where bias types intersect."""

    bias_types: tuple[str, ...]
    groups: tuple[str, ...]
    terms: tuple[str, ...]


@dataclass(frozen=True)
class CaseBlock:
    """The cases of one template.

    Attributes:
        template: the template's place in the pack.
        first_case: number of its first case.
        cases: how many cases it has.
        first_instance: number of its first instance.
        terms: how many instances a case has, one per identity term.
    """

    template: int
    first_case: int
    cases: int
    first_instance: int
    terms: int


@dataclass(frozen=True)
class CasePack:
    """The content of a dataset's files.

    Attributes:
        group_tokens: the tokens that identity terms replace, each with its bias type; None means
            every bias type in turn.
        templates: the templates, in reading order.
        fillings: the fillings by token; a filling may hold group tokens.
        biases: identity terms by bias type and group.
        sample: the sample of cases that are asked, None for all.
    """

    group_tokens: dict[str, str | None]
    templates: list[CaseTemplate]
    fillings: dict[str, list[str]]
    biases: dict[str, dict[str, list[str]]]
    sample: Sample | None = None

    @cached_property
    def blocks(self) -> list[CaseBlock]:
        """The cases of each template, numbered through."""
        blocks = []
        first_case = first_instance = 0
        for position, template in enumerate(self.templates):
            cases, terms = self.count_cases(template), self.count_terms(template)
            blocks.append(CaseBlock(position, first_case, cases, first_instance, terms))
            first_case += cases
            first_instance += cases * terms
        return blocks

    @property
    def cases(self) -> int:
        """How many cases there are: each template with each choice of fillings."""
        return sum(block.cases for block in self.blocks)

    @property
    def instances(self) -> int:
        """How many instances there are: each case with each identity term."""
        return sum(block.cases * block.terms for block in self.blocks)

    def count_cases(self, template: CaseTemplate) -> int:
        """Returns the number of choices of fillings for a template."""
        return prod(len(self.fillings[slot.token]) for slot in template.slots)

    def count_terms(self, template: CaseTemplate) -> int:
        """Returns the number of identity terms of a template, or of their combinations.

        A template with several group tokens has each combination of a term for each of them.
        """
        terms = {}
        for bias_type, groups in self.biases.items():
            terms[bias_type] = sum(map(len, groups.values()))
        count = 0
        for bias_types in self.bias_types(self.tokens(template)):
            count += prod(terms[bias_type] for bias_type in bias_types)
        return count

    @cached_property
    def tokens_in_fillings(self) -> dict[str, list[str]]:
        """The group tokens in the fillings of each token."""
        tokens: dict[str, list[str]] = {}
        for token, fillings in self.fillings.items():
            tokens[token] = []
            for group_token in self.group_tokens:
                if any(group_token in filling for filling in fillings):
                    tokens[token].append(group_token)
        return tokens

    def tokens(self, template: CaseTemplate) -> tuple[str, ...]:
        """Returns the group tokens in a template's inputs, including those of its fillings."""
        tokens = group_tokens_of(template.inputs)
        for slot in slots_of(template.inputs):
            tokens.update(self.tokens_in_fillings[slot.token])
        return tuple(token for token in self.group_tokens if token in tokens)

    def bias_types(self, tokens: tuple[str, ...]) -> list[tuple[str, ...]]:
        """Returns the combinations of bias types that a template is asked about.

        Args:
            tokens: the template's group tokens.

        Returns:
            Combinations with one bias type per token. A token without a bias type of its own has
            each of them in turn.
        """
        choices = []
        for token in tokens:
            bias_type = self.group_tokens[token]
            choices.append([*self.biases] if bias_type is None else [bias_type])
        return list(product(*choices))

    def identities(self, tokens: tuple[str, ...]) -> Iterator[Identity]:
        """Yields the terms for group tokens by bias type, group and term, in file order."""
        for bias_types in self.bias_types(tokens):
            groups_of_types = [self.biases[bias_type] for bias_type in bias_types]
            for groups in product(*groups_of_types):
                terms_of_groups = [
                    terms[group] for terms, group in zip(groups_of_types, groups, strict=True)
                ]
                for terms in product(*terms_of_groups):
                    yield Identity(bias_types, groups, terms)

    def digest(self) -> str:
        """Returns a digest of everything that determines the instances."""
        content = {
            "group_tokens": self.group_tokens,
            "templates": self.templates,
            "fillings": self.fillings,
            "biases": self.biases,
            "sample": sample_content(self.sample) if self.sample else None,
        }
        return digest_fields(content)


def json_type(value: Any) -> str:
    """Names the JSON type of a value."""
    return JSON_TYPES[type(value)]


def as_json(value: Any) -> str:
    """Returns a value as JSON has it, for a fault's problem."""
    return json.dumps(value, ensure_ascii=False)


def read_object(path: Path, expected: str, faults: list[Fault]) -> JsonRecord | None:
    """Reads a JSON file that holds an object; None if it does not, which is a fault.

    Args:
        path: the file.
        expected: a description of the file, for messages.
        faults: list to which faults are added, those of the object, too.
    """
    try:
        content = read_json(path, expected)
    except InputError as error:
        faults += error.faults
        return None
    if isinstance(content, dict):
        return JsonRecord(path, "", content, faults)
    faults.append(Fault(str(path), "", f"contains {json_type(content)}", expected))
    return None
