"""Reads template files, and says what is wrong with them, given their fillings, terms and the task
of the models.
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
"""The first of the private characters that mark the holes of a text; no text in any language has
them.
"""
Hole = tuple[str, Sequence[str]]
"""The mark of a hole, and what fills it."""
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
    """What a template file says of all its templates.

    Attributes:
        group_tokens: what identity terms replace, with its bias type; None means every bias type in
            turn.
        input_names: the names of a template's inputs.
        label_name: the name of what is to be predicted.
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
    return [
        file
        for file in sorted(path.rglob("*.json"))
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]


def read_case_templates(
    path: Path, bias_types: Collection[str], fillings: Fillings, faults: list[Fault]
) -> tuple[TemplateHeader | None, list[LocatedTemplate]]:
    """Reads all template files.

    Args:
        path: a file or a folder.
        bias_types: the known bias types; none where their file is faulty, and then none is looked
            for.
        fillings: the fillings of all tokens.
        faults: where to add what is wrong.

    Returns:
        What the files agree on, and the templates that have no faults.
    """
    files = template_files(path)
    if not files:
        faults.append(
            Fault(
                str(path),
                "",
                "this folder contains no template file",
                "at least one file whose name ends in .json",
            )
        )
    first: tuple[str, TemplateHeader] | None = None
    read: list[LocatedTemplate] = []
    for file in files:
        content = read_object(file, TEMPLATE_EXPECTED, faults)
        header = None if content is None else read_header(str(file), content, bias_types, faults)
        if content is None or header is None:
            continue
        first = first or (str(file), header)
        check_agreement(str(file), header, *first, faults)
        reader = TemplateReader(str(file), header, fillings, faults)
        read += reader.templates(content["templates"])
    check_label_kinds(read, faults)
    return first[1] if first else None, read


def read_header(
    file: str, content: dict[str, Any], bias_types: Collection[str], faults: list[Fault]
) -> TemplateHeader | None:
    """Reads what a file says of all its templates; returns None where that is faulty."""
    before = len(faults)
    faults += [
        Fault(file, key, f"unknown key{nearest_name(key, TEMPLATE_KEYS)}", one_of(TEMPLATE_KEYS))
        for key in content
        if key not in TEMPLATE_KEYS
    ]
    faults += [
        Fault(file, key, "missing key", meaning)
        for key, meaning in TEMPLATE_KEYS.items()
        if key not in content
    ]
    if len(faults) > before:
        return None
    if not isinstance(content["templates"], list) or not content["templates"]:
        problem = (
            "no templates"
            if content["templates"] == []
            else f"is {json_type(content['templates'])}"
        )
        faults.append(Fault(file, "templates", problem, TEMPLATE_KEYS["templates"]))
    tokens = read_group_tokens(file, content["group_token"], bias_types, faults)
    names = content["input_names"]
    if not is_names(names) or len(set(names)) != len(names) or len(names) > 2:
        faults.append(
            Fault(
                file, "input_names", f"is {as_json(names)}", "a list of one or two different names"
            )
        )
        names = []
    label = content["label_name"]
    if not isinstance(label, str) or not label or label in names:
        faults.append(Fault(file, "label_name", f"is {as_json(label)}", "a name that no input has"))
    return TemplateHeader(tokens, tuple(names), label) if len(faults) == before else None


def is_names(value: Any) -> bool:
    """Says whether a value is a list of strings, with at least one and none of them empty."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(name, str) and name for name in value)
    )


def read_group_tokens(
    file: str, content: Any, bias_types: Collection[str], faults: list[Fault]
) -> dict[str, str | None]:
    """Reads the group tokens: one for every bias type, or one for each of several bias types."""
    if isinstance(content, str) and content.strip():
        return {content: None}
    if not isinstance(content, dict) or not content or not all(token.strip() for token in content):
        faults.append(Fault(file, "group_token", f"is {as_json(content)}", GROUP_TOKEN_EXPECTED))
        return {}
    for token, bias_type in content.items():
        where = f"group_token.{token}"
        for longer in (other for other in content if token in other and token != other):
            faults.append(
                Fault(
                    file,
                    where,
                    f"is part of {longer!r}",
                    "group tokens none of which is part of another",
                )
            )
        if not isinstance(bias_type, str):
            faults.append(
                Fault(file, where, f"is {json_type(bias_type)}", "the name of a bias type")
            )
        elif bias_types and bias_type not in bias_types:
            problem = f"unknown bias type {bias_type!r}{nearest_name(bias_type, bias_types)}"
            faults.append(Fault(file, where, problem, one_of(bias_types)))
        elif list(content.values()).index(bias_type) != list(content).index(token):
            faults.append(
                Fault(
                    file,
                    where,
                    f"{bias_type!r} a second time",
                    "a different bias type for each token",
                )
            )
    return content


def check_agreement(
    file: str, header: TemplateHeader, first_file: str, first: TemplateHeader, faults: list[Fault]
) -> None:
    """Reports where a file says something else than the first one of its folder."""
    for key, ours, theirs in (
        ("group_token", header.group_tokens, first.group_tokens),
        ("input_names", header.input_names, first.input_names),
        ("label_name", header.label_name, first.label_name),
    ):
        if ours != theirs:
            problem = f"not what {first_file} has"
            faults.append(Fault(file, key, problem, f"the same {key} in all files of the folder"))


def check_label_kinds(read: Iterable[LocatedTemplate], faults: list[Fault]) -> None:
    """Reports labels of another kind than that of the first template."""
    first: LocatedTemplate | None = None
    for located in read:
        first = first or located
        ours, theirs = label_type(located.template), label_type(first.template)
        if ours != theirs:
            problem = f"its label is {ours}, that of {first.where} in {first.file} is {theirs}"
            faults.append(
                Fault(
                    located.file, located.where, problem, "the same kind of label in all templates"
                )
            )


def label_type(template: CaseTemplate) -> str:
    """Names what is to be predicted."""
    if template.label is not None:
        return "a class"
    return "a list of target words" if template.targets is not None else "an answer"


@dataclass(frozen=True)
class TemplateReader:
    """Reads the templates of one file.

    Attributes:
        file: the file.
        header: what the file says of all its templates.
        fillings: the fillings of all tokens.
        faults: where to add what is wrong.
    """

    file: str
    header: TemplateHeader
    fillings: Fillings
    faults: list[Fault]

    def templates(self, contents: list[Any]) -> list[LocatedTemplate]:
        """Returns the templates that have no faults."""
        read = []
        for place, content in enumerate(contents):
            where, before = f"templates[{place}]", len(self.faults)
            if not isinstance(content, dict):
                self.fault(where, f"is {json_type(content)}", "an object")
                continue
            template = self.template(where, content)
            if template is not None and len(self.faults) == before:
                read.append(LocatedTemplate(self.file, where, template))
        return read

    def fault(self, where: str, problem: str, expected: str) -> None:
        """Adds a fault of this file."""
        self.faults.append(Fault(self.file, where, problem, expected))

    def template(self, where: str, content: dict[str, Any]) -> CaseTemplate | None:
        """Reads a template; returns None where an input or the label is missing or of a wrong
        type.
        """
        if not self.has_fields(where, content):
            return None
        fields = {name: value for name, value in content.items() if isinstance(value, str)}
        texts = dict(
            zip(fields, split_texts(fields.values(), list(self.header.group_tokens)), strict=True)
        )
        inputs = tuple(texts[name] for name in self.header.input_names)
        filled = [self.check_placeholders(f"{where}.{name}", text) for name, text in texts.items()]
        if all(filled):
            self.check_groups(where, inputs, texts.get(self.header.label_name, ()))
        label = content[self.header.label_name]
        slots = slots_of(texts.values())
        if isinstance(label, str):
            return CaseTemplate(inputs, slots, answer=texts[self.header.label_name])
        if isinstance(label, list):
            return CaseTemplate(inputs, slots, targets=tuple(label))
        return CaseTemplate(inputs, slots, label=label)

    def has_fields(self, where: str, content: dict[str, Any]) -> bool:
        """Reports inputs and labels that are missing or of a wrong type; says whether all are
        right.
        """
        before = len(self.faults)
        others = [
            name
            for name in content
            if name not in (*self.header.input_names, self.header.label_name)
        ]
        for name in self.header.input_names:
            if name not in content:
                self.fault(
                    where,
                    f"no {name!r}{nearest_name(name, others)}",
                    f"the input {name!r}, because input_names lists it",
                )
            elif not isinstance(content[name], str):
                self.fault(f"{where}.{name}", f"is {json_type(content[name])}", "a string")
        label = self.header.label_name
        if label not in content:
            self.fault(
                where,
                f"no {label!r}{nearest_name(label, others)}",
                f"the label {label!r}, because label_name names it",
            )
        elif not is_label(content[label]):
            self.fault(f"{where}.{label}", f"is {as_json(content[label])}", LABEL_EXPECTED)
        return len(self.faults) == before

    def check_placeholders(self, where: str, text: TemplateText) -> bool:
        """Reports what nothing fills, or what is no placeholder but looks like one; says whether
        all is right.
        """
        if not self.fillings.complete:
            return True
        before, known = len(self.faults), self.fillings.of
        allowed = [*self.header.group_tokens, *(f"<{token}>" for token in known)]
        names = [token.strip("<>") for token in allowed]
        for token in dict.fromkeys(part.token for part in text if isinstance(part, Slot)):
            if token not in known:
                self.fault(
                    where, f"nothing fills <{token}>{self.hint(token, names)}", one_of(allowed)
                )
            elif not known[token]:
                self.fault(
                    where, f"no fillings for <{token}>: its files are empty", "one filling per line"
                )
        for found in ALMOST_PLACEHOLDER.findall(
            "\n".join(part for part in text if isinstance(part, str))
        ):
            name = found[1:-1].split(":")[0]
            hint = "" if name in known else nearest_name(name, names)
            if name in known or hint:
                self.fault(where, f"{found} is not a placeholder{hint}", PLACEHOLDER_EXPECTED)
        return len(self.faults) == before

    def hint(self, token: str, names: Collection[str]) -> str:
        """Words why a placeholder may have no fillings."""
        if token == "mask":
            return f"; the mask is written {MASK_TOKEN}"
        near = nearest_name(token, names)
        return near if near or self.fillings.named else "; the dataset names no `fillings`"

    def check_groups(
        self, where: str, inputs: Iterable[TemplateText], answer: TemplateText
    ) -> None:
        """Reports a template that does not tell social groups apart."""
        held = self.group_tokens_in(inputs)
        if not held:
            self.fault(where, "no group token in its inputs", one_of(self.header.group_tokens))
        elif missing := self.group_tokens_in([answer]) - held:
            problem = (
                f"no {sorted(missing)[0]} in its inputs, but one in {self.header.label_name!r}"
            )
            self.fault(where, problem, "each group token of the label in an input as well")

    def group_tokens_in(self, texts: Iterable[TemplateText]) -> set[str]:
        """Returns the group tokens that texts hold, by themselves or in what fills them."""
        texts = list(texts)
        slots = {part.token for text in texts for part in text if isinstance(part, Slot)}
        nested = [filling.text for token in slots for filling in self.fillings.of.get(token, [])]
        return group_tokens_of([*texts, *split_texts(nested, list(self.header.group_tokens))])


def is_label(value: Any) -> bool:
    """Says whether a value is something to be predicted: a class, target words or an answer."""
    if isinstance(value, int):
        return not isinstance(value, bool) and 0 <= value <= LARGEST_CLASS
    return is_names(value) or (isinstance(value, str) and bool(value.strip()))


def check_distinct_templates(located: Iterable[LocatedTemplate], faults: list[Fault]) -> None:
    """Reports templates that ask the same as one before them."""
    first: dict[tuple[TemplateText, ...], LocatedTemplate] = {}
    for one in located:
        other = first.setdefault(one.template.inputs, one)
        if other is not one:
            problem = f"has the same inputs as {other.where} in {other.file}"
            faults.append(Fault(one.file, one.where, problem, "each template once"))


@dataclass(frozen=True)
class TaskChecks:
    """Looks for what models of a task cannot be asked.

    Attributes:
        task: their task.
        header: what the files say of all templates.
        fillings: the fillings by token.
        biases: identity terms by bias type and group.
        faults: where to add what is wrong.
    """

    task: str
    header: TemplateHeader
    fillings: dict[str, list[str]]
    biases: dict[str, GroupTerms]
    faults: list[Fault]

    def check(self, located: Iterable[LocatedTemplate]) -> None:
        """Checks the templates that are for the task."""
        for one in located:
            template = one.template
            if template.task != self.task:
                continue
            if template.targets is not None:
                self.check_targets(one, template.targets)
                if self.has_inputs(one, 1, "one name, for the text with the mask"):
                    self.check_masks(one, template.inputs[0])
            if template.answer is not None and self.has_inputs(
                one, 2, "two names, for the question and the context"
            ):
                self.check_answer(one, template.answer, template.inputs[1])

    def has_inputs(self, located: LocatedTemplate, count: int, expected: str) -> bool:
        """Reports another number of inputs than models read; says whether it is right."""
        if len(located.template.inputs) != count:
            names = as_json(self.header.input_names)
            self.faults.append(
                Fault(located.file, "input_names", f"is {names}", f"{expected}, for {self.task}")
            )
        return len(located.template.inputs) == count

    def check_masks(self, located: LocatedTemplate, text: TemplateText) -> None:
        """Reports a text that has not exactly one mask, whatever fills it."""
        least = most = 0
        for part in text:
            counts = (
                [filling.count(MASK_TOKEN) for filling in self.fillings[part.token]]
                if isinstance(part, Slot)
                else []
            )
            counts += [part.count(MASK_TOKEN)] if isinstance(part, str) else []
            least, most = least + min(counts, default=0), most + max(counts, default=0)
        if (least, most) != (1, 1):
            problem = (
                f"{most} masks" if least == most else f"{least} to {most} masks, by its fillings"
            )
            where = f"{located.where}.{self.header.input_names[0]}"
            self.faults.append(Fault(located.file, where, problem, f"exactly one {MASK_TOKEN}"))

    def check_targets(self, located: LocatedTemplate, targets: Sequence[str]) -> None:
        """Reports target words that are given twice, or that are no words."""
        where = f"{located.where}.{self.header.label_name}"
        for word, count in Counter(targets).items():
            problem = spacing_problem(word)
            (parts,) = split_texts([word], list(self.header.group_tokens))
            if count > 1:
                twice = f"the target word {as_json(word)} appears {count} times"
                self.faults.append(Fault(located.file, where, twice, "each target word once"))
            if problem:
                self.faults.append(
                    Fault(
                        located.file, where, f"the target word {as_json(word)} {problem}", SPACING
                    )
                )
            elif MASK_TOKEN in word or not all(isinstance(part, str) for part in parts):
                held = f"the target word {as_json(word)} contains a placeholder"
                self.faults.append(Fault(located.file, where, held, "only words"))

    def check_answer(
        self, located: LocatedTemplate, answer: TemplateText, context: TemplateText
    ) -> None:
        """Reports an answer that is not in the context in every instance; capital letters are all
        one.
        """
        # Once what has few fillings is filled, the answer is often in it whatever fills the rest.
        slots = sorted(slots_of([answer, context]), key=lambda slot: len(self.fillings[slot.token]))
        parts: list[Slot | GroupSlot] = [*slots, *map(GroupSlot, self.header.group_tokens)]
        marks: dict[Slot | GroupSlot, str] = {
            part: chr(FIRST_MARK + place) for place, part in enumerate(parts)
        }
        holes = [(marks[part], self.values(part, marks)) for part in parts]
        found = answer_outside(mark_holes(answer, marks), mark_holes(context, marks), holes)
        if found:
            where = f"{located.where}.{self.header.label_name}"
            problem = f"the answer {found[0]!r} is not in the context {found[1]!r}"
            self.faults.append(
                Fault(located.file, where, problem, "an answer that appears in the context")
            )

    def values(self, part: Slot | GroupSlot, marks: dict[Slot | GroupSlot, str]) -> list[str]:
        """Returns what fills a hole, with marks for the group tokens in it."""
        if isinstance(part, GroupSlot):
            named = self.header.group_tokens[part.token]
            chosen = [
                groups for bias_type, groups in self.biases.items() if named in (None, bias_type)
            ]
            return [term for groups in chosen for terms in groups.values() for term in terms]
        texts = [
            split_texts([filling], list(self.header.group_tokens))[0]
            for filling in self.fillings[part.token]
        ]
        return [mark_holes(text, marks) for text in texts]


def mark_holes(text: TemplateText, marks: dict[Slot | GroupSlot, str]) -> str:
    """Returns a text with marks for its holes; placeholders in fillings, which are faults, stay."""
    return "".join(part if isinstance(part, str) else marks.get(part, str(part)) for part in text)


def answer_outside(answer: str, context: str, holes: Sequence[Hole]) -> tuple[str, str] | None:
    """Looks for an instance whose answer is not in its context.

    Where the answer is in the context before all holes are filled, it does so whatever fills them.
    Fillings may hold the marks of holes that follow.

    Returns:
        The answer and the context, None where there is no such instance.
    """
    if answer.casefold() in context.casefold():
        return None
    if not holes:
        return answer, context
    (mark, values), *rest = holes
    for value in values if mark in answer or mark in context else [mark]:
        found = answer_outside(answer.replace(mark, value), context.replace(mark, value), rest)
        if found:
            return found
    return None
