"""What biasgrid knows of a language: its Yes and No, refusals, articles and pronouns, a file of data for each language.

The files stand in the folder of this module's name. A language without a file has no such words: what needs them is
refused in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).with_suffix("")
ENGLISH = "en"


@dataclass(frozen=True)
class Language:
    """The words of a language; those that are not known are empty.

    Attributes:
        name: what it is called.
        yes: the words for yes, the one first that a model is asked for.
        no: the words for no, likewise.
        articles: what is left out before answers are compared.
        pronouns: the pronouns of each gender, where they tell a gender.
        refusals: regular expressions, in lower case, of what a model says that declines.
        answer_is: a regular expression of what may stand before Yes or No: "the answer is".
        no_is_not: whether no is also the word for not, so that it is an answer only where a mark or the end follows.
        answer_goes_on: words that may follow Yes or No without a comma and leave it the answer.
    """

    name: str = ""
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    articles: tuple[str, ...] = ()
    pronouns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    refusals: tuple[str, ...] = ()
    answer_is: str = ""
    no_is_not: bool = False
    answer_goes_on: tuple[str, ...] = ()

    @property
    def yes_and_no(self) -> dict[str, tuple[str, ...]]:
        """The words for `yes` and `no`, empty where they are not known."""
        return {"yes": self.yes, "no": self.no} if self.yes and self.no else {}

    @property
    def answer_patterns(self) -> dict[str, str]:
        """Regular expressions of `yes` and `no` within a text, as no part of another word."""
        ends = {"yes": r"\b", "no": r"\s*(?:[^\p{L}\p{N}\s]|$)" if self.no_is_not else r"\b"}
        either = {label: "|".join(map(re.escape, words)) for label, words in self.yes_and_no.items()}
        return {label: rf"(?i)\b(?:{words}){ends[label]}" for label, words in either.items()}

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers Yes and No that a model is asked for, none where they are not known."""
        return tuple(words[0] for words in self.yes_and_no.values())


@cache
def language_words(code: str) -> Language:
    """Returns the words of a language.

    Args:
        code: such as `es` or `pt-BR`; a region makes no difference.
    """
    file = FOLDER / f"{code.partition('-')[0]}.yaml"
    if not file.exists():
        return Language()
    content: dict[str, Any] = yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    pronouns = {gender: tuple(words) for gender, words in content.pop("pronouns", {}).items()}
    entries: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in content.items()}
    return Language(pronouns=pronouns, **entries)


ENGLISH_WORDS = language_words(ENGLISH)


def known_languages() -> dict[str, Language]:
    """Returns the languages of which there is a file, by their codes."""
    return {code: language_words(code) for code in sorted(file.stem for file in FOLDER.glob("*.yaml"))}


def language_of(options: Mapping[str, Any]) -> Language:
    """Returns the language of a cell: that which its options name, else English."""
    return language_words(options.get("language", ENGLISH))
