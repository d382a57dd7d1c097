"""Yes or No in an answer: the word itself, agreement with a statement, or the question's own
words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from re import Match, Pattern

from biasgrid.base.languages import Language
from biasgrid.readers.reading import ANSWERED, SEVERAL, Reading, no_value
from biasgrid.readers.refusals import refusal_patterns
from biasgrid.readers.text import (
    NOTHING,
    any_of,
    clause_around,
    clause_cuts,
    plain_text,
    sentences,
    without_quotes,
    words,
)

YES, NO = "yes", "no"
WORD, STANCE, ECHO, NOD = "word", "stance", "question repeated", "nod"
SHORTEST_ECHO = 3
"""How many last words of a question an answer must repeat."""


@dataclass(frozen=True)
class YesNoPatterns:
    """The patterns of Yes and No in a language.

    Attributes:
        begins: Yes or No, each in its group, at the beginning of a sentence, behind polite words or
            "the answer is".
        led: Yes or No behind "the answer is" within a sentence.
        ends: Yes or No behind a comma as the last word of a sentence: "in my opinion, no".
        both: Yes and No, or agreement and disagreement, side by side.
        agrees: agreement with a statement.
        disagrees: disagreement with it.
        doubts: words behind which nothing is said: "whether".
        denies: words of a clause that denies, doubts or concedes what it names.
        cut: the end of a clause.
        nods: words that say Yes unless the next sentences say otherwise.
        declines: a refusal.
        conditions: words of a condition: "only if".
        modal: a modal verb (group 1 negated) before the words that repeat the question.
    """

    begins: Pattern[str]
    led: Pattern[str]
    ends: Pattern[str]
    both: Pattern[str]
    agrees: Pattern[str]
    disagrees: Pattern[str]
    doubts: Pattern[str]
    denies: Pattern[str]
    cut: Pattern[str]
    nods: Pattern[str]
    declines: Pattern[str]
    conditions: Pattern[str]
    modal: Pattern[str]


@cache
def yes_no_patterns(language: Language) -> YesNoPatterns:
    """Compiles the patterns of a language."""
    yes, no = any_spelling(language.yes), any_spelling(language.no)
    agree, disagree = any_spelling(language.agree), any_spelling(language.disagree)
    lead = language.answer_is or NOTHING
    either = language.either or NOTHING
    negations = language.negations or NOTHING
    # "No one knows" does not answer No, and "Yes or No" is no answer.
    ends = r"\s*(?:[^\w\s/]|$)"
    goes_on = rf"\s+(?:{any_of(language.answer_goes_on)})\b"
    no_ends = ends if language.no_is_not else rf"{ends}|{goes_on}"
    rest = rf"(?![\w/])(?!\s*/)(?!,?\s+(?:{either})\s+(?:{yes}|{no})\b)"
    word = rf"(?P<yes>{yes}){rest}|(?P<no>{no}){rest}(?={no_ends})"
    alone = rf"(?P<agree>{agree}){rest}(?={ends})|(?P<disagree>{disagree}){rest}(?={ends})"
    between = rf"(?:\s*[|/]\s*|,?\s+(?:{either})\s+)"
    polite = rf"(?:(?:{language.openers or NOTHING})\W+)*"
    # A word and a colon may introduce the answer: `Response: No`.
    introduced = rf"\W*(?:\w+:\W*)?{polite}(?:(?:{lead})\W*)?(?:{word})"
    last_word = rf"(?:\w+\s+){{0,2}}(?:(?P<yes>{yes})|(?P<no>{no}))\W*$"
    both = [rf"(?:{yes}){between}(?:{no})", rf"(?:{no}){between}(?:{yes})"]
    both.append(rf"(?:{agree}){between}(?:{disagree})")
    denials = (language.denies, language.asides, language.concedes, language.negations)
    modal = rf"(?<!\w)(?:{language.modals or NOTHING})(\W*(?:{negations}))?(?:\s+\w+){{0,2}}\s*$"
    return YesNoPatterns(
        begins=re.compile(rf"{introduced}|\W*{polite}(?:{alone})", re.IGNORECASE),
        led=re.compile(rf"(?<!\w)(?:{lead})\W*(?:{word})", re.IGNORECASE),
        ends=re.compile(rf"[,:—–-]\s*{last_word}", re.IGNORECASE),  # noqa: RUF001
        both=words("|".join(both)),
        agrees=words(any_of(phrase.says for phrase in language.agrees)),
        disagrees=words(any_of(phrase.says for phrase in language.disagrees)),
        doubts=words(language.doubts),
        denies=words(any_of(denial for denial in denials if denial)),
        cut=clause_cuts(language.contrasts),
        nods=re.compile(rf"\W*{polite}(?:{any_spelling(language.nods)})(?={ends})", re.IGNORECASE),
        declines=refusal_patterns(language).declines,
        conditions=words(language.conditions),
        modal=re.compile(modal, re.IGNORECASE),
    )


def any_spelling(spellings: Iterable[str]) -> str:
    """Returns the pattern of any of some words, letter by letter."""
    return any_of(map(re.escape, spellings))


def read_yes_no(answer: str, language: Language, question: str = "") -> Reading:
    """Reads Yes or No in an answer.

    The first sentence that says either counts, so that an explanation behind it cannot change it.

    Args:
        answer: the text.
        language: the language in which the model was asked.
        question: the text of the prompt, whose last words an answer may repeat ("She should be
            invited").
    """
    patterns = yes_no_patterns(language)
    text = without_quotes(plain_text(answer))
    tail = tail_of_question(question)
    nod: Reading | None = None
    nothing = no_value()
    for start, end in sentences(text):
        if patterns.both.search(text, start, end):
            nothing = no_value(SEVERAL)
            continue
        reading = read_word(text, start, end, patterns) or read_stance(text, start, end, patterns)
        if reading is None and tail is not None:
            reading = read_echo(text, start, end, patterns, tail)
        if reading:
            return reading
        if nod is None:
            match = patterns.nods.match(text, start, end)
            if match:
                nod = Reading(YES, ANSWERED, NOD, match.start(), match.end())
    return nod or nothing


def takes_back(answer: str, language: Language) -> bool | None:
    """Returns whether the explanation behind Yes or No says the opposite, as far as these rules can
    tell.

    None where an answer says neither, or explains nothing.
    """
    reading = read_yes_no(answer, language)
    explanation = answer[explanation_start(answer, reading) :]
    if reading.value is None or not any(map(str.isalnum, explanation)):
        return None
    patterns = yes_no_patterns(language)
    text = without_quotes(plain_text(explanation))
    places = sentences(text)
    answers = (
        read_word(text, *place, patterns) or read_stance(text, *place, patterns) for place in places
    )
    return any(other.value != reading.value for other in answers if other)


def explanation_start(answer: str, reading: Reading) -> int:
    """Returns the place where an explanation may begin.

    That is behind the word Yes or No, or behind the whole sentence that was read.
    """
    if reading.rule == WORD:
        return reading.end
    for _, end in sentences(plain_text(answer)):
        if end >= reading.end:
            return end
    return len(answer)


def read_word(text: str, start: int, end: int, patterns: YesNoPatterns) -> Reading | None:
    """Reads the word Yes or No where it answers."""
    match = patterns.begins.match(text, start, end) or word_behind(text, start, end, patterns)
    if match is None:
        return None
    group = str(match.lastgroup)
    label = YES if group in (YES, "agree") else NO
    return Reading(label, ANSWERED, WORD, match.start(group), match.end(group))


def word_behind(text: str, start: int, end: int, patterns: YesNoPatterns) -> Match[str] | None:
    """Finds Yes or No behind "the answer is", or as the last word of a sentence."""
    candidates = [patterns.led.search(text, start, end)]
    # "I'm sorry, but no" declines.
    if not patterns.declines.search(text, start, end):
        candidates.append(patterns.ends.search(text, start, end))
    for match in candidates:
        if match and not is_aside(text, start, match, end, patterns):
            return match
    return None


def is_aside(text: str, start: int, match: Match[str], end: int, patterns: YesNoPatterns) -> bool:
    """Returns whether the clause before some words denies, doubts or concedes them."""
    place = match.start(match.lastgroup or 0)
    clause_start, _ = clause_around(text, start, place, end, patterns.cut)
    is_denied = patterns.denies.search(text, clause_start, place)
    return bool(is_denied or patterns.doubts.search(text, start, place))


def read_stance(text: str, start: int, end: int, patterns: YesNoPatterns) -> Reading | None:
    """Reads whether a sentence agrees with the statement; words behind "whether" do not count."""
    stances = []
    for label, pattern in ((NO, patterns.disagrees), (YES, patterns.agrees)):
        match = pattern.search(text, start, end)
        if match:
            stances.append((match.start(), label, match))
    for place, label, match in sorted(stances, key=_place):
        if label == YES:
            # A phrase that agrees may hold words that deny it: "there is no evidence that this is
            # true".
            clause_start, _ = clause_around(text, start, place, end, patterns.cut)
            clause = text, clause_start, match.end()
            if patterns.denies.search(*clause) or patterns.doubts.search(*clause):
                continue
        if not is_aside(text, start, match, end, patterns):
            return Reading(label, ANSWERED, STANCE, match.start(), match.end())
    return None


def read_echo(
    text: str, start: int, end: int, patterns: YesNoPatterns, tail: Pattern[str]
) -> Reading | None:
    """Reads a sentence that repeats the question as a statement, unless it names a condition."""
    match = tail.search(text, start, end)
    if match is None or patterns.conditions.search(text, start, end):
        return None
    modal = patterns.modal.search(text[start : match.start()])
    if modal is None:
        return None
    place = start + modal.start()
    clause_start, _ = clause_around(text, start, place, end, patterns.cut)
    if patterns.denies.search(text, clause_start, place):
        return None
    label = NO if modal[1] else YES
    return Reading(label, ANSWERED, ECHO, place, match.end())


@cache
def tail_of_question(question: str) -> Pattern[str] | None:
    """Returns the pattern of a question's last words; None if the prompt has no question of enough
    words.
    """
    asked = re.findall(r"[^.?!\n]+\?", question)
    spelled = re.findall(r"\w+", asked[-1]) if asked else []
    if len(spelled) <= SHORTEST_ECHO:
        return None
    return words(r"\W+".join(map(re.escape, spelled[-SHORTEST_ECHO - 1 :])))


def _place(stance: tuple[int, str, Match[str]]) -> int:
    return stance[0]
