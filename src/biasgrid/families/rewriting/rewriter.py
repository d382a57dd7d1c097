"""Rewrites texts for other groups: whole words, longest phrase first; capitals, articles and agreement follow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import NamedTuple, Protocol

from biasgrid.families.rewriting.files.groups import Condition, GroupWords, WordRow

NOUN = re.compile(r"\s+([^\W\d_][\w'’-]*)")  # noqa: RUF001
NO_NOUN = frozenset(
    "a about after again ago all alone also always am an and any are around as at away back be because been before but"
    " by can could day did do does down during each either else even ever every for from had has have he here hers"
    " herself him himself his how i if in into is it just later leave like may me might more must my never no nor not"
    " now of off often on once one or our out over please shall she should since so some soon still than that the their"
    " them then there these they this those though through to today together tomorrow tonight too towards under until"
    " up upon us very was we well were what when where whether which while who whose why will with without would"
    " yesterday yet you your".split()
)
"""Words with which no noun begins: before these `her` is the object, and `his` has no noun."""
SENTENCE_START = re.compile(r"(?:^|[.!?:]|\n)[\s\"'(“‘]*$")  # noqa: RUF001
"""What comes before the first word of a sentence."""
ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
VOWEL = re.compile(r"(?!eu|ewe|one\b|one-|once|u(?:ni(?!n|m)|s[aeiu]|ti|tu|ra|k))[aeiou]|hour|honest|hono|heir", re.I)
"""How words begin that take `an`."""
NEXT_WORD = re.compile(r"('\w+|’\w+|\s+[\w'’]+)")  # noqa: RUF001


class TextRewriter(Protocol):
    """Finds words of groups in texts, and writes those of others in their place."""

    def words(self, text: str) -> list[str]:
        """Returns the words of groups in a text, in their order."""

    def rewrite(self, text: str, target: int) -> str:
        """Returns a text with the words of a group, or with neutral ones where the target is behind all groups."""

    def ambiguous_words(self, text: str) -> list[str]:
        """Returns the words in a text that could as well be those of another row."""


class WordMatch(NamedTuple):
    """A word of a group in a text.

    Attributes:
        start: where it begins.
        end: where it ends.
        spelling: how the file spells it.
        row: what may replace it.
    """

    start: int
    end: int
    spelling: str
    row: WordRow

    def is_of(self, group: int) -> bool:
        """Says whether it is a word of a group already."""
        return group < len(self.row.sought) and self.spelling in self.row.sought[group]


class WordReading(NamedTuple):
    """What a word may be: a row, and how this spells it."""

    spelling: str
    row: WordRow


class Rewriter(TextRewriter):
    """Rewrites texts."""

    def __init__(self, groups: GroupWords):
        """Takes the words of groups."""
        self.groups = groups

    @cached_property
    def readings(self) -> Mapping[str, list[WordReading]]:
        """The rows of each word that is looked for, by the word in lower case; defaults first."""
        found: dict[str, list[WordReading]] = {}
        for row in self.groups.rows:
            for word in (word for words in row.sought for word in words):
                found.setdefault(word.lower(), []).append(WordReading(word, row))
        return {word: sorted(rows, key=lambda one: word not in one.row.defaults) for word, rows in found.items()}

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds whole words, the longest ones first."""
        longest = sorted(self.readings, key=len, reverse=True)
        phrases = "|".join(r"\s+".join(map(re.escape, word.split())) for word in longest)
        return re.compile(rf"(?<![\w-])(?:{phrases})(?![\w-])", re.IGNORECASE)

    @cached_property
    def person(self) -> re.Pattern[str]:
        """Finds a word for a person right behind another word."""
        longest = sorted(self.groups.people, key=len, reverse=True)
        return re.compile(rf"\s+(?:{'|'.join(map(re.escape, longest))})\b", re.IGNORECASE)

    def matches(self, text: str) -> Iterator[WordMatch]:
        """Yields the words of groups in a text."""
        for found in self.pattern.finditer(text):
            readings = self.readings[" ".join(found[0].lower().split())]
            # Readings that need something behind the word come before those that always hold.
            ordered = sorted(readings, key=lambda one: one.row.condition is None)
            chosen = next((one for one in ordered if self.holds(one.row.condition, text, found.end())), None)
            if chosen is not None:
                yield WordMatch(found.start(), found.end(), chosen.spelling, chosen.row)

    def holds(self, condition: Condition | None, text: str, end: int) -> bool:
        """Says whether what must follow a word follows it."""
        if condition == "person":
            return self.person.match(text, end) is not None
        if condition == "noun":
            following = NOUN.match(text, end)
            return following is not None and following[1].lower() not in NO_NOUN
        return True

    def words(self, text: str) -> list[str]:
        """Returns the words of groups in a text, in their order."""
        return [text[match.start : match.end] for match in self.matches(text)]

    def ambiguous_words(self, text: str) -> list[str]:
        """Returns the words in a text of which several rows hold, so that the default was taken."""
        return [
            match.spelling
            for match in self.matches(text)
            if sum(one.row.condition == match.row.condition for one in self.readings[match.spelling.lower()]) > 1
        ]

    def rewrite(self, text: str, target: int) -> str:
        """Returns a text with the words of a group, or with neutral ones."""
        done, rest = "", 0
        for match in self.matches(text):
            word = match.row.written[target]
            if match.start < rest or match.is_of(target) or word.lower() == match.spelling.lower():
                continue
            before = done + text[rest : match.start]
            written = match_case(
                word, text[match.start : match.end], match.spelling, SENTENCE_START.search(before) is not None
            )
            done, rest = with_article(before, written) + written, match.end
            behind = NEXT_WORD.match(text, rest)
            other = self.agreeing(word, behind[0]) if behind else None
            if behind and other is not None:
                done, rest = done + other, behind.end()
        return done + text[rest:]

    def agreeing(self, word: str, behind: str) -> str | None:
        """Returns what becomes of the word behind one that was written, None where it stays."""
        agreeing = self.groups.agreement.get(word.lower(), {})
        plain = behind.strip().replace("’", "'")  # noqa: RUF001
        other = agreeing.get(plain.lower())
        return None if other is None else behind[: len(behind) - len(plain)] + other


def match_case(word: str, found: str, spelling: str, starts: bool) -> str:
    """Returns a word in the capitals of the one in whose place it comes.

    Args:
        word: as the file spells it.
        found: how the text spells it.
        spelling: how the file spells that.
        starts: whether it begins a sentence.
    """
    if found.isupper() and len(found) > 1 and found != spelling:
        return word.upper()
    if found[0].isupper() and (starts or found != spelling):
        return word[0].upper() + word[1:]
    return word


def with_article(before: str, word: str) -> str:
    """Returns the text before a word, with `a` or `an` as the word takes it."""
    article = ARTICLE.search(before)
    if article is None:
        return before
    fitting = "an" if VOWEL.match(word) else "a"
    if fitting == article[1].lower():
        return before
    cased = fitting.upper() if article[1].isupper() and len(article[1]) > 1 else fitting
    cased = cased[0].upper() + cased[1:] if article[1][0].isupper() else cased
    return before[: article.start(1)] + cased + article[2]
