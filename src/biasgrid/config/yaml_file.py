"""Parses YAML, and finds the keys that stand twice in a mapping, of which PyYAML keeps the last without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml


class Repeated(NamedTuple):
    """A key that stood in its mapping before; lines are counted from 1."""

    key: str
    line: int
    first_line: int


def parse_yaml(text: str) -> tuple[Any, list[Repeated]]:
    """Returns the content of a YAML document, and its repeated keys in their order.

    Raises:
        yaml.YAMLError: the text is not YAML.
    """
    loader = yaml.SafeLoader(text)
    try:
        root = loader.get_single_node()
        # Looked for before the content is made: merging (`<<`) writes the merged keys into the mappings.
        repeated = [] if root is None else sorted(set(repeated_keys(root)), key=lambda found: found.line)
        return None if root is None else loader.construct_document(root), repeated
    finally:
        loader.dispose()


def repeated_keys(node: yaml.Node) -> Iterator[Repeated]:
    """Yields the repeated keys in a node and all that it holds."""
    if isinstance(node, yaml.SequenceNode):
        for item in node.value:
            yield from repeated_keys(item)
    elif isinstance(node, yaml.MappingNode):
        first: dict[str, int] = {}
        for key, value in node.value:
            line, name = key.start_mark.line + 1, str(key.value)
            if name in first:
                yield Repeated(name, line, first[name])
            first.setdefault(name, line)
            yield from repeated_keys(value)
