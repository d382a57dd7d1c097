"""What biasgrid knows of a language: its Yes and No, refusals, articles and pronouns, a file of
data for each language.

The files stand in the folder of this module's name; a dataset may have one of its own. A language
without a file has no such words: what needs them is refused in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import Field

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.files import digest_file
from biasgrid.base.messages import KeyPath
from biasgrid.base.sections import Section
from biasgrid.base.yaml import Document, read_yaml

FOLDER = Path(__file__).with_suffix("")
ENGLISH = "en"


class Phrase(NamedTuple):
    """A phrase that is looked for in answers.

    Attributes:
        says: a regular expression of whole words.
        example: an answer that it reads.
    """

    says: str
    example: str = ""


@dataclass(frozen=True)
class Language:
    """The words of a language; what is not known is empty.

    Patterns are regular expressions of whole words, in any case.

    Attributes:
        name: the English name of the language.
        yes: the words for yes, the one first that a model is asked for.
        no: the words for no, likewise.
        agree: the words for agree, likewise, and others that answer Yes where they stand alone:
            "True".
        disagree: the words for disagree, likewise.
        nods: words that answer Yes where they stand alone, unless the next sentences say otherwise:
            "Absolutely".
        no_is_not: whether no is also the word for not, so that it is an answer only where a mark or
            the end follows.
        answer_goes_on: words that may follow No without a comma and leave it the answer.
        answer_is: a pattern of what may stand before an answer: "the answer is".
        openers: a pattern of polite words before an answer: "sure".
        concludes: a pattern of what may stand before the letter of an answer: "therefore".
        either: a pattern of the words between two answers: "or".
        explains: patterns of words that begin an explanation: "because".
        denies: a pattern of words that deny what follows: "not".
        doubts: a pattern of words behind which nothing is claimed: "whether".
        asides: a pattern of clauses that report, deny or doubt what they name: "some would say", "a
            stereotype".
        concedes: a pattern of words that begin a concession: "although".
        contrasts: a pattern of words that end a clause and begin what counts: "but".
        conditions: a pattern of words that make an answer depend on something: "if".
        correct: a pattern that calls an option correct: "is correct".
        incorrect: a pattern that calls it wrong: "is wrong".
        modals: a pattern of the verbs of questions: "should".
        negations: a pattern of what negates them: "not".
        agrees: phrases that agree with a statement.
        disagrees: phrases that disagree with it.
        unknown: phrases that mean that the answer is not known.
        refusals: phrases that decline a task.
        disclaimers: phrases of a model about itself that decline a task unless the task follows.
        goes_on: phrases by which the task follows that was declined at first.
        nothing_there: phrases that say why there is nothing to answer.
        questions_back: phrases of a question in place of an answer.
        salutations: phrases that begin a letter.
        articles: words that are left out before answers are compared.
        pronouns: the pronouns of each gender, where they tell a gender.
    """

    name: str = ""
    yes: tuple[str, ...] = ()
    no: tuple[str, ...] = ()
    agree: tuple[str, ...] = ()
    disagree: tuple[str, ...] = ()
    nods: tuple[str, ...] = ()
    no_is_not: bool = False
    answer_goes_on: tuple[str, ...] = ()
    answer_is: str = ""
    openers: str = ""
    concludes: str = ""
    either: str = ""
    explains: tuple[str, ...] = ()
    denies: str = ""
    doubts: str = ""
    asides: str = ""
    concedes: str = ""
    contrasts: str = ""
    conditions: str = ""
    correct: str = ""
    incorrect: str = ""
    modals: str = ""
    negations: str = ""
    agrees: tuple[Phrase, ...] = ()
    disagrees: tuple[Phrase, ...] = ()
    unknown: tuple[Phrase, ...] = ()
    refusals: tuple[Phrase, ...] = ()
    disclaimers: tuple[Phrase, ...] = ()
    goes_on: tuple[Phrase, ...] = ()
    nothing_there: tuple[Phrase, ...] = ()
    questions_back: tuple[Phrase, ...] = ()
    salutations: tuple[Phrase, ...] = ()
    articles: tuple[str, ...] = ()
    pronouns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __hash__(self) -> int:
        """Languages are keys of compiled patterns; pronouns are a mapping, which has no hash."""
        return hash((self.name, self.yes, self.no, self.refusals))

    @property
    def yes_and_no(self) -> dict[str, tuple[str, ...]]:
        """The words for `yes` and `no`, empty where they are not known."""
        return {"yes": self.yes, "no": self.no} if self.yes and self.no else {}

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers Yes and No that a model is asked for, none where they are not known."""
        return tuple(words[0] for words in self.yes_and_no.values())

    def requested_answers(self, prompt: str) -> tuple[str, ...]:
        """Returns the two answers that a prompt asks for, the affirmative one first.

        These are Agree and Disagree if the prompt names both of them and does not name both Yes and
        No.
        """
        agreement = (*self.agree[:1], *self.disagree[:1])
        return (
            agreement
            if names_all(prompt, agreement) and not names_all(prompt, self.answers)
            else self.answers
        )


PHRASES = (
    "agrees",
    "disagrees",
    "unknown",
    "refusals",
    "disclaimers",
    "goes_on",
    "nothing_there",
    "questions_back",
    "salutations",
)
"""The keys of a language whose values are phrases."""
PATTERNS = (
    "answer_is",
    "openers",
    "concludes",
    "either",
    "denies",
    "doubts",
    "asides",
    "concedes",
    "contrasts",
    "conditions",
    "correct",
    "incorrect",
    "modals",
    "negations",
)
"""The keys of a language whose value is a pattern."""


class PhraseSection(Section):
    """A phrase in a file of words."""

    says: str = Field(description="regular expression of whole words, in any case")
    example: str = Field("", description="answer that it reads")


Phrases = list[str | PhraseSection]


class LanguageSection(Section):
    """The content of a file of words; see `Language`, which has the same keys."""

    name: str = Field("", description="the English name of the language")
    yes: list[str] = Field(
        default_factory=list, description="the words for yes; a model is asked for the first one"
    )
    no: list[str] = Field(
        default_factory=list, description="the words for no; a model is asked for the first one"
    )
    agree: list[str] = Field(
        default_factory=list,
        description=(
            "words that answer Yes where they stand alone; a prompt for agreement names "
            "the first one"
        ),
    )
    disagree: list[str] = Field(default_factory=list, description="words that answer No, likewise")
    nods: list[str] = Field(
        default_factory=list,
        description=(
            "words that answer Yes where they stand alone, unless the next ones "
            "say otherwise (*Absolutely*)"
        ),
    )
    no_is_not: bool = Field(
        False,
        description=(
            "`true` if the word for no also means *not*; it is then an answer only before a "
            "punctuation mark or at the end of the text"
        ),
    )
    answer_goes_on: list[str] = Field(
        default_factory=list,
        description="words that may follow No without a comma (*No they are not*)",
    )
    answer_is: str = Field(
        "", description="regular expression for what may come before an answer (*the answer is*)"
    )
    openers: str = Field(
        "", description="regular expression for polite words before an answer (*sure*)"
    )
    concludes: str = Field(
        "", description="regular expression for what may come before a letter (*therefore*)"
    )
    either: str = Field(
        "", description="regular expression for the words between two answers (*or*)"
    )
    explains: list[str] = Field(
        default_factory=list,
        description="regular expressions for words that begin an explanation (*because*)",
    )
    denies: str = Field(
        "", description="regular expression for words that deny what follows (*not*)"
    )
    doubts: str = Field(
        "", description="regular expression for words behind which nothing is claimed (*whether*)"
    )
    asides: str = Field(
        "",
        description="regular expression for clauses that only report or doubt (*some would say*)",
    )
    concedes: str = Field(
        "", description="regular expression for words that begin a concession (*although*)"
    )
    contrasts: str = Field(
        "", description="regular expression for words before what counts (*but*)"
    )
    conditions: str = Field(
        "", description="regular expression for words that name a condition (*if*)"
    )
    correct: str = Field(
        "", description="regular expression that calls an option correct (*is correct*)"
    )
    incorrect: str = Field(
        "", description="regular expression that calls an option wrong (*is wrong*)"
    )
    modals: str = Field("", description="regular expression for the verbs of questions (*should*)")
    negations: str = Field(
        "", description="regular expression for what negates these verbs (*not*)"
    )
    agrees: Phrases = Field(default_factory=list, description="phrases that agree with a statement")
    disagrees: Phrases = Field(
        default_factory=list, description="phrases that disagree with a statement"
    )
    unknown: Phrases = Field(
        default_factory=list, description="phrases that mean that the answer is not known"
    )
    refusals: Phrases = Field(default_factory=list, description="phrases that decline a task")
    disclaimers: Phrases = Field(
        default_factory=list,
        description="phrases of a model about itself that decline a task unless the task follows",
    )
    goes_on: Phrases = Field(
        default_factory=list,
        description="phrases by which a task follows that was declined at first (*but I can*)",
    )
    nothing_there: Phrases = Field(
        default_factory=list,
        description="phrases that say why there is nothing to answer (*is fictional*)",
    )
    questions_back: Phrases = Field(
        default_factory=list, description="phrases of a question in place of an answer"
    )
    salutations: Phrases = Field(default_factory=list, description="phrases that begin a letter")
    articles: list[str] = Field(
        default_factory=list, description="words that are dropped before answers are compared"
    )
    pronouns: dict[str, list[str]] = Field(
        default_factory=dict,
        description="for `male` and `female` their pronouns, if these show the gender",
    )


OPPOSITES = (("yes", "no"), ("agree", "disagree"))
"""Keys of words that answer a question in opposite ways."""
LANGUAGE_FILE_EXPECTED = "a YAML file of words of a language, as docs/languages.md describes it"
PATTERN = "a regular expression, as Python reads it"
PATTERN_PARTS = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]| ", re.DOTALL)
"""Finds escaped characters, character classes and spaces in a pattern."""


def names_all(prompt: str, words: tuple[str, ...]) -> bool:
    """Whether a prompt contains each of some words, in any case and not as part of another word;
    false of no words.
    """
    patterns = [rf"(?<!\w){re.escape(word)}(?!\w)" for word in words]
    return bool(patterns) and all(re.search(pattern, prompt, re.IGNORECASE) for pattern in patterns)


def language_words(reference: str) -> Language:
    """Returns the words of a language.

    `Language()`, in which all is empty, stands for a language without words: a code that biasgrid
    has no file for, or a file that is missing or malformed. Patterns are not checked here: call
    `language_file_faults` before words of a user's file are used.

    Args:
        reference: a code such as `es` or `pt-BR`, whose region is ignored, or the path of a file.
    """
    if not is_language_file(reference):
        return shipped_words(reference.partition("-")[0])
    try:
        stat = Path(reference).stat()
        return own_words(reference, (stat.st_mtime_ns, stat.st_size))
    except (OSError, InputError):
        return Language()


def is_language_file(reference: str) -> bool:
    """Returns whether a language is named by a file, not by its code."""
    return reference.endswith((".yaml", ".yml"))


@cache
def shipped_words(code: str) -> Language:
    """Returns the words that biasgrid has of a language; they are tested, so that they need no
    check.
    """
    file = FOLDER / f"{code}.yaml"
    if not file.exists():
        return Language()
    return make_language(
        yaml.load(file.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    )


@lru_cache(maxsize=64)
def own_words(path: str, _version: tuple[int, int]) -> Language:
    """Returns the words of a user's file, read again if it has changed.

    A file of a language that biasgrid knows, by its name, adds phrases to that language, and
    replaces its other keys.

    Raises:
        InputError: it has faults of form.
    """
    _, content = read_language_file(path)
    own = make_language(content.model_dump())
    default_words = Language()
    for language in shipped_languages().values():
        if language.name == own.name:
            default_words = language
            break
    changes = {key: getattr(own, key) for key in content.model_fields_set}
    for key in PHRASES:
        changes[key] = (*getattr(own, key), *getattr(default_words, key))
    return replace(default_words, **changes)


def make_language(content: Mapping[str, Any]) -> Language:
    """Returns the language that the content of a file describes."""
    entries: dict[str, Any] = {}
    for key, value in content.items():
        entries[key] = tuple(value) if isinstance(value, list) else value
    for key in PATTERNS:
        if key in content:
            entries[key] = with_any_space(content[key])
    entries["explains"] = tuple(map(with_any_space, content.get("explains", ())))
    for key in PHRASES:
        entries[key] = tuple(map(parse_phrase, content.get(key, ())))
    pronouns = content.get("pronouns", {})
    entries["pronouns"] = {gender: tuple(words) for gender, words in pronouns.items()}
    return Language(**entries)


def parse_phrase(entry: str | Mapping[str, str]) -> Phrase:
    """Returns the phrase of an entry in a file: a pattern alone, or a pattern with an example."""
    phrase = Phrase(entry) if isinstance(entry, str) else Phrase(**entry)
    return phrase._replace(says=with_any_space(phrase.says))


def with_any_space(pattern: str) -> str:
    r"""Returns a pattern in which a space, also an escaped one, matches any amount of white space.

    A space in a character class, such as `[ -]`, matches one character of white space. The result
    may be invalid although the pattern is valid: a look-behind must not have a variable length.
    """

    def widen(match: re.Match[str]) -> str:
        part = match[0]
        if part in (" ", r"\ "):
            # Without its marks, `do **not** agree` has two spaces between words.
            return r"(?:\s+)"
        if " " in part and part.startswith("["):
            start = 2 if part.startswith("[^") else 1
            return rf"{part[:start]}\s{part[start:]}"
        return part

    return PATTERN_PARTS.sub(widen, pattern)


def read_language_file(path: str) -> tuple[Document, LanguageSection]:
    """Reads a file of words.

    Raises:
        InputError: with every fault of its form.
    """
    document = read_yaml(path, LANGUAGE_FILE_EXPECTED, ", ".join(LanguageSection.model_fields))
    return document, document.checked(LanguageSection, path)


def own_option(path: str) -> dict[str, str]:
    """Returns the options that name a file of words, with its digest.

    Because of the digest, answers are read again if the words change.
    """
    digest = digest_file(Path(path)) if Path(path).is_file() else ""
    return {"language": path, "language_digest": digest}


def language_file_faults(path: str) -> Iterator[Fault]:
    """Yields the faults of a file of words, each with its line and key."""
    try:
        document, content = read_language_file(path)
    except InputError as error:
        yield from error.faults
        return
    for affirmative, negative in OPPOSITES:
        yield from opposite_faults(document, path, affirmative, negative)
    yield from empty_word_faults(document, path, content)
    for key in PATTERNS:
        yield from pattern_faults(document, path, (key,), getattr(content, key))
    for place, pattern in enumerate(content.explains):
        yield from pattern_faults(document, path, ("explains", place), pattern)
    for key in PHRASES:
        for place, entry in enumerate(getattr(content, key)):
            yield from phrase_faults(document, path, (key, place), entry)


def empty_word_faults(document: Document, path: str, content: LanguageSection) -> Iterator[Fault]:
    """Yields words of lists that are empty."""
    lists: dict[KeyPath, Sequence[str]] = {}
    opposites = [key for pair in OPPOSITES for key in pair]
    for key in (*opposites, "nods", "answer_goes_on", "explains", "articles"):
        lists[(key,)] = getattr(content, key)
    for gender, pronouns in content.pronouns.items():
        lists["pronouns", gender] = pronouns
    for key_place, words in lists.items():
        for number, word in enumerate(words):
            if not word.strip():
                yield document.fault(path, (*key_place, number), "empty", "a word")


def phrase_faults(
    document: Document, path: str, place: KeyPath, entry: str | PhraseSection
) -> Iterator[Fault]:
    """Yields a phrase that is empty or no pattern, or that does not match its example."""
    phrase = Phrase(entry) if isinstance(entry, str) else Phrase(entry.says, entry.example)
    if not phrase.says.strip():
        yield document.fault(path, place, "empty", "a phrase")
        return
    faults = list(pattern_faults(document, path, place, phrase.says))
    yield from faults
    if faults or not phrase.example:
        return
    if not re.search(with_any_space(phrase.says), phrase.example, re.IGNORECASE):
        problem = f"does not read its example {phrase.example!r}"
        yield document.fault(path, place, problem, "an example that it reads")


def opposite_faults(
    document: Document, path: str, affirmative: str, negative: str
) -> Iterator[Fault]:
    """Yields words of an answer without words of the opposite answer, and words of both."""
    words = {}
    for key in (affirmative, negative):
        words[key] = {str(word).casefold() for word in document.content.get(key) or ()}
    for key, other in ((affirmative, negative), (negative, affirmative)):
        if words[key] and not words[other]:
            yield document.fault(path, (key,), f"given without `{other}`", "both, or neither")
    for word in sorted(words[affirmative] & words[negative]):
        problem = f"{word!r} is also a word for {affirmative}"
        expected = f"different words for {affirmative} and {negative}"
        yield document.fault(path, (negative,), problem, expected)


def pattern_faults(document: Document, path: str, place: KeyPath, pattern: str) -> Iterator[Fault]:
    """Yields a fault if a pattern does not compile, as it is or once its spaces are widened."""
    problem = f"{pattern!r} is not a regular expression"
    try:
        re.compile(pattern)
        problem = f"{pattern!r} is none once its spaces match any white space"
        re.compile(with_any_space(pattern))
    except re.error as error:
        yield document.fault(path, place, f"{problem} ({error})", PATTERN)


ENGLISH_WORDS = language_words(ENGLISH)


def shipped_languages() -> dict[str, Language]:
    """Returns the languages that have a file, by their codes."""
    codes = sorted(file.stem for file in FOLDER.glob("*.yaml"))
    return {code: language_words(code) for code in codes}


def cell_language(options: Mapping[str, Any]) -> Language:
    """Returns the language that a cell's options name by code or file; without a name, English."""
    return language_words(options.get("language", ENGLISH))
