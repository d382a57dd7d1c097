"""The text of an answer in a form that rules can search.

Each character replaces one character of the answer, so that positions in both are the same.
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
    """Returns an answer with ASCII punctuation and without all that is not said to the user.

    Spaces replace thoughts, special tokens and marks of emphasis, and all but the answer field of a
    JSON answer. The result has the length of the answer.
    """
    narrow = "".join(map(_narrow, answer.translate(ASCII_QUOTES)))
    answer_part = only_field(without_thoughts(narrow))
    return EMPHASIS.sub(_spaces, SPECIAL_TOKEN.sub(_spaces, answer_part))


def without_thoughts(text: str) -> str:
    """Blanks out everything up to the last end-of-thought tag."""
    ends = [text.rfind(mark) + len(mark) for mark in END_OF_THOUGHTS if mark in text]
    end = max(ends, default=0)
    return " " * end + text[end:]


def only_field(text: str) -> str:
    """Blanks out all of a JSON text but the value of its answer field; other texts stay."""
    field = JSON_ANSWER.search(text) if JSON_OBJECT.match(text) else None
    if field is None:
        return text
    start, end = field.span("value")
    return " " * start + text[start:end] + " " * (len(text) - end)


def without_quotes(text: str) -> str:
    """Blanks out quotations of several words, unless the text has no other words."""
    rest = QUOTED.sub(_spaces, text)
    return rest if any(map(str.isalnum, rest)) else text


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Returns start and end of each sentence or line that contains letters or digits, in order."""
    ends = [match.end() for match in SENTENCE_BREAK.finditer(text)]
    spans = []
    for start, end in zip([0, *ends], [*ends, len(text)], strict=True):
        if any(map(str.isalnum, text[start:end])):
            spans.append(strip_span(text, start, end))
    return spans


def strip_span(text: str, start: int, end: int) -> tuple[int, int]:
    """Returns a span of a text without the white space at its ends."""
    part = text[start:end]
    inner_start = start + len(part) - len(part.lstrip())
    return inner_start, inner_start + len(part.strip())


def any_of(patterns: Iterable[str]) -> str:
    """Returns the alternation of patterns; it matches nothing if there are none."""
    return "|".join(patterns) or NOTHING


def words(pattern: str) -> re.Pattern[str]:
    """Compiles a pattern of whole words that ignores case; an empty pattern matches nothing."""
    return re.compile(rf"(?<!\w)(?:{pattern or NOTHING})(?!\w)", re.IGNORECASE)


def clause_cuts(contrasts: str) -> re.Pattern[str]:
    """Compiles the pattern of boundaries between clauses: punctuation, and words such as "but".

    Args:
        contrasts: the pattern of these words, empty if the language has none.
    """
    return re.compile(rf"[,;:]|\b(?:{contrasts or NOTHING})\b", re.IGNORECASE)


def _narrow(character: str) -> str:
    """Returns the ASCII form of a full-width character; other characters are not changed."""
    if character.isascii():
        return character
    if character == "。":
        return "."
    is_wide = unicodedata.east_asian_width(character) in "FW"
    narrow = unicodedata.normalize("NFKC", character) if is_wide else character
    # One character for one: positions in the text must stay those in the answer.
    return narrow if len(narrow) == 1 else character


def _spaces(match: re.Match[str]) -> str:
    return " " * len(match[0])


def clause_around(
    text: str, start: int, place: int, end: int, cut: re.Pattern[str]
) -> tuple[int, int]:
    """Returns start and end of the clause that contains a position.

    Args:
        text: the text.
        start: the start of the sentence.
        place: the position, in the sentence.
        end: the end of the sentence.
        cut: the pattern of boundaries between clauses; see `clause_cuts`.
    """
    clause_start, clause_end = start, end
    for match in cut.finditer(text, start, place):
        clause_start = match.end()
    following = cut.search(text, place, end)
    if following:
        clause_end = following.start()
    return clause_start, clause_end
