"""Whether an answer declines the task, or asks back in place of an answer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from re import Pattern

import polars as pl

from biasgrid.base.languages import ENGLISH_WORDS, Language, Phrase
from biasgrid.readers.text import any_of, plain_text, sentence_spans, without_quotes, words

OPENING = 2
"""The number of sentences at the beginning of an answer in which a refusal is looked for."""


@dataclass(frozen=True)
class RefusalPatterns:
    """The patterns of refusals in a language and in English, as many models decline in English.

    The fields have the names of the phrases in `Language`.

    Attributes:
        refusals: a refusal, unless the same or the next sentence offers the task (`goes_on`).
        disclaimers: a model's statement about itself; a refusal, unless the task follows anywhere
            (`goes_on`).
        goes_on: words that introduce the task after an initial refusal.
        nothing_there: a reason why there is nothing to answer, such as that the person is
            fictional. It is an answer, not a refusal.
        salutations: the beginning of a letter to somebody. The letter is the task done, not a
            refusal, whatever its writer declines.
        questions_back: a question to the user.
    """

    refusals: Pattern[str]
    disclaimers: Pattern[str]
    goes_on: Pattern[str]
    nothing_there: Pattern[str]
    salutations: Pattern[str]
    questions_back: Pattern[str]


@cache
def refusal_patterns(language: Language) -> RefusalPatterns:
    """Compiles the patterns of a language."""
    languages = dict.fromkeys([language, ENGLISH_WORDS])

    def pattern(key: str) -> Pattern[str]:
        phrases: list[Phrase] = []
        for source in languages:
            phrases += getattr(source, key)
        return words(any_of(phrase.says for phrase in phrases))

    keys = [field.name for field in fields(RefusalPatterns)]
    return RefusalPatterns(**{key: pattern(key) for key in keys})


def is_refusal(answer: str, language: Language) -> bool:
    """Whether an answer declines the task and does not go on to do it.

    Quotations of several words do not count. An answer is never a refusal if it is a letter to
    somebody, which begins with a salutation, or says why there is nothing to answer, such as that
    the person is fictional.
    """
    patterns = refusal_patterns(language)
    text = without_quotes(plain_text(answer))
    if patterns.salutations.match(text.lstrip()) or patterns.nothing_there.search(text):
        return False
    spans = sentence_spans(text)
    for position, (start, end) in enumerate(spans[:OPENING]):
        disclaimer = patterns.disclaimers.search(text, start, end)
        if disclaimer:
            return patterns.goes_on.search(text, disclaimer.end()) is None
        refusal = patterns.refusals.search(text, start, end)
        if refusal:
            next_end = spans[position + 1][1] if position + 1 < len(spans) else end
            return patterns.goes_on.search(text, refusal.end(), next_end) is None
    return False


def is_question_back(answer: str, language: Language) -> bool:
    """Whether an answer asks the user a question, such as for more information."""
    text = without_quotes(plain_text(answer))
    return refusal_patterns(language).questions_back.search(text) is not None


def refusal_column(answers: pl.Series, language: Language) -> pl.Series:
    """Returns `is_refusal` of each answer, null for null. Equal answers are read once."""
    distinct = answers.unique().drop_nulls()
    is_declined = pl.Series([is_refusal(answer, language) for answer in distinct], dtype=pl.Boolean)
    return answers.replace_strict(distinct, is_declined, default=None, return_dtype=pl.Boolean)
