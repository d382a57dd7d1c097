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

# Published SQuAD files have answers that stand a character or two from where they say.
DRIFT = 2


@dataclass(frozen=True)
class TrainingQuestion:
    """A question about a context.

    Attributes:
        context: the text that is asked about.
        question: the question.
        answers: begin and end (exclusive) of each answer in the context, in characters; empty where
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
        """Returns where it really begins and ends (exclusive), None where that is not near
        `answer_start`.
        """
        start = self.answer_start
        for begin in sorted(
            range(max(0, start - DRIFT), start + DRIFT + 1), key=lambda place: abs(place - start)
        ):
            if self.text and context.startswith(self.text, begin):
                return begin, begin + len(self.text)
        return None


class SquadQuestion(SquadPart):
    """A question with its answers, of which there are none where it is impossible."""

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
    """A context and what is asked about it."""

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
        for number, asked in enumerate(paragraph.qas):
            places = [answer.place_in(paragraph.context) for answer in asked.answers]
            questions.append(
                TrainingQuestion(paragraph.context, asked.question, tuple(filter(None, places)))
            )
            faults += [
                misplaced_answer(
                    str(path), f"{where}.qas[{number}].answers[{one}]", answer, paragraph.context
                )
                for one, (answer, place) in enumerate(zip(asked.answers, places, strict=True))
                if place is None
            ]
    if not questions:
        faults.append(Fault(str(path), "data", "contains no question", "at least one question"))
    if faults:
        raise InputError(faults)
    return questions


def misplaced_answer(file: str, where: str, answer: SquadAnswer, context: str) -> Fault:
    """Words that an answer does not stand where it says."""
    start = answer.answer_start
    there = context[start : start + len(answer.text)] if start >= 0 else ""
    problem = f"{answer.text!r} is not at character {start} of the context (there: {there!r})"
    return Fault(
        file, where, problem, "'answer_start' in characters, from 0, and 'text' as in the context"
    )
