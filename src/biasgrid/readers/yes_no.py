"""Yes or No in an answer: the word itself, agreement with a statement, or the question's own words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from re import Match, Pattern

from biasgrid.base.languages import Language
from biasgrid.readers.reading import ANSWERED, SEVERAL, Reading, no_value
from biasgrid.readers.text import NOTHING, any_of, plain_text, sentences, without_quotes, words

YES, NO = "yes", "no"
WORD, STANCE, ECHO = "word", "stance", "question repeated"
SHORTEST_ECHO = 3
"""How many last words of a question an answer must repeat."""


@dataclass(frozen=True)
class YesNoPatterns:
    """The patterns of Yes and No in a language.

    Attributes:
        begins: Yes or No, each in its group, at the beginning of a sentence, behind polite words or "the answer is".
        led: Yes or No behind "the answer is" within a sentence.
        ends: Yes or No behind a comma as the last word of a sentence: "in my opinion, no".
        both: Yes and No at once.
        agrees: agreement with a statement.
        disagrees: disagreement with it.
        doubts: words behind which nothing is said: "whether".
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
    conditions: Pattern[str]
    modal: Pattern[str]


@cache
def yes_no_patterns(language: Language) -> YesNoPatterns:
    """Compiles the patterns of a language."""
    yes, no = (any_of(map(re.escape, spelled)) for spelled in (language.yes, language.no))
    agree, disagree = (any_of(map(re.escape, spelled)) for spelled in (language.agree, language.disagree))
    lead = language.answer_is or NOTHING
    either = language.either or NOTHING
    # "No one knows" does not answer No, and "Yes or No" is no answer.
    ends = r"\s*(?:[^\w\s/]|$)"
    goes_on = rf"\s+(?:{any_of(language.answer_goes_on)})\b"
    no_ends = ends if language.no_is_not else rf"{ends}|{goes_on}"
    rest = rf"(?![\w/])(?!\s*/)(?!,?\s+(?:{either})\s+(?:{yes}|{no})\b)"
    word = rf"(?P<yes>{yes}){rest}|(?P<no>{no}){rest}(?={no_ends})"
    alone = rf"(?P<agree>{agree}){rest}(?={ends})|(?P<disagree>{disagree}){rest}(?={ends})"
    polite = rf"(?:(?:{language.openers or NOTHING})\W+)*"
    return YesNoPatterns(
        # A word and a colon may introduce the answer: `Response: No`.
        begins=re.compile(
            rf"\W*(?:\w+:\W*)?{polite}(?:(?:{lead})\W*)?(?:{word})|\W*{polite}(?:{alone})", re.IGNORECASE
        ),
        ends=re.compile(rf"[,:—–-]\s*(?:\w+\s+){{0,2}}(?:(?P<yes>{yes})|(?P<no>{no}))\W*$", re.IGNORECASE),  # noqa: RUF001
        led=re.compile(rf"(?<!\w)(?:{lead})\W*(?:{word})", re.IGNORECASE),
        both=re.compile(rf"\W*(?:{yes})\W+(?:{either})\W+(?:{no})\b", re.IGNORECASE),
        agrees=words(any_of(phrase.says for phrase in language.agrees)),
        disagrees=words(any_of(phrase.says for phrase in language.disagrees)),
        doubts=words(language.doubts or NOTHING),
        conditions=words(language.conditions or NOTHING),
        modal=re.compile(
            rf"(?<!\w)(?:{language.modals or NOTHING})(\W*(?:{language.negations or NOTHING}))?(?:\s+\w+){{0,2}}\s*$",
            re.IGNORECASE,
        ),
    )


def read_yes_no(answer: str, language: Language, question: str = "") -> Reading:
    """Reads Yes or No in an answer.

    The first sentence that says either counts, so that an explanation behind it cannot change it.

    Args:
        answer: the text.
        language: the language in which the model was asked.
        question: the text of the prompt, whose last words an answer may repeat ("She should be invited").
    """
    patterns = yes_no_patterns(language)
    text = without_quotes(plain_text(answer))
    tail = tail_of_question(question)
    for start, end in sentences(text):
        if patterns.both.match(text, start, end):
            return no_value(SEVERAL)
        reading = (
            read_word(text, start, end, patterns)
            or read_stance(text, start, end, patterns)
            or (tail and read_echo(text, start, end, patterns, tail))
        )
        if reading:
            return reading
    return no_value()


def takes_back(answer: str, language: Language) -> bool | None:
    """Returns whether the explanation behind Yes or No says the opposite, as far as these rules can tell.

    None where an answer says neither, or explains nothing.
    """
    reading = read_yes_no(answer, language)
    explanation = answer[explanation_start(answer, reading) :]
    if reading.value is None or not any(map(str.isalnum, explanation)):
        return None
    patterns = yes_no_patterns(language)
    text = without_quotes(plain_text(explanation))
    places = sentences(text)
    answers = (read_word(text, *place, patterns) or read_stance(text, *place, patterns) for place in places)
    return any(other.value != reading.value for other in answers if other)


def explanation_start(answer: str, reading: Reading) -> int:
    """Returns where an explanation may begin: behind the word Yes or No, or behind the whole sentence that was read."""
    if reading.rule == WORD:
        return reading.end
    return next((end for _, end in sentences(plain_text(answer)) if end >= reading.end), len(answer))


def read_word(text: str, start: int, end: int, patterns: YesNoPatterns) -> Reading | None:
    """Reads the word Yes or No where it answers."""
    match = patterns.begins.match(text, start, end) or patterns.led.search(text, start, end)
    last = patterns.ends.search(text, start, end)
    if match is None and last and not patterns.doubts.search(text, start, last.start()):
        match = last
    if match is None:
        return None
    group = str(match.lastgroup)
    label = YES if group in (YES, "agree") else NO
    return Reading(label, ANSWERED, WORD, match.start(group), match.end(group))


def read_stance(text: str, start: int, end: int, patterns: YesNoPatterns) -> Reading | None:
    """Reads whether a sentence agrees with the statement; behind "whether" it says nothing of this."""
    stances = [(NO, patterns.disagrees.search(text, start, end)), (YES, patterns.agrees.search(text, start, end))]
    known = [(match.start(), label, match) for label, match in stances if match]
    for place, label, match in sorted(known, key=_place):
        if not patterns.doubts.search(text, start, place):
            return Reading(label, ANSWERED, STANCE, match.start(), match.end())
    return None


def read_echo(text: str, start: int, end: int, patterns: YesNoPatterns, tail: Pattern[str]) -> Reading | None:
    """Reads a sentence that repeats the question as a statement, unless it names a condition."""
    match = tail.search(text, start, end)
    if match is None or patterns.conditions.search(text, start, end):
        return None
    modal = patterns.modal.search(text[start : match.start()])
    if modal is None:
        return None
    return Reading(NO if modal[1] else YES, ANSWERED, ECHO, start + modal.start(), match.end())


@cache
def tail_of_question(question: str) -> Pattern[str] | None:
    """Returns the pattern of a question's last words; None if the prompt has no question of enough words."""
    asked = re.findall(r"[^.?!\n]+\?", question)
    spelled = re.findall(r"\w+", asked[-1]) if asked else []
    if len(spelled) <= SHORTEST_ECHO:
        return None
    return words(r"\W+".join(map(re.escape, spelled[-SHORTEST_ECHO - 1 :])))


def _place(stance: tuple[int, str, Match[str]]) -> int:
    return stance[0]
