"""Reads template files, and checks them with their fillings, terms and the task of the models."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, nearest_name, one_of
from biasgrid.base.names import SPACING, spacing_problem
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
    """A template and its place."""

    file: str
    where: str
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
        faults: the list to which faults are added.

    Returns:
        The header of the first file that has one without faults (None if there is none), and the
        templates that have no faults.
    """
    files = template_files(path)
    if not files:
        problem = "this folder contains no template file"
        expected = "at least one file whose name ends in .json"
        faults.append(Fault(str(path), "", problem, expected))
    first: tuple[str, TemplateHeader] | None = None
    templates: list[LocatedTemplate] = []
    for file in files:
        content = read_object(file, TEMPLATE_EXPECTED, faults)
        if content is None:
            continue
        header = read_header(str(file), content, bias_types, faults)
        if header is None:
            continue
        first = first or (str(file), header)
        check_agreement(str(file), header, *first, faults)
        reader = TemplateReader(str(file), header, fillings, faults)
        templates += reader.templates(content["templates"])
    check_label_kinds(templates, faults)
    return first[1] if first else None, templates


def read_header(
    file: str, content: dict[str, Any], bias_types: Collection[str], faults: list[Fault]
) -> TemplateHeader | None:
    """Reads the header of a template file; None if it is faulty.

    Args:
        file: the file.
        content: its content, whose single templates are not looked at.
        bias_types: the known bias types; empty if they are unknown.
        faults: the list to which faults are added.
    """
    before = len(faults)
    check_template_keys(file, content, faults)
    if len(faults) > before:
        return None
    templates = content["templates"]
    if not isinstance(templates, list) or not templates:
        problem = "no templates" if templates == [] else f"is {json_type(templates)}"
        faults.append(Fault(file, "templates", problem, TEMPLATE_KEYS["templates"]))
    tokens = read_group_tokens(file, content["group_token"], bias_types, faults)
    names = content["input_names"]
    if not is_input_names(names):
        expected = "a list of one or two different names"
        faults.append(Fault(file, "input_names", f"is {as_json(names)}", expected))
        names = []
    label = content["label_name"]
    if not isinstance(label, str) or not label or label in names:
        faults.append(Fault(file, "label_name", f"is {as_json(label)}", "a name that no input has"))
    return TemplateHeader(tokens, tuple(names), label) if len(faults) == before else None


def check_template_keys(file: str, content: dict[str, Any], faults: list[Fault]) -> None:
    """Reports unknown and missing keys of a template file."""
    for key in content:
        if key not in TEMPLATE_KEYS:
            problem = f"unknown key{nearest_name(key, TEMPLATE_KEYS)}"
            faults.append(Fault(file, key, problem, one_of(TEMPLATE_KEYS)))
    for key, meaning in TEMPLATE_KEYS.items():
        if key not in content:
            faults.append(Fault(file, key, "missing key", meaning))


def is_input_names(value: Any) -> bool:
    """Whether a value is a list of one or two different names."""
    return is_names(value) and len(value) <= 2 and len(set(value)) == len(value)


def is_names(value: Any) -> bool:
    """Whether a value is a list of strings, with at least one and none of them empty."""
    if not isinstance(value, list) or not value:
        return False
    return all(isinstance(name, str) and name for name in value)


def read_group_tokens(
    file: str, content: Any, bias_types: Collection[str], faults: list[Fault]
) -> dict[str, str | None]:
    """Reads the group tokens: one for every bias type, or one for each of several bias types.

    Args:
        file: the file.
        content: the value of the key `group_token`.
        bias_types: the known bias types; empty if they are unknown.
        faults: the list to which faults are added.

    Returns:
        The bias type of each token, None for a token of every bias type.
    """
    if isinstance(content, str) and content.strip():
        return {content: None}
    if not isinstance(content, dict) or not content or not all(token.strip() for token in content):
        faults.append(Fault(file, "group_token", f"is {as_json(content)}", GROUP_TOKEN_EXPECTED))
        return {}
    earlier_types: list[Any] = []
    for token, bias_type in content.items():
        where = f"group_token.{token}"
        check_token_parts(file, token, content, faults)
        if not isinstance(bias_type, str):
            problem = f"is {json_type(bias_type)}"
            faults.append(Fault(file, where, problem, "the name of a bias type"))
        elif bias_types and bias_type not in bias_types:
            problem = f"unknown bias type {bias_type!r}{nearest_name(bias_type, bias_types)}"
            faults.append(Fault(file, where, problem, one_of(bias_types)))
        elif bias_type in earlier_types:
            problem = f"{bias_type!r} a second time"
            expected = "a different bias type for each token"
            faults.append(Fault(file, where, problem, expected))
        earlier_types.append(bias_type)
    return content


def check_token_parts(file: str, token: str, tokens: Iterable[str], faults: list[Fault]) -> None:
    """Reports a group token that is part of another one."""
    for longer in tokens:
        if token in longer and token != longer:
            problem = f"is part of {longer!r}"
            expected = "group tokens none of which is part of another"
            faults.append(Fault(file, f"group_token.{token}", problem, expected))


def check_agreement(
    file: str, header: TemplateHeader, first_file: str, first: TemplateHeader, faults: list[Fault]
) -> None:
    """Reports differences between the headers of a file and of the first one of its folder."""
    values = {
        "group_token": (header.group_tokens, first.group_tokens),
        "input_names": (header.input_names, first.input_names),
        "label_name": (header.label_name, first.label_name),
    }
    for key, (value, first_value) in values.items():
        if value != first_value:
            problem = f"not what {first_file} has"
            faults.append(Fault(file, key, problem, f"the same {key} in all files of the folder"))


def check_label_kinds(templates: Sequence[LocatedTemplate], faults: list[Fault]) -> None:
    """Reports labels of another kind than the label of the first template."""
    for located in templates:
        first = templates[0]
        kind, first_kind = label_type(located.template), label_type(first.template)
        if kind != first_kind:
            first_label = f"that of {first.where} in {first.file} is {first_kind}"
            problem = f"its label is {kind}, {first_label}"
            expected = "the same kind of label in all templates"
            faults.append(Fault(located.file, located.where, problem, expected))


def label_type(template: CaseTemplate) -> str:
    """Describes the type of a template's label."""
    if template.label is not None:
        return "a class"
    return "a list of target words" if template.targets is not None else "an answer"


@dataclass(frozen=True)
class TemplateReader:
    """Reads the templates of one file.

    Attributes:
        file: the file.
        header: the keys of the file that hold for all of its templates.
        fillings: the fillings of all tokens.
        faults: the list to which faults are added.
    """

    file: str
    header: TemplateHeader
    fillings: Fillings
    faults: list[Fault]

    def templates(self, contents: list[Any]) -> list[LocatedTemplate]:
        """Returns the templates that have no faults."""
        templates = []
        for position, content in enumerate(contents):
            where = f"templates[{position}]"
            before = len(self.faults)
            if not isinstance(content, dict):
                self.fault(where, f"is {json_type(content)}", "an object")
                continue
            template = self.template(where, content)
            if template is not None and len(self.faults) == before:
                templates.append(LocatedTemplate(self.file, where, template))
        return templates

    def fault(self, where: str, problem: str, expected: str) -> None:
        """Adds a fault of this file."""
        self.faults.append(Fault(self.file, where, problem, expected))

    def template(self, where: str, content: dict[str, Any]) -> CaseTemplate | None:
        """Reads a template; None if an input or the label is missing or of a wrong type.

        The faults of a template that is returned are in `faults`, too.
        """
        if not self.has_fields(where, content):
            return None
        # Fields that the header does not name are read too: placeholders are counted over all texts
        # of a template.
        strings = {name: value for name, value in content.items() if isinstance(value, str)}
        split = split_texts(strings.values(), list(self.header.group_tokens))
        texts = dict(zip(strings, split, strict=True))
        inputs = tuple(texts[name] for name in self.header.input_names)
        are_filled = [
            self.check_placeholders(f"{where}.{name}", text) for name, text in texts.items()
        ]
        if all(are_filled):
            self.check_groups(where, inputs, texts.get(self.header.label_name, ()))
        label = content[self.header.label_name]
        slots = slots_of(texts.values())
        if isinstance(label, str):
            return CaseTemplate(inputs, slots, answer=texts[self.header.label_name])
        if isinstance(label, list):
            return CaseTemplate(inputs, slots, targets=tuple(label))
        return CaseTemplate(inputs, slots, label=label)

    def has_fields(self, where: str, content: dict[str, Any]) -> bool:
        """Reports inputs and labels that are missing or of a wrong type.

        Returns:
            Whether there is none.
        """
        before = len(self.faults)
        inputs, label = self.header.input_names, self.header.label_name
        unnamed = [name for name in content if name not in (*inputs, label)]
        for name in inputs:
            if name not in content:
                problem = f"no {name!r}{nearest_name(name, unnamed)}"
                self.fault(where, problem, f"the input {name!r}, because input_names lists it")
            elif not isinstance(content[name], str):
                self.fault(f"{where}.{name}", f"is {json_type(content[name])}", "a string")
        if label not in content:
            problem = f"no {label!r}{nearest_name(label, unnamed)}"
            self.fault(where, problem, f"the label {label!r}, because label_name names it")
        elif not is_label(content[label]):
            self.fault(f"{where}.{label}", f"is {as_json(content[label])}", LABEL_EXPECTED)
        return len(self.faults) == before

    def check_placeholders(self, where: str, text: TemplateText) -> bool:
        """Reports placeholders without fillings and texts that are nearly placeholders.

        Returns:
            Whether there is none. If files of fillings could not be read, nothing is reported.
        """
        if not self.fillings.complete:
            return True
        before = len(self.faults)
        fillings = self.fillings.of
        placeholders = [*self.header.group_tokens, *(f"<{token}>" for token in fillings)]
        names = [placeholder.strip("<>") for placeholder in placeholders]
        for token in dict.fromkeys(slot.token for slot in slots_of([text])):
            if token not in fillings:
                problem = f"nothing fills <{token}>{self.hint(token, names)}"
                self.fault(where, problem, one_of(placeholders))
            elif not fillings[token]:
                problem = f"no fillings for <{token}>: its files are empty"
                self.fault(where, problem, "one filling per line")
        self.check_near_placeholders(where, text, names)
        return len(self.faults) == before

    def check_near_placeholders(
        self, where: str, text: TemplateText, names: Collection[str]
    ) -> None:
        """Reports literal text such as `<naem>`, which looks like a placeholder but is none.

        Args:
            where: the place of the text.
            text: the text.
            names: the names of all placeholders. Text that is like none of them is no fault.
        """
        literals = "\n".join(part for part in text if isinstance(part, str))
        for almost in ALMOST_PLACEHOLDER.findall(literals):
            name = almost[1:-1].split(":")[0]
            is_known = name in self.fillings.of
            hint = "" if is_known else nearest_name(name, names)
            if is_known or hint:
                self.fault(where, f"{almost} is not a placeholder{hint}", PLACEHOLDER_EXPECTED)

    def hint(self, token: str, names: Collection[str]) -> str:
        """Returns a likely reason why a placeholder has no fillings, empty if there is none."""
        if token == "mask":
            return f"; the mask is written {MASK_TOKEN}"
        nearest = nearest_name(token, names)
        if nearest or self.fillings.named:
            return nearest
        return "; the dataset names no `fillings`"

    def check_groups(
        self, where: str, inputs: Iterable[TemplateText], answer: TemplateText
    ) -> None:
        """Reports a template whose inputs do not tell social groups apart."""
        in_inputs = self.group_tokens_in(inputs)
        only_in_answer = self.group_tokens_in([answer]) - in_inputs
        if not in_inputs:
            self.fault(where, "no group token in its inputs", one_of(self.header.group_tokens))
        elif only_in_answer:
            token = sorted(only_in_answer)[0]
            problem = f"no {token} in its inputs, but one in {self.header.label_name!r}"
            self.fault(where, problem, "each group token of the label in an input as well")

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


def check_distinct_templates(templates: Iterable[LocatedTemplate], faults: list[Fault]) -> None:
    """Reports templates that have the same inputs as an earlier one."""
    first_with: dict[tuple[TemplateText, ...], LocatedTemplate] = {}
    for located in templates:
        first = first_with.setdefault(located.template.inputs, located)
        if first is not located:
            problem = f"has the same inputs as {first.where} in {first.file}"
            faults.append(Fault(located.file, located.where, problem, "each template once"))


@dataclass(frozen=True)
class TaskChecks:
    """Reports templates that models of a task cannot be asked.

    Attributes:
        task: their task.
        header: the keys that hold for all templates.
        fillings: the fillings by token.
        biases: identity terms by bias type and group.
        faults: the list to which faults are added.
    """

    task: str
    header: TemplateHeader
    fillings: dict[str, list[str]]
    biases: dict[str, GroupTerms]
    faults: list[Fault]

    def check(self, templates: Iterable[LocatedTemplate]) -> None:
        """Checks the templates that are for the task."""
        one_input = "one name, for the text with the mask"
        two_inputs = "two names, for the question and the context"
        for located in templates:
            template = located.template
            if template.task != self.task:
                continue
            if template.targets is not None:
                self.check_targets(located, template.targets)
                if self.has_inputs(located, 1, one_input):
                    self.check_masks(located, template.inputs[0])
            if template.answer is not None and self.has_inputs(located, 2, two_inputs):
                self.check_answer(located, template.answer, template.inputs[1])

    def has_inputs(self, located: LocatedTemplate, count: int, expected: str) -> bool:
        """Whether a template has as many inputs as models read; reports another number."""
        if len(located.template.inputs) == count:
            return True
        problem = f"is {as_json(self.header.input_names)}"
        expected = f"{expected}, for {self.task}"
        self.faults.append(Fault(located.file, "input_names", problem, expected))
        return False

    def check_masks(self, located: LocatedTemplate, text: TemplateText) -> None:
        """Reports a text that has not exactly one mask with each of its fillings."""
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
        where = f"{located.where}.{self.header.input_names[0]}"
        self.faults.append(Fault(located.file, where, problem, f"exactly one {MASK_TOKEN}"))

    def check_targets(self, located: LocatedTemplate, targets: Sequence[str]) -> None:
        """Reports target words that are repeated, badly spaced, or hold a placeholder or mask."""
        where = f"{located.where}.{self.header.label_name}"
        for word, count in Counter(targets).items():
            target = f"the target word {as_json(word)}"
            spacing = spacing_problem(word)
            (parts,) = split_texts([word], list(self.header.group_tokens))
            is_literal = all(isinstance(part, str) for part in parts)
            if count > 1:
                problem = f"{target} appears {count} times"
                self.faults.append(Fault(located.file, where, problem, "each target word once"))
            if spacing:
                self.faults.append(Fault(located.file, where, f"{target} {spacing}", SPACING))
            elif MASK_TOKEN in word or not is_literal:
                problem = f"{target} contains a placeholder"
                self.faults.append(Fault(located.file, where, problem, "only words"))

    def check_answer(
        self, located: LocatedTemplate, answer: TemplateText, context: TemplateText
    ) -> None:
        """Reports an answer that is not in its context in every instance; upper case is ignored."""
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
            where = f"{located.where}.{self.header.label_name}"
            expected = "an answer that appears in the context"
            self.faults.append(Fault(located.file, where, problem, expected))

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
