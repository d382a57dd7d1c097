"""White space that tokenizers and readers of results do not see as authors of word lists do."""

from __future__ import annotations

import re

WIDE_SPACE = re.compile(r"\s{2,}|[^\S ]")
WHITE_SPACE = re.compile(r"\s")
SPACING = "words, one space between two and none around them"


def wide_space(text: str) -> str | None:
    """Returns the words around the first white space that is not one space, None where all words are one space apart.

    To tokenizers two spaces are not one, and UnQover's own expansion fails at two.
    """
    found = WIDE_SPACE.search(text)
    if found is None:
        return None
    # Not by one pattern, which would begin anew at each letter of a long word.
    before = WHITE_SPACE.split(text[: found.start()])[-1]
    behind = WHITE_SPACE.split(text[found.end() :], maxsplit=1)[0]
    return before + found[0] + behind


def spacing_problem(name: str) -> str | None:
    """Describes what is wrong with the white space of a name or term, None where it is `SPACING`."""
    if not name.strip():
        return "is blank"
    if name != name.strip():
        return "begins or ends with white space"
    found = wide_space(name)
    return f"has white space in {found!r}" if found else None
