"""Answers computed elsewhere: a file with a row for each request, and its faults.

A row names what was asked: `prompt` and, where they matter, `text_pair`, `group` and `repetition`.
The columns of its kind, such as `response` or `probabilities`, have the answer; docs/in-and-out.md
defines them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import Fault, InputError, Problem, nearest_name, one_of, value_text
from biasgrid.base.files import write_text
from biasgrid.base.rows import FileRow, read_rows
from biasgrid.base.text import HALF_CHARACTER, MOST_SHOWN

NUMERIC_ANSWER_COLUMNS = (
    "scores",
    "probabilities",
    "starts",
    "ends",
    "probability",
    "score",
    "vector",
)
"""Columns of answers that are numbers."""
PRECOMPUTED_COLUMNS = ("response", *NUMERIC_ANSWER_COLUMNS)
RESPONSES_EXPECTED = (
    f"answers with the columns prompt and {one_of(PRECOMPUTED_COLUMNS)} (see docs/in-and-out.md)"
)
PROMPT_CHARACTERS = 60
"""How many characters of a prompt are shown."""
PROBABILITY_ROUNDING = 1e-5
"""How far above 1 single precision may put a probability, or the sum of some."""
NumbersByOption = Mapping[str, float]


class PrecomputedResponse(NamedTuple):
    """An answer and what was asked.

    Attributes:
        prompt: the prompt, as in the file of prompts, or all that is asked; beside a `text_pair`
            the text alone.
        group: the group that the prompt is about, None where the prompt says it all.
        repetition: 0 for the first response to a prompt.
        response: the text, empty where there is none.
        where: its place in the file, for messages.
        scores: the log-likelihoods of options by their texts, None where there are none, as in all
            that follows.
        source: the harness, its version, the model, the task and the date of a log.
        text_pair: the second text, such as the context of a question; None where `prompt` is all
            that is asked.
        probabilities: the probabilities of options or classes by their texts.
        starts: the probability that the answer starts with each candidate.
        ends: the probability that it ends with each candidate.
        probability: the probability of a span.
        score: the score of a sentence or a text.
        vector: where an encoder places a text.
    """

    prompt: str
    group: str | None
    repetition: int
    response: str
    where: str
    scores: NumbersByOption | None = None
    source: Mapping[str, str] | None = None
    text_pair: str | None = None
    probabilities: NumbersByOption | None = None
    starts: NumbersByOption | None = None
    ends: NumbersByOption | None = None
    probability: float | None = None
    score: float | None = None
    vector: Sequence[float] | None = None

    @property
    def request(self) -> tuple[str, str | None, int, str | None]:
        """What was asked: no two rows of a file have the same."""
        return self.prompt, self.group, self.repetition, self.text_pair

    @property
    def content(self) -> tuple[object, ...]:
        """The answer, whatever was asked: equal for rows with the same answer."""
        objects = (self.scores, self.probabilities, self.starts, self.ends)
        numbers = (frozenset((each or {}).items()) for each in objects)
        return self.response, *numbers, self.probability, self.score, tuple(self.vector or ())


def first_has_numbers(path: Path) -> bool:
    """Whether the first answer of a file is made of numbers, not only of text; False for a faulty
    file.
    """
    try:
        row = next(file_rows(path), None)
    except InputError:
        return False
    return row is not None and any(
        row.values[name] not in (None, "", {}, "{}") for name in NUMERIC_ANSWER_COLUMNS
    )


def read_precomputed(path: Path) -> tuple[list[PrecomputedResponse], list[Fault]]:
    """Reads a file of answers.

    Args:
        path: the file, `.jsonl`, `.csv` or `.parquet`.

    Returns:
        The answers, and the faults of the file.
    """
    faults: list[Fault] = []
    responses: dict[tuple[object, ...], PrecomputedResponse] = {}
    try:
        for row in file_rows(path):
            response = parse_row(path, row, faults)
            if response is None:
                continue
            first = responses.setdefault(response.request, response)
            if first is not response:
                problem = f"the answer to {request_text(response)} is already in {first.where}"
                faults.append(
                    Fault(str(path), row.where, problem, "one answer for each repetition")
                )
    except InputError as error:
        return [], error.faults
    if not responses and not faults:
        faults.append(Fault(str(path), "", "contains no answers", RESPONSES_EXPECTED))
    return list(responses.values()), first_faults(faults, path)


def file_rows(path: Path) -> Iterator[FileRow]:
    """Yields the rows of a file of answers; columns that it lacks have no values.

    Raises:
        InputError: it cannot be read, or has no prompts, or no answers.
    """
    optional = [name for name in COLUMN_READERS if name not in ("prompt", *PRECOMPUTED_COLUMNS)]
    return read_rows(path, ["prompt"], RESPONSES_EXPECTED, optional, PRECOMPUTED_COLUMNS)


def unique_responses(
    responses: Iterable[PrecomputedResponse], source: str
) -> list[PrecomputedResponse]:
    """Returns responses that were read from files of others, each once.

    Args:
        responses: the responses; their places have the names of their files.
        source: where they are from, for messages.

    Raises:
        InputError: the same is answered twice and differently, or a text holds half of a character.
    """
    first: dict[tuple[object, ...], PrecomputedResponse] = {}
    faults = []
    for row in responses:
        before = first.setdefault(row.request, row)
        if before.content != row.content:
            problem = f"{shorten_prompt(row.prompt)} has another answer in {before.where}"
            faults.append(
                Fault(
                    source, row.where, problem, "one answer for each prompt, group and repetition"
                )
            )
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
    known = (
        {name: value for name, value in row.items() if name != "where" and value is not None}
        for row in rows
    )
    write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in known))


def parse_row(path: Path, row: FileRow, faults: list[Fault]) -> PrecomputedResponse | None:
    """Reads a row; what is wrong with it is added to the faults, and None is returned."""
    values: dict[str, Any] = {}
    found = []
    for name, (read, expected) in COLUMN_READERS.items():
        try:
            values[name] = read(row.values[name])
        except Problem as error:
            found.append(Fault(str(path), f"{row.where}, {name}", error.problem, error.expected))
        except ValueError:
            found.append(
                Fault(str(path), f"{row.where}, {name}", value_text(row.values[name]), expected)
            )
    faults += found
    return None if found else PrecomputedResponse(where=row.where, **values)


def read_required_text(value: Any) -> str:
    """Returns a text that must be there.

    Raises:
        ValueError: it is none.
    """
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def read_optional_text(value: Any) -> str | None:
    """Returns a text; None where there is none.

    Raises:
        ValueError: it is no text.
    """
    return None if value in (None, "") else read_required_text(value)


def read_response(value: Any) -> str:
    """Returns a response, empty where there is none.

    Raises:
        ValueError: it is no text.
        Problem: it holds half a character.
    """
    if not isinstance(value, str | None):
        raise ValueError
    if HALF_CHARACTER.search(value or ""):
        raise Problem("contains half a character", "whole characters")
    return value or ""


def read_repetition(value: Any) -> int:
    """Returns a whole number, which is text in CSV; 0 where there is none.

    Raises:
        ValueError: it is no such number.
    """
    if value in (None, ""):
        return 0
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def read_json_object(value: Any) -> dict[str, Any] | None:
    """Returns an object: CSV has it as JSON, Parquet also as a structure or a map; None where there
    is none.

    Keys without a value are left out: a structure has all keys in each of its rows.

    Raises:
        ValueError: it is none.
    """
    if isinstance(value, str) and value:
        value = parse_json(value)
    if isinstance(value, list) and all(
        isinstance(one, dict) and one.keys() == {"key", "value"} for one in value
    ):
        value = {one["key"]: one["value"] for one in value}
    if not isinstance(value, dict):
        if value in (None, ""):
            return None
        raise ValueError
    return {name: one for name, one in value.items() if one is not None} or None


def parse_json(text: str) -> Any:
    """Returns what a text in JSON means.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError from None


def read_log_likelihoods(value: Any) -> NumbersByOption | None:
    """Returns log-likelihoods by option; None where there are none.

    Raises:
        ValueError: one of them is not the logarithm of a probability.
    """
    found = read_json_object(value)
    if any(
        type(one) not in (int, float) or math.isnan(one) or one > 0
        for one in (found or {}).values()
    ):
        raise ValueError
    return found


def read_probabilities(value: Any) -> NumbersByOption | None:
    """Returns probabilities by option; None where there are none.

    Raises:
        ValueError: there is something else.
        Problem: a number is not between 0 and 1.
    """
    found = read_json_object(value)
    for name, one in (found or {}).items():
        if type(one) not in (int, float):
            raise ValueError
        if not -PROBABILITY_ROUNDING <= one <= 1 + PROBABILITY_ROUNDING:
            raise Problem(f"{name!r} has {one}", "a number between 0 and 1")
    return found


def read_finite_number(value: Any) -> float | None:
    """Returns a finite number, which is text in CSV; None where there is none.

    Raises:
        ValueError: it is no such number.
    """
    if value in (None, ""):
        return None
    number = float(value) if type(value) in (str, int, float) else math.nan
    if not math.isfinite(number):
        raise ValueError
    return number


def read_probability(value: Any) -> float | None:
    """Returns a probability; None where there is none.

    Raises:
        ValueError: it is no number between 0 and 1.
    """
    number = read_finite_number(value)
    if number is not None and not -PROBABILITY_ROUNDING <= number <= 1 + PROBABILITY_ROUNDING:
        raise ValueError
    return number


def read_vector(value: Any) -> list[float] | None:
    """Returns a vector, which is JSON in CSV; None where there is none.

    Raises:
        ValueError: it is no list of finite numbers.
        Problem: all of them are 0.
    """
    if value is None or value == "":
        return None
    numbers = parse_json(value) if isinstance(value, str) else value
    if not isinstance(numbers, list) or not numbers:
        raise ValueError
    for place, number in enumerate(numbers):
        if type(number) not in (int, float) or not math.isfinite(number):
            raise Problem(f"{value_text(number)} in place {place}", "finite numbers")
    if not any(numbers):
        raise Problem("only zeros", "a vector with a direction")
    return numbers


COLUMN_READERS: Mapping[str, tuple[Callable[[Any], Any], str]] = {
    "prompt": (read_required_text, "text"),
    "text_pair": (read_optional_text, "text, or null for none"),
    "group": (read_optional_text, "text, or null for none"),
    "repetition": (read_repetition, "a whole number, counted from 0"),
    "response": (read_response, "text, or null for no answer"),
    "scores": (
        read_log_likelihoods,
        'an object with the log-likelihood of each option, such as {"Yes": -1.5, "No": -0.7}',
    ),
    "probabilities": (
        read_probabilities,
        'an object with the probability of each option or class, such as {"Yes": 0.2, "No": 0.7}',
    ),
    "starts": (
        read_probabilities,
        "an object with the probability that the answer starts with each candidate",
    ),
    "ends": (
        read_probabilities,
        "an object with the probability that the answer ends with each candidate",
    ),
    "probability": (read_probability, "a number between 0 and 1"),
    "score": (read_finite_number, "a finite number"),
    "vector": (read_vector, "a list of finite numbers"),
    "source": (read_json_object, "an object that says where the response comes from"),
}
"""How the value of each column is read, and what it should be."""


def first_faults(faults: list[Fault], path: Path) -> list[Fault]:
    """Returns the first faults, and how many more there are."""
    if len(faults) <= MOST_SHOWN:
        return faults
    return [
        *faults[:MOST_SHOWN],
        Fault(str(path), "", f"{len(faults) - MOST_SHOWN:,} more faults", "none"),
    ]


ONE_EACH = "one for each group and repetition"


def precomputed_faults(
    path: Path,
    prompts: Collection[str],
    asked: Collection[tuple[str, str]],
    repetitions: int,
    *,
    alone: bool = True,
) -> list[Fault]:
    """Returns what keeps a file of responses from being those of a dataset.

    Args:
        path: the file.
        prompts: all prompts of the dataset.
        asked: those that are asked, each with the groups that it is asked about.
        repetitions: how often each is asked.
        alone: whether the file can be of no other dataset.

    Returns:
        What `read_precomputed` finds; or answers of prompts, groups and repetitions that are not
        asked, and what has no answer.
    """
    responses, faults = read_precomputed(path)
    if faults:
        return faults
    groups = dict.fromkeys(group for _, group in asked)
    unknown = [*unknown_responses(path, responses, prompts, groups, repetitions)] if alone else []
    answered = {response.request[:3] for response in responses}
    missing = [
        Fault(
            str(path),
            "",
            f"no answer to {shorten_prompt(prompt)} for {group}, repetition {number}",
            ONE_EACH,
        )
        for prompt, group in asked
        for number in range(repetitions)
        if answered.isdisjoint([(prompt, group, number), (prompt, None, number)])
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
        elif response.group is not None and response.group not in groups:
            problem = f"unknown group {response.group!r}{nearest_name(response.group, groups)}"
            yield Fault(str(path), response.where, problem, one_of(groups))
        elif response.repetition >= repetitions:
            problem = (
                f"repetition {response.repetition}, but each prompt is asked {repetitions} times"
            )
            yield Fault(
                str(path),
                response.where,
                problem,
                f"a number from 0 to {repetitions - 1}, or a larger `repetitions`",
            )


def request_text(response: PrecomputedResponse) -> str:
    """Returns what a response answers as a message has it."""
    about = f" for {response.group}" if response.group else ""
    return f"{shorten_prompt(response.prompt)}{about}, repetition {response.repetition}"


def shorten_prompt(prompt: str) -> str:
    """Returns a prompt in quotation marks, cut where it is long."""
    return repr(
        prompt if len(prompt) <= PROMPT_CHARACTERS else f"{prompt[: PROMPT_CHARACTERS - 3]}..."
    )
