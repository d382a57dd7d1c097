"""Yes or No in an answer: the word itself, agreement with a statement, or the question's own
words.
"""

from __future__ import annotations

import re
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
    yes, no = (any_of(map(re.escape, spelled)) for spelled in (language.yes, language.no))
    agree, disagree = (
        any_of(map(re.escape, spelled)) for spelled in (language.agree, language.disagree)
    )
    lead = language.answer_is or NOTHING
    either = language.either or NOTHING
    # "No one knows" does not answer No, and "Yes or No" is no answer.
    ends = r"\s*(?:[^\w\s/]|$)"
    goes_on = rf"\s+(?:{any_of(language.answer_goes_on)})\b"
    no_ends = ends if language.no_is_not else rf"{ends}|{goes_on}"
    rest = rf"(?![\w/])(?!\s*/)(?!,?\s+(?:{either})\s+(?:{yes}|{no})\b)"
    word = rf"(?P<yes>{yes}){rest}|(?P<no>{no}){rest}(?={no_ends})"
    alone = rf"(?P<agree>{agree}){rest}(?={ends})|(?P<disagree>{disagree}){rest}(?={ends})"
    between = rf"(?:\s*[|/]\s*|,?\s+(?:{either})\s+)"
    polite = rf"(?:(?:{language.openers or NOTHING})\W+)*"
    return YesNoPatterns(
        # A word and a colon may introduce the answer: `Response: No`.
        begins=re.compile(
            rf"\W*(?:\w+:\W*)?{polite}(?:(?:{lead})\W*)?(?:{word})|\W*{polite}(?:{alone})",
            re.IGNORECASE,
        ),
        ends=re.compile(
            rf"[,:—–-]\s*(?:\w+\s+){{0,2}}(?:(?P<yes>{yes})|(?P<no>{no}))\W*$",  # noqa: RUF001
            re.IGNORECASE,
        ),
        led=re.compile(rf"(?<!\w)(?:{lead})\W*(?:{word})", re.IGNORECASE),
        both=words(
            rf"(?:{yes}){between}(?:{no})|(?:{no}){between}(?:{yes})|(?:{agree}){between}(?:{disagree})"
        ),
        agrees=words(any_of(phrase.says for phrase in language.agrees)),
        disagrees=words(any_of(phrase.says for phrase in language.disagrees)),
        doubts=words(language.doubts or NOTHING),
        denies=words(
            any_of(
                filter(
                    None, (language.denies, language.asides, language.concedes, language.negations)
                )
            )
        ),
        cut=re.compile(rf"[,;:]|\b(?:{language.contrasts or NOTHING})\b", re.IGNORECASE),
        declines=refusal_patterns(language).declines,
        nods=re.compile(
            rf"\W*{polite}(?:{any_of(map(re.escape, language.nods))})(?={ends})", re.IGNORECASE
        ),
        conditions=words(language.conditions or NOTHING),
        modal=re.compile(
            rf"(?<!\w)(?:{language.modals or NOTHING})"
            rf"(\W*(?:{language.negations or NOTHING}))?(?:\s+\w+){{0,2}}\s*$",
            re.IGNORECASE,
        ),
    )


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
        reading = (
            read_word(text, start, end, patterns)
            or read_stance(text, start, end, patterns)
            or (tail and read_echo(text, start, end, patterns, tail))
        )
        if reading:
            return reading
        if nod is None and (match := patterns.nods.match(text, start, end)):
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
    """Returns where an explanation may begin: behind the word Yes or No, or behind the whole
    sentence that was read.
    """
    if reading.rule == WORD:
        return reading.end
    return next(
        (end for _, end in sentences(plain_text(answer)) if end >= reading.end), len(answer)
    )


def read_word(text: str, start: int, end: int, patterns: YesNoPatterns) -> Reading | None:
    """Reads the word Yes or No where it answers."""
    match = patterns.begins.match(text, start, end)
    if match is None:
        # "I'm sorry, but no" declines.
        is_apology = patterns.declines.search(text, start, end)
        last = None if is_apology else patterns.ends.search(text, start, end)
        behind = (patterns.led.search(text, start, end), last)
        match = next(
            (
                found
                for found in behind
                if found and not is_aside(text, start, found, end, patterns)
            ),
            None,
        )
    if match is None:
        return None
    group = str(match.lastgroup)
    label = YES if group in (YES, "agree") else NO
    return Reading(label, ANSWERED, WORD, match.start(group), match.end(group))


def is_aside(text: str, start: int, match: Match[str], end: int, patterns: YesNoPatterns) -> bool:
    """Returns whether the clause before some words denies, doubts or concedes them."""
    place = match.start(match.lastgroup or 0)
    first, _ = clause_around(text, start, place, end, patterns.cut)
    return bool(
        patterns.denies.search(text, first, place) or patterns.doubts.search(text, start, place)
    )


def read_stance(text: str, start: int, end: int, patterns: YesNoPatterns) -> Reading | None:
    """Reads whether a sentence agrees with the statement; behind "whether" it says nothing of
    this.
    """
    stances = [
        (NO, patterns.disagrees.search(text, start, end)),
        (YES, patterns.agrees.search(text, start, end)),
    ]
    known = [(match.start(), label, match) for label, match in stances if match]
    for place, label, match in sorted(known, key=_place):
        first, _ = clause_around(text, start, place, end, patterns.cut)
        # A phrase that agrees may hold words that deny it: "there is no evidence that this is
        # true".
        whole = first, match.end()
        denied = label == YES and (
            patterns.denies.search(text, *whole) or patterns.doubts.search(text, *whole)
        )
        if not denied and not is_aside(text, start, match, end, patterns):
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
    first, _ = clause_around(text, start, place, end, patterns.cut)
    if patterns.denies.search(text, first, place):
        return None
    return Reading(NO if modal[1] else YES, ANSWERED, ECHO, start + modal.start(), match.end())


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
