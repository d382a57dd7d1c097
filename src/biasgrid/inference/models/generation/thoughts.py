"""What models that think put around their thoughts, which are never part of an answer."""

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
"""Marks that are special tokens or tags of models that think; others are named in `thinking:
{begin, end}`.
"""
MARK_OR_TEXT = re.compile(r"<[^<>]*>|\[[^\[\]]*\]|[^<>\[\]]+|.", re.DOTALL)
LOOKS_LIKE_A_MARK = re.compile(THOUGHT_MARK)


@dataclass(frozen=True)
class Thoughts:
    """Finds thoughts.

    Attributes:
        marks: what begins and what ends them.
    """

    marks: tuple[ThoughtMarks, ...] = KNOWN

    @classmethod
    def from_setting(cls, thinking: bool | Mapping[str, str]) -> Thoughts:
        """Returns those of the key `thinking`: known marks, and its own where it names some."""
        own = ((thinking["begin"], thinking["end"]),) if isinstance(thinking, Mapping) else ()
        return cls(own + KNOWN)

    def end_for(self, prompt: str) -> str | None:
        """Returns what ends the thoughts that a prompt begins at its end; None where it begins
        none.
        """
        return next(
            (end for begin, end in self.marks if prompt.rstrip().endswith(begin.rstrip())), None
        )

    def behind(self, text: str, opened: bool = False) -> str | None:
        """Returns what a text says behind all thoughts.

        Args:
            text: what was written, special tokens included.
            opened: whether the prompt ends where thoughts begin.

        Returns:
            None where thoughts begin and never end.
        """
        ends = [match.end() for _, end in self.marks for match in pattern(end).finditer(text)]
        answer = text[max(ends, default=0) :]
        if opened and not ends:
            return None
        if any(pattern(begin).search(answer) for begin, _ in self.marks):
            return None
        return answer


def pattern(mark: str) -> re.Pattern[str]:
    """Returns the pattern of a mark; a tokenizer may write spaces between the tokens of it."""
    tokens = MARK_OR_TEXT.findall(mark.strip())
    return re.compile(r"\s*".join(map(re.escape, tokens)))


def answer_without_thoughts(said: str | None, ended: bool) -> tuple[str, str]:
    """Returns an answer without surrounding spaces, and its status: `ok`, `length` or `empty`.

    Args:
        said: the text behind thoughts; None if they never end, so that there is no answer.
        ended: whether the model itself ended the text.
    """
    if said is None:
        return "", "length"
    answer = said.strip()
    if not ended:
        return answer, "length"
    return answer, "ok" if answer else "empty"


def warn_about_marks(model: str, responses: Sequence[str]) -> None:
    """Warns of answers that begin with an unknown mark, such as of thoughts."""
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
