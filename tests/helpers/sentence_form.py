"""What is wrong with sentences of any language, and the parts of sentences that rules of grammar
look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

TOKEN = re.compile(r"\[MASK\]|<mask>|\w+(?:-\w+)*|[^\w\s]")
END = re.compile(r"[.?!:]")
OPTION = re.compile(r"^\w[.)] \w+$")
"""A line with an option, such as `A. Anna`, which is no sentence."""
LEFT_OVER = re.compile(r"\[(?!MASK\])[^\]]*\]|<(?!mask>)[^>]*>|\{[^}]*\}")
SPACING = re.compile(r"(?m)[^\S\n]{2,}|\s[.,;:?!]|^[^\S\n]|[^\S\n]$|[.,;:?!](?=[^\W\d])")
MASKS = ("[MASK]", "<mask>")


def sentences_of(text: str) -> list[list[str]]:
    """Returns the words and marks of each sentence of a text; a colon ends one, too, and so does a
    line.
    """
    found: list[list[str]] = [[]]
    for line in text.split("\n"):
        for token in () if OPTION.match(line) else TOKEN.findall(line):
            found[-1].append(token)
            if END.fullmatch(token):
                found.append([])
        found.append([])
    return [sentence for sentence in found if sentence]


def form_faults(text: str, doubled: Sequence[str] = ()) -> Iterator[str]:
    """Yields what is wrong with the form of a text.

    Args:
        text: whole sentences.
        doubled: words that may stand twice in a row.
    """
    for found in LEFT_OVER.findall(text):
        yield f"left over: {found}"
    if spacing := SPACING.search(text):
        yield f"spacing at {spacing.start()}"
    for sentence in sentences_of(text):
        first = next((token for token in sentence if token[0].isalnum() or token in MASKS), "")
        if first[:1].islower():
            yield f"small letter at the start: {first}"
        if not END.fullmatch(sentence[-1]):
            yield f"no mark at the end: {sentence[-1]}"
        for one, other in pairwise(sentence):
            if one.lower() == other.lower() and one[0].isalpha() and one.lower() not in doubled:
                yield f"doubled word: {one} {other}"
