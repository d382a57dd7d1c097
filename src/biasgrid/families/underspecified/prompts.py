"""Reads how generative models are asked: the question with both subjects as lettered options, and a system text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from biasgrid.base.faults import Fault
from biasgrid.families.underspecified.word_lists import LETTERED, OPTIONS, PLACEHOLDER, QUESTION, Prompt

SYSTEM = "[system]"


def prompt_of(path: Path, lines: Sequence[tuple[int, str]], faults: list[Fault]) -> Prompt | None:
    """Makes a prompt of a file's lines, None where they are none.

    Args:
        path: the file.
        lines: its lines with their numbers, without comments.
        faults: where to add what is wrong.
    """
    found = len(faults)
    systems = [(number, line) for number, line in lines if line.startswith(SYSTEM)]
    text = "\n".join(line for _, line in lines if not line.startswith(SYSTEM))
    expected = f"once each of {QUESTION}, {OPTIONS[0]} and {OPTIONS[1]}"
    for number, _ in systems[1:]:
        faults.append(Fault(str(path), f"line {number}", "a second system text", f"one line that begins with {SYSTEM}"))
    for placeholder in (QUESTION, *OPTIONS):
        if text.count(placeholder) != 1:
            faults.append(
                Fault(str(path), "", f"{placeholder} is {text.count(placeholder)} times in the prompt", expected)
            )
    for number, line in lines:
        unknown = [one for one in PLACEHOLDER.findall(line) if one not in (SYSTEM, QUESTION, *OPTIONS)]
        faults += [Fault(str(path), f"line {number}", f"nothing fills {one}", expected) for one in unknown]
    letters = {letter for letter, _ in LETTERED.findall(text)}
    if found == len(faults) and len(letters) != 2:
        problem = f"the options have {' and '.join(sorted(letters)) or 'no letter'}"
        faults.append(Fault(str(path), "", problem, "each option on its own line after its letter: `A. [option1]`"))
    if found < len(faults):
        return None
    return Prompt(text, systems[0][1].removeprefix(SYSTEM).strip() if systems else None)
