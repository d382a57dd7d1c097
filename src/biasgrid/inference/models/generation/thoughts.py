"""Thoughts that models write before an answer: the marks around them, and texts without them."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from biasgrid.tables.answers.text import THOUGHT_MARK

logger = logging.getLogger(__name__)

ThoughtMarks = tuple[str, str]
KNOWN: tuple[ThoughtMarks, ...] = (
    ("<think>", "</think>"),
    ("[THINK]", "[/THINK]"),
    ("<thought>", "</thought>"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|channel|>analysis<|message|>", "<|channel|>final<|message|>"),
)
"""Begin and end marks of known models; a config names others in `thinking: {begin, end}`."""
MARK_OR_TEXT = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|[^<>\[\]]+|.", re.DOTALL)
LOOKS_LIKE_A_MARK = re.compile(THOUGHT_MARK)


@dataclass(frozen=True)
class Thoughts:
    """Finds thoughts in texts.

    Attributes:
        marks: pairs of a begin and an end mark.
    """

    marks: tuple[ThoughtMarks, ...] = KNOWN

    @classmethod
    def from_setting(cls, thinking: bool | Mapping[str, str]) -> Thoughts:
        """Returns the marks of the config key `thinking`, before the known ones."""
        own = ((thinking["begin"], thinking["end"]),) if isinstance(thinking, Mapping) else ()
        return cls(own + KNOWN)

    def end_for(self, prompt: str) -> str | None:
        """Returns the end mark of the thoughts that a prompt's end opens; None if it opens none."""
        stripped = prompt.rstrip()
        for begin, end in self.marks:
            if stripped.endswith(begin.rstrip()):
                return end
        return None

    def behind(self, text: str, *, begins_in_thoughts: bool = False) -> str | None:
        """Returns the part of a text behind all thoughts.

        Args:
            text: the text that a model wrote, special tokens included.
            begins_in_thoughts: whether the prompt ends with a begin mark.

        Returns:
            None if the last thoughts never end.
        """
        ends = [match.end() for _, end in self.marks for match in pattern(end).finditer(text)]
        answer = text[max(ends, default=0) :]
        if begins_in_thoughts and not ends:
            return None
        if any(pattern(begin).search(answer) for begin, _ in self.marks):
            return None
        return answer


def pattern(mark: str) -> re.Pattern[str]:
    """Returns the pattern of a mark; a tokenizer may put spaces between its tokens."""
    tokens = MARK_OR_TEXT.findall(mark.strip())
    return re.compile(r"\s*".join(map(re.escape, tokens)))


def answer_without_thoughts(text: str | None, *, is_whole: bool) -> tuple[str, str]:
    """Returns an answer without surrounding spaces, and its status: `ok`, `length` or `empty`.

    Args:
        text: the text behind thoughts; None if they never end, which counts as too long.
        is_whole: whether the model ended the text, and not the limit on its length.
    """
    if text is None:
        return "", "length"
    answer = text.strip()
    if not is_whole:
        return answer, "length"
    return answer, "ok" if answer else "empty"


def warn_about_marks(model: str, responses: Sequence[str]) -> None:
    """Logs a warning if responses begin with a mark, which may be one of unknown thoughts."""
    matches = map(LOOKS_LIKE_A_MARK.match, responses)
    marks = [match[1] for match in matches if match]
    if marks:
        logger.warning(
            "%s: %s of %s responses begin with %r and are treated as answers; if these are "
            "thoughts, name their marks in `generation: {thinking: {begin: ..., end: ...}}`",
            model,
            len(marks),
            len(responses),
            marks[0],
        )
