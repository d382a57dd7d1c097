"""The text of an answer in a form that rules can search. Each place in it is the same place in the
answer.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

SPECIAL_TOKEN = re.compile(r"<\|[^<>|\s]{1,40}\|>|</?[a-z_]{1,20}>|\[/?INST\]|\\boxed\b")
"""Marks of a chat template, tags, and LaTeX's box around an answer."""
END_OF_THOUGHTS = ("</think>", "</thinking>", "[/THINK]")
JSON_OBJECT = re.compile(r"\s*(?:`{3}\w*\s*)?\{")
JSON_ANSWER = re.compile(
    r"\"(?:answer|choice|option|selection|label|response|decision|agree)\"\s*:\s*\"?(?P<value>[^\"\n"
    r",}]{1,300})",
    re.IGNORECASE,
)
EMPHASIS = re.compile(r"[*_`#]+")
QUOTED = re.compile(r"\"[^\"\s]+\s[^\"\n]*\"|(?<!\w)'[^'\s]+\s[^'\n]*'(?!\w)")
"""Several words between quotation marks. A single word there may be the answer."""
SENTENCE_BREAK = re.compile(
    # A full stop ends a sentence behind a word of two letters and more: that of `B. The grandson`
    # ends nothing.
    r"(?<=[^\W\d_]{2})[.!?]+[)\]]*(?=\s|$)"
    r"|(?<=[\d)\]%])[.!?]+(?=\s+[^\W\d_]|\s*$)"
    # Models leave out the space: `Barney.The`.
    r"|(?<=[a-z])\.(?=[A-Z][a-z])"
    r"|\n+"
)
ASCII_QUOTES = str.maketrans(dict.fromkeys("’‘ʼ´", "'") | dict.fromkeys("“”„«»", '"'))  # noqa: RUF001
NOTHING = "(?!)"
"""A pattern that matches nothing."""


def plain_text(answer: str) -> str:
    """Returns an answer with ASCII punctuation, and spaces in place of special tokens and signs of
    emphasis.

    Thoughts are left out, and of an answer in JSON all but the field of the answer. The result has
    as many characters as the answer.
    """
    narrow = "".join(map(_narrow, answer.translate(ASCII_QUOTES)))
    spoken = only_field(without_thoughts(narrow))
    return EMPHASIS.sub(_spaces, SPECIAL_TOKEN.sub(_spaces, spoken))


def without_thoughts(text: str) -> str:
    """Returns a text with spaces in place of all up to the last mark that ends thoughts."""
    ends = [text.rfind(mark) + len(mark) for mark in END_OF_THOUGHTS if mark in text]
    end = max(ends, default=0)
    return " " * end + text[end:]


def only_field(text: str) -> str:
    """Returns a text in JSON with spaces in place of all but the value of its field for the
    answer.
    """
    field = JSON_ANSWER.search(text) if JSON_OBJECT.match(text) else None
    if field is None:
        return text
    start, end = field.span("value")
    return " " * start + text[start:end] + " " * (len(text) - end)


def without_quotes(text: str) -> str:
    """Returns a text with spaces in place of words between quotation marks, unless it has no other
    words.
    """
    rest = QUOTED.sub(_spaces, text)
    return rest if any(map(str.isalnum, rest)) else text


def sentences(text: str) -> list[tuple[int, int]]:
    """Returns where the sentences and lines of a text begin and end that have letters or digits."""
    ends = [match.end() for match in SENTENCE_BREAK.finditer(text)]
    places = []
    for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
        if _has_words(text, start, end):
            places.append(inner_place(text, start, end))
    return places


def inner_place(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns a place in a text without the white space at its ends."""
    part = text[start:end]
    left = start + len(part) - len(part.lstrip())
    return left, left + len(part.strip())


def any_of(patterns: Iterable[str]) -> str:
    """Returns the pattern that matches where one of several does; nothing where there are none."""
    return "|".join(patterns) or NOTHING


def words(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern that matches whole words, whatever their case; nothing if it is empty."""
    return re.compile(rf"(?<!\w)(?:{pattern or NOTHING})(?!\w)", re.IGNORECASE)


def clause_cuts(contrasts: str) -> re.Pattern[str]:
    """Compiles the pattern of the ends of clauses: punctuation, and words such as "but".

    Args:
        contrasts: the pattern of these words; empty if a language has none.
    """
    return re.compile(rf"[,;:]|\b(?:{contrasts or NOTHING})\b", re.IGNORECASE)


def _has_words(text: str, start: int, end: int) -> bool:
    return any(map(str.isalnum, text[start:end]))


def _narrow(character: str) -> str:
    """Returns the ASCII form of a full-width character, and any other character as it is."""
    if character.isascii():
        return character
    if character == "。":
        return "."
    is_wide = unicodedata.east_asian_width(character) in "FW"
    narrow = unicodedata.normalize("NFKC", character) if is_wide else character
    return narrow if len(narrow) == 1 else character


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])


def clause_around(
    text: str, start: int, place: int, end: int, cut: re.Pattern[str]
) -> tuple[int, int]:
    """Returns where the clause of a sentence begins and ends that holds a place."""
    clause_start, clause_end = start, end
    for match in cut.finditer(text, start, place):
        clause_start = match.end()
    following = cut.search(text, place, end)
    if following:
        clause_end = following.start()
    return clause_start, clause_end
