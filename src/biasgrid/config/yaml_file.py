"""Parses YAML, and finds the keys that stand twice in a mapping, of which PyYAML keeps the last without a word."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

MOST_NODES = 100_000


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
        check_size(root)
        # Looked for before the content is made: merging (`<<`) writes the merged keys into the mappings.
        repeated = [] if root is None else sorted(set(repeated_keys(root)), key=lambda found: found.line)
        return None if root is None else loader.construct_document(root), repeated
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
            parts = [part for item in held for part in (item if isinstance(item, tuple) else (item,))]
            sizes[id(node)] = 1 + sum(map(size, parts))
        return sizes[id(node)]

    if root is not None and size(root) > MOST_NODES:
        raise yaml.YAMLError(f"its aliases stand for more than {MOST_NODES:,} values")


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
