"""Reads training data for question answering: JSON in the format of SQuAD v1.1 or v2.0 (Rajpurkar et al.)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from biasgrid.faults import Fault, InputError

# Published SQuAD files have answers that stand a character or two from where they say.
DRIFT = 2


@dataclass(frozen=True)
class Question:
    """A question about a context.

    Attributes:
        context: the text that is asked about.
        question: the question.
        answers: begin and end (exclusive) of each answer in the context, in characters; empty where the context has
            no answer.
    """

    context: str
    question: str
    answers: tuple[tuple[int, int], ...]


def read_squad(path: str | Path) -> list[Question]:
    """Reads the questions of a SQuAD file.

    Raises:
        InputError: the file cannot be read, or entries are not as in SQuAD; each fault names its entry.
    """
    reader = Reader(str(path))
    questions = list(reader.questions(load(path)))
    if not questions and not reader.faults:
        reader.fault("data", "holds no question", "at least one question")
    if reader.faults:
        raise InputError(reader.faults)
    return questions


def load(path: str | Path) -> Any:
    """Parses a JSON file.

    Raises:
        InputError: the file cannot be read or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        fault = Fault(str(path), "", f"cannot be read ({error.strerror})", "SQuAD-format JSON")
    except json.JSONDecodeError as error:
        fault = Fault(str(path), f"line {error.lineno}", f"is not JSON ({error.msg})", "SQuAD-format JSON")
    except UnicodeDecodeError as error:
        fault = Fault(str(path), f"byte {error.start + 1}", "is not UTF-8", "SQuAD-format JSON in UTF-8")
    raise InputError([fault])


@dataclass
class Reader:
    """Walks through a file's entries and collects the faults that it meets."""

    file: str
    faults: list[Fault] = field(default_factory=list)

    def fault(self, where: str, problem: str, expected: str) -> None:
        """Notes a fault."""
        self.faults.append(Fault(self.file, where or "top level", problem, expected))

    def get(self, entry: Any, where: str, key: str, kind: type, expected: str) -> Any:
        """Returns `entry[key]` if it is of a kind, else notes a fault and returns None."""
        value = entry.get(key) if isinstance(entry, dict) else None
        if not isinstance(entry, dict):
            self.fault(where, f"is {shown(entry)}", f"an object with the key {key!r}")
        elif key not in entry:
            self.fault(where, f"has no {key!r}", f"{key!r}: {expected}")
        elif not isinstance(value, kind) or isinstance(value, bool):
            self.fault(f"{where}.{key}".lstrip("."), f"is {shown(value)}", expected)
            value = None
        return value

    def entries(self, parent: Any, where: str, key: str) -> Iterator[tuple[Any, str]]:
        """Yields the entries of a list with their places, such as `data[0].paragraphs[2]`."""
        for number, entry in enumerate(self.get(parent, where, key, list, "a list") or []):
            yield entry, f"{where}.{key}[{number}]".lstrip(".")

    def questions(self, content: Any) -> Iterator[Question]:
        """Yields the questions; the faulty ones are of no use, but noted."""
        for article, in_data in self.entries(content, "", "data"):
            for paragraph, in_article in self.entries(article, in_data, "paragraphs"):
                context = self.get(paragraph, in_article, "context", str, "a text")
                for entry, place in self.entries(paragraph, in_article, "qas"):
                    question = self.get(entry, place, "question", str, "a text")
                    if context is not None and question is not None:
                        yield Question(context, question, self.answers(entry, place, context))

    def answers(self, entry: Any, place: str, context: str) -> tuple[tuple[int, int], ...]:
        """Returns where a question's answers stand, without the faulty ones."""
        if entry.get("is_impossible"):
            return ()
        if entry.get("answers") == []:
            self.fault(f"{place}.answers", "is empty", "an answer, or 'is_impossible': true beside it")
        spans = []
        for answer, where in self.entries(entry, place, "answers"):
            text = self.get(answer, where, "text", str, "a text")
            start = self.get(answer, where, "answer_start", int, "a whole number of characters")
            if text is not None and start is not None:
                spans += self.span(text, start, where, context)
        return tuple(spans)

    def span(self, text: str, start: int, where: str, context: str) -> list[tuple[int, int]]:
        """Returns where an answer really stands, nothing and a fault where it is not near `start`."""
        for begin in sorted(range(max(0, start - DRIFT), start + DRIFT + 1), key=lambda place: abs(place - start)):
            if text and context.startswith(text, begin):
                return [(begin, begin + len(text))]
        there = context[start : start + len(text)] if start >= 0 else ""
        problem = f"{text!r} does not stand at character {start} of the context (there: {there!r})"
        self.fault(where, problem, "'answer_start' in characters, from 0, and 'text' as in the context")
        return []


def shown(value: Any) -> str:
    """Shows a value of a JSON file, cut short."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
