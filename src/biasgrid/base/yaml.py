"""Reads YAML files with the lines of all values, and refuses repeated keys, of which PyYAML
silently keeps the last.
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
from biasgrid.base.messages import FileContent, as_fault, at_line, place_text
from biasgrid.base.names import VISIBLE_CHARACTERS, hidden_within
from biasgrid.base.text import HALF_CHARACTER, read_text

MOST_NODES = 100_000
NodePlace = tuple[int | str, ...]
"""Keys and numbers of items, from the outermost to the innermost."""


class Repeated(NamedTuple):
    """A key that stood in its mapping before; lines are counted from 1."""

    key: str
    line: int
    first_line: int


class Document(NamedTuple):
    """The content of a file.

    Attributes:
        content: its keys and values.
        lines: the line in which the value of each key and each item begins, counted from 1; empty
            for content that is from no YAML file.
    """

    content: dict[str, Any]
    lines: Mapping[NodePlace, int]

    def line_of(self, place: NodePlace) -> int | None:
        """Returns the line of a value, or of the innermost one around it, None where that is the
        whole.
        """
        around = (place[:length] for length in range(len(place), 0, -1))
        return next((self.lines[one] for one in around if one in self.lines), None)

    def lines_but(self, keys: Iterable[str]) -> dict[NodePlace, int]:
        """Returns the lines without those of some of the outermost keys, which others stand in
        place of.
        """
        return {
            place: line
            for place, line in self.lines.items()
            if place[:1] not in {(key,) for key in keys}
        }

    def fault(self, file: str | Path, place: NodePlace, problem: str, expected: str) -> Fault:
        """Returns a fault of a value, with its line."""
        return Fault(str(file), at_line(self.line_of(place), place_text(place)), problem, expected)

    def checked(
        self, kind: type[FileContent], file: str | Path, context: Any = None
    ) -> FileContent:
        """Returns the content as a model of pydantic's.

        Raises:
            InputError: with every fault, each with its line.
        """
        try:
            return kind.model_validate(self.content, context=context)
        except ValidationError as error:
            raise InputError(
                as_fault(one, str(file), self.line_of(one["loc"])) for one in error.errors()
            ) from None

    def with_lines(self, faults: Iterable[Fault], file: str) -> Iterator[Fault]:
        """Yields faults with the line of the key that they name, or of the innermost one around it
        that is there.
        """
        lines = {place_text(place): line for place, line in self.lines.items() if place}
        for fault in faults:
            key = fault.where if fault.file == file else ""
            while key and key not in lines:
                key = re.sub(r"[.\[]?[^.\[]*$", "", key)
            yield replace(fault, where=at_line(lines[key], fault.where)) if key else fault


def read_yaml(path: str | Path, expected: str, keys: str) -> Document:
    """Reads a YAML file that holds a mapping.

    Args:
        path: the file.
        expected: what it should be.
        keys: keys that it may have, for messages.

    Raises:
        InputError: it cannot be read, or is not YAML, or not a mapping, or a key stands twice.
    """
    file = str(path)
    if HALF_CHARACTER.search(file):
        raise InputError(
            [Fault(ascii(file), "", "the name is not UTF-8", "a name in UTF-8: rename the file")]
        )
    text = read_text(path, expected)
    try:
        content, repeated, lines = parse_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 1}" if mark else ""
        raise InputError(
            [Fault(file, where, f"not YAML ({getattr(error, 'problem', error)})", expected)]
        ) from None
    except ValueError as error:
        raise InputError(
            [Fault(file, "", f"contains an invalid date ({error})", expected)]
        ) from None
    except RecursionError:
        raise InputError(
            [Fault(file, "", "contains an alias that refers to itself", expected)]
        ) from None
    if unseen := [
        Fault(file, where, f"contains {name}", VISIBLE_CHARACTERS)
        for where, name in hidden_within(content)
    ]:
        raise InputError(Document(content, lines).with_lines(unseen, file))
    if not isinstance(content, dict):
        raise InputError([Fault(file, "", "not a mapping", keys)])
    if repeated:
        raise InputError(
            Fault(
                file, f"line {line}", f"the key {key!r} is already in line {first}", "each key once"
            )
            for key, line, first in repeated
        )
    return Document(content, lines)


def parse_yaml(text: str) -> tuple[Any, list[Repeated], dict[NodePlace, int]]:
    """Returns the content of a YAML document, its repeated keys in their order, and the lines of
    all values.

    Raises:
        yaml.YAMLError: the text is not YAML.
    """
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        check_size(root)
        # Looked for before the content is made: merging (`<<`) writes the merged keys into the
        # mappings.
        lines: dict[NodePlace, int] = {}
        # What an alias stands for is met again.
        repeated = (
            []
            if root is None
            else sorted(set(note_lines(root, (), lines)), key=lambda found: found.line)
        )
        return None if root is None else loader.construct_document(root), repeated, lines
    finally:
        loader.dispose()


def check_size(root: yaml.Node | None) -> None:
    """Refuses a document that grows without bound where its aliases stand for what they name.

    Raises:
        yaml.YAMLError: it holds more than `MOST_NODES` values.
    """
    sizes: dict[int, int] = {}

    def size(node: yaml.Node) -> int:
        if id(node) not in sizes:
            # Of a node that stands within itself, which is refused elsewhere.
            sizes[id(node)] = 0
            held = node.value if isinstance(node, yaml.CollectionNode) else []
            parts = [
                part for item in held for part in (item if isinstance(item, tuple) else (item,))
            ]
            sizes[id(node)] = 1 + sum(map(size, parts))
        return sizes[id(node)]

    if root is not None and size(root) > MOST_NODES:
        raise yaml.YAMLError(f"its aliases expand to more than {MOST_NODES:,} values")


def note_lines(
    node: yaml.Node, place: NodePlace, lines: dict[NodePlace, int]
) -> Iterator[Repeated]:
    """Notes the lines of a value and of all that it holds, and yields keys that stood in their
    mapping before.
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
