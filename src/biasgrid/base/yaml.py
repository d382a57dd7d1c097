"""Reads YAML files with the lines of all values.

Repeated keys are refused, since PyYAML silently keeps the last of them. Keys that YAML 1.1 reads as
booleans, such as `yes`, `no` and `on`, are texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import ValidationError

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.messages import FileContent, KeyPath, as_fault, at_line, place_text
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_within
from biasgrid.base.text import HALF_CHARACTER, read_text

MOST_NODES = 100_000
MISTAKES_IN_YAML = [
    (
        re.compile(r"([{,:] *)(\$\{\w+\}[^\s,}]*)"),
        "`${...}` within braces and without quotation marks",
        r'\1"\2"',
    ),
    (re.compile(r"^(\s*)\t\s*"), "a tab before the key; YAML takes spaces", r"\1  "),
    (
        re.compile(r"^(\s*[\w-]+:) +([^'\"\[{][^\"]*: [^\"]*)$"),
        "a colon and a space within a text without quotation marks",
        r'\1 "\2"',
    ),
    (re.compile(r"^(\s*[\w-]+):(?=\S)"), "no space behind the colon", r"\1: "),
]
"""Common mistakes: the pattern of a line with one, the mistake, and its replacement."""


class TextKeyLoader(yaml.SafeLoader):
    """Reads keys such as `yes`, `no` and `on` as texts, not as booleans.

    As booleans, `yes` and `on` would be one key, and so would `no` and 0, which Python takes for
    equal. The last one would win.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Constructs a mapping, including the keys that `<<` merges into it."""
        self.flatten_mapping(node)
        for key, _ in node.value:
            if key.tag == "tag:yaml.org,2002:bool":
                key.tag = "tag:yaml.org,2002:str"
        return super().construct_mapping(node, deep=deep)


class Repeated(NamedTuple):
    """A key that was in its mapping before; lines are counted from 1."""

    key: str
    line: int
    first_line: int


class Document(NamedTuple):
    """The content of a file.

    Attributes:
        content: its keys and values.
        lines: the first line of the value of each key and each item, counted from 1; empty for
            content that is not from a YAML file.
    """

    content: dict[str, Any]
    lines: Mapping[KeyPath, int]

    def line_of(self, place: KeyPath) -> int | None:
        """Returns the line of a value, or of the innermost value around it that has a line.

        None if only the whole document is around it.
        """
        for length in range(len(place), 0, -1):
            if place[:length] in self.lines:
                return self.lines[place[:length]]
        return None

    def lines_but(self, keys: Iterable[str]) -> dict[KeyPath, int]:
        """Returns the lines without those of some outermost keys, whose values are replaced."""
        replaced = {(key,) for key in keys}
        return {place: line for place, line in self.lines.items() if place[:1] not in replaced}

    def fault(self, file: str | Path, place: KeyPath, problem: str, expected: str) -> Fault:
        """Returns a fault of a value, with its line."""
        return Fault(str(file), at_line(self.line_of(place), place_text(place)), problem, expected)

    def checked(
        self, kind: type[FileContent], file: str | Path, context: Any = None
    ) -> FileContent:
        """Returns the content as a pydantic model.

        Raises:
            InputError: with every fault, with its line where it has one.
        """
        try:
            return kind.model_validate(self.content, context=context)
        except ValidationError as error:
            faults = [
                as_fault(details, str(file), self.line_of(details["loc"]))
                for details in error.errors()
            ]
            raise InputError(faults) from None

    def with_lines(self, faults: Iterable[Fault], file: str) -> Iterator[Fault]:
        """Yields faults with the line of the key that they name.

        If the key is not in the file, it is the line of the innermost key around it that is.
        """
        lines = {place_text(place): line for place, line in self.lines.items() if place}
        for fault in faults:
            key = fault.where if fault.file == file else ""
            while key and key not in lines:
                key = re.sub(r"[.\[]?[^.\[]*$", "", key)
            yield replace(fault, where=at_line(lines[key], fault.where)) if key else fault


def read_yaml(path: str | Path, expected: str, keys: str) -> Document:
    """Reads a YAML file that contains a mapping.

    Args:
        path: the file.
        expected: a description of the right content, for messages.
        keys: keys that it may have, for messages.

    Raises:
        InputError: it cannot be read, or is not YAML, or not a mapping, or a key is repeated.
    """
    file = str(path)
    if HALF_CHARACTER.search(file):
        expected_name = "a name in UTF-8: rename the file"
        raise InputError([Fault(ascii(file), "", "the name is not UTF-8", expected_name)])
    text = read_text(path, expected)
    try:
        content, repeated, lines = parse_yaml(text)
    except yaml.YAMLError as error:
        raise InputError([yaml_fault(error, text, file, expected)]) from None
    except ValueError as error:
        problem = f"contains an invalid date ({error})"
        raise InputError([Fault(file, "", problem, expected)]) from None
    except RecursionError:
        problem = "contains an alias that refers to itself"
        raise InputError([Fault(file, "", problem, expected)]) from None
    document = Document(content, lines)
    hidden = [
        Fault(file, where, f"contains {name}", VISIBLE_CHARACTERS)
        for where, name in hidden_within(content)
    ]
    if hidden:
        raise InputError(document.with_lines(hidden, file))
    if not isinstance(content, dict):
        raise InputError([Fault(file, "", "not a mapping", keys)])
    if repeated:
        faults = []
        for key, line, first_line in repeated:
            problem = f"the key {key!r} is already in line {first_line}"
            faults.append(Fault(file, f"line {line}", problem, "each key once"))
        raise InputError(faults)
    return document


def yaml_fault(error: yaml.YAMLError, text: str, file: str, expected: str) -> Fault:
    """Returns the fault of a text that is not YAML, with its line as it should be if that is clear.

    Args:
        error: the error of the parser.
        text: the text.
        file: its file.
        expected: a description of the right content.
    """
    problem = f"not YAML ({getattr(error, 'problem', error)})"
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return Fault(file, "", problem, expected)
    if getattr(error, "context", None) == "while scanning a simple key":
        # The parser notices only in the next line that there is no key.
        mark = error.context_mark  # type: ignore[attr-defined]
    line = text.split("\n")[mark.line] if mark.line < text.count("\n") + 1 else ""
    for pattern, cause, right in MISTAKES_IN_YAML:
        if pattern.search(line):
            expected = f"`{pattern.sub(right, line).rstrip()}`"
            return Fault(file, f"line {mark.line + 1}", f"not YAML: {cause}", expected)
    return Fault(file, f"line {mark.line + 1}", problem, expected)


def parse_yaml(text: str) -> tuple[Any, list[Repeated], dict[KeyPath, int]]:
    """Returns the content of a YAML document, its repeated keys, and the lines of all values.

    Returns:
        The content (None of an empty document), the keys in the order of lines, and lines by place.

    Raises:
        yaml.YAMLError: the text is not YAML.
    """
    loader = TextKeyLoader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None, [], {}
        check_size(root)
        # Lines are noted before the content is made: merging (`<<`) writes the merged keys into the
        # mappings. The value of an alias is met several times, hence the set.
        lines: dict[KeyPath, int] = {}
        repeated = sorted(set(note_lines(root, (), lines)), key=lambda key: key.line)
        return loader.construct_document(root), repeated, lines
    finally:
        loader.dispose()


def check_size(root: yaml.Node) -> None:
    """Refuses a document that grows without bound when its aliases are replaced by their values.

    Raises:
        yaml.YAMLError: it contains more than `MOST_NODES` values.
    """
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        if id(node) not in sizes:
            # A node within itself, which is refused elsewhere, would be counted without end.
            sizes[id(node)] = 0
            sizes[id(node)] = 1 + sum(map(size, child_nodes(node)))
        return sizes[id(node)]

    if size(root) > MOST_NODES:
        raise yaml.YAMLError(f"its aliases expand to more than {MOST_NODES:,} values")


def child_nodes(node: yaml.Node) -> list[yaml.Node]:
    """Returns the items of a list, the keys and values of a mapping; empty for other nodes."""
    if isinstance(node, yaml.SequenceNode):
        return list(node.value)
    if isinstance(node, yaml.MappingNode):
        return [child for pair in node.value for child in pair]
    return []


def note_lines(node: yaml.Node, place: KeyPath, lines: dict[KeyPath, int]) -> Iterator[Repeated]:
    """Notes the lines of a value and of all values in it, and yields repeated keys.

    Args:
        node: the node of the value.
        place: its place.
        lines: the lines by place. Is changed.
    """
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        for number, item in enumerate(node.value):
            yield from note_lines(item, (*place, number), lines)
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            inner = (*place, name)
            if inner in lines:
                yield Repeated(name, line, lines[inner])
                # Its value may have all keys of the first one's.
                yield from note_lines(value, inner, {})
            else:
                lines[inner] = line
                yield from note_lines(value, inner, lines)
