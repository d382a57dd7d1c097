"""Prompts of generative models: the text around a question, in a file for each format.

A line that begins with `[system]` is the system text, the others are the prompt with its
placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from biasgrid.base.faults import Fault
from biasgrid.base.records import list_lines

SYSTEM_HEAD = "[system]"
PLACEHOLDER = re.compile(r"\[[^\[\]\s]+\]|\{[^{}\s]+\}")


@dataclass(frozen=True)
class Prompt:
    """The text around a question.

    Attributes:
        text: the prompt, with its placeholders.
        system: the system text, None without one.
    """

    text: str
    system: str | None = None


AnyPrompt = TypeVar("AnyPrompt", bound=Prompt)
NumberedLines = Sequence[tuple[int, str]]
"""Lines with their numbers, without comments."""


def read_prompts(
    paths: Sequence[Path],
    make: Callable[[Path, NumberedLines, list[Fault]], AnyPrompt | None],
    faults: list[Fault],
) -> tuple[AnyPrompt, ...]:
    """Reads prompts, each of which must differ from all others.

    Args:
        paths: their files.
        make: makes a prompt of a file's lines, None if these have faults.
        faults: list to which faults are added.
    """
    files: dict[AnyPrompt, Path] = {}
    for path in paths:
        prompt = make(path, list_lines(path, "a word list", faults, is_needed=True), faults)
        if prompt in files:
            problem = f"the same prompt as {files[prompt]}"
            faults.append(Fault(str(path), "", problem, "different prompts"))
        elif prompt:
            files[prompt] = path
    return tuple(files)


def prompt_of_lines(
    path: Path, lines: NumberedLines, placeholders: Sequence[str], faults: list[Fault]
) -> Prompt | None:
    """Makes a prompt of a file's lines.

    Args:
        path: the file.
        lines: its lines.
        placeholders: the placeholders of which the prompt must have each once.
        faults: list to which faults are added.

    Returns:
        The prompt, None if a fault was found.
    """
    wrong = list(prompt_line_faults(path, lines, placeholders))
    if wrong:
        faults += wrong
        return None
    text = prompt_text(lines)
    systems = [line for _, line in lines if line.startswith(SYSTEM_HEAD)]
    if not systems:
        return Prompt(text)
    return Prompt(text, systems[0].removeprefix(SYSTEM_HEAD).strip())


def prompt_text(lines: NumberedLines) -> str:
    """Returns the lines of a file that are no system text, as one text."""
    return "\n".join(line for _, line in lines if not line.startswith(SYSTEM_HEAD))


def prompt_line_faults(
    path: Path, lines: NumberedLines, placeholders: Sequence[str]
) -> Iterator[Fault]:
    """Yields second system texts, and placeholders that are missing, repeated or unknown."""
    *others, last = placeholders
    expected = f"each of {', '.join(others)} and {last} once" if others else f"{last} once"
    systems = [number for number, line in lines if line.startswith(SYSTEM_HEAD)]
    for number in systems[1:]:
        one_line = f"one line that begins with {SYSTEM_HEAD}"
        yield Fault(str(path), f"line {number}", "a second system text", one_line)
    text = prompt_text(lines)
    for placeholder in placeholders:
        count = text.count(placeholder)
        if count != 1:
            problem = f"{placeholder} appears {count} times in the prompt"
            yield Fault(str(path), "", problem, expected)
    for number, line in lines:
        for name in PLACEHOLDER.findall(line):
            if name not in (SYSTEM_HEAD, *placeholders):
                yield Fault(str(path), f"line {number}", f"nothing fills {name}", expected)
