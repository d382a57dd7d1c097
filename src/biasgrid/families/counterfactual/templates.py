"""Reads template files, and checks them with their fillings, terms and the task of the models.

A template is refused if models cannot be asked it as it stands: nothing is left out or repaired.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.base.names import SPACING, spacing_problem
from biasgrid.base.records import JsonRecord
from biasgrid.families.counterfactual.pack import (
    MASK_TOKEN,
    CaseTemplate,
    Fillings,
    GroupSlot,
    GroupTerms,
    Slot,
    TemplateText,
    as_json,
    group_tokens_of,
    json_type,
    read_object,
    slots_of,
    split_texts,
)

FIRST_MARK = 0x100000
"""The first of the private characters that mark the holes of a text; no language uses them."""
Hole = tuple[str, Sequence[str]]
"""The mark of a hole, and its values."""
TEMPLATE_KEYS = {
    "group_token": "what identity terms replace, such as <group>",
    "input_names": "the names of a template's inputs, in the order in which a model reads them",
    "label_name": "the name of what is to be predicted",
    "templates": "a list of templates",
}
TEMPLATE_EXPECTED = f"an object with the keys {', '.join(TEMPLATE_KEYS)}"
GROUP_TOKEN_EXPECTED = (
    'a string such as <group>, or an object such as {"<group1>": "religion", "<group2>": "gender"}'
)
LABEL_EXPECTED = "a class (an integer from 0), a list of target words, or an answer (a string)"
PLACEHOLDER_EXPECTED = "placeholders such as <x> and <x:2>, with letters, digits and _ in the name"
LARGEST_CLASS = 2**15 - 1
ALMOST_PLACEHOLDER = re.compile(r"<[\w .:-]+>")


@dataclass(frozen=True)
class TemplateHeader:
    """The keys of a template file that hold for all of its templates.

    Attributes:
        group_tokens: the tokens that identity terms replace, each with its bias type; None means
            every bias type in turn.
        input_names: the names of a template's inputs.
        label_name: the name of the label, which is to be predicted.
    """

    group_tokens: dict[str, str | None]
    input_names: tuple[str, ...]
    label_name: str


@dataclass(frozen=True)
class LocatedTemplate:
    """A template and the object of its file."""

    record: JsonRecord
    template: CaseTemplate


def template_files(path: Path) -> list[Path]:
    """Returns the template files of a path: itself, or all JSON files below it, in sorted order."""
    if not path.is_dir():
        return [path]
    files = []
    for file in sorted(path.rglob("*.json")):
        parts = file.relative_to(path).parts
        is_hidden = any(part.startswith(".") for part in parts)
        if file.is_file() and not is_hidden:
            files.append(file)
    return files


def read_case_templates(
    path: Path, bias_types: Collection[str], fillings: Fillings, faults: list[Fault]
) -> tuple[TemplateHeader | None, list[LocatedTemplate]]:
    """Reads all template files.

    Args:
        path: a file or a folder.
        bias_types: the known bias types; empty if their file is faulty, so that no bias type of a
            template is reported as unknown.
        fillings: the fillings of all tokens.
        faults: list to which faults are added.

    Returns:
        The header of the first file that has one without faults (None if there is none), and the
        templates that have no faults.
    """
    files = template_files(path)
    if not files:
        problem = "this folder contains no template file"
        expected = "at least one file whose name ends in .json"
        faults.append(Fault(str(path), "", problem, expected))
    first: tuple[Path, TemplateHeader] | None = None
    templates: list[LocatedTemplate] = []
    for file in files:
        record = read_object(file, TEMPLATE_EXPECTED, faults)
        if record is None:
            continue
        header = read_header(record, bias_types)
        if header is None:
            continue
        first = first or (file, header)
        check_agreement(record, header, *first)
        templates += TemplateReader(header, fillings).templates(record)
    check_label_kinds(templates)
    return first[1] if first else None, templates


# The header of a file


def read_header(record: JsonRecord, bias_types: Collection[str]) -> TemplateHeader | None:
    """Returns the header of a template file, None if it is faulty.

    Args:
        record: the file; its single templates are not looked at.
        bias_types: the known bias types; empty if they are unknown.
    """
    content = record.values
    check_template_keys(record)
    if not record.is_valid:
        return None
    templates = content["templates"]
    if not isinstance(templates, list) or not templates:
        problem = "no templates" if templates == [] else f"is {json_type(templates)}"
        record.add_fault("templates", problem, TEMPLATE_KEYS["templates"])
    tokens = read_group_tokens(record, bias_types)
    names = content["input_names"]
    if not is_input_names(names):
        expected = "a list of one or two different names"
        record.add_fault("input_names", f"is {as_json(names)}", expected)
        names = []
    label = content["label_name"]
    if not isinstance(label, str) or not label or label in names:
        record.add_fault("label_name", f"is {as_json(label)}", "a name that no input has")
    return TemplateHeader(tokens, tuple(names), label) if record.is_valid else None


def check_template_keys(record: JsonRecord) -> None:
    """Adds faults for unknown and missing keys of a template file."""
    for key in record.values:
        if key not in TEMPLATE_KEYS:
            problem = f"unknown key{nearest_name(key, TEMPLATE_KEYS)}"
            record.add_fault(key, problem, one_of(TEMPLATE_KEYS))
    for key, meaning in TEMPLATE_KEYS.items():
        if key not in record.values:
            record.add_fault(key, "missing key", meaning)


def is_input_names(value: Any) -> bool:
    """Whether a value is a list of one or two different names."""
    return is_names(value) and len(value) <= 2 and len(set(value)) == len(value)


def is_names(value: Any) -> bool:
    """Whether a value is a list of strings, with at least one and none of them empty."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(name, str) and name for name in value)


def read_group_tokens(record: JsonRecord, bias_types: Collection[str]) -> dict[str, str | None]:
    """Returns the bias type of each group token, None for a token of every bias type.

    Args:
        record: the file.
        bias_types: the known bias types; empty if they are unknown.
    """
    content = record.values["group_token"]
    if isinstance(content, str) and content.strip():
        return {content: None}
    if not isinstance(content, dict) or not content or not all(token.strip() for token in content):
        record.add_fault("group_token", f"is {as_json(content)}", GROUP_TOKEN_EXPECTED)
        return {}
    earlier_types: list[Any] = []
    for token, bias_type in content.items():
        field = f"group_token.{token}"
        check_token_parts(record, token, content)
        if not isinstance(bias_type, str):
            record.add_fault(field, f"is {json_type(bias_type)}", "the name of a bias type")
        elif bias_types and bias_type not in bias_types:
            problem = f"unknown bias type {bias_type!r}{nearest_name(bias_type, bias_types)}"
            record.add_fault(field, problem, one_of(bias_types))
        elif bias_type in earlier_types:
            problem = f"{bias_type!r} a second time"
            record.add_fault(field, problem, "a different bias type for each token")
        earlier_types.append(bias_type)
    return content


def check_token_parts(record: JsonRecord, token: str, tokens: Iterable[str]) -> None:
    """Adds faults for a group token that is part of another one."""
    for longer in tokens:
        if token in longer and token != longer:
            expected = "group tokens none of which is part of another"
            record.add_fault(f"group_token.{token}", f"is part of {longer!r}", expected)


def check_agreement(
    record: JsonRecord, header: TemplateHeader, first_file: Path, first_header: TemplateHeader
) -> None:
    """Adds faults for a header that differs from that of the first file of the folder."""
    for key in ("group_token", "input_names", "label_name"):
        name = "group_tokens" if key == "group_token" else key
        if getattr(header, name) != getattr(first_header, name):
            problem = f"not what {first_file} has"
            record.add_fault(key, problem, f"the same {key} in all files of the folder")


# Templates


def check_label_kinds(templates: Sequence[LocatedTemplate]) -> None:
    """Adds faults for labels of another kind than the label of the first template."""
    for located in templates:
        first = templates[0]
        kind, first_kind = label_type(located.template), label_type(first.template)
        if kind != first_kind:
            place = f"{first.record.where} in {first.record.file}"
            problem = f"its label is {kind}, that of {place} is {first_kind}"
            located.record.add_fault("", problem, "the same kind of label in all templates")


def label_type(template: CaseTemplate) -> str:
    """Describes the type of a template's label."""
    if template.label is not None:
        return "a class"
    return "a list of target words" if template.targets is not None else "an answer"


@dataclass(frozen=True)
class TemplateReader:
    """Reads the templates of one file.

    Attributes:
        header: the keys of the file that hold for all of its templates.
        fillings: the fillings of all tokens.
    """

    header: TemplateHeader
    fillings: Fillings

    def templates(self, file_record: JsonRecord) -> list[LocatedTemplate]:
        """Returns the templates that have no faults."""
        templates = []
        for position, content in enumerate(file_record.values["templates"]):
            field = f"templates[{position}]"
            if not isinstance(content, dict):
                file_record.add_fault(field, f"is {json_type(content)}", "an object")
                continue
            record = file_record.child(field, content)
            template = self.template(record)
            if template is not None and record.is_valid:
                templates.append(LocatedTemplate(record, template))
        return templates

    def template(self, record: JsonRecord) -> CaseTemplate | None:
        """Returns a template; None if an input or the label is missing or of a wrong type.

        A template that is returned is of use only if the record is valid.
        """
        content = record.values
        self.check_fields(record)
        if not record.is_valid:
            return None
        # Fields that the header does not name are read too: placeholders are counted over all texts
        # of a template.
        strings = {name: value for name, value in content.items() if isinstance(value, str)}
        split = split_texts(strings.values(), list(self.header.group_tokens))
        texts = dict(zip(strings, split, strict=True))
        inputs = tuple(texts[name] for name in self.header.input_names)
        for name, text in texts.items():
            self.check_placeholders(record, name, text)
        if record.is_valid:
            self.check_groups(record, inputs, texts.get(self.header.label_name, ()))
        label = content[self.header.label_name]
        slots = slots_of(texts.values())
        if isinstance(label, str):
            return CaseTemplate(inputs, slots, answer=texts[self.header.label_name])
        if isinstance(label, list):
            return CaseTemplate(inputs, slots, targets=tuple(label))
        return CaseTemplate(inputs, slots, label=label)

    def check_fields(self, record: JsonRecord) -> None:
        """Adds faults for inputs and labels that are missing or of a wrong type."""
        content = record.values
        inputs, label = self.header.input_names, self.header.label_name
        unnamed = [name for name in content if name not in (*inputs, label)]
        for name in inputs:
            if name not in content:
                problem = f"no {name!r}{nearest_name(name, unnamed)}"
                record.add_fault("", problem, f"the input {name!r}, because input_names lists it")
            elif not isinstance(content[name], str):
                record.add_fault(name, f"is {json_type(content[name])}", "a string")
        if label not in content:
            problem = f"no {label!r}{nearest_name(label, unnamed)}"
            record.add_fault("", problem, f"the label {label!r}, because label_name names it")
        elif not is_label(content[label]):
            record.add_fault(label, f"is {as_json(content[label])}", LABEL_EXPECTED)

    def check_placeholders(self, record: JsonRecord, field: str, text: TemplateText) -> None:
        """Adds faults for placeholders without fillings and texts that are nearly placeholders.

        If files of fillings could not be read, nothing is refused.
        """
        if not self.fillings.complete:
            return
        fillings = self.fillings.of
        placeholders = [*self.header.group_tokens, *(f"<{token}>" for token in fillings)]
        names = [placeholder.strip("<>") for placeholder in placeholders]
        for token in dict.fromkeys(slot.token for slot in slots_of([text])):
            if token not in fillings:
                problem = f"nothing fills <{token}>{self.hint(token, names)}"
                record.add_fault(field, problem, one_of(placeholders))
            elif not fillings[token]:
                problem = f"no fillings for <{token}>: its files are empty"
                record.add_fault(field, problem, "one filling per line")
        self.check_near_placeholders(record, field, text, names)

    def check_near_placeholders(
        self, record: JsonRecord, field: str, text: TemplateText, placeholder_names: Collection[str]
    ) -> None:
        """Refuses literal text such as `<naem>`, which looks like a placeholder but is none.

        Args:
            record: the template.
            field: the field with the text.
            text: the text.
            placeholder_names: the names of all placeholders. Text that is like none of them is no
                fault.
        """
        literals = "\n".join(part for part in text if isinstance(part, str))
        for almost in ALMOST_PLACEHOLDER.findall(literals):
            name = almost[1:-1].split(":")[0]
            has_fillings = name in self.fillings.of
            hint = "" if has_fillings else nearest_name(name, placeholder_names)
            if has_fillings or hint:
                record.add_fault(
                    field, f"{almost} is not a placeholder{hint}", PLACEHOLDER_EXPECTED
                )

    def hint(self, token: str, placeholder_names: Collection[str]) -> str:
        """Returns a likely reason why a placeholder has no fillings, empty if there is none."""
        if token == "mask":
            return f"; the mask is written {MASK_TOKEN}"
        nearest = nearest_name(token, placeholder_names)
        if nearest or self.fillings.named:
            return nearest
        return "; the dataset names no `fillings`"

    def check_groups(
        self, record: JsonRecord, inputs: Iterable[TemplateText], answer: TemplateText
    ) -> None:
        """Adds faults for a template whose inputs do not tell social groups apart."""
        in_inputs = self.group_tokens_in(inputs)
        only_in_answer = self.group_tokens_in([answer]) - in_inputs
        if not in_inputs:
            record.add_fault("", "no group token in its inputs", one_of(self.header.group_tokens))
        elif only_in_answer:
            token = sorted(only_in_answer)[0]
            problem = f"no {token} in its inputs, but one in {self.header.label_name!r}"
            record.add_fault("", problem, "each group token of the label in an input as well")

    def group_tokens_in(self, texts: Iterable[TemplateText]) -> set[str]:
        """Returns the group tokens in texts and in the fillings of their slots."""
        texts = list(texts)
        fillings: list[str] = []
        for token in {slot.token for slot in slots_of(texts)}:
            fillings += [filling.text for filling in self.fillings.of.get(token, [])]
        filled = split_texts(fillings, list(self.header.group_tokens))
        return group_tokens_of([*texts, *filled])


def is_label(value: Any) -> bool:
    """Whether a value is a label: a class, target words or an answer."""
    # A truth value is an int, too.
    if isinstance(value, int):
        return not isinstance(value, bool) and 0 <= value <= LARGEST_CLASS
    return is_names(value) or (isinstance(value, str) and bool(value.strip()))


def check_distinct_templates(templates: Iterable[LocatedTemplate]) -> None:
    """Adds faults for templates that have the same inputs as an earlier one."""
    first_with: dict[tuple[TemplateText, ...], LocatedTemplate] = {}
    for located in templates:
        first = first_with.setdefault(located.template.inputs, located)
        if first is not located:
            problem = f"has the same inputs as {first.record.where} in {first.record.file}"
            located.record.add_fault("", problem, "each template once")


# Whether models of a task can be asked


@dataclass(frozen=True)
class TaskChecks:
    """Refuses templates that models of a task cannot be asked.

    Attributes:
        task: their task.
        header: the keys that hold for all templates.
        fillings: the fillings by token.
        biases: identity terms by bias type and group.
    """

    task: str
    header: TemplateHeader
    fillings: dict[str, list[str]]
    biases: dict[str, GroupTerms]

    def check(self, templates: Iterable[LocatedTemplate]) -> None:
        """Checks the templates that are for the task."""
        one_input = "one name, for the text with the mask"
        two_inputs = "two names, for the question and the context"
        for located in templates:
            template = located.template
            if template.task != self.task:
                continue
            if template.targets is not None:
                self.check_targets(located.record, template.targets)
                if self.has_inputs(located, 1, one_input):
                    self.check_masks(located.record, template.inputs[0])
            if template.answer is not None and self.has_inputs(located, 2, two_inputs):
                self.check_answer(located.record, template.answer, template.inputs[1])

    def has_inputs(self, located: LocatedTemplate, input_count: int, expected: str) -> bool:
        """Whether a template has as many inputs as models read; another number is a fault."""
        if len(located.template.inputs) == input_count:
            return True
        problem = f"is {as_json(self.header.input_names)}"
        expected = f"{expected}, for {self.task}"
        # The names of inputs are those of the file, not of the template.
        record = located.record
        record.faults.append(Fault(str(record.file), "input_names", problem, expected))
        return False

    def check_masks(self, record: JsonRecord, text: TemplateText) -> None:
        """Adds faults for a text that has not exactly one mask with each of its fillings."""
        least = most = 0
        for part in text:
            if isinstance(part, GroupSlot):
                # No identity term contains a mask.
                continue
            alternatives = [part] if isinstance(part, str) else self.fillings[part.token]
            counts = [alternative.count(MASK_TOKEN) for alternative in alternatives]
            least += min(counts, default=0)
            most += max(counts, default=0)
        if least == most == 1:
            return
        problem = f"{most} masks" if least == most else f"{least} to {most} masks, by its fillings"
        record.add_fault(self.header.input_names[0], problem, f"exactly one {MASK_TOKEN}")

    def check_targets(self, record: JsonRecord, targets: Sequence[str]) -> None:
        """Refuses target words that are repeated, badly spaced, or hold a placeholder or mask."""
        field = self.header.label_name
        for word, count in Counter(targets).items():
            target = f"the target word {as_json(word)}"
            spacing = spacing_problem(word)
            (parts,) = split_texts([word], list(self.header.group_tokens))
            is_literal = all(isinstance(part, str) for part in parts)
            if count > 1:
                problem = f"{target} appears {count} times"
                record.add_fault(field, problem, "each target word once")
            if spacing:
                record.add_fault(field, f"{target} {spacing}", SPACING)
            elif MASK_TOKEN in word or not is_literal:
                record.add_fault(field, f"{target} contains a placeholder", "only words")

    def check_answer(self, record: JsonRecord, answer: TemplateText, context: TemplateText) -> None:
        """Refuses an answer that is not in its context in every instance; upper case is ignored."""
        # Once the slots with few fillings are filled, the answer is often in the context with any
        # fillings of the others, so those are filled first.
        slots = sorted(slots_of([answer, context]), key=lambda slot: len(self.fillings[slot.token]))
        group_slots = [GroupSlot(token) for token in self.header.group_tokens]
        parts: list[Slot | GroupSlot] = [*slots, *group_slots]
        marks = {part: chr(FIRST_MARK + position) for position, part in enumerate(parts)}
        holes = [(marks[part], self.values(part, marks)) for part in parts]
        outside = answer_outside(mark_holes(answer, marks), mark_holes(context, marks), holes)
        if outside:
            filled_answer, filled_context = outside
            problem = f"the answer {filled_answer!r} is not in the context {filled_context!r}"
            record.add_fault(
                self.header.label_name, problem, "an answer that appears in the context"
            )

    def values(self, part: Slot | GroupSlot, marks: dict[Slot | GroupSlot, str]) -> list[str]:
        """Returns the texts that fill a hole, with marks for the group tokens in fillings."""
        if isinstance(part, GroupSlot):
            return self.terms_of(part)
        group_tokens = list(self.header.group_tokens)
        texts = []
        for filling in self.fillings[part.token]:
            (text,) = split_texts([filling], group_tokens)
            texts.append(mark_holes(text, marks))
        return texts

    def terms_of(self, slot: GroupSlot) -> list[str]:
        """Returns the identity terms that replace a group token."""
        own_type = self.header.group_tokens[slot.token]
        terms: list[str] = []
        for bias_type, groups in self.biases.items():
            if own_type in (None, bias_type):
                for terms_of_group in groups.values():
                    terms += terms_of_group
        return terms


def mark_holes(text: TemplateText, marks: dict[Slot | GroupSlot, str]) -> str:
    """Returns a text with marks for its holes; placeholders in fillings, which are faults, stay."""
    return "".join(part if isinstance(part, str) else marks.get(part, str(part)) for part in text)


def answer_outside(answer: str, context: str, holes: Sequence[Hole]) -> tuple[str, str] | None:
    """Looks for an instance whose answer is not in its context.

    If the answer is in the context before all holes are filled, it is there with any values. Most
    combinations of values need not be tried.

    Args:
        answer: the answer, with the marks of its holes.
        context: the context, with the marks of its holes.
        holes: the holes that are not filled. The values of one may contain marks of later ones.

    Returns:
        The answer and the context, None if there is no such instance.
    """
    if answer.casefold() in context.casefold():
        return None
    if not holes:
        return answer, context
    (mark, values), *later = holes
    # Values of a hole that neither text has would all make the same texts.
    alternatives = values if mark in answer or mark in context else [mark]
    for value in alternatives:
        outside = answer_outside(answer.replace(mark, value), context.replace(mark, value), later)
        if outside:
            return outside
    return None
