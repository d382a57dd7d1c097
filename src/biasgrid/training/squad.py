"""Reads training data for question answering: JSON in the format of SQuAD v1.1 or v2.0 (Rajpurkar
et al.).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.messages import check_content
from biasgrid.base.sections import Section
from biasgrid.base.text import read_json

# In published SQuAD files some answers are a character or two from their `answer_start`.
DRIFT = 2


@dataclass(frozen=True)
class TrainingQuestion:
    """A question about a context.

    Attributes:
        context: the text that is asked about.
        question: the question.
        answers: begin and end (exclusive) of each answer in the context, in characters; empty if
            the context has no answer.
    """

    context: str
    question: str
    answers: tuple[tuple[int, int], ...]


class SquadPart(Section):
    """A part of a SQuAD file, which may have other keys besides."""

    model_config = ConfigDict(extra="ignore")


class SquadAnswer(SquadPart):
    """An answer and the character of the context where it begins."""

    text: str
    answer_start: int

    def place_in(self, context: str) -> tuple[int, int] | None:
        """Returns where it really begins and ends (exclusive).

        None if that is not near `answer_start`.
        """
        start = self.answer_start
        if not self.text:
            return None
        begins = range(max(0, start - DRIFT), start + DRIFT + 1)
        for begin in sorted(begins, key=lambda place: abs(place - start)):
            if context.startswith(self.text, begin):
                return begin, begin + len(self.text)
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
        """Yields the paragraphs with their places, such as `data[0].paragraphs[2]`."""
        for number, article in enumerate(self.data):
            for place, paragraph in enumerate(article.paragraphs):
                yield f"data[{number}].paragraphs[{place}]", paragraph


def read_squad(path: str | Path) -> list[TrainingQuestion]:
    """Reads the questions of a SQuAD file.

    Raises:
        InputError: the file cannot be read, or entries are not as in SQuAD; each fault names its
            entry.
    """
    squad = check_content(SquadFile, read_json(path, "SQuAD-format JSON"), str(path))
    faults: list[Fault] = []
    questions = []
    for where, paragraph in squad.paragraphs():
        context = paragraph.context
        for number, entry in enumerate(paragraph.qas):
            places = []
            for answer_number, answer in enumerate(entry.answers):
                place = answer.place_in(context)
                if place is None:
                    answer_where = f"{where}.qas[{number}].answers[{answer_number}]"
                    faults.append(misplaced_answer(str(path), answer_where, answer, context))
                else:
                    places.append(place)
            questions.append(TrainingQuestion(context, entry.question, tuple(places)))
    if not questions:
        faults.append(Fault(str(path), "data", "contains no question", "at least one question"))
    if faults:
        raise InputError(faults)
    return questions


def misplaced_answer(file: str, where: str, answer: SquadAnswer, context: str) -> Fault:
    """Returns the fault of an answer that is not at its place in the context."""
    start = answer.answer_start
    there = context[start : start + len(answer.text)] if start >= 0 else ""
    problem = f"{answer.text!r} is not at character {start} of the context (there: {there!r})"
    expected = "'answer_start' in characters, from 0, and 'text' as in the context"
    return Fault(file, where, problem, expected)
