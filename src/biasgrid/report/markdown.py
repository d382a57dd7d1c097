"""Escapes texts for Markdown, so that nothing in them is taken for markup."""

from __future__ import annotations

import re
from shlex import join
from typing import Any

from biasgrid.base.names import visible_text

MARKDOWN_SYMBOLS = re.compile(r"[\\`*\[\]|~$]|(?<![^\W_])_|_(?![^\W_])")
"""Symbols of Markdown anywhere in a line; `_` unless a letter or digit is on both sides."""
BLOCK_MARKERS = re.compile(r"^(?:[#>+=-]|\d+(?=[.)](?:\s|$)))")
"""Symbols of Markdown at the start of a line."""
ENTITY = re.compile(r"&(?=#?\w+;)")
ANY_SPACE = re.compile(r"[\t\n\r ]+")
BACKTICKS = re.compile("`+")


class Markdown(str):
    """Markdown that is already escaped."""

    __slots__ = ()


def escape_markdown(value: Any) -> Any:
    """Returns a value as Markdown that shows it on one line, numbers as they are."""
    if not isinstance(value, str) or isinstance(value, Markdown):
        return value
    line = visible_text(ANY_SPACE.sub(" ", value))
    text = MARKDOWN_SYMBOLS.sub(r"\\\g<0>", line)
    text = ENTITY.sub("&amp;", text).replace("<", "&lt;")
    return Markdown(BLOCK_MARKERS.sub(escape_block_marker, text))


def escape_block_marker(match: re.Match[str]) -> str:
    """Returns an escaped marker of a block; the backslash goes between a number and its stop."""
    marker = match[0]
    return f"{marker}\\" if marker.isdigit() else f"\\{marker}"


def code(value: object) -> Markdown:
    """Returns a text as code within a line, between more backticks than it contains in a row."""
    text = visible_text(ANY_SPACE.sub(" ", str(value))).replace("|", "\\|")
    longest = max(map(len, BACKTICKS.findall(text)), default=0)
    fence = "`" * (longest + 1)
    space = " " if text[:1] == "`" or text[-1:] == "`" else ""
    return Markdown(f"{fence}{space}{text}{space}{fence}")


def code_line(value: object) -> Markdown:
    """Returns a line of a block of code as it is."""
    return Markdown(visible_text(" ".join(str(value).splitlines())))


def shell(*words: str) -> Markdown:
    """Returns a command as a line of a block of code."""
    return code_line(join(words))
