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
SHOWN_FAULTS = 20


@dataclass(frozen=True)
class Question:
    """A question about a context, with its first answer.

    Attributes:
        context: the text that is asked about.
        question: the question.
        answer: begin and end (exclusive) of the answer in the context, in characters; None where it has none.
    """

    context: str
    question: str
    answer: tuple[int, int] | None


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
        raise InputError(reader.faults[:SHOWN_FAULTS])
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
        fault = Fault(str(path), f"line {error.lineno}", f"not JSON ({error.msg})", "SQuAD-format JSON")
    except UnicodeDecodeError as error:
        fault = Fault(str(path), f"byte {error.start + 1}", "not UTF-8", "SQuAD-format JSON in UTF-8")
    raise InputError([fault])


@dataclass
class Reader:
    """Walks through a file's entries and collects the faults it meets."""

    file: str
    faults: list[Fault] = field(default_factory=list)

    def fault(self, where: str, problem: str, expected: str) -> None:
        """Notes a fault."""
        self.faults.append(Fault(self.file, where, problem, expected))

    def get(self, entry: Any, where: str, key: str, kind: type, expected: str) -> Any:
        """Returns `entry[key]` if it is of a kind, else notes a fault and returns None."""
        if not isinstance(entry, dict):
            self.fault(where or "top level", f"is {shown(entry)}", f"an object with the key {key!r}")
        elif key not in entry:
            self.fault(where or "top level", f"has no {key!r}", f"{key!r}: {expected}")
        elif not isinstance(entry[key], kind) or (kind is int and isinstance(entry[key], bool)):
            self.fault(f"{where}.{key}".lstrip("."), f"is {shown(entry[key])}", expected)
        else:
            return entry[key]
        return None

    def entries(self, parent: Any, where: str, key: str) -> Iterator[tuple[Any, str]]:
        """Yields the entries of a list with their places, such as `data[0].paragraphs[2]`."""
        for number, entry in enumerate(self.get(parent, where, key, list, "a list") or []):
            yield entry, f"{where}.{key}[{number}]".lstrip(".")

    def questions(self, content: Any) -> Iterator[Question]:
        """Yields all sound questions."""
        for article, in_data in self.entries(content, "", "data"):
            for paragraph, in_article in self.entries(article, in_data, "paragraphs"):
                context = self.get(paragraph, in_article, "context", str, "a text")
                for entry, place in self.entries(paragraph, in_article, "qas"):
                    question = self.get(entry, place, "question", str, "a text")
                    if context is not None and question is not None:
                        yield Question(context, question, self.answer(entry, place, context))

    def answer(self, entry: Any, place: str, context: str) -> tuple[int, int] | None:
        """Returns where a question's first answer stands, None if it has none or a faulty one."""
        if entry.get("is_impossible"):
            return None
        found = list(self.entries(entry, place, "answers"))
        if not found:
            if entry.get("answers") == []:
                self.fault(f"{place}.answers", "is empty", "an answer, or 'is_impossible': true beside it")
            return None
        first, where = found[0]
        text = self.get(first, where, "text", str, "a text")
        start = self.get(first, where, "answer_start", int, "a whole number of characters")
        if text is None or start is None:
            return None
        return self.span(text, start, where, context)

    def span(self, text: str, start: int, where: str, context: str) -> tuple[int, int] | None:
        """Returns where an answer really stands, None with a fault where it is not near `start`."""
        earliest = max(0, start - DRIFT)
        begin = context.find(text, earliest, max(0, start) + DRIFT + len(text)) if text else -1
        if begin < 0:
            there = context[max(0, start) : max(0, start) + len(text)]
            problem = f"{text!r} does not stand at character {start} of the context (there: {there!r})"
            self.fault(where, problem, "'answer_start' in characters, from 0, and 'text' as in the context")
            return None
        if context.startswith(text, max(0, start)):
            begin = max(0, start)
        return begin, begin + len(text)


def shown(value: Any) -> str:
    """Shows a value of a JSON file, cut short."""
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
