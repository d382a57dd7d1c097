"""What biasgrid knows of a language: its Yes and No, refusals, articles and pronouns, a file of data for each language.

The files stand in the folder of this module's name; a dataset may have one of its own. A language without a file has no
such words: what needs them is refused in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import Field

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import digest_file
from biasgrid.base.sections import Section
from biasgrid.base.yaml import Document, NodePlace, read_yaml

FOLDER = Path(__file__).with_suffix("")
ENGLISH = "en"


@dataclass(frozen=True)
class Language:
    """The words of a language; those that are not known are empty.

    Attributes:
        name: what it is called.
        yes: the words for yes, the one first that a model is asked for.
        no: the words for no, likewise.
        agree: the words for agree, likewise.
        disagree: the words for disagree, likewise.
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
    agree: tuple[str, ...] = ()
    disagree: tuple[str, ...] = ()
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

    def requested_answers(self, prompt: str) -> tuple[str, ...]:
        """Returns the two answers that a prompt asks for, the affirmative one first.

        These are Agree and Disagree if the prompt names both of them and does not name both Yes and No.
        """
        agreement = (*self.agree[:1], *self.disagree[:1])
        return agreement if names_all(prompt, agreement) and not names_all(prompt, self.answers) else self.answers


class LanguageSection(Section):
    """The content of a file of words; see `Language`, which has the same keys."""

    name: str = Field("", description="the English name of the language")
    yes: list[str] = Field(default_factory=list, description="the words for yes; a model is asked for the first one")
    no: list[str] = Field(default_factory=list, description="the words for no; a model is asked for the first one")
    agree: list[str] = Field(
        default_factory=list, description="the words for agree; a prompt that asks for agreement names the first one"
    )
    disagree: list[str] = Field(default_factory=list, description="the words for disagree, likewise")
    no_is_not: bool = Field(
        False,
        description=(
            "`true` if the word for no also means *not*; it is then an answer only before a punctuation mark or at "
            "the end of the text"
        ),
    )
    answer_is: str = Field("", description="regular expression for what may come before Yes or No (*the answer is*)")
    answer_goes_on: list[str] = Field(
        default_factory=list,
        description="words that may follow Yes or No without a comma (*No they are not*)",
    )
    refusals: list[str] = Field(
        default_factory=list,
        description="regular expressions, in any case, for what a model says when it declines",
    )
    articles: list[str] = Field(default_factory=list, description="words that are dropped before answers are compared")
    pronouns: dict[str, list[str]] = Field(
        default_factory=dict, description="for `male` and `female` their pronouns, if these show the gender"
    )


OPPOSITES = (("yes", "no"), ("agree", "disagree"))
"""Keys of words that answer a question in opposite ways."""
EXPECTED = "a YAML file of words of a language, as docs/languages.md describes it"
PATTERN = "a regular expression without lookaround and backreferences"


def names_all(prompt: str, words: tuple[str, ...]) -> bool:
    """Whether a prompt contains each of some words, in any case and not as part of another word; false of no words."""
    patterns = [rf"(?<!\w){re.escape(word)}(?!\w)" for word in words]
    return bool(patterns) and all(re.search(pattern, prompt, re.IGNORECASE) for pattern in patterns)


def language_words(reference: str) -> Language:
    """Returns the words of a language; none of a file with faults, which `language_file_faults` yields.

    Args:
        reference: a code such as `es` or `pt-BR`, of which a region makes no difference, or the path of a file.
    """
    if not is_file_of_words(reference):
        return shipped_words(reference.partition("-")[0])
    try:
        stat = Path(reference).stat()
        return own_words(reference, (stat.st_mtime_ns, stat.st_size))
    except (OSError, InputError):
        return Language()


def is_file_of_words(reference: str) -> bool:
    """Returns whether a language is named by a file, not by its code."""
    return reference.endswith((".yaml", ".yml"))


@cache
def shipped_words(code: str) -> Language:
    """Returns the words that biasgrid has of a language; they are tested, so that they need no check."""
    file = FOLDER / f"{code}.yaml"
    if not file.exists():
        return Language()
    return from_content(yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)))


@lru_cache(maxsize=64)
def own_words(path: str, _version: tuple[int, int]) -> Language:
    """Returns the words of a user's file, read again where it has changed.

    Raises:
        InputError: it has faults of form.
    """
    _, content = read_language_file(path)
    return from_content(content.model_dump())


def from_content(content: Mapping[str, Any]) -> Language:
    """Makes a language of the content of its file."""
    pronouns = {gender: tuple(words) for gender, words in content.get("pronouns", {}).items()}
    entries: dict[str, Any] = {key: tuple(each) if isinstance(each, list) else each for key, each in content.items()}
    return Language(**(entries | {"pronouns": pronouns}))


def read_language_file(path: str) -> tuple[Document, LanguageSection]:
    """Reads a file of words.

    Raises:
        InputError: with every fault of its form.
    """
    document = read_yaml(path, EXPECTED, ", ".join(LanguageSection.model_fields))
    # Without quotation marks, YAML reads these two keys as true and false.
    names: dict[Any, str] = {True: "yes", False: "no"}
    content = {names.get(key, key): value for key, value in document.content.items()}
    document = document._replace(content=content)
    return document, document.checked(LanguageSection, path)


def own_option(path: str) -> dict[str, str]:
    """Returns the options that name a file of words, with its digest: answers are read again by other words."""
    return {"language": path, "language_digest": digest_file(Path(path)) if Path(path).is_file() else ""}


def language_file_faults(path: str) -> Iterator[Fault]:
    """Yields what is wrong with a file of words, each with its line and key."""
    try:
        document, content = read_language_file(path)
    except InputError as error:
        yield from error.faults
        return
    for affirmative, negative in OPPOSITES:
        yield from opposite_faults(document, path, affirmative, negative)
    opposites = [key for pair in OPPOSITES for key in pair]
    lists = {key: getattr(content, key) for key in (*opposites, "answer_goes_on", "refusals", "articles")}
    for key, words in (lists | {f"pronouns.{gender}": words for gender, words in content.pronouns.items()}).items():
        for place, word in enumerate(words):
            if not word.strip():
                yield document.fault(path, (*key.split("."), place), "empty", "a word")
    for place, phrase in enumerate(content.refusals):
        yield from pattern_faults(document, path, ("refusals", place), phrase)
    yield from pattern_faults(document, path, ("answer_is",), content.answer_is)


def opposite_faults(document: Document, path: str, affirmative: str, negative: str) -> Iterator[Fault]:
    """Yields words of an answer without words of the opposite answer, and words of both."""
    words = {key: {str(word).casefold() for word in document.content.get(key) or ()} for key in (affirmative, negative)}
    for key, other in ((affirmative, negative), (negative, affirmative)):
        if words[key] and not words[other]:
            yield document.fault(path, (key,), f"given without `{other}`", "both, or neither")
    for word in sorted(words[affirmative] & words[negative]):
        expected = f"different words for {affirmative} and {negative}"
        yield document.fault(path, (negative,), f"{word!r} is also a word for {affirmative}", expected)


def pattern_faults(document: Document, path: str, place: NodePlace, pattern: str) -> Iterator[Fault]:
    """Yields a pattern that cannot be looked for."""
    import polars as pl

    try:
        pl.Series([""]).str.contains(pattern)
    except pl.exceptions.ComputeError:
        yield document.fault(path, place, f"{pattern!r} is not a regular expression that can be searched for", PATTERN)


ENGLISH_WORDS = language_words(ENGLISH)


def known_languages() -> dict[str, Language]:
    """Returns the languages of which there is a file, by their codes."""
    return {code: language_words(code) for code in sorted(file.stem for file in FOLDER.glob("*.yaml"))}


def language_of(options: Mapping[str, Any]) -> Language:
    """Returns the language of a cell: the one that its options name by code or file, else English."""
    return language_words(options.get("language", ENGLISH))
