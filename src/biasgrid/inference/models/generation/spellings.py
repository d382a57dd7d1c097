"""How options may be written; light, as a plan counts them before anything is asked."""

from __future__ import annotations

from collections.abc import Sequence


def spellings(options: Sequence[str | None]) -> list[list[str]]:
    """Returns how each option may be written: behind a space or not, in other cases where it is a word.

    A single letter keeps its case, as `a` is a word of its own; and so do options that differ in case alone.
    """
    written = [[] if option is None else cases(option) for option in options]
    counts: dict[str, int] = {}
    for word in (word for words in written for word in words):
        counts[word] = counts.get(word, 0) + 1
    own = [[word for word in words if counts[word] == 1 or word == words[0]] for words in written]
    return [[f"{lead}{word}" for word in words for lead in ("", " ")] for words in own]


def cases(option: str) -> list[str]:
    """Returns an option as it stands, and in other cases."""
    others = [option.lower(), option.upper(), option.capitalize()] if len(option) > 1 else []
    return list(dict.fromkeys([option, *others]))
