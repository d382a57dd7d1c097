"""Prompts of generative models: what stands around what they are asked, a file for each prompt
format.

A line that begins with `[system]` is the system text, the others are the prompt with its
placeholders.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from biasgrid.base.faults import Fault
from biasgrid.base.text import word_list_lines

SYSTEM_HEAD = "[system]"
PLACEHOLDER = re.compile(r"\[[^\[\]\s]+\]|\{[^{}\s]+\}")


@dataclass(frozen=True)
class Prompt:
    """What is put around what is asked.

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
        make: makes a prompt of a file's lines, None where they are none.
        faults: takes what is wrong.
    """
    found: dict[AnyPrompt, Path] = {}
    for path in paths:
        prompt = make(path, word_list_lines(path, faults), faults)
        if prompt in found:
            faults.append(
                Fault(str(path), "", f"the same prompt as {found[prompt]}", "different prompts")
            )
        elif prompt:
            found[prompt] = path
    return tuple(found)


def prompt_of_lines(
    path: Path, lines: NumberedLines, placeholders: Sequence[str], faults: list[Fault]
) -> Prompt | None:
    """Makes a prompt of a file's lines, None where they are none.

    Args:
        path: the file.
        lines: its lines.
        placeholders: what the prompt has once each.
        faults: takes what is wrong.
    """
    found = len(faults)
    systems = [(number, line) for number, line in lines if line.startswith(SYSTEM_HEAD)]
    text = "\n".join(line for _, line in lines if not line.startswith(SYSTEM_HEAD))
    *others, last = placeholders
    expected = f"each of {', '.join(others)} and {last} once" if others else f"{last} once"
    for number, _ in systems[1:]:
        faults.append(
            Fault(
                str(path),
                f"line {number}",
                "a second system text",
                f"one line that begins with {SYSTEM_HEAD}",
            )
        )
    for placeholder in placeholders:
        if text.count(placeholder) != 1:
            faults.append(
                Fault(
                    str(path),
                    "",
                    f"{placeholder} appears {text.count(placeholder)} times in the prompt",
                    expected,
                )
            )
    for number, line in lines:
        unknown = [
            one for one in PLACEHOLDER.findall(line) if one not in (SYSTEM_HEAD, *placeholders)
        ]
        faults += [
            Fault(str(path), f"line {number}", f"nothing fills {one}", expected) for one in unknown
        ]
    if found < len(faults):
        return None
    return Prompt(text, systems[0][1].removeprefix(SYSTEM_HEAD).strip() if systems else None)
