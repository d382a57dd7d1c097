"""Precomputed responses: a file with the prompt, the group and the repetition of each, and its faults."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, nearest_name, one_of, value_text
from biasgrid.base.files import write_text
from biasgrid.base.rows import FileRow, read_rows
from biasgrid.base.text import HALF_CHARACTER, MOST_SHOWN

RESPONSE_COLUMNS = ("prompt", "group", "repetition", "response")
LOG_COLUMNS = ("scores", "source")
"""Columns that an import from a log adds."""
SCORES_EXPECTED = 'an object with the log-likelihood of each option, such as {"Yes": -1.5, "No": -0.7}'
SOURCE_EXPECTED = "an object that says where the response comes from"
RESPONSES_EXPECTED = "answers with the columns prompt, group, repetition and response"
PROMPT_CHARACTERS = 60
"""How many characters of a prompt are shown."""


class PrecomputedResponse(NamedTuple):
    """A response.

    Attributes:
        prompt: the prompt, as in the file of prompts.
        group: the group that the prompt is about.
        repetition: 0 for the first response to a prompt.
        response: the text, empty where there is none.
        where: its place in the file, for messages.
        scores: the log-likelihoods of options by their texts, None where a text was written.
        source: the harness, its version, the model, the task and the date of a log, None where nothing is said.
    """

    prompt: str
    group: str
    repetition: int
    response: str
    where: str
    scores: Mapping[str, float] | None = None
    source: Mapping[str, str] | None = None


def first_has_scores(path: Path) -> bool:
    """Says whether the first response of a file has log-likelihoods of options; of a faulty file it says no."""
    try:
        row = next(read_rows(path, RESPONSE_COLUMNS, RESPONSES_EXPECTED, LOG_COLUMNS), None)
        return row is not None and bool(mapping_of(row.values["scores"]))
    except InputError:
        return False


def read_precomputed(path: Path) -> tuple[list[PrecomputedResponse], list[Fault]]:
    """Reads a file of precomputed responses.

    Args:
        path: the file, `.jsonl`, `.csv` or `.parquet`.

    Returns:
        The responses, and the faults of the file.
    """
    faults: list[Fault] = []
    responses: dict[tuple[str, str, int], PrecomputedResponse] = {}
    try:
        for row in read_rows(path, RESPONSE_COLUMNS, RESPONSES_EXPECTED, LOG_COLUMNS):
            found = list(faults_of_row(path, row))
            faults += found
            if found:
                continue
            values, repetition = row.values, repetition_number(row.values["repetition"])
            assert repetition is not None
            response = PrecomputedResponse(
                values["prompt"], values["group"], repetition, values["response"] or "", row.where,
                mapping_of(values["scores"]) or None, mapping_of(values["source"]) or None,
            )  # fmt: skip
            first = responses.setdefault(response[:3], response)
            if first is not response:
                problem = f"the answer to {request_text(*response[:3])} is already in {first.where}"
                faults.append(Fault(str(path), row.where, problem, "one answer for each repetition"))
    except InputError as error:
        return [], error.faults
    if not responses and not faults:
        faults.append(Fault(str(path), "", "contains no answers", RESPONSES_EXPECTED))
    return list(responses.values()), first_faults(faults, path)


def unique_responses(responses: Iterable[PrecomputedResponse], source: str) -> list[PrecomputedResponse]:
    """Returns responses that were read from files of others, each once.

    Args:
        responses: the responses; their places have the names of their files.
        source: where they are from, for messages.

    Raises:
        InputError: the same is answered twice and differently, or a text holds half of a character.
    """
    first: dict[tuple[str, str, int], PrecomputedResponse] = {}
    faults = []
    for row in responses:
        before = first.setdefault(row[:3], row)
        if (before.response, before.scores) != (row.response, row.scores):
            problem = f"{shorten_prompt(row.prompt)} has another answer in {before.where}"
            faults.append(Fault(source, row.where, problem, "one answer for each prompt, group and repetition"))
        if HALF_CHARACTER.search("".join([row.response, *(row.scores or {})])):
            faults.append(Fault(source, row.where, "holds half of a character", "whole characters"))
    if faults:
        raise InputError(first_faults(faults, Path(source)))
    return list(first.values())


def write_precomputed(path: Path, responses: Iterable[PrecomputedResponse]) -> None:
    """Writes a file of precomputed responses, `.jsonl`.

    Raises:
        UserError: it cannot be written.
    """
    rows = (response._asdict() for response in responses)
    known = ({name: value for name, value in row.items() if name != "where" and value is not None} for row in rows)
    write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in known))


def faults_of_row(path: Path, row: FileRow) -> Iterator[Fault]:
    """Yields the faults of a row."""
    for name in ("prompt", "group"):
        if not isinstance(row.values[name], str) or not row.values[name].strip():
            yield Fault(str(path), f"{row.where}, {name}", value_text(row.values[name]), "text")
    if repetition_number(row.values["repetition"]) is None:
        expected = "a whole number, counted from 0"
        yield Fault(str(path), f"{row.where}, repetition", value_text(row.values["repetition"]), expected)
    if not isinstance(row.values["response"], str | None):
        yield Fault(
            str(path), f"{row.where}, response", value_text(row.values["response"]), "text, or null for no answer"
        )
    elif HALF_CHARACTER.search(row.values["response"] or ""):
        yield Fault(str(path), f"{row.where}, response", "contains half a character", "whole characters")
    scores = mapping_of(row.values["scores"])
    if scores is None or not all(map(is_log_likelihood, scores.values())):
        yield Fault(str(path), f"{row.where}, scores", value_text(row.values["scores"]), SCORES_EXPECTED)
    if mapping_of(row.values["source"]) is None:
        yield Fault(str(path), f"{row.where}, source", value_text(row.values["source"]), SOURCE_EXPECTED)


def mapping_of(value: Any) -> Mapping[str, Any] | None:
    """Returns an object, which CSV and Parquet have as JSON; empty where there is no value, None where it is no object.

    Keys without a value are left out: a table has all keys in each of its rows.
    """
    if value is None or value == "":
        return {}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return {name: one for name, one in value.items() if one is not None} if isinstance(value, dict) else None


def is_log_likelihood(value: Any) -> bool:
    """Says whether a value is the logarithm of a probability."""
    return type(value) in (int, float) and not math.isnan(value) and value <= 0


def repetition_number(value: Any) -> int | None:
    """Returns a whole number, which is text in CSV; None where it is none."""
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    return value if type(value) is int and value >= 0 else None


def first_faults(faults: list[Fault], path: Path) -> list[Fault]:
    """Returns the first faults, and how many more there are."""
    if len(faults) <= MOST_SHOWN:
        return faults
    return [*faults[:MOST_SHOWN], Fault(str(path), "", f"{len(faults) - MOST_SHOWN:,} more faults", "none")]


def precomputed_faults(
    path: Path, prompts: Collection[str], asked: Collection[tuple[str, str]], repetitions: int, *, alone: bool = True
) -> list[Fault]:
    """Returns what keeps a file of responses from being those of a dataset.

    Args:
        path: the file.
        prompts: all prompts of the dataset.
        asked: those that are asked, each with the groups that it is asked about.
        repetitions: how often each is asked.
        alone: whether the file can be of no other dataset.

    Returns:
        What `read_precomputed` finds; or answers of prompts, groups and repetitions that are not asked, and what has no
        answer.
    """
    responses, faults = read_precomputed(path)
    if faults:
        return faults
    groups = dict.fromkeys(group for _, group in asked)
    unknown = [*unknown_responses(path, responses, prompts, groups, repetitions)] if alone else []
    known_requests = {response[:3] for response in responses}
    missing = [
        Fault(str(path), "", f"no answer to {request_text(prompt, group, number)}", "one for each group and repetition")
        for prompt, group in asked
        for number in range(repetitions)
        if (prompt, group, number) not in known_requests
    ]
    return [*first_faults(unknown, path), *first_faults(missing, path)]


def unknown_responses(
    path: Path,
    responses: Iterable[PrecomputedResponse],
    prompts: Collection[str],
    groups: Collection[str],
    repetitions: int,
) -> Iterator[Fault]:
    """Yields faults of responses to prompts, groups and repetitions that are not requested."""
    prompts = {*prompts}
    for response in responses:
        if response.prompt not in prompts:
            hint = nearest_name(response.prompt, islice(prompts, 1000))
            problem = f"there is no prompt {shorten_prompt(response.prompt)}{hint}"
            yield Fault(str(path), response.where, problem, "a prompt from the prompt file")
        elif response.group not in groups:
            problem = f"unknown group {response.group!r}{nearest_name(response.group, groups)}"
            yield Fault(str(path), response.where, problem, one_of(groups))
        elif response.repetition >= repetitions:
            problem = f"repetition {response.repetition}, but each prompt is asked {repetitions} times"
            yield Fault(
                str(path), response.where, problem, f"a number from 0 to {repetitions - 1}, or a larger `repetitions`"
            )


def request_text(prompt: str, group: str, repetition: int) -> str:
    """Returns prompt, group and repetition as a message has them."""
    return f"{shorten_prompt(prompt)} for {group}, repetition {repetition}"


def shorten_prompt(prompt: str) -> str:
    """Returns a prompt in quotation marks, cut where it is long."""
    return repr(prompt if len(prompt) <= PROMPT_CHARACTERS else f"{prompt[: PROMPT_CHARACTERS - 3]}...")
