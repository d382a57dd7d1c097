"""Rules of English that can be checked: articles, capital letters, marks, words that stand twice,
and shared words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

SOUNDS_LIKE_A_VOWEL = ("hour", "honest", "heir", "x")
SOUNDS_LIKE_A_CONSONANT = ("uni", "use", "eu", "one", "once")
ARTICLE = re.compile(r"\b(an?)\s+([a-z]+|\d+)", re.IGNORECASE)
NUMBER_LIKE_A_VOWEL = re.compile(r"8|1[18](?=\d{3}|$)")
"""Eight, eighty and so on, eleven and eighteen; not 110 or 180, which begin with one."""
TAKEN_FOR_POSSESSIVE = re.compile(
    r"\b(?:give|lend|send|show|tell)\s+(?:his|their|my|our)\s+(?:one|two|three|four|five|some|a|the)\b",
    re.IGNORECASE,
)
"""A person who is given something, as a word that has something: `Give his three pieces of
advice`.
"""
DOUBLED = re.compile(r"\b(\w+)\s+\1\b", re.IGNORECASE)
BAD_MARKS = re.compile(r"  | [,.?!;:]|[,;:][,.?!;:]|\.\.|\{|\}|^\s|\s$")
SENTENCE_BORDER = re.compile(r"(?<=[.?!]) |(?<=[.?!]\") ")
ENDS = (".", "?", "!", '."', '?"')
SMALL_WORDS = {
    "years",
    "three",
    "several",
    "never",
    "went",
    "with",
    "have",
    "that",
    "from",
    "near",
    "uses",
    "used",
}


def grammar_faults(text: str) -> list[str]:
    """Returns what breaks a rule in a prompt: each the words that do.

    Args:
        text: the prompt; what stands behind the last sentence as options, `(a) ...`, may end
            without a mark.
    """
    patterns = (DOUBLED, TAKEN_FOR_POSSESSIVE)
    found = (match[0] for pattern in patterns for match in pattern.finditer(text))
    return [*wrong_articles(text), *found, *marks(text), *capitals(text)]


def wrong_articles(text: str) -> Iterator[str]:
    """Yields `a` before a vowel's sound, and `an` before another."""
    # The letter of an option is no article.
    for article, word in ARTICLE.findall(re.sub(r"\([a-z]\) ", "| ", text)):
        sound = word.lower()
        vowel = (
            sound.startswith(SOUNDS_LIKE_A_VOWEL)
            or bool(NUMBER_LIKE_A_VOWEL.match(sound))
            or (sound[0] in "aeiou" and not sound.startswith(SOUNDS_LIKE_A_CONSONANT))
        )
        if vowel != (article.lower() == "an"):
            yield f"{article} {word}"


def marks(text: str) -> Iterator[str]:
    """Yields blanks and marks that do not stand so, and a text without an end."""
    yield from (found[0] for found in BAD_MARKS.finditer(text))
    if not text.endswith(ENDS) and "(a) " not in text:
        yield text


def capitals(text: str) -> Iterator[str]:
    """Yields sentences that begin with a small letter."""
    yield from (sentence for sentence in SENTENCE_BORDER.split(text) if sentence[:1].islower())


def stems(text: str) -> set[str]:
    """Returns the longer words of a text without their endings; a hyphen joins two, and small words
    are left out.
    """
    words = set(re.findall(r"[a-z-]{4,}", text.lower())) - SMALL_WORDS
    return {re.sub(r"(ing|ers?|ed|e?s|ie?s?|y)$", "", word) for word in words}
