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
    sentence_spans,
    without_quotes,
    words,
)

YES, NO = "yes", "no"
WORD, STANCE, ECHO, NOD = "word", "stance", "question repeated", "nod"
ECHO_WORDS = 4
"""The number of words at the end of a question by which its repetition is recognised."""


@dataclass(frozen=True)
class YesNoPatterns:
    """The patterns of Yes and No in a language.

    Attributes:
        begins: Yes or No at the beginning of a sentence, after polite words or "the answer is". The
            groups are `yes`, `no`, `agree` and `disagree`.
        led: Yes or No after "the answer is" within a sentence; groups `yes` and `no`.
        last_word: Yes or No as the last word of a sentence, after a comma, colon or dash and at
            most two other words: "in my opinion, no". Groups `yes` and `no`.
        both: Yes and No, or agreement and disagreement, side by side: "Yes or No".
        agrees: agreement with a statement.
        disagrees: disagreement with a statement.
        doubts: words after which nothing is claimed: "whether".
        denies: words of a clause that denies, doubts or concedes the words after them.
        cut: a boundary between clauses.
        nods: words that mean Yes unless the next sentences say otherwise: "Absolutely".
        refusals: a refusal.
        conditions: words of a condition: "only if".
        modal: a modal verb at the end of the text that is searched. Group 1 is its negation.
    """

    begins: Pattern[str]
    led: Pattern[str]
    last_word: Pattern[str]
    both: Pattern[str]
    agrees: Pattern[str]
    disagrees: Pattern[str]
    doubts: Pattern[str]
    denies: Pattern[str]
    cut: Pattern[str]
    nods: Pattern[str]
    refusals: Pattern[str]
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
    word_end = r"\s*(?:[^\w\s/]|$)"
    no_end = word_end
    if not language.no_is_not:
        no_end = rf"{word_end}|\s+(?:{any_of(language.answer_goes_on)})\b"
    rest = rf"(?![\w/])(?!\s*/)(?!,?\s+(?:{either})\s+(?:{yes}|{no})\b)"
    word = rf"(?P<yes>{yes}){rest}|(?P<no>{no}){rest}(?={no_end})"
    alone = rf"(?P<agree>{agree}){rest}(?={word_end})|(?P<disagree>{disagree}){rest}(?={word_end})"
    slash_or_or = rf"(?:\s*[|/]\s*|,?\s+(?:{either})\s+)"
    polite = rf"(?:(?:{language.openers or NOTHING})\W+)*"
    # A word and a colon may introduce the answer: `Response: No`.
    word_with_lead = rf"\W*(?:\w+:\W*)?{polite}(?:(?:{lead})\W*)?(?:{word})"
    last_word = rf"(?:\w+\s+){{0,2}}(?:(?P<yes>{yes})|(?P<no>{no}))\W*$"
    both = [rf"(?:{yes}){slash_or_or}(?:{no})", rf"(?:{no}){slash_or_or}(?:{yes})"]
    both.append(rf"(?:{agree}){slash_or_or}(?:{disagree})")
    denials = (language.denies, language.asides, language.concedes, language.negations)
    modal = rf"(?<!\w)(?:{language.modals or NOTHING})(\W*(?:{negations}))?(?:\s+\w+){{0,2}}\s*$"
    return YesNoPatterns(
        begins=re.compile(rf"{word_with_lead}|\W*{polite}(?:{alone})", re.IGNORECASE),
        led=re.compile(rf"(?<!\w)(?:{lead})\W*(?:{word})", re.IGNORECASE),
        last_word=re.compile(rf"[,:—–-]\s*{last_word}", re.IGNORECASE),  # noqa: RUF001
        both=words("|".join(both)),
        agrees=words(any_of(phrase.says for phrase in language.agrees)),
        disagrees=words(any_of(phrase.says for phrase in language.disagrees)),
        doubts=words(language.doubts),
        denies=words(any_of(denial for denial in denials if denial)),
        cut=clause_cuts(language.contrasts),
        nods=re.compile(
            rf"\W*{polite}(?:{any_spelling(language.nods)})(?={word_end})", re.IGNORECASE
        ),
        refusals=refusal_patterns(language).refusals,
        conditions=words(language.conditions),
        modal=re.compile(modal, re.IGNORECASE),
    )


def any_spelling(spellings: Iterable[str]) -> str:
    """Returns the pattern of several words, in which special characters are literal."""
    return any_of(map(re.escape, spellings))


def read_yes_no(answer: str, language: Language, question: str = "") -> Reading:
    """Reads Yes or No in an answer.

    The first sentence that says either counts, so that a later explanation cannot change it. A nod
    such as "Absolutely" counts only if no sentence does.

    Args:
        answer: the text.
        language: the language in which the model was asked.
        question: the text of the prompt, whose last words an answer may repeat ("She should be
            invited"); empty if answers that repeat it do not count.

    Returns:
        A reading with `YES` or `NO`; without value if no sentence says either.
    """
    patterns = yes_no_patterns(language)
    text = without_quotes(plain_text(answer))
    tail = statement_tail(question)
    nod: Reading | None = None
    nothing = no_value()
    for start, end in sentence_spans(text):
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
    """Whether the explanation after Yes or No says the opposite, as far as these rules can tell.

    None if the answer says neither, or explains nothing.
    """
    reading = read_yes_no(answer, language)
    explanation = answer[explanation_start(answer, reading) :]
    if reading.value is None or not any(map(str.isalnum, explanation)):
        return None
    patterns = yes_no_patterns(language)
    text = without_quotes(plain_text(explanation))
    for start, end in sentence_spans(text):
        later = read_word(text, start, end, patterns) or read_stance(text, start, end, patterns)
        if later and later.value != reading.value:
            return True
    return False


def explanation_start(answer: str, reading: Reading) -> int:
    """Returns the character of the answer at which an explanation may begin.

    That is the end of the word Yes or No, or of the whole sentence if it was read by another rule.
    """
    if reading.rule == WORD:
        return reading.end
    for _, end in sentence_spans(plain_text(answer)):
        if end >= reading.end:
            return end
    return len(answer)


def read_word(text: str, start: int, end: int, patterns: YesNoPatterns) -> Reading | None:
    """Reads the word Yes or No in a sentence, None if the sentence does not answer by it."""
    match = patterns.begins.match(text, start, end) or find_later_word(text, start, end, patterns)
    if match is None:
        return None
    group = str(match.lastgroup)
    label = YES if group in (YES, "agree") else NO
    return Reading(label, ANSWERED, WORD, match.start(group), match.end(group))


def find_later_word(text: str, start: int, end: int, patterns: YesNoPatterns) -> Match[str] | None:
    """Finds Yes or No after "the answer is", or at the end of a sentence without refusal.

    At the end it must be the last word, after a comma, colon or dash and at most two other words.
    A word that is denied, doubted or conceded (`is_aside`) is skipped.
    """
    candidates = [patterns.led.search(text, start, end)]
    # "I'm sorry, but no" declines.
    if not patterns.refusals.search(text, start, end):
        candidates.append(patterns.last_word.search(text, start, end))
    for match in candidates:
        if match and not is_aside(text, start, match, end, patterns):
            return match
    return None


def is_aside(text: str, start: int, match: Match[str], end: int, patterns: YesNoPatterns) -> bool:
    """Whether the words before a match deny, doubt or concede it.

    Denials and concessions count in the clause of the match, doubts in the whole sentence.
    """
    place = match.start(match.lastgroup or 0)
    clause_start, _ = clause_around(text, start, place, end, patterns.cut)
    is_denied = patterns.denies.search(text, clause_start, place)
    return bool(is_denied or patterns.doubts.search(text, start, place))


def read_stance(text: str, start: int, end: int, patterns: YesNoPatterns) -> Reading | None:
    """Reads whether a sentence agrees with a statement, None if it does not say.

    The first phrase that is not denied, doubted or conceded counts.
    """
    stances = []
    for label, pattern in ((NO, patterns.disagrees), (YES, patterns.agrees)):
        match = pattern.search(text, start, end)
        if match:
            stances.append((match.start(), label, match))
    for place, label, match in sorted(stances, key=_place):
        if label == YES:
            # The phrase itself may contain the denial: "there is no evidence that this is true".
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
    """Reads a sentence that repeats the question as a statement: "She should not be invited".

    None if it does not repeat the question, or names a condition.
    """
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
def statement_tail(prompt: str) -> Pattern[str] | None:
    """Returns the pattern by which `read_echo` recognises the question repeated as a statement.

    Such a statement, "She should be invited", answers the question. The pattern is of the last
    `ECHO_WORDS` words of the prompt's last question; None if there is none with so many words.
    """
    questions = re.findall(r"[^.?!\n]+\?", prompt)
    question_words = re.findall(r"\w+", questions[-1]) if questions else []
    if len(question_words) < ECHO_WORDS:
        return None
    return words(r"\W+".join(map(re.escape, question_words[-ECHO_WORDS:])))


def _place(stance: tuple[int, str, Match[str]]) -> int:
    return stance[0]
