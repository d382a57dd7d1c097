"""White space that tokenizers and readers of results see otherwise than authors of word lists do."""

from __future__ import annotations

import re

WIDE_SPACE = re.compile(r"\S*(?:\s{2,}|[^\S ])\S*")
SPACING = "words, one space between two and none around them"


def wide_space(text: str) -> str | None:
    """Returns the words around the first white space that is not one space, None where all words are one space apart.

    Tokenizers tell one space from two, and UnQover's own expansion fails at two.
    """
    found = WIDE_SPACE.search(text)
    return found[0] if found else None


def spacing_problem(name: str) -> str | None:
    """Words what is wrong with the white space of a name or term, None where it is `SPACING`."""
    if not name.strip():
        return "is blank"
    if name != name.strip():
        return "begins or ends with white space"
    found = wide_space(name)
    return f"has white space in {found!r}" if found else None
