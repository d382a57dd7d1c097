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
from biasgrid.base.rows import Columns, FileRow, read_file_rows
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
"""The number of characters of a prompt that are shown."""
PROBABILITY_ROUNDING = 1e-5
"""The largest rounding error of probabilities, or of sums of them, in single precision."""
NumbersByOption = Mapping[str, float]


class Request(NamedTuple):
    """A question to a model. No two rows of a file have the same one.

    Attributes:
        prompt: the prompt; if there is a `text_pair`, the first text.
        group: the group that the prompt is about. None: the answer is for every group.
        repetition: counted from 0.
        text_pair: the second text, such as the context of a question; None if there is none.
    """

    prompt: str
    group: str | None
    repetition: int
    text_pair: str | None = None


class PrecomputedResponse(NamedTuple):
    """An answer and its request. Attributes from `scores` on are None if the file lacks them.

    Attributes:
        prompt: the prompt, as in the file of prompts, or the whole request; if there is a
            `text_pair`, the first text.
        group: the group that the prompt is about. None: the answer is for every group.
        repetition: 0 for the first response to a prompt.
        response: the text, empty if there is none.
        where: its place in the file, for messages.
        scores: the log-likelihoods of options by their texts; never empty.
        source: the harness, its version, the model, the task and the date of a log.
        text_pair: the second text, such as the context of a question.
        probabilities: the probabilities of options or classes by their texts.
        starts: the probability that the answer starts with each candidate.
        ends: the probability that it ends with each candidate.
        probability: the probability of a span.
        score: the score of a sentence or a text.
        vector: the embedding of a text by an encoder.
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
    def request(self) -> Request:
        """The question that is answered."""
        return Request(self.prompt, self.group, self.repetition, self.text_pair)

    @property
    def answer(self) -> tuple[object, ...]:
        """All that is answered, hashable: equal for rows with the same answer in any order."""
        objects = (self.scores, self.probabilities, self.starts, self.ends)
        numbers = (frozenset((numbers or {}).items()) for numbers in objects)
        return self.response, *numbers, self.probability, self.score, tuple(self.vector or ())


def first_has_numbers(path: Path) -> bool:
    """Whether the first answer of a file has numbers, not only text; False for a faulty file."""
    try:
        row = next(file_rows(path), None)
    except InputError:
        return False
    if row is None:
        return False
    return any(row.values[name] not in (None, "", {}, "{}") for name in NUMERIC_ANSWER_COLUMNS)


def read_precomputed(path: Path) -> tuple[list[PrecomputedResponse], list[Fault]]:
    """Reads a file of answers.

    Args:
        path: the file, `.jsonl`, `.csv` or `.parquet`.

    Returns:
        The answers of rows without faults, in the order of the file, and the first faults. If there
        are faults, the answers must not be used.
    """
    faults: list[Fault] = []
    responses: dict[Request, PrecomputedResponse] = {}
    try:
        for row in file_rows(path):
            response = parse_row(path, row, faults)
            if response is None:
                continue
            earlier = responses.setdefault(response.request, response)
            if earlier is not response:
                problem = f"the answer to {request_text(response)} is already in {earlier.where}"
                expected = "one answer for each repetition"
                faults.append(Fault(str(path), row.where, problem, expected))
    except InputError as error:
        return [], error.faults
    if not responses and not faults:
        faults.append(Fault(str(path), "", "contains no answers", RESPONSES_EXPECTED))
    return list(responses.values()), first_faults(faults, path)


def file_rows(path: Path) -> Iterator[FileRow]:
    """Yields the rows of a file of answers; the values of missing columns are None.

    Raises:
        InputError: the file cannot be read, or has no prompts, or no column of answers. It is
            raised with the first row.
    """
    optional = [name for name in COLUMN_READERS if name not in ("prompt", *PRECOMPUTED_COLUMNS)]
    columns = Columns(["prompt"], optional, any_of=PRECOMPUTED_COLUMNS)
    return read_file_rows(path, columns, RESPONSES_EXPECTED)


def unique_responses(
    responses: Iterable[PrecomputedResponse], source: str
) -> list[PrecomputedResponse]:
    """Returns the first response to each request; equal repeats are dropped.

    Args:
        responses: responses from logs of other projects; `where` names the log.
        source: the origin of the logs, for messages.

    Raises:
        InputError: a request has two different answers, or a text contains half a character.
    """
    by_request: dict[Request, PrecomputedResponse] = {}
    faults = []
    for response in responses:
        earlier = by_request.setdefault(response.request, response)
        if earlier.answer != response.answer:
            problem = f"{shorten_prompt(response.prompt)} has another answer in {earlier.where}"
            expected = "one answer for each prompt, group and repetition"
            faults.append(Fault(source, response.where, problem, expected))
        texts = [response.response, *(response.scores or {})]
        if HALF_CHARACTER.search("".join(texts)):
            problem = "holds half of a character"
            faults.append(Fault(source, response.where, problem, "whole characters"))
    if faults:
        raise InputError(first_faults(faults, Path(source)))
    return list(by_request.values())


def write_precomputed(path: Path, responses: Iterable[PrecomputedResponse]) -> None:
    """Writes precomputed responses as JSON lines, without `where` and without nulls.

    Raises:
        UserError: it cannot be written.
    """
    lines = []
    for response in responses:
        row = {}
        for name, value in response._asdict().items():
            if name != "where" and value is not None:
                row[name] = value
        lines.append(f"{json.dumps(row, ensure_ascii=False)}\n")
    write_text(path, "".join(lines))


def parse_row(path: Path, row: FileRow, faults: list[Fault]) -> PrecomputedResponse | None:
    """Returns the response in a row, None if the row has faults.

    Args:
        path: the file, for messages.
        row: a row with a value, perhaps None, for each of `COLUMN_READERS`.
        faults: the faults of the file. Those of the row are appended.
    """
    values: dict[str, Any] = {}
    row_faults = []
    for name, (read, expected) in COLUMN_READERS.items():
        value, where = row.values[name], f"{row.where}, {name}"
        try:
            values[name] = read(value)
        except Problem as error:
            row_faults.append(Fault(str(path), where, error.problem, error.expected))
        except ValueError:
            row_faults.append(Fault(str(path), where, value_text(value), expected))
    faults += row_faults
    return None if row_faults else PrecomputedResponse(where=row.where, **values)


def read_required_text(value: Any) -> str:
    """Returns a text unchanged; raises ValueError if it is blank or the value is not text."""
    if not isinstance(value, str) or not value.strip():
        raise ValueError
    return value


def read_optional_text(value: Any) -> str | None:
    """Returns a text, None for None and ""; raises ValueError for a blank text and other types."""
    return None if value in (None, "") else read_required_text(value)


def read_response(value: Any) -> str:
    """Returns a response, "" for None.

    Raises:
        ValueError: the value is not text.
        Problem: the text contains half a character, which no tokenizer accepts.
    """
    if not isinstance(value, str | None):
        raise ValueError
    if HALF_CHARACTER.search(value or ""):
        raise Problem("contains half a character", "whole characters")
    return value or ""


def read_repetition(value: Any) -> int:
    """Returns a repetition, 0 for None and ""; raises ValueError unless it is a whole number.

    Digits are accepted as text, since all values of CSV are text.
    """
    if value in (None, ""):
        return 0
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if type(value) is not int or value < 0:
        raise ValueError
    return value


def read_json_object(value: Any) -> dict[str, Any] | None:
    """Returns an object without its nulls, None if nothing is left or the value is None or "".

    An object is JSON text in CSV, and a structure or a map in Parquet. A structure has the same
    keys in all rows, so keys that a row does not need are null.

    Raises:
        ValueError: the value is not an object.
    """
    if isinstance(value, str) and value:
        value = parse_json(value)
    if value in (None, ""):
        return None
    if isinstance(value, list) and is_map(value):
        value = {entry["key"]: entry["value"] for entry in value}
    if not isinstance(value, dict):
        raise ValueError
    return {name: content for name, content in value.items() if content is not None} or None


def is_map(entries: list[Any]) -> bool:
    """Whether a list is a map of Parquet, which polars reads as structures of `key` and `value`."""
    return all(isinstance(entry, dict) and entry.keys() == {"key", "value"} for entry in entries)


def parse_json(text: str) -> Any:
    """Parses JSON; raises ValueError if a text is not JSON, or is nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError from None


def read_log_likelihoods(value: Any) -> NumbersByOption | None:
    """Returns log-likelihoods by option, None if there are none; see `read_json_object`.

    Raises:
        ValueError: the value is not an object, or one of its values is not a number of at most 0.
    """
    log_likelihoods = read_json_object(value)
    for number in (log_likelihoods or {}).values():
        # Minus infinity, for a probability of 0, is allowed.
        if number != -math.inf and (not is_finite_number(number) or number > 0):
            raise ValueError
    return log_likelihoods


def read_probabilities(value: Any) -> NumbersByOption | None:
    """Returns probabilities by option, None if there are none; see `read_json_object`.

    Raises:
        ValueError: the value is not an object of numbers.
        Problem: a number is not between 0 and 1, give or take `PROBABILITY_ROUNDING`.
    """
    probabilities = read_json_object(value)
    for name, number in (probabilities or {}).items():
        if type(number) not in (int, float):
            raise ValueError
        if not -PROBABILITY_ROUNDING <= number <= 1 + PROBABILITY_ROUNDING:
            raise Problem(f"{name!r} has {value_text(number)}", "a number between 0 and 1")
    return probabilities


def read_finite_number(value: Any) -> float | None:
    """Returns a finite number, None for None and ""; raises ValueError for other values.

    Numbers are accepted as text, since all values of CSV are text.
    """
    if value in (None, ""):
        return None
    if type(value) is str:
        value = float(value)
    if not is_finite_number(value):
        raise ValueError
    return float(value)


def is_finite_number(value: Any) -> bool:
    """Whether a value is a finite number that a float can hold; true and false are not numbers."""
    try:
        # `isfinite` converts to float, for which JSON may have integers that are too large.
        return type(value) in (int, float) and math.isfinite(value)
    except OverflowError:
        return False


def read_probability(value: Any) -> float | None:
    """Returns a probability, None for None and ""; raises ValueError for other values.

    It may lie outside of 0 and 1 by `PROBABILITY_ROUNDING`.
    """
    number = read_finite_number(value)
    if number is not None and not -PROBABILITY_ROUNDING <= number <= 1 + PROBABILITY_ROUNDING:
        raise ValueError
    return number


def read_vector(value: Any) -> list[float] | None:
    """Returns a vector, which is JSON text in CSV, None for None and "".

    Raises:
        ValueError: the value is not a list, or is empty.
        Problem: an item is not a finite number, or all are 0.
    """
    if value is None or value == "":
        return None
    numbers = parse_json(value) if isinstance(value, str) else value
    if not isinstance(numbers, list) or not numbers:
        raise ValueError
    for position, number in enumerate(numbers):
        if not is_finite_number(number):
            raise Problem(f"{value_text(number)} in place {position}", "finite numbers")
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
"""The function that reads a value of each column, and a description of valid values. It raises
Problem with a description of its own, or ValueError.
"""


def first_faults(faults: list[Fault], path: Path) -> list[Fault]:
    """Returns the first `MOST_SHOWN` faults and, as one more fault, the number of the others."""
    if len(faults) <= MOST_SHOWN:
        return faults
    problem = f"{len(faults) - MOST_SHOWN:,} more faults"
    return [*faults[:MOST_SHOWN], Fault(str(path), "", problem, "none")]


ONE_EACH = "one for each group and repetition"


def precomputed_faults(
    path: Path,
    prompts: Collection[str],
    prompt_groups: Collection[tuple[str, str]],
    repetitions: int,
    *,
    is_for_one_dataset: bool = True,
) -> list[Fault]:
    """Returns the faults of a file as the responses to a dataset.

    Args:
        path: the file.
        prompts: all prompts of the dataset, requested or not.
        prompt_groups: each requested prompt with a group that it is about.
        repetitions: the number of repetitions of each of these.
        is_for_one_dataset: whether the file answers no other dataset, so that responses to other
            prompts are faults.

    Returns:
        The faults of `read_precomputed`; if there are none, responses to other prompts, groups and
        repetitions, and requests without a response.
    """
    responses, faults = read_precomputed(path)
    if faults:
        return faults
    unknown: list[Fault] = []
    if is_for_one_dataset:
        groups = dict.fromkeys(group for _, group in prompt_groups)
        unknown += unknown_responses(path, responses, prompts, groups, repetitions)
    # These prompts have no second text; one in the file does not matter.
    requests = {response.request._replace(text_pair=None) for response in responses}
    missing = []
    for prompt, group in prompt_groups:
        for repetition in range(repetitions):
            for_group = Request(prompt, group, repetition)
            for_every_group = Request(prompt, None, repetition)
            if requests.isdisjoint([for_group, for_every_group]):
                request = f"{shorten_prompt(prompt)} for {group}, repetition {repetition}"
                missing.append(Fault(str(path), "", f"no answer to {request}", ONE_EACH))
    return [*first_faults(unknown, path), *first_faults(missing, path)]


def unknown_responses(
    path: Path,
    responses: Iterable[PrecomputedResponse],
    prompts: Collection[str],
    groups: Collection[str],
    repetitions: int,
) -> Iterator[Fault]:
    """Yields a fault for each response to a prompt, group or repetition that is not requested."""
    prompts = {*prompts}
    for response in responses:
        if response.prompt not in prompts:
            # The search is slow if there are many prompts.
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
            expected = f"a number from 0 to {repetitions - 1}, or a larger `repetitions`"
            yield Fault(str(path), response.where, problem, expected)


def request_text(response: PrecomputedResponse) -> str:
    """Formats the request of a response for messages: prompt, group and repetition."""
    about = f" for {response.group}" if response.group else ""
    return f"{shorten_prompt(response.prompt)}{about}, repetition {response.repetition}"


def shorten_prompt(prompt: str) -> str:
    """Returns a prompt in quotation marks, shortened if it is long."""
    if len(prompt) > PROMPT_CHARACTERS:
        prompt = f"{prompt[: PROMPT_CHARACTERS - 3]}..."
    return repr(prompt)
