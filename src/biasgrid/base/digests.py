"""Digests of what users ask for, by which kept files are found again."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, fields, is_dataclass
from hashlib import sha256
from typing import Any

DIGEST_DIGITS = 16


def digest_fields(*parts: object) -> str:
    """Returns a digest of values in which fields go by their names.

    Fields that have their default are left out, so a class may get a new field with a default, or
    its fields in another order, and no digest changes. Fields of dataclasses that are not compared
    (`field(compare=False)`) never count, such as places in files, which only messages need.

    Args:
        parts: dataclasses, named tuples, and what JSON can hold of them; tuples are lists. The
            order of parts, of lists and of the entries of mappings counts, that of fields does not.

    Returns:
        The first 16 hexadecimal digits of a SHA-256.

    Raises:
        TypeError: a part holds something else. Paths are refused, because the place of a file
            determines nothing; so are sets, which have no order.
    """
    content = json.dumps([plain_content(part) for part in parts])
    return sha256(content.encode()).hexdigest()[:DIGEST_DIGITS]


def plain_content(value: Any) -> Any:
    """Returns a value with dictionaries in place of dataclasses and named tuples, at any depth."""
    if is_dataclass(value) and not isinstance(value, type):
        return dict(sorted(dataclass_content(value)))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(sorted(tuple_content(value)))
    if isinstance(value, Mapping):
        return {name: plain_content(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain_content(entry) for entry in value]
    return value


def dataclass_content(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields names and contents of compared fields that do not have their default."""
    for field in fields(value):
        content = getattr(value, field.name)
        if field.compare and not is_default(field, content):
            yield field.name, plain_content(content)


def is_default(field: Field[Any], value: Any) -> bool:
    """Whether a field has its default; one without a default never has."""
    if field.default_factory is not MISSING:
        return bool(field.default_factory() == value)
    return field.default is not MISSING and bool(field.default == value)


def tuple_content(value: Any) -> Iterator[tuple[str, Any]]:
    """Yields names and contents of the fields of a named tuple that do not have their default."""
    defaults = value._field_defaults
    for name, content in value._asdict().items():
        if name not in defaults or defaults[name] != content:
            yield name, plain_content(content)
