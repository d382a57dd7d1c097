"""Reads template files and says what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from biasgrid.base.faults import Fault, nearest, one_of
from biasgrid.families.counterfactual.packs.fillings import Fillings
from biasgrid.families.counterfactual.packs.json_files import as_json, kind, read_object
from biasgrid.families.counterfactual.packs.pack import Template
from biasgrid.families.counterfactual.packs.placeholders import (
    MASK,
    Slot,
    Text,
    group_tokens_of,
    slots_of,
    split_texts,
)

KEYS = {
    "group_token": "what identity terms replace, such as <group>",
    "input_names": "the names of a template's inputs, in the order in which a model reads them",
    "label_name": "the name of what is to be predicted",
    "templates": "a list of templates",
}
EXPECTED = f"an object with the keys {', '.join(KEYS)}"
GROUP_TOKEN = 'a string such as <group>, or an object such as {"<group1>": "religion", "<group2>": "gender"}'
LABEL = "a class (an integer from 0), a list of target words, or an answer (a string)"
PLACEHOLDERS = "placeholders such as <x> and <x:2>, with letters, digits and _ in the name"
LARGEST_CLASS = 2**15 - 1
LOOKALIKE = re.compile(r"<[\w .:-]+>")


@dataclass(frozen=True)
class Header:
    """What a template file says of all its templates.

    Attributes:
        group_tokens: what identity terms replace, with its bias type; None stands for every bias type in turn.
        input_names: the names of a template's inputs.
        label_name: the name of what is to be predicted.
    """

    group_tokens: dict[str, str | None]
    input_names: tuple[str, ...]
    label_name: str


@dataclass(frozen=True)
class Located:
    """A template and where it stands."""

    file: str
    where: str
    template: Template


def files_of(path: Path) -> list[Path]:
    """Returns the template files that a path stands for: itself, or all JSON files below it, in sorted order."""
    if not path.is_dir():
        return [path]
    return [
        file
        for file in sorted(path.rglob("*.json"))
        if file.is_file() and not any(part.startswith(".") for part in file.relative_to(path).parts)
    ]


def read_templates(
    path: Path, bias_types: Collection[str], fillings: Fillings, faults: list[Fault]
) -> tuple[Header | None, list[Located]]:
    """Reads all template files.

    Args:
        path: a file or a folder.
        bias_types: the known bias types; none where their file is faulty, and then none is looked for.
        fillings: the fillings of all tokens.
        faults: where to add what is wrong.

    Returns:
        What the files agree on, and the templates that have no faults.
    """
    files = files_of(path)
    if not files:
        faults.append(Fault(str(path), "", "no template file in this folder", "files whose names end in .json"))
    first: tuple[str, Header] | None = None
    read: list[Located] = []
    for file in files:
        content = read_object(file, EXPECTED, faults)
        header = None if content is None else read_header(str(file), content, bias_types, faults)
        if content is None or header is None:
            continue
        first = first or (str(file), header)
        check_agreement(str(file), header, *first, faults)
        reader = Reader(str(file), header, fillings, faults)
        read += reader.templates(content["templates"])
    check_label_kinds(read, faults)
    return first[1] if first else None, read


def read_header(file: str, content: dict[str, Any], bias_types: Collection[str], faults: list[Fault]) -> Header | None:
    """Reads what a file says of all its templates; returns None where that is faulty."""
    before = len(faults)
    faults += [Fault(file, key, f"unknown key{nearest(key, KEYS)}", one_of(KEYS)) for key in content if key not in KEYS]
    faults += [Fault(file, key, "missing key", meaning) for key, meaning in KEYS.items() if key not in content]
    if len(faults) > before:
        return None
    if not isinstance(content["templates"], list) or not content["templates"]:
        problem = "no templates" if content["templates"] == [] else f"is {kind(content['templates'])}"
        faults.append(Fault(file, "templates", problem, KEYS["templates"]))
    tokens = read_group_tokens(file, content["group_token"], bias_types, faults)
    names = content["input_names"]
    if not is_names(names) or len(set(names)) != len(names) or len(names) > 2:
        faults.append(Fault(file, "input_names", f"is {as_json(names)}", "a list of one or two different names"))
        names = []
    label = content["label_name"]
    if not isinstance(label, str) or not label or label in names:
        faults.append(Fault(file, "label_name", f"is {as_json(label)}", "a name that is not an input's"))
    return Header(tokens, tuple(names), label) if len(faults) == before else None


def is_names(value: Any) -> bool:
    """Says whether a value is a list of strings, with at least one and none of them empty."""
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) and name for name in value)


def read_group_tokens(
    file: str, content: Any, bias_types: Collection[str], faults: list[Fault]
) -> dict[str, str | None]:
    """Reads the group tokens: one for every bias type, or one for each of several bias types."""
    if isinstance(content, str) and content.strip():
        return {content: None}
    if not isinstance(content, dict) or not content or not all(token.strip() for token in content):
        faults.append(Fault(file, "group_token", f"is {as_json(content)}", GROUP_TOKEN))
        return {}
    for token, bias_type in content.items():
        where = f"group_token.{token}"
        for longer in (other for other in content if token in other and token != other):
            faults.append(Fault(file, where, f"is part of {longer!r} too", "group tokens that do not hold each other"))
        if not isinstance(bias_type, str):
            faults.append(Fault(file, where, f"is {kind(bias_type)}", "the name of a bias type"))
        elif bias_types and bias_type not in bias_types:
            problem = f"unknown bias type {bias_type!r}{nearest(bias_type, bias_types)}"
            faults.append(Fault(file, where, problem, one_of(bias_types)))
        elif list(content.values()).index(bias_type) != list(content).index(token):
            faults.append(Fault(file, where, f"{bias_type!r} a second time", "another bias type for each group token"))
    return content


def check_agreement(file: str, header: Header, first_file: str, first: Header, faults: list[Fault]) -> None:
    """Reports where a file says something else than the first one of its folder."""
    for key, ours, theirs in (
        ("group_token", header.group_tokens, first.group_tokens),
        ("input_names", header.input_names, first.input_names),
        ("label_name", header.label_name, first.label_name),
    ):
        if ours != theirs:
            problem = f"not what {first_file} has"
            faults.append(Fault(file, key, problem, f"the same {key} in all files of the folder"))


def check_label_kinds(read: Iterable[Located], faults: list[Fault]) -> None:
    """Reports labels of another kind than that of the first template."""
    first: Located | None = None
    for located in read:
        first = first or located
        ours, theirs = label_kind(located.template), label_kind(first.template)
        if ours != theirs:
            problem = f"its label is {ours}, that of {first.where} in {first.file} is {theirs}"
            faults.append(Fault(located.file, located.where, problem, "labels of one kind in all templates"))


def label_kind(template: Template) -> str:
    """Names what is to be predicted."""
    if template.label is not None:
        return "a class"
    return "a list of target words" if template.targets is not None else "an answer"


@dataclass(frozen=True)
class Reader:
    """Reads the templates of one file.

    Attributes:
        file: the file.
        header: what the file says of all its templates.
        fillings: the fillings of all tokens.
        faults: where to add what is wrong.
    """

    file: str
    header: Header
    fillings: Fillings
    faults: list[Fault]

    def templates(self, contents: list[Any]) -> list[Located]:
        """Returns the templates that have no faults."""
        read = []
        for place, content in enumerate(contents):
            where, before = f"templates[{place}]", len(self.faults)
            if not isinstance(content, dict):
                self.fault(where, f"is {kind(content)}", "an object")
                continue
            template = self.template(where, content)
            if template is not None and len(self.faults) == before:
                read.append(Located(self.file, where, template))
        return read

    def fault(self, where: str, problem: str, expected: str) -> None:
        """Adds a fault of this file."""
        self.faults.append(Fault(self.file, where, problem, expected))

    def template(self, where: str, content: dict[str, Any]) -> Template | None:
        """Reads a template; returns None where an input or the label is missing or of a wrong type."""
        if not self.has_fields(where, content):
            return None
        fields = {name: value for name, value in content.items() if isinstance(value, str)}
        texts = dict(zip(fields, split_texts(fields.values(), list(self.header.group_tokens)), strict=True))
        inputs = tuple(texts[name] for name in self.header.input_names)
        filled = [self.check_placeholders(f"{where}.{name}", text) for name, text in texts.items()]
        if all(filled):
            self.check_groups(where, inputs, texts.get(self.header.label_name, ()))
        label = content[self.header.label_name]
        slots = slots_of(texts.values())
        if isinstance(label, str):
            return Template(inputs, slots, answer=texts[self.header.label_name])
        if isinstance(label, list):
            return Template(inputs, slots, targets=tuple(label))
        return Template(inputs, slots, label=label)

    def has_fields(self, where: str, content: dict[str, Any]) -> bool:
        """Reports inputs and labels that are missing or of a wrong type; says whether all are right."""
        before = len(self.faults)
        others = [name for name in content if name not in (*self.header.input_names, self.header.label_name)]
        for name in self.header.input_names:
            if name not in content:
                self.fault(where, f"no {name!r}{nearest(name, others)}", f"the input {name!r}, as input_names says")
            elif not isinstance(content[name], str):
                self.fault(f"{where}.{name}", f"is {kind(content[name])}", "a string")
        label = self.header.label_name
        if label not in content:
            self.fault(where, f"no {label!r}{nearest(label, others)}", f"the label {label!r}, as label_name says")
        elif not is_label(content[label]):
            self.fault(f"{where}.{label}", f"is {as_json(content[label])}", LABEL)
        return len(self.faults) == before

    def check_placeholders(self, where: str, text: Text) -> bool:
        """Reports what nothing fills, or what is no placeholder but looks like one; says whether all is right."""
        if not self.fillings.complete:
            return True
        before, known = len(self.faults), self.fillings.of
        allowed = [*self.header.group_tokens, *(f"<{token}>" for token in known)]
        names = [token.strip("<>") for token in allowed]
        for token in dict.fromkeys(part.token for part in text if isinstance(part, Slot)):
            if token not in known:
                self.fault(where, f"nothing fills <{token}>{self.hint(token, names)}", one_of(allowed))
            elif not known[token]:
                self.fault(where, f"no fillings for <{token}>: its files are empty", "one filling per line")
        for found in LOOKALIKE.findall("\n".join(part for part in text if isinstance(part, str))):
            name = found[1:-1].split(":")[0]
            hint = "" if name in known else nearest(name, names)
            if name in known or hint:
                self.fault(where, f"{found} is not a placeholder{hint}", PLACEHOLDERS)
        return len(self.faults) == before

    def hint(self, token: str, names: Collection[str]) -> str:
        """Words why a placeholder may have no fillings."""
        if token == "mask":
            return f"; the mask is written {MASK}"
        near = nearest(token, names)
        return near if near or self.fillings.named else "; the dataset names no `fillings`"

    def check_groups(self, where: str, inputs: Iterable[Text], answer: Text) -> None:
        """Reports a template that does not tell social groups apart."""
        held = self.group_tokens_in(inputs)
        if not held:
            self.fault(where, "no group token in its inputs", one_of(self.header.group_tokens))
        elif missing := self.group_tokens_in([answer]) - held:
            problem = f"no {sorted(missing)[0]} in its inputs, but in {self.header.label_name!r}"
            self.fault(where, problem, "the label's group tokens in an input too")

    def group_tokens_in(self, texts: Iterable[Text]) -> set[str]:
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
