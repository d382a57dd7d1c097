"""Words of groups: reads their file, and rewrites texts with them.

Whole words are rewritten, the longest phrase first; capitals, articles and agreement follow.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Protocol

from pydantic import Field

from biasgrid.base.digests import digest_fields
from biasgrid.base.faults import Fault, InputError
from biasgrid.base.messages import KeyPath
from biasgrid.base.names import normal_form, similar_names
from biasgrid.base.records import list_words
from biasgrid.base.sections import Section
from biasgrid.base.yaml import Document, read_yaml
from biasgrid.families.family import Mode
from biasgrid.families.tokens import Phrase, clean_word, tokenize_words

NEUTRAL_GROUP = "neutral"
"""The group of prompts in neutral words, which name no group."""
GROUPS_FILE = "groups and their words in YAML"
GROUPS_KEYS = "keys such as bias_type, groups and words"
PEOPLE_EXPECTED = "words for people, one per line; lines that begin with # are comments"
Condition = Literal["noun", "person"]
CONDITIONS: Mapping[str, Condition | None] = {
    "words": None,
    "nouns": None,
    "before_noun": "noun",
    "before_person": "person",
}
"""What must follow the words of each section of a file."""
ONLY_WRITTEN = re.compile(r"^\((.+)\)$")
DEFAULT_SIGN = "*"
WordsOfGroup = str | list[str]


class GroupFile(Section):
    """The keys of a file of groups."""

    bias_type: str = Field(min_length=1, description="what the groups have in common")
    warning: str | None = Field(None, description="warning for readers")
    groups: list[str] = Field(
        min_length=2, description="names of the groups, in the order of the words in a row"
    )
    words: list[list[WordsOfGroup]] = Field(
        default_factory=list, description="rows of words, with the neutral word last"
    )
    nouns: list[list[WordsOfGroup]] = Field(
        default_factory=list, description="the same for words with plurals"
    )
    before_noun: list[list[WordsOfGroup]] = Field(
        default_factory=list, description="words that apply only before a noun"
    )
    before_person: list[list[WordsOfGroup]] = Field(
        default_factory=list, description="words that apply only before a word for a person"
    )
    people: str | None = Field(None, description="file with words for persons, beside this file")
    agreement: dict[str, dict[str, str]] = Field(
        default_factory=dict, description="what the word after a rewritten word becomes"
    )


@dataclass(frozen=True)
class WordRow:
    """Words that say the same of each group.

    Attributes:
        written: the word to write for each group, and last the neutral word if there is one.
        sought: the words to look for of each group, in the spelling of the file.
        condition: what must follow the word; None if it always holds.
        defaults: words in lower case that mean this row if another row has them, too.
        place: the row's place in its file, for messages.
    """

    written: tuple[str, ...]
    sought: tuple[tuple[str, ...], ...]
    condition: Condition | None = None
    defaults: tuple[str, ...] = ()
    place: KeyPath = field(default=(), compare=False)


@dataclass(frozen=True)
class GroupWords:
    """Groups and their words.

    Attributes:
        bias_type: the bias type that the groups have in common.
        names: names of the groups.
        rows: rows of words.
        people: words for persons, in lower case.
        agreement: forms of the following word, by words in lower case.
        warning: a warning for readers, None without one.
    """

    bias_type: str
    names: tuple[str, ...]
    rows: tuple[WordRow, ...]
    people: tuple[str, ...] = ()
    agreement: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    warning: str | None = field(default=None, compare=False)

    @property
    def has_neutral(self) -> bool:
        """Whether there are neutral words."""
        return all(len(row.written) > len(self.names) for row in self.rows)

    def sought_words(self) -> list[str]:
        """Returns the words that are looked for, row by row."""
        words: list[str] = []
        for row in self.rows:
            for group_words in row.sought:
                words += group_words
        return words


def read_group_words(path: Path) -> tuple[GroupWords | None, list[Fault]]:
    """Reads a file of groups.

    Returns:
        The groups, None if the file or its rows cannot be read, and the faults of the file and of
        its `people`.
    """
    try:
        document = read_yaml(path, GROUPS_FILE, GROUPS_KEYS)
        head = document.checked(GroupFile, path)
    except InputError as error:
        return None, error.faults
    faults: list[Fault] = []
    people: list[str] = []
    if head.people:
        people = list_words(path.parent / head.people, PEOPLE_EXPECTED, faults)
    if faults:
        return None, faults
    faults += group_name_faults(path, document, head)
    faults += word_row_faults(path, document, head)
    if faults:
        return None, faults
    agreement = {word.lower(): following for word, following in head.agreement.items()}
    groups = GroupWords(
        head.bias_type,
        tuple(head.groups),
        tuple(word_rows(head)),
        tuple(people),
        agreement,
        head.warning,
    )
    return groups, [*word_faults(path, document, groups)]


def groups_digest(path: Path) -> str:
    """Returns a digest of the words of groups; empty if they cannot be read.

    The reasons why they cannot be read are faults of `read.read`.
    """
    groups, faults = read_group_words(path)
    return "" if groups is None or faults else digest_fields(groups)


def group_name_faults(path: Path, document: Document, head: GroupFile) -> Iterator[Fault]:
    """Yields a fault for groups that are named twice, or differ only in case or normal form."""
    for name in sorted({name for name in head.groups if head.groups.count(name) > 1}):
        yield document.fault(path, ("groups",), f"{name!r} appears twice", "each group once")
    for name, other in similar_names(head.groups):
        problem = f"{name!r} differs from {other!r} only in case or normal form"
        yield document.fault(path, ("groups",), problem, "each group once")


def word_row_faults(path: Path, document: Document, head: GroupFile) -> Iterator[Fault]:
    """Yields a fault for rows of unequal lengths, empty cells, no rows, and missing `people`."""
    rows: list[tuple[KeyPath, list[WordsOfGroup]]] = []
    for section in CONDITIONS:
        for number, row in enumerate(getattr(head, section)):
            rows.append(((section, number), row))
    if not rows:
        yield Fault(str(path), "", "no words", f"rows of words in one of {', '.join(CONDITIONS)}")
    # All rows have a neutral word, or none has: the longer rows decide.
    count = len(head.groups)
    lengths = {len(row) for _, row in rows}
    length = max(lengths & {count, count + 1}, default=count)
    for place, row in rows:
        if len(row) != length:
            names = [*head.groups, "neutral"][:length]
            expected = f"{length} words, as in the other rows: one each for {', '.join(names)}"
            yield document.fault(path, place, f"{len(row)} words", expected)
        for number, cell in enumerate(row):
            if is_blank_cell(cell):
                expected = "a word, or a list of words of which the first one is written"
                yield document.fault(path, (*place, number), "no word", expected)
    if head.before_person and not head.people:
        expected = "`people`, a file of words for persons"
        yield document.fault(path, ("before_person",), "no `people`", expected)


def is_blank_cell(cell: WordsOfGroup) -> bool:
    """Whether a cell is empty, or has a word without characters beside the marks of the file."""
    return not cell or not all(word.strip("() *") for word in cell_words(cell))


def cell_words(cell: WordsOfGroup) -> list[str]:
    """Returns the words of a cell as they are given."""
    return [cell] if isinstance(cell, str) else cell


def word_rows(head: GroupFile) -> Iterator[WordRow]:
    """Yields the rows of a file; a row of nouns gives one of singulars and one of plurals."""
    for section, condition in CONDITIONS.items():
        for number, row in enumerate(getattr(head, section)):
            place = (section, number)
            cells = [cell_words(cell) for cell in row]
            forms = [cells]
            if section == "nouns":
                forms = [[singulars(cell) for cell in cells], [plurals(cell) for cell in cells]]
            for form in forms:
                yield word_row(form, len(head.groups), condition, place)


def word_row(
    cells: list[list[str]], groups: int, condition: Condition | None, place: KeyPath
) -> WordRow:
    """Makes a row of words.

    Args:
        cells: the words of each group with the marks of the file, and of the neutral cell, if any.
        groups: the number of groups.
        condition: what must follow the words; None if they always hold.
        place: the row's place in its file.
    """
    replacements: list[str] = []
    sought: list[tuple[str, ...]] = []
    defaults: set[str] = set()
    for number, cell in enumerate(cells):
        plain = [ONLY_WRITTEN.sub(r"\1", word.removesuffix(DEFAULT_SIGN)) for word in cell]
        replacements.append(plain[0])
        defaults |= {
            word.removesuffix(DEFAULT_SIGN).lower() for word in cell if word.endswith(DEFAULT_SIGN)
        }
        # A neutral word is only written: it names no group.
        if number < groups:
            words_with_marks = zip(plain, cell, strict=True)
            sought.append(
                tuple(
                    word
                    for word, marked_word in words_with_marks
                    if not ONLY_WRITTEN.match(marked_word)
                )
            )
    return WordRow(tuple(replacements), tuple(sought), condition, tuple(sorted(defaults)), place)


def singulars(words: list[str]) -> list[str]:
    """Returns nouns without the plurals that stand behind a stroke."""
    return [re.sub(r"/[^)*]+", "", word) for word in words]


def plurals(words: list[str]) -> list[str]:
    """Returns the plurals of nouns: behind a stroke, or made with -s, -es or -ies."""
    return [re.sub(r"^(\(?)([^)*]+)", with_plural, word) for word in words]


def with_plural(match: re.Match[str]) -> str:
    """Returns the bracket before a noun, if any, and the noun's plural."""
    bracket, noun = match.groups()
    return f"{bracket}{plural(noun)}"


def plural(noun: str) -> str:
    """Returns the plural of a noun, or of the last word of several."""
    singular, stroke, plural_form = noun.partition("/")
    if stroke:
        return plural_form
    if re.search(r"(?:s|x|z|ch|sh)$", singular):
        return f"{singular}es"
    return f"{singular[:-1]}ies" if re.search(r"[^aeiou]y$", singular) else f"{singular}s"


def word_faults(path: Path, document: Document, groups: GroupWords) -> Iterator[Fault]:
    """Yields a fault for words of two groups, and of two rows without exactly one default."""
    uses: dict[str, list[tuple[int, WordRow]]] = {}
    for row in groups.rows:
        for group, sought in enumerate(row.sought):
            for word in sought:
                uses.setdefault(word.lower(), []).append((group, row))
    for word, other in similar_names(uses, normal_form):
        problem = f"{word!r} is {other!r} in a different Unicode normal form"
        _, row = uses[word][0]
        expected = "each word once, or all words in the normal form NFC"
        yield document.fault(path, row.place, problem, expected)
    for word, word_uses in uses.items():
        rows = [row for _, row in word_uses]
        place = rows[-1].place
        numbers = dict.fromkeys(group for group, _ in word_uses)
        if len(numbers) > 1:
            names = " and of ".join(groups.names[number] for number in numbers)
            problem = f"{word!r} is a word of {names}"
            expected = (
                f"a word of only one group; in brackets, ({word}) is written but not searched for"
            )
            yield document.fault(path, place, problem, expected)
            continue
        for problem in default_problems(word, rows):
            expected = f"{word}{DEFAULT_SIGN} in the row to use by default"
            yield document.fault(path, place, problem, expected)


def default_problems(word: str, rows: list[WordRow]) -> Iterator[str]:
    """Yields a problem for each condition under which a word is in several rows without a default.

    Args:
        word: the word in lower case.
        rows: the rows in which it is looked for, all of one group.
    """
    for condition in dict.fromkeys(row.condition for row in rows):
        same = [row for row in rows if row.condition == condition]
        default_count = sum(word in row.defaults for row in same)
        if len(same) > 1 and default_count != 1:
            yield f"{word!r} is in {len(same)} rows, {default_count} of them marked"


NOUN = re.compile(r"\s+([^\W\d_][\w'’-]*)")  # noqa: RUF001
NO_NOUN = frozenset(
    (
        "a about after again ago all alone also always am an and any are around as at away back "
        "be because been before but by can could day did do does down during each either else "
        "even ever every for from had has have he here hers herself him himself his how i if in "
        "into is it just later leave like may me might more must my never no nor not now of off "
        "often on once one or our out over please shall she should since so some soon still than "
        "that the their them then there these they this those though through to today together "
        "tomorrow tonight too towards under until up upon us very was we well were what when "
        "where whether which while who whose why will with without would yesterday yet you your"
    ).split()
)
"""Words that are no nouns: before these `her` is the object, and `his` stands alone."""
SENTENCE_START = re.compile(r"(?:^|[.!?:]|\n)[\s\"'(“‘]*$")  # noqa: RUF001
"""Matches the end of a text behind which a sentence begins."""
ARTICLE = re.compile(r"\b(an?)(\s+)$", re.IGNORECASE)
VOWEL = re.compile(
    r"(?!eu|ewe|one\b|one-|once|u(?:ni(?!n|m)|s[aeiu]|ti|tu|ra|k))[aeiou]|hour|honest|hono|heir",
    re.I,
)
"""Matches the beginning of words that take `an`."""
NEXT_WORD = re.compile(r"('\w+|’\w+|\s+[\w'’]+)")  # noqa: RUF001


class TextRewriter(Protocol):
    """Finds words of groups in texts, and writes those of others in their place."""

    def words(self, text: str) -> list[str]:
        """Returns the words of groups in a text, in their order."""

    def rewrite(self, text: str, target: int) -> str:
        """Returns a text with the words of a group, or neutral ones if the target is behind all."""

    def ambiguous_words(self, text: str) -> list[str]:
        """Returns the words in a text that belong to several rows."""


class WordMatch(NamedTuple):
    """A word of a group in a text.

    Attributes:
        start: its place in the text.
        end: the place behind it.
        spelling: its spelling in the file.
        row: the row with the words that may replace it.
    """

    start: int
    end: int
    spelling: str
    row: WordRow


class WordReading(NamedTuple):
    """A row that a word may belong to, and its spelling there."""

    spelling: str
    row: WordRow


class Rewriter(TextRewriter):
    """Rewrites texts by whole words, with capitals, articles and agreement."""

    def __init__(self, groups: GroupWords):
        """Takes the words of groups."""
        self.groups = groups

    @cached_property
    def readings(self) -> Mapping[str, list[WordReading]]:
        """The rows of each word that is looked for, by the word in lower case; defaults first."""
        readings: dict[str, list[WordReading]] = {}
        for row in self.groups.rows:
            for words in row.sought:
                for word in words:
                    readings.setdefault(word.lower(), []).append(WordReading(word, row))
        for word, word_readings in readings.items():
            # The sort is stable: rows that are no default stay in the order of the file.
            word_readings.sort(key=lambda reading: word not in reading.row.defaults)
        return readings

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        """Finds whole words, the longest ones first."""
        # Of alternatives, a pattern takes the first one that matches.
        longest = sorted(self.readings, key=len, reverse=True)
        phrases = "|".join(r"\s+".join(map(re.escape, word.split())) for word in longest)
        return re.compile(rf"(?<![\w-])(?:{phrases})(?![\w-])", re.IGNORECASE)

    @cached_property
    def person(self) -> re.Pattern[str]:
        """Finds a word for a person right behind another word."""
        longest = sorted(self.groups.people, key=len, reverse=True)
        return re.compile(rf"\s+(?:{'|'.join(map(re.escape, longest))})\b", re.IGNORECASE)

    def matches(self, text: str) -> Iterator[WordMatch]:
        """Yields the words of groups in a text, except words that do not meet their condition."""
        for match in self.pattern.finditer(text):
            # A phrase may be broken over lines.
            word = " ".join(match[0].lower().split())
            # Readings that need something behind the word come before readings that always hold.
            readings = sorted(
                self.readings[word], key=lambda reading: reading.row.condition is None
            )
            for reading in readings:
                if self.holds(reading.row.condition, text, match.end()):
                    yield WordMatch(match.start(), match.end(), reading.spelling, reading.row)
                    break

    def holds(self, condition: Condition | None, text: str, end: int) -> bool:
        """Whether the text behind a word meets a condition.

        Args:
            condition: the condition of a row; None always holds.
            text: the text.
            end: where the word ends.
        """
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
        """Returns the words in a text that several rows fit, so that the default was taken."""
        ambiguous = []
        for match in self.matches(text):
            readings = self.readings[match.spelling.lower()]
            conditions = [reading.row.condition for reading in readings]
            if conditions.count(match.row.condition) > 1:
                ambiguous.append(match.spelling)
        return ambiguous

    def rewrite(self, text: str, target: int) -> str:
        """Returns a text with the words of a group, or with neutral ones.

        Args:
            text: the text.
            target: the number of the group; the number of groups for neutral words.
        """
        done, rest = "", 0
        for match in self.matches(text):
            word = match.row.written[target]
            sought = match.row.sought
            is_of_target = target < len(sought) and match.spelling in sought[target]
            # The word behind a rewritten one may have been replaced with it, to agree.
            if match.start < rest or is_of_target or word.lower() == match.spelling.lower():
                continue
            before = done + text[rest : match.start]
            starts = SENTENCE_START.search(before) is not None
            replacement = match_case(word, text[match.start : match.end], match.spelling, starts)
            done, rest = with_article(before, replacement) + replacement, match.end
            behind = NEXT_WORD.match(text, rest)
            if behind is None:
                continue
            other = self.agreeing(word, behind[0])
            if other is not None:
                done, rest = done + other, behind.end()
        return done + text[rest:]

    def agreeing(self, word: str, behind: str) -> str | None:
        """Returns the form of the following word that agrees with a written word.

        Args:
            word: the word that was written.
            behind: the word behind it, with the space between both.

        Returns:
            The other form with the same space before it; None if the word stays.
        """
        forms = self.groups.agreement.get(word.lower(), {})
        plain = behind.strip().replace("’", "'")  # noqa: RUF001
        form = forms.get(plain.lower())
        if form is None:
            return None
        space = behind[: len(behind) - len(plain)]
        return space + form


def match_case(word: str, old_word: str, spelling: str, starts: bool) -> str:
    """Returns a word in the capitals of the word that it replaces.

    Args:
        word: the new word, as the file spells it.
        old_word: the replaced word, as the text spells it.
        spelling: the replaced word, as the file spells it.
        starts: whether it begins a sentence.
    """
    if old_word.isupper() and len(old_word) > 1 and old_word != spelling:
        return word.upper()
    # A capital that the file has, too, as in `Black`, is no reason for another one.
    if old_word[0].isupper() and (starts or old_word != spelling):
        return word[0].upper() + word[1:]
    return word


def with_article(before: str, word: str) -> str:
    """Returns the text before a word, with its last word `a` or `an` as the next word needs it."""
    match = ARTICLE.search(before)
    if match is None:
        return before
    article, space = match.groups()
    fitting = "an" if VOWEL.match(word) else "a"
    if fitting == article.lower():
        return before
    if article.isupper() and len(article) > 1:
        fitting = fitting.upper()
    if article[0].isupper():
        fitting = fitting[0].upper() + fitting[1:]
    return before[: match.start(1)] + fitting + space


class RewritingMode(Mode):
    """The way in which words of groups are rewritten and counted; replications are subclasses.

    Attributes:
        finds_refusals: whether answers that decline in words, and empty ones, have no text that is
            scored.
        stop_words: the stop words of datasets that name none; None for our own.
    """

    replications: ClassVar[Mapping[str, str]] = {
        "langfair": "biasgrid.families.rewriting.langfair:LangFairMode"
    }
    finds_refusals: ClassVar[bool] = True
    stop_words: ClassVar[str | None] = None

    def rewriter(self, groups: GroupWords) -> TextRewriter:
        """Returns a rewriter of texts."""
        return Rewriter(groups)

    def words(self, answer: str) -> list[str]:
        """Returns the words of an answer among which targets and words of groups are looked for."""
        return [word for word in map(clean_word, tokenize_words(answer)) if word]

    def group_phrase(self, word: str) -> Phrase:
        """Returns the words that are looked for in place of a word of a group."""
        return tuple(map(clean_word, word.split()))

    def target_phrase(self, target: str) -> Phrase:
        """Returns the words that are looked for in place of a target."""
        return tuple(target.split())
