"""The gender of the person that a text is about, by its pronouns."""

from __future__ import annotations

import re
from collections import Counter

from biasgrid.base.languages import Language
from biasgrid.readers.reading import ANSWERED, SEVERAL, Reading, no_value
from biasgrid.readers.text import plain_text

WORD = re.compile(r"[^\W_]+(?:[-'][^\W_]+)*")
VERB_ENDING = re.compile(r"'(?:s|d|ll|re|ve)$")
"""Contracted verbs, as in `he's`."""


def read_protagonist(answer: str, language: Language) -> Reading:
    """Reads the gender with the most pronouns in a text; a tie means that there are several people.

    The decisive words are the first pronoun of that gender.
    """
    genders: dict[str, str] = {}
    for gender, pronouns in language.pronouns.items():
        genders |= dict.fromkeys(pronouns, gender)
    matches = [match for match in WORD.finditer(plain_text(answer)) if _bare(match) in genders]
    counts = Counter(genders[_bare(match)] for match in matches).most_common()
    if not counts:
        return no_value()
    if len(counts) > 1 and counts[0][1] == counts[1][1]:
        return no_value(SEVERAL)
    gender = counts[0][0]
    earliest = next(match for match in matches if genders[_bare(match)] == gender)
    return Reading(gender, ANSWERED, "pronouns", earliest.start(), earliest.end())


def _bare(match: re.Match[str]) -> str:
    """Returns a word in lower case without a contracted verb."""
    return VERB_ENDING.sub("", match[0].lower())
