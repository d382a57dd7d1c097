"""Answers that were made elsewhere: a file with the prompt, the group and the repetition of each response."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.rows import FileRow, read_rows
from biasgrid.base.text import HALF_CHARACTER, MOST_SHOWN

RESPONSE_COLUMNS = ("prompt", "group", "repetition", "response")
RESPONSES_EXPECTED = "answers with the columns prompt, group, repetition and response"
PROMPT_CHARACTERS = 60
"""How many characters of a prompt are shown."""


class PrecomputedResponse(NamedTuple):
    """An answer.

    Attributes:
        prompt: what was asked, as it stands in the file of prompts.
        group: the group that it was asked about.
        repetition: 0 where it was asked for the first time.
        response: the answer, empty where there is none.
        where: its place in the file, for messages.
    """

    prompt: str
    group: str
    repetition: int
    response: str
    where: str


def read_precomputed(path: Path) -> tuple[list[PrecomputedResponse], list[Fault]]:
    """Reads a file of answers.

    Args:
        path: the file, `.jsonl`, `.csv` or `.parquet`.

    Returns:
        The answers, and what is wrong with the file.
    """
    faults: list[Fault] = []
    given: dict[tuple[str, str, int], PrecomputedResponse] = {}
    try:
        for row in read_rows(path, RESPONSE_COLUMNS, RESPONSES_EXPECTED):
            found = list(response_faults(path, row))
            faults += found
            if found:
                continue
            answer = response_of_row(row)
            first = given.setdefault(answer[:3], answer)
            if first is not answer:
                problem = f"the answer of {request_text(*answer[:3])} is in {first.where} too"
                faults.append(Fault(str(path), row.where, problem, "one answer for each repetition"))
    except InputError as error:
        return [], error.faults
    if not given and not faults:
        faults.append(Fault(str(path), "", "holds no answers", RESPONSES_EXPECTED))
    return list(given.values()), first_faults(faults, path)


def response_faults(path: Path, row: FileRow) -> Iterator[Fault]:
    """Yields what is wrong with the values of a row."""
    for name in ("prompt", "group"):
        if not isinstance(row.values[name], str) or not row.values[name].strip():
            yield Fault(str(path), f"{row.where}, {name}", value_text(row.values[name]), "text")
    if whole_number(row.values["repetition"]) is None:
        expected = "a whole number, 0 for the first time"
        yield Fault(str(path), f"{row.where}, repetition", value_text(row.values["repetition"]), expected)
    if not isinstance(row.values["response"], str | None):
        yield Fault(
            str(path), f"{row.where}, response", value_text(row.values["response"]), "text, or null for no answer"
        )
    elif HALF_CHARACTER.search(row.values["response"] or ""):
        yield Fault(str(path), f"{row.where}, response", "holds half of a character", "whole characters")


def whole_number(value: Any) -> int | None:
    """Returns a whole number, which is text in CSV; None where it is none."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if type(value) is int and value >= 0 else None


def response_of_row(row: FileRow) -> PrecomputedResponse:
    """Returns the answer in a row without faults."""
    values, repetition = row.values, whole_number(row.values["repetition"])
    assert repetition is not None
    return PrecomputedResponse(values["prompt"], values["group"], repetition, values["response"] or "", row.where)


def first_faults(faults: list[Fault], path: Path) -> list[Fault]:
    """Returns the first faults, and how many more there are."""
    if len(faults) <= MOST_SHOWN:
        return faults
    return [*faults[:MOST_SHOWN], Fault(str(path), "", f"{len(faults) - MOST_SHOWN:,} more faults", "none")]


def precomputed_faults(
    path: Path, prompts: Collection[str], asked: Collection[tuple[str, str]], repetitions: int, *, alone: bool = True
) -> list[Fault]:
    """Finds what keeps a file of answers from being the answers of a dataset.

    Args:
        path: the file.
        prompts: all prompts of the dataset.
        asked: those that are asked, each with the groups that it is asked about.
        repetitions: how often each is asked.
        alone: whether the file can be of no other dataset.

    Returns:
        What `read_given` finds; or answers of prompts, groups and repetitions that are not asked, and what has no
        answer.
    """
    given, faults = read_precomputed(path)
    if faults:
        return faults
    groups = dict.fromkeys(group for _, group in asked)
    known = [*unknown_responses(path, given, prompts, groups, repetitions)] if alone else []
    there = {answer[:3] for answer in given}
    missing = [
        Fault(str(path), "", f"no answer of {request_text(prompt, group, number)}", "one for each group and repetition")
        for prompt, group in asked
        for number in range(repetitions)
        if (prompt, group, number) not in there
    ]
    return [*first_faults(known, path), *first_faults(missing, path)]


def unknown_responses(
    path: Path,
    given: Iterable[PrecomputedResponse],
    prompts: Collection[str],
    groups: Collection[str],
    repetitions: int,
) -> Iterator[Fault]:
    """Yields answers of what is not asked."""
    prompts = {*prompts}
    for answer in given:
        if answer.prompt not in prompts:
            problem = f"there is no prompt {shorten_prompt(answer.prompt)}{nearest_name(answer.prompt, islice(prompts, 1000))}"
            yield Fault(str(path), answer.where, problem, "a prompt of the file of prompts")
        elif answer.group not in groups:
            problem = f"unknown group {answer.group!r}{nearest_name(answer.group, groups)}"
            yield Fault(str(path), answer.where, problem, one_of(groups))
        elif answer.repetition >= repetitions:
            problem = f"repetition {answer.repetition}, but each prompt is asked {repetitions} times"
            yield Fault(str(path), answer.where, problem, f"0 to {repetitions - 1}, or more `repetitions`")


def request_text(prompt: str, group: str, repetition: int) -> str:
    """Names what was asked."""
    return f"{shorten_prompt(prompt)} for {group}, repetition {repetition}"


def shorten_prompt(prompt: str) -> str:
    """Returns a prompt in quotation marks, cut where it is long."""
    return repr(prompt if len(prompt) <= PROMPT_CHARACTERS else f"{prompt[: PROMPT_CHARACTERS - 3]}...")
