"""The option that an answer chooses: by its letter, by its text, or by a phrase that means "not
known".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from re import Match, Pattern
from typing import NamedTuple

from biasgrid.base.languages import Language
from biasgrid.readers.menu import (
    A_WORD,
    WORD_LETTER,
    Menu,
    MenuPatterns,
    loose,
    menu_patterns,
    name_key,
)
from biasgrid.readers.reading import (
    ANSWERED,
    CONTRADICTION,
    NO_OPTION,
    REFUSED,
    SEVERAL,
    Reading,
    no_value,
)
from biasgrid.readers.refusals import is_refusal
from biasgrid.readers.text import (
    NOTHING,
    any_of,
    clause_around,
    clause_cuts,
    plain_text,
    sentences,
    words,
)

STATED, NAMED, EXCERPT = "stated", "named", "excerpt"
FEWEST_REPEATED = 3
"""So many options below each other, from the first one on, are the question repeated."""
BEFORE_NAME = re.compile(r"[^\w]*")
BEFORE_LETTER = re.compile(r"[^\w(\[]*")
BEHIND_LETTER = re.compile(r"\s*[)\].:]*\s*[\"'(]*")
ARTICLE_LIKE = re.compile(WORD_LETTER)
BLANKS = re.compile(r"\s*")
COLON = re.compile(r":\s")
ENDS_NAME = re.compile(r"\W*$|\s*[\"')\]]*\s*(?:[.,;:(\n]|--|—|–)")  # noqa: RUF001
Span = tuple[int, int]


class Mention(NamedTuple):
    """An option in a text.

    Attributes:
        option: its number.
        start: the character at which the words begin that name it.
        end: the character behind them.
        is_letter: whether the words are its letter.
    """

    option: int
    start: int
    end: int
    is_letter: bool = False


Commitment = Mention | str | None
"""An option; why there is none, `several` or `contradiction`; or None if nothing is said."""


def read_choice(answer: str, menu: Menu, language: Language) -> Reading:
    """Reads the option to which an answer commits.

    The first sentence counts that states an option as the answer: it begins with the letter,
    consists of the option, or says that this is the answer. If none does, the first sentence counts
    that names one option alone. What is denied or only mentioned ("not A", "whether it was A") is
    no choice.
    """
    text = plain_text(answer)
    reader = choice_reader(menu, language)
    places = reader.sentences(text)
    stated = first_commitment(text, places, reader.stated)
    if isinstance(stated, Mention) and reader.lists_options(text, places, stated):
        return no_value(SEVERAL, STATED, stated.start, stated.end)
    if stated is not None:
        return reading_of(stated, STATED)
    if is_refusal(answer, language):
        return no_value(REFUSED)
    return reader.first_named(text, places)


def read_excerpt(answer: str, menu: Menu, language: Language) -> Reading:
    """Reads the one option that an excerpt of a context names; several people are no choice."""
    text = plain_text(answer)
    mentions = list(choice_reader(menu, language).mentions(text, 0, len(text)))
    options = {mention.option for mention in mentions}
    if len(options) > 1:
        return reading_of(SEVERAL, EXCERPT)
    return reading_of(next(iter(mentions), None), EXCERPT)


@cache
def choice_reader(menu: Menu, language: Language) -> ChoiceReader:
    """Returns the reader of a menu's options."""
    return ChoiceReader(menu, language)


def reading_of(commitment: Commitment, rule: str) -> Reading:
    """Returns the reading that a rule made."""
    if isinstance(commitment, Mention):
        return Reading(commitment.option, ANSWERED, rule, commitment.start, commitment.end)
    return no_value(commitment or NO_OPTION, rule if commitment else "")


class ChoiceReader:
    """Finds the options of a menu in sentences.

    Its methods are given a text from `plain_text`, and where in it a sentence begins and ends.
    """

    def __init__(self, menu: Menu, language: Language) -> None:
        self.menu = menu
        self.patterns: MenuPatterns = menu_patterns(menu, language)
        self.polite = re.compile(rf"\W*(?:(?:{language.openers or NOTHING})\W+)+", re.IGNORECASE)
        self.lead = words(language.answer_is)
        self.conclusion = words(rf"(?:{language.concludes or NOTHING}),?")
        self.reason = words(any_of(language.explains))
        self.doubt = words(language.doubts)
        self.denial = re.compile(
            rf"(?:{language.denies or NOTHING})(?:\s+[\w']+){{0,5}}\s*[\"'(\[]*$", re.IGNORECASE
        )
        self.aside = words(language.asides)
        self.cut = clause_cuts(language.contrasts)
        self.contrast = words(language.contrasts)
        self.wrong = re.compile(
            rf"[)\].:\"']*\s*(?:{language.incorrect or NOTHING})", re.IGNORECASE
        )
        either = language.either or NOTHING
        self.other = re.compile(rf"\s*(?:[,/&]\s*)?(?:(?:{either})\s+|[/&,]\s*)", re.IGNORECASE)

    def sentences(self, text: str) -> list[Span]:
        """Returns the sentences of a text without repeated options; a sentence goes on behind its
        colon.
        """
        joined: list[Span] = []
        for start, end in self.without_repeated_options(text, sentences(text)):
            if joined and text[slice(*joined[-1])].endswith(":"):
                joined[-1] = joined[-1][0], end
            else:
                joined.append((start, end))
        return joined

    def without_repeated_options(self, text: str, places: list[Span]) -> list[Span]:
        """Leaves out the question's options where an answer repeats them, and the line above
        them.
        """
        kept: list[Span] = []
        number = 0
        while number < len(places):
            count = self.count_repeated(text, places[number:])
            if count == 0:
                kept.append(places[number])
            elif kept and text[slice(*kept[-1])].endswith(":"):
                kept.pop()
            number += max(count, 1)
        return kept

    def count_repeated(self, text: str, places: list[Span]) -> int:
        """Counts sentences that are the options one after the other.

        Returns 0 if they are too few to be the question.
        """
        count = 0
        for start, end in places[: len(self.menu.texts)]:
            letter = self.letter_at(text, start, end)
            if letter is None or letter.option != count:
                break
            count += 1
        fewest = min(FEWEST_REPEATED, len(self.menu.texts))
        return count if count >= fewest else 0

    def lists_options(self, text: str, places: list[Span], stated: Mention) -> bool:
        """Whether the next sentence begins with another option's letter, like the stated one."""
        number = next(number for number, (_, end) in enumerate(places) if stated.start < end)
        sentence_start, _ = places[number]
        is_first = not any(map(str.isalnum, text[sentence_start : stated.start]))
        if not stated.is_letter or not is_first or number + 1 == len(places):
            return False
        start, end = places[number + 1]
        other = self.letter_at(text, start, end)
        if other is None or other.option == stated.option:
            return False
        # A capital and a space may be the article of a sentence.
        if text[other.end : other.end + 1].isspace():
            return False
        return self.wrong.search(text, other.end, end) is None

    def stated(self, text: str, start: int, end: int) -> Commitment:
        """Returns the option that a sentence states as the answer."""
        for place in self.places_of_answer(text, start, end):
            commitment = self.stated_at(text, place, end, is_led=place > start)
            if commitment is not None:
                return commitment
        return self.judged(text, start, end)

    def places_of_answer(self, text: str, start: int, end: int) -> Iterator[int]:
        """Yields the places where the answer may stand.

        First the beginning, then behind polite words, "the answer is", a colon or
        "therefore".
        """
        yield start
        polite = self.polite.match(text, start, end)
        if polite:
            yield polite.end()
        led = [match.end() for match in self.lead.finditer(text, start, end)]
        for pattern in (COLON, self.conclusion):
            places = [match.end() for match in pattern.finditer(text, start, end)]
            led += [place for place in places if self.letter_at(text, place, end)]
        for place in led:
            if not self.is_denied(text, start, place, end):
                yield place

    def stated_at(self, text: str, place: int, end: int, *, is_led: bool) -> Commitment:
        """Returns the option that is stated at a place of a sentence; `is_led` behind words that
        announce it.
        """
        name = self.name_at(text, place, end)
        letter = self.letter_at(text, place, end, is_led=is_led)
        # The article of `A man` is no letter.
        if letter and not (name and name.start < letter.end):
            return self.with_its_text(text, letter, end)
        if name and (is_led or self.is_alone(text, name, end)):
            return self.with_its_letter(text, name, end) or self.with_other_names(text, name, end)
        unknown = self.patterns.unknown.match(text, behind(BEFORE_NAME, text, place, end), end)
        return self.unless_contrasted(text, unknown, end) if unknown else None

    def unless_contrasted(self, text: str, unknown: Match[str], end: int) -> Commitment:
        """Returns the unknown option, or the one that is named behind "but": "Unclear, but I think
        the student".
        """
        contrast = self.contrast.search(text, unknown.end(), end)
        named = self.named(text, contrast.end(), end) if contrast else None
        return named or self.unknown_mention(unknown)

    def judged(self, text: str, start: int, end: int) -> Mention | None:
        """Returns the letter that a sentence calls correct."""
        for match in self.patterns.judged_letter.finditer(text, start, end):
            before = text[start : match.start()]
            if not self.doubt.search(before) and not self.denial.search(before):
                return self.letter_mention(match)
        return None

    def with_its_text(self, text: str, letter: Mention, end: int) -> Commitment:
        """Returns a letter, unless the words behind it deny it, name another one, or are another
        option's.
        """
        if self.wrong.match(text, letter.end, end):
            return None
        if self.patterns.other_letter.match(text, letter.end, end):
            return SEVERAL
        name = self.name_at(text, behind(BEHIND_LETTER, text, letter.end, end), end)
        if name is None:
            return letter
        if self.patterns.other_letter.match(text, name.end, end):
            return SEVERAL
        if name.option == letter.option:
            return None if self.wrong.match(text, name.end, end) else letter
        own = re.compile(rf"\W*{loose(name_key(self.menu.texts[letter.option]))}", re.IGNORECASE)
        return letter if own.match(text, letter.end, end) else CONTRADICTION

    def with_its_letter(self, text: str, name: Mention, end: int) -> str | None:
        """Returns `contradiction` if the letter in brackets behind an option is another one's.

        An example is `The student (a)`.
        """
        place = behind(BLANKS, text, name.end, end)
        letter = self.patterns.bracketed_letter.match(text, place, end)
        if letter is None or self.letter_mention(letter).option == name.option:
            return None
        return CONTRADICTION

    def with_other_names(self, text: str, name: Mention, end: int) -> Commitment:
        """Returns an option, unless another one is named in the same breath."""
        joint = self.other.match(text, name.end, end)
        other = self.name_at(text, joint.end(), end) if joint else None
        return SEVERAL if other and other.option != name.option else name

    def is_alone(self, text: str, name: Mention, end: int) -> bool:
        """Returns whether a sentence consists of an option, but for an explanation."""
        rest = text[name.end : end]
        return bool(ENDS_NAME.match(rest) or self.reason.match(rest.lstrip()))

    def first_named(self, text: str, places: list[Span]) -> Reading:
        """Returns the option of the first sentence that names one alone, or why none does."""
        first_reason: Commitment = None
        for start, end in places:
            commitment = self.named(text, start, end)
            if isinstance(commitment, Mention):
                return reading_of(commitment, NAMED)
            if first_reason is None:
                first_reason = commitment
        return reading_of(first_reason, NAMED)

    def named(self, text: str, start: int, end: int) -> Commitment:
        """Returns the one option that a sentence names before its explanation begins."""
        mentions = sorted(self.mentions(text, start, end), key=_start)
        if not mentions:
            return None
        reason = self.reason.search(text, mentions[0].end, end)
        stop = reason.start() if reason else end
        unknown = self.patterns.unknown.search(text, start, end)
        if unknown:
            # "It is not possible to say who of both it was": the names behind the phrase belong to
            # it.
            stop = min(stop, unknown.start())
        affirmed = []
        for mention in mentions:
            is_rejected = self.is_denied(text, start, mention.start, end) or self.is_wrong(
                text, mention, end
            )
            if mention.start < stop and not is_rejected:
                affirmed.append(mention)
        if unknown:
            affirmed.append(self.unknown_mention(unknown))
        options = {mention.option for mention in affirmed}
        if len(options) > 1:
            return SEVERAL
        return affirmed[0] if affirmed else None

    def mentions(self, text: str, start: int, end: int) -> Iterator[Mention]:
        """Yields the options that a sentence names: by word, letter in brackets, or as unknown."""
        for match in self.patterns.name.finditer(text, start, end):
            if A_WORD.search(match[0]):
                yield self.name_mention(match)
        for match in self.patterns.bracketed_letter.finditer(text, start, end):
            yield self.letter_mention(match)
        for match in self.patterns.unknown.finditer(text, start, end):
            yield self.unknown_mention(match)

    def is_wrong(self, text: str, mention: Mention, end: int) -> bool:
        """Returns whether a letter is called wrong; what a person is called may be the answer."""
        return mention.is_letter and self.wrong.match(text, mention.end, end) is not None

    def is_denied(self, text: str, start: int, place: int, end: int) -> bool:
        """Whether a clause denies the words at a place, or reports them: "some would say A"."""
        clause_start, clause_end = clause_around(text, start, place, end, self.cut)
        before = text[clause_start:place]
        if self.denial.search(before) or self.doubt.search(before):
            return True
        return self.aside.search(text, clause_start, clause_end) is not None

    def name_at(self, text: str, start: int, end: int) -> Mention | None:
        """Returns the option whose name stands at a place, behind punctuation at most.

        The punctuation may belong to the name.
        """
        last = behind(BEFORE_NAME, text, start, end)
        for place in range(start, last + 1):
            match = self.patterns.name.match(text, place, end)
            if match:
                return self.name_mention(match)
        return None

    def letter_at(self, text: str, start: int, end: int, *, is_led: bool = False) -> Mention | None:
        """Returns the option whose letter stands at a place, behind punctuation at most."""
        if not self.menu.alphabet:
            return None
        place = behind(BEFORE_LETTER, text, start, end)
        patterns = [self.patterns.marked_letter]
        if is_led:
            patterns.insert(0, self.patterns.led_letter)
        for pattern in patterns:
            match = match_in_brackets(pattern, text, place, end)
            if match:
                return self.letter_mention(match)
        match = self.patterns.spaced_letter.match(text, place, end)
        name = self.name_at(text, match.end(), end) if match else None
        if match is None or name is None:
            return None
        # `A grandfather` may be anybody; with its letter an option stands as the prompt has it.
        is_whole = name_key(text[name.start : name.end]) in map(name_key, self.menu.texts)
        return self.letter_mention(match) if is_whole or not ARTICLE_LIKE.match(match[0]) else None

    def name_mention(self, match: Match[str]) -> Mention:
        """Returns the option whose name was matched."""
        return Mention(self.patterns.option_of(match[0]), match.start(), match.end())

    def letter_mention(self, match: Match[str]) -> Mention:
        """Returns the option whose letter was matched, in the group of a pattern that matched
        last.
        """
        name = match.lastgroup or ""
        option = self.menu.alphabet.index(match[name].lower())
        return Mention(option, match.start(name), match.end(), is_letter=True)

    def unknown_mention(self, match: Match[str]) -> Mention:
        """Returns the unknown option, of which a phrase was matched; the menu must have one."""
        assert self.menu.unknown is not None
        return Mention(self.menu.unknown, match.start(), match.end())


def first_commitment(
    text: str, places: list[Span], read: Callable[[str, int, int], Commitment]
) -> Commitment:
    """Returns the commitment of the first sentence that has one, None without any."""
    for start, end in places:
        commitment = read(text, start, end)
        if commitment is not None:
            return commitment
    return None


def behind(pattern: Pattern[str], text: str, start: int, end: int) -> int:
    """Returns the place behind a pattern that matches at the start, or the start itself."""
    match = pattern.match(text, start, end)
    return match.end() if match else start


def match_in_brackets(pattern: Pattern[str], text: str, place: int, end: int) -> Match[str] | None:
    """Matches a pattern at a place, or behind further brackets there: `((a) Philippa)`."""
    match = pattern.match(text, place, end)
    while match is None and text[place : place + 1] in ("(", "["):
        place += 1
        match = pattern.match(text, place, end)
    return match


def _start(mention: Mention) -> int:
    return mention.start
