"""Which words of a text another one has not, for people who read both side by side."""

from __future__ import annotations

import re

from rapidfuzz.distance import Indel

WORD = re.compile(r"\w+|[^\w\s]")


def differing_parts(text: str, other: str) -> list[str]:
    """Splits a text at the words and marks that another text has not.

    The longest sequence of words that stand in both in the same order is what they share. Where several are as long,
    it is the same one whichever text comes first.

    Args:
        text: the text.
        other: the other one.

    Returns:
        The parts of the text in order: the first, third, ... are shared, the second, fourth, ... differ. Joined they
        are the text; the first one and the last one may be empty.
    """
    words = list(WORD.finditer(text))
    own, others = [word[0] for word in words], WORD.findall(other)
    steps = Indel.opcodes(own, others) if own <= others else Indel.opcodes(others, own).inverse()
    parts, end = list[str](), 0
    for step in steps:
        if step.tag != "delete":
            continue
        first, last = words[step.src_start].start(), words[step.src_end - 1].end()
        parts += [text[end:first], text[first:last]]
        end = last
    return [*parts, text[end:]]


def differing_words(text: str | None, other: str | None) -> str | None:
    """Returns the words of a text that another has not, with an ellipsis between; None where one is missing."""
    return None if text is None or other is None else " … ".join(differing_parts(text, other)[1::2])
