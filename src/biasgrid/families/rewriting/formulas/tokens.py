"""Splits texts into words: as NLTK does, but on sentences of our own, which need no data; and into stems."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer
    from nltk.tokenize.destructive import NLTKWordTokenizer

END = re.compile(r"[.!?]+[\"')\]”’]*(?=\s)")  # noqa: RUF001
NO_END = re.compile(
    r"(?:^|[\s(\[\"'])(?:[a-z]|mr|mrs|ms|mx|dr|st|vs|etc|prof|rev|gen|no|inc|ltd|jr|sr|ph\.d|e\.g|i\.e"
    r"|[ap]\.m|u\.s|u\.k)$",
    re.IGNORECASE,
)
"""Before a full stop that ends no sentence: single letters, abbreviations."""
NUMBER_AT_END = re.compile(r"(?:^|[\s(\[\"'])\d[\d.,]*$")
"""Before a full stop that ends a sentence only where a capital follows."""
CAPITAL = re.compile(r"\s+[^a-z\s]*[A-Z]")
CHARACTERS_BEFORE = 12
"""How many characters before a full stop are looked at."""
LAST = re.compile(r"\s?\S+(?:\s+[\])}>\"'»”’]+)*\s*$")  # noqa: RUF001
"""The last word of a sentence with what closes it: NLTK splits a full stop off there alone."""
SPACED_PART = re.compile(r"\s?\S+")
"""A word with the white space before it, by which NLTK tells opening from closing quotes."""
NEXT = " x"
"""Stands for what follows a word within its sentence; NLTK looks no further."""
NO_STEM = re.compile(r"[^a-z0-9]+")
SHORT = 3
"""Words of so many letters are stems themselves."""


def sentences(text: str) -> Iterator[str]:
    """Yields the sentences of a text, which end with . ! or ? before white space."""
    start = 0
    for found in END.finditer(text):
        before = text[max(start, found.start() - CHARACTERS_BEFORE) : found.start()]
        if found[0][0] == "." and (
            NO_END.search(before) or (NUMBER_AT_END.search(before) and not CAPITAL.match(text, found.end()))
        ):
            continue
        yield text[start : found.end()]
        start = found.end()
    yield text[start:]


def tokenize_words(text: str) -> list[str]:
    """Returns the words and marks of a text, as `nltk.word_tokenize` splits it where the sentences are the same."""
    found: list[str] = []
    for sentence in sentences(text):
        last = LAST.search(sentence)
        if last is None:
            continue
        for part in SPACED_PART.findall(sentence, 0, last.start()):
            found += split_part(part)
        found += at_end(last[0])
    return found


@lru_cache(maxsize=2**16)
def split_part(part: str) -> tuple[str, ...]:
    """Splits what stands between white space, but not last in a sentence."""
    return tuple(tokenizer().tokenize(part + NEXT)[:-1])


@lru_cache(maxsize=2**16)
def at_end(part: str) -> tuple[str, ...]:
    """Splits what stands last in a sentence."""
    return tuple(tokenizer().tokenize(part))


@cache
def tokenizer() -> NLTKWordTokenizer:
    """Returns NLTK's tokenizer, which takes long to load."""
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


def stems(text: str) -> list[str]:
    """Returns the stems of a text as ROUGE has them: what letters and digits it is made of, stemmed (Porter 1980)."""
    return [stem(word) for word in NO_STEM.sub(" ", text.lower()).split()]


@lru_cache(maxsize=2**16)
def stem(word: str) -> str:
    """Returns the stem of a word."""
    return word if len(word) <= SHORT else str(stemmer().stem(word))


@cache
def stemmer() -> PorterStemmer:
    """Returns NLTK's stemmer."""
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
