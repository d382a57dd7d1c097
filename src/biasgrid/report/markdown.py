"""Writes texts into Markdown so that they are read as they stand, whoever wrote them."""

from __future__ import annotations

import re
from shlex import join
from typing import Any

from biasgrid.base.names import visible_text

MARKDOWN_SYMBOLS = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
"""What has a meaning anywhere in Markdown; `_` only where a letter or digit is not on both
sides.
"""
BLOCK_MARKERS = re.compile(r"^(?:[#>+=-]|\d+(?=[.)](?:\s|$)))")
"""What has a meaning at the start of a line."""
ENTITY = re.compile(r"&(?=#?\w+;)")
ANY_SPACE = re.compile(r"[\t\n\r ]+")
BACKTICKS = re.compile("`+")


class Markdown(str):
    """Markdown that is written as it is."""

    __slots__ = ()


def escape_markdown(value: Any) -> Any:
    """Returns a value as Markdown that shows it on one line, numbers as they are."""
    if not isinstance(value, str) or isinstance(value, Markdown):
        return value
    text = MARKDOWN_SYMBOLS.sub(r"\\\g<0>", visible_text(ANY_SPACE.sub(" ", value)))
    text = ENTITY.sub("&amp;", text).replace("<", "&lt;")
    return Markdown(BLOCK_MARKERS.sub(escape_block_marker, text))


def escape_block_marker(found: re.Match[str]) -> str:
    """Returns the beginning of a line without its meaning: of a number, its full stop is what has
    one.
    """
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def code(value: object) -> Markdown:
    """Returns a text as code within a line, between more backticks than stand in it."""
    text = visible_text(ANY_SPACE.sub(" ", str(value))).replace("|", "\\|")
    fence = "`" * (max(map(len, BACKTICKS.findall(text)), default=0) + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return Markdown(f"{fence}{space}{text}{space}{fence}")


def code_line(value: object) -> Markdown:
    """Returns a line of a block of code as it is."""
    return Markdown(visible_text(" ".join(str(value).splitlines())))


def shell(*words: str) -> Markdown:
    """Returns a command as a line of a block of code."""
    return code_line(join(words))
