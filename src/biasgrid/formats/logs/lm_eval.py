"""Logs of lm-evaluation-harness: `samples_TASK_DATE.jsonl` of `--log_samples`, and beside them
`results_DATE.json`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from math import isnan
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from biasgrid.base.faults import Fault, InputError, value_text
from biasgrid.base.rows import json_objects
from biasgrid.base.text import read_bytes
from biasgrid.formats.logs.samples import Log, LogPart, LogSample, read_part, source_facts

SAMPLES_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d\-.]+)\.jsonl")
EXPECTED = "a sample of lm-evaluation-harness, written with --log_samples"
EXPECTED_RESULTS = "results of lm-evaluation-harness"
ARGUMENTS = ("arg_0", "arg_1")


class RunResults(LogPart):
    """The facts on a run in its results; their date is in seconds since 1970."""

    lm_eval_version: str | None = None
    model_name: str | None = None
    date: datetime | None = None


class RequestArguments(LogPart):
    """The arguments of a request to a model.

    Attributes:
        prompt: the text that the model reads.
        option: the scored option; settings of generation if the model writes.
    """

    prompt: str = Field(alias=ARGUMENTS[0])
    option: Any = Field(alias=ARGUMENTS[1])


def request_list(requests: Any) -> Any:
    """Returns requests as a list of objects with the keys `ARGUMENTS`, for pydantic to check.

    Older versions of the harness write arguments as lists, newer ones as objects. Anything but
    requests becomes an empty list, which is refused later.
    """
    if isinstance(requests, dict):
        return list(requests.values())
    if not isinstance(requests, list):
        return []
    return [
        dict(zip(ARGUMENTS, request, strict=False)) if isinstance(request, list) else request
        for request in requests
    ]


class SampleLine(LogPart):
    """A line of a file of samples.

    Attributes:
        doc: the item.
        arguments: the requests: one if the model writes, or one for each option.
        resps: for each request its responses, several if the item was asked repeatedly.
    """

    doc: dict[str, Any]
    arguments: Annotated[list[RequestArguments], BeforeValidator(request_list), Field(min_length=1)]
    resps: list[Annotated[list[Any], Field(min_length=1)]] = Field(min_length=1)


def read_logs(folder: Path) -> list[Log]:
    """Returns the logs in a file, or in a folder and its subfolders.

    Their samples are read when they are iterated, and raise InputError then.

    Raises:
        InputError: there are no logs, or results of a run cannot be read.
    """
    paths = [folder] if folder.is_file() else sorted(folder.rglob("samples_*.jsonl"))
    if not paths:
        expected = "samples_TASK_DATE.jsonl, as lm-evaluation-harness writes it with --log_samples"
        raise InputError([Fault(str(folder), "", "no samples", expected)])
    return [open_samples(path) for path in paths]


def open_samples(path: Path) -> Log:
    """Returns the log of a task.

    Args:
        path: the file of its samples. If its name is not that of the harness, the name is the task,
            and results of the run are not looked for.

    Raises:
        InputError: the results of the run cannot be read.
    """
    name = SAMPLES_FILE.fullmatch(path.name)
    run = RunResults()
    if name is None:
        task, date = path.stem.removeprefix("samples_"), None
    else:
        task, date = name["task"], name["date"][:10]
        results = path.with_name(f"results_{name['date']}.json")
        if results.is_file():
            content = read_bytes(results, EXPECTED_RESULTS)
            run = read_part(RunResults, content, results, "", EXPECTED_RESULTS)
    if run.date is not None:
        date = run.date.date().isoformat()
    source = source_facts(
        harness="lm-evaluation-harness",
        version=run.lm_eval_version,
        model=run.model_name or path.parent.name,
        task=task,
        date=date,
    )
    return Log(path, source, read_samples(path))


def read_samples(path: Path) -> Iterator[LogSample]:
    """Yields the samples of a file, line by line.

    Raises:
        InputError: the file cannot be read, or a line is no sample.
    """
    for where, content in json_objects(path, EXPECTED):
        line = read_part(SampleLine, content, path, where, EXPECTED)
        yield from line_samples(path, where, line)


def line_samples(path: Path, where: str, line: SampleLine) -> Iterator[LogSample]:
    """Yields the samples of a line: one with scores, or one for each text that was written.

    Args:
        path: the file, for messages.
        where: the place of the line in it.
        line: the line.

    Raises:
        InputError: options have no log-likelihoods.
    """
    prompt = line.arguments[0].prompt
    first_response = line.resps[0][0]
    if isinstance(first_response, str) and len(line.resps) == 1:
        for epoch, text in enumerate(line.resps[0]):
            yield LogSample(where, line.doc, [prompt], str(text), {}, epoch)
        return
    scores: dict[str, float] = {}
    for request, responses in zip(line.arguments, line.resps, strict=False):
        score = log_likelihood(responses[0])
        if score is None or len(line.arguments) != len(line.resps):
            expected = "a log-likelihood for each option"
            raise InputError([Fault(str(path), where, value_text(line.resps), expected)])
        # Tasks with `acc_mutual_info` score each option once more, after an empty prompt.
        if request.prompt == prompt:
            scores[str(request.option).removeprefix(" ")] = score
    yield LogSample(where, line.doc, [prompt], None, scores)


def log_likelihood(response: Any) -> float | None:
    """Returns the log-likelihood in a response, None without one or if it is NaN.

    Newer versions write it as a text. Rounding may put it above 0; then 0 is returned.
    """
    value = response[0] if isinstance(response, list) and response else response
    if not isinstance(value, str | int | float):
        return None
    try:
        score = min(float(value), 0.0)
    except ValueError:
        return None
    return None if isnan(score) else score
