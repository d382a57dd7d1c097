"""The option that an answer chooses: by its letter, by its text, or by a phrase that means "not
known".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from re import Match, Pattern
from typing import Literal, NamedTuple

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
    sentence_spans,
    words,
)

STATED, NAMED, EXCERPT = "stated", "named", "excerpt"
FEWEST_REPEATED = 3
"""The number of consecutive options, from the first on, that are taken for a repeated question."""
DENIAL_REACH = 5
"""The maximum number of words between a denial and the option that it denies."""
BEFORE_NAME = re.compile(r"[^\w]*")
BEFORE_LETTER = re.compile(r"[^\w(\[]*")
BEHIND_LETTER = re.compile(r"\s*[)\].:]*\s*[\"'(]*")
ARTICLE_LIKE = re.compile(WORD_LETTER)
BLANKS = re.compile(r"\s*")
COLON = re.compile(r":\s")
ENDS_NAME = re.compile(r"\W*$|\s*[\"')\]]*\s*(?:[.,;:(\n]|--|—|–)")  # noqa: RUF001
Span = tuple[int, int]


class Mention(NamedTuple):
    """Words in a text that name an option.

    Attributes:
        option: the position of the option.
        start: the character at which the words begin.
        end: the character after them.
        is_letter: whether they are the option's letter.
    """

    option: int
    start: int
    end: int
    is_letter: bool = False


NoChoice = Literal["several", "contradiction"]
"""`SEVERAL` or `CONTRADICTION`: the outcome of words about options that choose none."""
Commitment = Mention | NoChoice | None
"""An option, or why the words choose none; None if they say nothing about options."""


def read_choice(answer: str, menu: Menu, language: Language) -> Reading:
    """Reads the option to which an answer commits.

    The first sentence counts that states an option as the answer: it begins with the letter,
    consists of the option, or says that this is the answer. If none does, the first sentence counts
    that names one option alone. What is denied or only mentioned ("not A", "whether it was A") is
    no choice.

    Returns:
        A reading whose value is the position of the option in `menu`; without value the outcome is
        `SEVERAL`, `CONTRADICTION`, `REFUSED` or `NO_OPTION`.
    """
    text = plain_text(answer)
    reader = choice_reader(menu, language)
    spans = reader.sentences(text)
    commitment = first_commitment(text, spans, reader.option_stated)
    if isinstance(commitment, Mention) and reader.lists_options(text, spans, commitment):
        return no_value(SEVERAL, STATED, commitment.start, commitment.end)
    if commitment is not None:
        return as_reading(commitment, STATED)
    if is_refusal(answer, language):
        return no_value(REFUSED)
    return reader.read_names(text, spans)


def read_excerpt(answer: str, menu: Menu, language: Language) -> Reading:
    """Reads the only option that an excerpt of a context names; several options are no choice."""
    text = plain_text(answer)
    mentions = list(choice_reader(menu, language).mentions(text, 0, len(text)))
    options = {mention.option for mention in mentions}
    if len(options) > 1:
        return as_reading(SEVERAL, EXCERPT)
    return as_reading(next(iter(mentions), None), EXCERPT)


@cache
def choice_reader(menu: Menu, language: Language) -> ChoiceReader:
    """Returns the reader of a menu's options; its patterns are compiled once."""
    return ChoiceReader(menu, language)


def as_reading(commitment: Commitment, rule: str) -> Reading:
    """Turns the commitment that a rule has found into a reading; None becomes `NO_OPTION`."""
    if isinstance(commitment, Mention):
        return Reading(commitment.option, ANSWERED, rule, commitment.start, commitment.end)
    return no_value(commitment or NO_OPTION, rule if commitment else "")


class ChoiceReader:
    """Finds the options of a menu in sentences.

    The methods take a text from `plain_text`, and start and end of a sentence in it.

    Attributes:
        menu: the options.
        patterns: names and letters of the options.
        polite: polite words before an answer, as in "Sure, B".
        lead: words such as "the answer is".
        conclusion: words such as "therefore".
        explanation: words that begin an explanation, such as "because".
        doubt: words after which nothing is claimed, such as "whether".
        denial: a word that denies, at most `DENIAL_REACH` words before the end of the text that is
            searched.
        aside: a clause that reports what others say.
        cut: a boundary between clauses.
        contrast: words such as "but".
        wrong: words that call the option before them wrong.
        joint: a comma or a word such as "or", after which another option may follow.
    """

    def __init__(self, menu: Menu, language: Language) -> None:
        self.menu = menu
        self.patterns: MenuPatterns = menu_patterns(menu, language)
        self.polite = re.compile(rf"\W*(?:(?:{language.openers or NOTHING})\W+)+", re.IGNORECASE)
        self.lead = words(language.answer_is)
        self.conclusion = words(rf"(?:{language.concludes or NOTHING}),?")
        self.explanation = words(any_of(language.explains))
        self.doubt = words(language.doubts)
        self.denial = re.compile(
            rf"(?:{language.denies or NOTHING})(?:\s+[\w']+){{0,{DENIAL_REACH}}}\s*[\"'(\[]*$",
            re.IGNORECASE,
        )
        self.aside = words(language.asides)
        self.cut = clause_cuts(language.contrasts)
        self.contrast = words(language.contrasts)
        self.wrong = re.compile(
            rf"[)\].:\"']*\s*(?:{language.incorrect or NOTHING})", re.IGNORECASE
        )
        either = language.either or NOTHING
        self.joint = re.compile(rf"\s*(?:[,/&]\s*)?(?:(?:{either})\s+|[/&,]\s*)", re.IGNORECASE)

    def sentences(self, text: str) -> list[Span]:
        """Returns the sentences of a text without a repeated question.

        A sentence that ends with a colon and the next one are joined.
        """
        spans: list[Span] = []
        for start, end in self.without_repeated_options(text, sentence_spans(text)):
            if spans and text[slice(*spans[-1])].endswith(":"):
                spans[-1] = spans[-1][0], end
            else:
                spans.append((start, end))
        return spans

    def without_repeated_options(self, text: str, spans: list[Span]) -> list[Span]:
        """Drops sentences that repeat the question's options, and the line with a colon above."""
        own_spans: list[Span] = []
        position = 0
        while position < len(spans):
            repeated = self.count_repeated(text, spans[position:])
            if repeated == 0:
                own_spans.append(spans[position])
            elif own_spans and text[slice(*own_spans[-1])].endswith(":"):
                own_spans.pop()
            position += max(repeated, 1)
        return own_spans

    def count_repeated(self, text: str, spans: list[Span]) -> int:
        """Counts the sentences that begin with the letters of the options, in their order.

        Returns 0 if they are too few to be the question.
        """
        repeated = 0
        for start, end in spans[: len(self.menu.texts)]:
            letter = self.letter_at(text, start, end)
            if letter is None or letter.option != repeated:
                break
            repeated += 1
        fewest = min(FEWEST_REPEATED, len(self.menu.texts))
        return repeated if repeated >= fewest else 0

    def lists_options(self, text: str, spans: list[Span], mention: Mention) -> bool:
        """Whether the answer lists options instead of stating one.

        It does if the sentence of `mention` and the next one begin with the letters of two options.
        The next one does not count if it calls its option wrong.

        Args:
            text: the text.
            spans: all sentences.
            mention: an option that is stated; it must lie in one of `spans`.
        """
        position = next(i for i, (_, end) in enumerate(spans) if mention.start < end)
        sentence_start, _ = spans[position]
        is_at_start = not any(map(str.isalnum, text[sentence_start : mention.start]))
        if not mention.is_letter or not is_at_start or position + 1 == len(spans):
            return False
        start, end = spans[position + 1]
        other = self.letter_at(text, start, end)
        if other is None or other.option == mention.option:
            return False
        # A capital and a space may be the article of a sentence.
        if text[other.end : other.end + 1].isspace():
            return False
        return self.wrong.search(text, other.end, end) is None

    def option_stated(self, text: str, start: int, end: int) -> Commitment:
        """Returns the option that a sentence states as the answer, None if it states nothing."""
        for place in self.answer_places(text, start, end):
            commitment = self.stated_at(text, place, end, is_led=place > start)
            if commitment is not None:
                return commitment
        return self.letter_judged(text, start, end)

    def answer_places(self, text: str, start: int, end: int) -> Iterator[int]:
        """Yields the characters at which the answer may begin, the likeliest first.

        That is the beginning of the sentence, then the end of polite words, of "the answer is", of
        a colon and of "therefore".
        """
        yield start
        polite = self.polite.match(text, start, end)
        if polite:
            yield polite.end()
        places = [match.end() for match in self.lead.finditer(text, start, end)]
        for pattern in (COLON, self.conclusion):
            ends = [match.end() for match in pattern.finditer(text, start, end)]
            places += [place for place in ends if self.letter_at(text, place, end)]
        for place in places:
            if not self.is_denied(text, start, place, end):
                yield place

    def stated_at(self, text: str, place: int, end: int, *, is_led: bool) -> Commitment:
        """Returns the option that is stated at a place of a sentence.

        Letters come first, then names, then phrases for "not known". None if nothing is stated
        here, or if the letter is denied.

        Args:
            text: the text.
            place: the character at which the answer may begin.
            end: the end of the sentence.
            is_led: whether words such as "the answer is" come before.
        """
        name = self.name_at(text, place, end)
        letter = self.letter_at(text, place, end, is_led=is_led)
        # The article of `A man` is no letter.
        if letter and not (name and name.start < letter.end):
            return self.letter_unless_denied(text, letter, end)
        if name and (is_led or self.is_alone(text, name, end)):
            if self.has_other_letter(text, name, end):
                return CONTRADICTION
            return self.name_unless_joined(text, name, end)
        unknown = self.patterns.unknown.match(text, behind(BEFORE_NAME, text, place, end), end)
        return self.unless_contrasted(text, unknown, end) if unknown else None

    def unless_contrasted(self, text: str, unknown: Match[str], end: int) -> Commitment:
        """Returns the option after a contrast, "Unclear, but I think the student"; else the unknown
        option.
        """
        contrast = self.contrast.search(text, unknown.end(), end)
        commitment = self.option_named(text, contrast.end(), end) if contrast else None
        return commitment or self.unknown_mention(unknown)

    def letter_judged(self, text: str, start: int, end: int) -> Mention | None:
        """Returns the letter that a sentence calls correct, None if it calls none so."""
        for match in self.patterns.judged_letter.finditer(text, start, end):
            before = text[start : match.start()]
            if not self.doubt.search(before) and not self.denial.search(before):
                return self.letter_mention(match)
        return None

    def letter_unless_denied(self, text: str, letter: Mention, end: int) -> Commitment:
        """Returns a letter, unless the next words deny it, add another, or are another option's.

        None if it is denied.
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

    def has_other_letter(self, text: str, name: Mention, end: int) -> bool:
        """Whether the letter in brackets after a name is another option's: `The student (a)`."""
        place = behind(BLANKS, text, name.end, end)
        letter = self.patterns.bracketed_letter.match(text, place, end)
        return letter is not None and self.letter_mention(letter).option != name.option

    def name_unless_joined(self, text: str, name: Mention, end: int) -> Commitment:
        """Returns a name, `SEVERAL` if another option's follows: "the student or the teacher"."""
        joint = self.joint.match(text, name.end, end)
        other = self.name_at(text, joint.end(), end) if joint else None
        return SEVERAL if other and other.option != name.option else name

    def is_alone(self, text: str, name: Mention, end: int) -> bool:
        """Whether the sentence ends after a name, or goes on with an explanation."""
        rest = text[name.end : end]
        return bool(ENDS_NAME.match(rest) or self.explanation.match(rest.lstrip()))

    def read_names(self, text: str, spans: list[Span]) -> Reading:
        """Reads the option of the first sentence that names only one.

        If there is none, the first sentence that names several gives the reason.
        """
        no_choice: Commitment = None
        for start, end in spans:
            commitment = self.option_named(text, start, end)
            if isinstance(commitment, Mention):
                return as_reading(commitment, NAMED)
            if no_choice is None:
                no_choice = commitment
        return as_reading(no_choice, NAMED)

    def option_named(self, text: str, start: int, end: int) -> Commitment:
        """Returns the only option that a sentence names before its explanation begins.

        Options that are denied or called wrong do not count. None if no option is left, `SEVERAL`
        if more than one is.
        """
        mentions = sorted(self.mentions(text, start, end), key=_start)
        if not mentions:
            return None
        explanation = self.explanation.search(text, mentions[0].end, end)
        stop = explanation.start() if explanation else end
        unknown = self.patterns.unknown.search(text, start, end)
        if unknown:
            # "It is not possible to say who of both it was": names after the phrase belong to it.
            stop = min(stop, unknown.start())
        candidates = []
        for mention in mentions:
            is_denied = self.is_denied(text, start, mention.start, end)
            is_rejected = is_denied or self.is_wrong(text, mention, end)
            if mention.start < stop and not is_rejected:
                candidates.append(mention)
        if unknown:
            candidates.append(self.unknown_mention(unknown))
        options = {mention.option for mention in candidates}
        if len(options) > 1:
            return SEVERAL
        return candidates[0] if candidates else None

    def mentions(self, text: str, start: int, end: int) -> Iterator[Mention]:
        """Yields the options that a sentence names, kind by kind and not in the order of the text.

        Names come first, but for those without a word, such as numbers; then letters in brackets,
        then phrases for "not known". An option may come several times.
        """
        for match in self.patterns.name.finditer(text, start, end):
            if A_WORD.search(match[0]):
                yield self.name_mention(match)
        for match in self.patterns.bracketed_letter.finditer(text, start, end):
            yield self.letter_mention(match)
        for match in self.patterns.unknown.finditer(text, start, end):
            yield self.unknown_mention(match)

    def is_wrong(self, text: str, mention: Mention, end: int) -> bool:
        """Whether a letter is called wrong. A name is not: the question may be who is wrong."""
        return mention.is_letter and self.wrong.match(text, mention.end, end) is not None

    def is_denied(self, text: str, start: int, place: int, end: int) -> bool:
        """Whether the clause around a place denies or doubts the words there, or only reports them.

        Denials count up to `DENIAL_REACH` words before the place, doubts anywhere before it, and
        reports such as "some would say A" anywhere in the clause.
        """
        clause_start, clause_end = clause_around(text, start, place, end, self.cut)
        before = text[clause_start:place]
        if self.denial.search(before) or self.doubt.search(before):
            return True
        return self.aside.search(text, clause_start, clause_end) is not None

    def name_at(self, text: str, start: int, end: int) -> Mention | None:
        """Returns the option whose name begins at a place, or after punctuation there.

        The punctuation may also belong to the name.
        """
        last = behind(BEFORE_NAME, text, start, end)
        for place in range(start, last + 1):
            match = self.patterns.name.match(text, place, end)
            if match:
                return self.name_mention(match)
        return None

    def letter_at(self, text: str, start: int, end: int, *, is_led: bool = False) -> Mention | None:
        """Returns the option whose letter is at a place, or after punctuation there.

        A letter after words such as "the answer is" (`is_led`) needs no mark. The name after it may
        be another option's: see `letter_unless_denied`.
        """
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
        return self.spaced_letter_at(text, place, end)

    def spaced_letter_at(self, text: str, start: int, end: int) -> Mention | None:
        """Returns the option whose letter is at a place, with a blank and a name after it.

        None for a letter that may be an article, unless an option's whole text comes after it.
        """
        match = self.patterns.spaced_letter.match(text, start, end)
        name = self.name_at(text, match.end(), end) if match else None
        if match is None or name is None:
            return None
        # `A grandfather` may be anybody; after its letter, an option has the words of the prompt.
        is_article = ARTICLE_LIKE.match(match[0])
        is_whole = name_key(text[name.start : name.end]) in map(name_key, self.menu.texts)
        if is_article and not is_whole:
            return None
        return self.letter_mention(match)

    def name_mention(self, match: Match[str]) -> Mention:
        """Returns the option whose name was matched."""
        return Mention(self.patterns.find_option(match[0]), match.start(), match.end())

    def letter_mention(self, match: Match[str]) -> Mention:
        """Returns the option whose letter was matched, in the last group of the pattern."""
        group = match.lastgroup or ""
        option = self.menu.alphabet.index(match[group].lower())
        return Mention(option, match.start(group), match.end(), is_letter=True)

    def unknown_mention(self, match: Match[str]) -> Mention:
        """Returns the option "not known", a phrase of which was matched; the menu must have it."""
        assert self.menu.unknown is not None
        return Mention(self.menu.unknown, match.start(), match.end())


def first_commitment(
    text: str, spans: list[Span], read: Callable[[str, int, int], Commitment]
) -> Commitment:
    """Returns the commitment of the first sentence that has one, None if no sentence has."""
    for start, end in spans:
        commitment = read(text, start, end)
        if commitment is not None:
            return commitment
    return None


def behind(pattern: Pattern[str], text: str, start: int, end: int) -> int:
    """Returns the end of a pattern that matches at `start`; `start` if it does not match there."""
    match = pattern.match(text, start, end)
    return match.end() if match else start


def match_in_brackets(pattern: Pattern[str], text: str, place: int, end: int) -> Match[str] | None:
    """Matches a pattern at a place, or after more brackets there: `((a) Philippa)`."""
    match = pattern.match(text, place, end)
    while match is None and text[place : place + 1] in ("(", "["):
        place += 1
        match = pattern.match(text, place, end)
    return match


def _start(mention: Mention) -> int:
    return mention.start
