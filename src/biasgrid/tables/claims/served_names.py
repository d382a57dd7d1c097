"""The names under which servers say that they have answered, beside the name that was asked for."""

from __future__ import annotations

import re
from collections.abc import Collection

VERSION = re.compile(r"[-@:_.](?:\d{4}(?:-?\d{2}){0,2}|[0-9a-f]{7,64})")
"""What a server may add to a name: a date, such as `-2024-08-06`, `-20240806` or `-0613`, or a hash
in hexadecimal digits.
"""


def is_same_name(name: str, answer_name: str) -> bool:
    """Whether an answer has the name asked for, perhaps with a date or a hash behind it."""
    return answer_name.startswith(name) and (
        answer_name == name or VERSION.fullmatch(answer_name, len(name)) is not None
    )


def unexpected_names(name: str, answer_names: Collection[str]) -> list[str]:
    """Returns the names that a server should not have answered under, sorted.

    Args:
        name: the name asked for.
        answer_names: the names of its answers.

    Returns:
        Names of other models; all names if there are two, as then two models may have answered.
    """
    sorted_names = sorted(answer_names)
    if len(sorted_names) > 1:
        return sorted_names
    return [answer_name for answer_name in sorted_names if not is_same_name(name, answer_name)]


def names_text(name: str, answer_names: Collection[str]) -> str:
    """Says under which names a model answered that was asked for by another."""
    return f"asked for {name}, but answered as {' and as '.join(answer_names)}"
