"""Writes texts into Markdown so that they are read as they stand, whoever wrote them."""

from __future__ import annotations

import re
from shlex import join
from typing import Any

from biasgrid.base.names import visible

MARKS = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
"""What means something in Markdown wherever it stands; `_` only beside what is no letter or digit."""
AT_START = re.compile(r"^(?:[#>+=-]|\d+(?=[.)](?:\s|$)))")
"""What means something at the start of a line."""
ENTITY = re.compile(r"&(?=#?\w+;)")
SPACE = re.compile(r"[\t\n\r ]+")
RUNS = re.compile("`+")


class Ready(str):
    """Markdown that is written as it is."""

    __slots__ = ()


def escape(value: Any) -> Any:
    """Returns a value as Markdown that shows it on one line, numbers as they are."""
    if not isinstance(value, str) or isinstance(value, Ready):
        return value
    text = MARKS.sub(r"\\\g<0>", visible(SPACE.sub(" ", value)))
    text = ENTITY.sub("&amp;", text).replace("<", "&lt;")
    return Ready(AT_START.sub(marked_at_start, text))


def marked_at_start(found: re.Match[str]) -> str:
    """Returns the beginning of a line without its meaning: of a number, its full stop is what has one."""
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def code(value: object) -> Ready:
    """Returns a text as code within a line, between more backticks than stand in it."""
    text = visible(SPACE.sub(" ", str(value))).replace("|", "\\|")
    fence = "`" * (max(map(len, RUNS.findall(text)), default=0) + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return Ready(f"{fence}{space}{text}{space}{fence}")


def ready(value: object) -> Ready:
    """Returns a line of a block of code as it is."""
    return Ready(visible(" ".join(str(value).splitlines())))


def shell(*words: str) -> Ready:
    """Returns a command as a line of a block of code."""
    return ready(join(words))
