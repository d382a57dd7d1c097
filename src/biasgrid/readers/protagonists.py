"""The gender of the person that a text is about, by its pronouns."""

from __future__ import annotations

import re
from collections import Counter

from biasgrid.base.languages import Language
from biasgrid.readers.reading import ANSWERED, SEVERAL, Reading, no_value
from biasgrid.readers.text import plain_text

WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
VERB_ENDING = re.compile(r"'(?:s|d|ll|re|ve)$")
"""What follows the word itself: `he's`."""


def read_protagonist(answer: str, language: Language) -> Reading:
    """Reads the gender of which a text has more pronouns; with as many of each it is about several
    people.
    """
    gender_of = {
        word: gender for gender, pronouns in language.pronouns.items() for word in pronouns
    }
    pronouns = [match for match in WORD.finditer(plain_text(answer)) if _bare(match) in gender_of]
    counts = Counter(gender_of[_bare(match)] for match in pronouns).most_common()
    if not counts:
        return no_value()
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        return no_value(SEVERAL)
    gender = counts[0][0]
    first = next(match for match in pronouns if gender_of[_bare(match)] == gender)
    return Reading(gender, ANSWERED, "pronouns", first.start(), first.end())


def _bare(match: re.Match[str]) -> str:
    """Returns a word in lower case without a contracted verb."""
    return VERB_ENDING.sub("", match[0].lower())
