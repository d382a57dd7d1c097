"""Splits texts into words, as NLTK does, and cleans and stems words.

Sentences are found by rules here, which need no data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nltk.stem.porter import PorterStemmer
    from nltk.tokenize.destructive import NLTKWordTokenizer

END_OF_SENTENCE = re.compile(r"[.!?]+[\"')\]”’]*(?=\s)")  # noqa: RUF001
ABBREVIATION = re.compile(
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
LAST_WORD = re.compile(r"\s?\S+(?:\s+[\])}>\"'»”’]+)*\s*$")  # noqa: RUF001
"""The last word of a sentence with what closes it: NLTK splits a full stop off there alone."""
SPACED_PART = re.compile(r"\s?\S+")
"""A word with the white space before it, by which NLTK tells opening from closing quotes."""
FOLLOWING_WORD = " x"
"""Stands for what follows a word within its sentence; NLTK looks no further."""
NO_STEM = re.compile(r"[^a-z0-9]+")
LONGEST_UNSTEMMED = 3
"""Words of so many letters are stems themselves."""
OUTER_MARKS = re.compile(r"^[^a-z<>$]+|[^a-z<>$]+$")
DIGIT_RUN = re.compile(r"\d+")
NUMBER_WORD = "<number>"
"""Replaces digits."""
Phrase = tuple[str, ...]
"""Words that are looked for one behind the other; mostly one."""


def sentences_of_text(text: str) -> Iterator[str]:
    """Yields the sentences of a text, which end with . ! or ? before white space."""
    start = 0
    for end in END_OF_SENTENCE.finditer(text):
        before = text[max(start, end.start() - CHARACTERS_BEFORE) : end.start()]
        if end[0].startswith("."):
            is_in_number = NUMBER_AT_END.search(before) and not CAPITAL.match(text, end.end())
            if ABBREVIATION.search(before) or is_in_number:
                continue
        yield text[start : end.end()]
        start = end.end()
    yield text[start:]


def tokenize_words(text: str) -> list[str]:
    """Returns the words and marks of a text, as `nltk.word_tokenize` splits equal sentences."""
    words: list[str] = []
    for sentence in sentences_of_text(text):
        last = LAST_WORD.search(sentence)
        # A sentence of white space alone has no words.
        if last is None:
            continue
        for part in SPACED_PART.findall(sentence, 0, last.start()):
            words += split_inner_word(part)
        words += split_last_word(last[0])
    return words


@lru_cache(maxsize=2**16)
def split_inner_word(part: str) -> tuple[str, ...]:
    """Splits a part between white space that is not the last of a sentence."""
    return tuple(nltk_tokenizer().tokenize(part + FOLLOWING_WORD)[:-1])


@lru_cache(maxsize=2**16)
def split_last_word(part: str) -> tuple[str, ...]:
    """Splits the last part of a sentence."""
    return tuple(nltk_tokenizer().tokenize(part))


@cache
def nltk_tokenizer() -> NLTKWordTokenizer:
    """Returns NLTK's tokenizer, which takes long to load."""
    from nltk.tokenize.destructive import NLTKWordTokenizer

    return NLTKWordTokenizer()


def clean_word(word: str) -> str:
    """Returns a word in lower case, without outer marks and with one sign for digits.

    Empty if nothing is left.

    As Bordia and Bowman (NAACL SRW 2019) clean them.
    """
    return OUTER_MARKS.sub("", DIGIT_RUN.sub(NUMBER_WORD, word.lower()))


def stems(text: str) -> list[str]:
    """Returns the stems of the words of a text, as ROUGE has them (Porter 1980).

    Words are made of letters and digits.
    """
    return [stem(word) for word in NO_STEM.sub(" ", text.lower()).split()]


@lru_cache(maxsize=2**16)
def stem(word: str) -> str:
    """Returns the stem of a word."""
    return word if len(word) <= LONGEST_UNSTEMMED else str(porter_stemmer().stem(word))


@cache
def porter_stemmer() -> PorterStemmer:
    """Returns NLTK's stemmer."""
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
