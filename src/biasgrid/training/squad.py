"""Reads training data for question answering: JSON in the format of SQuAD v1.1 or v2.0.

Rajpurkar et al., EMNLP 2016 and ACL 2018.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.messages import validate_content
from biasgrid.base.sections import Section
from biasgrid.base.text import read_json

DRIFT = 2
"""Accepted distance of an answer from its `answer_start`, in characters.

Published SQuAD files have answers that are off by one or two.
"""


class Span(NamedTuple):
    """An answer in a context: its first character, and the one behind its last."""

    begin: int
    end: int


@dataclass(frozen=True)
class TrainingQuestion:
    """A question about a context.

    Attributes:
        context: the text that the question is about.
        question: the question.
        answers: the answers, as spans of the context; empty if it has no answer.
    """

    context: str
    question: str
    answers: tuple[Span, ...]


class SquadPart(Section):
    """A part of a SQuAD file, whose other keys are ignored."""

    model_config = ConfigDict(extra="ignore")


class SquadAnswer(SquadPart):
    """An answer and the character of the context where it begins."""

    text: str
    answer_start: int

    def span_in(self, context: str) -> Span | None:
        """Returns the occurrence of the text that is nearest to `answer_start`.

        None if the text is empty or not within `DRIFT` characters of `answer_start`.
        """
        start = self.answer_start
        if not self.text:
            return None
        begins = range(max(0, start - DRIFT), start + DRIFT + 1)
        for begin in sorted(begins, key=lambda begin: abs(begin - start)):
            if context.startswith(self.text, begin):
                return Span(begin, begin + len(self.text))
        return None


class SquadQuestion(SquadPart):
    """A question with its answers; an impossible one has none."""

    question: str
    is_impossible: bool = False
    answers: list[SquadAnswer] = Field(default_factory=list, validate_default=True)

    @field_validator("answers")
    @classmethod
    def _answered(cls, answers: list[SquadAnswer], info: ValidationInfo) -> list[SquadAnswer]:
        if info.data.get("is_impossible"):
            return []
        if not answers:
            raise ValueError("expected an answer, or 'is_impossible': true in the question")
        return answers


class Paragraph(SquadPart):
    """A context and the questions about it."""

    context: str
    qas: list[SquadQuestion]


class Article(SquadPart):
    """The paragraphs of an article."""

    paragraphs: list[Paragraph]


class SquadFile(SquadPart):
    """A whole file."""

    data: list[Article]

    def paragraphs(self) -> Iterator[tuple[str, Paragraph]]:
        """Yields the paragraphs, each with its path in the file: `data[0].paragraphs[2]`."""
        for article_number, article in enumerate(self.data):
            for paragraph_number, paragraph in enumerate(article.paragraphs):
                yield f"data[{article_number}].paragraphs[{paragraph_number}]", paragraph


def read_squad(path: str | Path) -> list[TrainingQuestion]:
    """Reads the questions of a SQuAD file.

    Raises:
        InputError: the file cannot be read, or entries are not as in SQuAD; each fault names its
            entry.
    """
    squad = validate_content(SquadFile, read_json(path, "SQuAD-format JSON"), str(path))
    faults: list[Fault] = []
    questions = []
    for where, paragraph in squad.paragraphs():
        context = paragraph.context
        for question_number, entry in enumerate(paragraph.qas):
            spans = []
            for answer_number, answer in enumerate(entry.answers):
                span = answer.span_in(context)
                if span is None:
                    answer_where = f"{where}.qas[{question_number}].answers[{answer_number}]"
                    faults.append(answer_fault(str(path), answer_where, answer, context))
                else:
                    spans.append(span)
            questions.append(TrainingQuestion(context, entry.question, tuple(spans)))
    if not questions:
        faults.append(Fault(str(path), "data", "contains no question", "at least one question"))
    if faults:
        raise InputError(faults)
    return questions


def answer_fault(file: str, where: str, answer: SquadAnswer, context: str) -> Fault:
    """Returns the fault of an answer for which `SquadAnswer.span_in` has no span."""
    if not answer.text:
        expected = "the text of the answer, or 'is_impossible': true in the question"
        return Fault(file, where, "'text' is empty", expected)
    start = answer.answer_start
    there = context[start : start + len(answer.text)] if start >= 0 else ""
    problem = f"{answer.text!r} is not at character {start} of the context (there: {there!r})"
    expected = f"'answer_start' within {DRIFT} characters of 'text' in the context, from 0"
    return Fault(file, where, problem, expected)
