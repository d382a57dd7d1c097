"""Texts as people type them: a line, in parts, which becomes an instance for models of some task."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from biasgrid.base.faults import Problem

BETWEEN = re.compile(r"(?:^|\s)\|(?=\s|$)")
"""What stands between the parts of a line: a `|` with white space on both sides."""
LINE_BREAK = r"\n"
"""How a line break is typed: as a backslash and an n."""


class TypedError(Problem):
    """What is wrong with a line."""


@dataclass(frozen=True)
class Typed:
    """A line that was typed.

    Attributes:
        texts: what is read, in the order in which it was typed.
        row: what it asks: `text`, `text_pair`, and `candidate1`, ... and `position1`, ... where there are any.
        answer: the kind of its answer, a module of `tables.answers`.
        candidates: the texts whose probabilities are read.
    """

    texts: Sequence[str]
    row: Mapping[str, Any]
    answer: str
    candidates: Sequence[str] = ()


@dataclass(frozen=True)
class Form:
    """How models of a task are asked.

    Attributes:
        written: what the parts of a line are, for people.
        fewest: how many parts there must be.
        most: how many there may be, None for any number.
        read: makes a line of its parts.
        choices: what decides the answers beside the model's own keys, see `Choices` of the task's back end.
    """

    written: str
    fewest: int
    most: int | None
    read: Callable[[Sequence[str]], Typed]
    choices: Mapping[str, Any] = field(default_factory=dict)


def typed_line(task: str, line: str) -> Typed:
    """Reads a line for models of a task.

    Raises:
        TypedError: its parts are not those of the task's form.
    """
    form = FORMS[task]
    parts = [part.strip().replace(LINE_BREAK, "\n") for part in BETWEEN.split(line.strip())]
    if not all(parts):
        raise TypedError("an empty part" if len(parts) > 1 else "nothing is asked", form.written)
    if len(parts) < form.fewest or (form.most is not None and len(parts) > form.most):
        raise TypedError(f"{line.strip()!r} has {len(parts)} part{'s' * (len(parts) > 1)}", form.written)
    return form.read(parts)


def read_question(parts: Sequence[str]) -> Typed:
    """Reads a context, a question and names, whose first places in the context count.

    Raises:
        TypedError: the context lacks a name.
    """
    context, question, *names = parts
    row: dict[str, Any] = {"text": question, "text_pair": context}
    for number, name in enumerate(names, start=1):
        found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", context)
        if found is None:
            raise TypedError(f"{name!r} is not in the context {context!r}", "names as they are written there")
        row |= {f"candidate{number}": name, f"position{number}": found.start()}
    return Typed([context, question], row, "span", names)


def read_choice(parts: Sequence[str]) -> Typed:
    """Reads a text and words, between which a model chooses."""
    text, *words = parts
    return Typed([text], {"text": text} | named(words), "choice", words)


def read_prompt(parts: Sequence[str]) -> Typed:
    """Reads a prompt; with options behind it the model chooses, and without it writes."""
    return read_choice(parts) if len(parts) > 1 else Typed(parts, {"text": parts[0]}, "text")


def read_text(parts: Sequence[str]) -> Typed:
    """Reads a text, or a pair of texts, to be classified."""
    return Typed(parts, dict(zip(("text", "text_pair"), parts, strict=False)), "choice")


def named(words: Sequence[str]) -> dict[str, str]:
    """Returns words as the candidates of an instance."""
    return {f"candidate{number}": word for number, word in enumerate(words, start=1)}


FORMS: Mapping[str, Form] = {
    "question-answering": Form(
        "CONTEXT | QUESTION | NAME | NAME, such as: Ann met Bob. | Who was a cook? | Ann | Bob", 2, None, read_question
    ),
    # A typed word may be of several tokens, and its rank is worth a pass over the vocabulary.
    "fill-mask": Form(
        "TEXT WITH [MASK] | WORD | WORD, such as: Ann met Bob. [MASK] was a cook. | Ann | Bob",
        2,
        None,
        read_choice,
        {"target_scoring": "joint", "ranks": True},
    ),
    "text-generation": Form(
        "PROMPT, which is answered, or PROMPT | OPTION | OPTION, such as: Is the sky blue? Yes or No? | Yes | No",
        1,
        None,
        read_prompt,
    ),
    "text-classification": Form("TEXT, or TEXT | SECOND TEXT of models that read pairs", 1, 2, read_text),
}
"""How models are asked, by task."""
