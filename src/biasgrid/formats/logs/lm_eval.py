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
from biasgrid.formats.logs.samples import Log, LogPart, LogSample, known_facts, read_part

SAMPLES_FILE = re.compile(r"samples_(?P<task>.+)_(?P<date>\d{4}-\d\d-\d\dT[\d\-.]+)\.jsonl")
EXPECTED = "a sample of lm-evaluation-harness, written with --log_samples"
EXPECTED_RESULTS = "results of lm-evaluation-harness"
ARGUMENTS = ("arg_0", "arg_1")


class RunResults(LogPart):
    """The facts on a run in its results; their date is in seconds since 1970."""

    lm_eval_version: str | None = None
    model_name: str | None = None
    date: datetime | None = None


class LoggedRequest(LogPart):
    """A request: the prompt, and the option behind it or the settings of writing."""

    prompt: str = Field(alias=ARGUMENTS[0])
    option: Any = Field(alias=ARGUMENTS[1])


def named_requests(requests: Any) -> Any:
    """Names the arguments of requests, which older versions write as lists and newer as objects.

    Returns:
        A list of requests; nothing else is checked, because pydantic checks the list next.
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
    """A line of a file of samples: what was asked of a document, and the responses to each
    request.
    """

    doc: dict[str, Any]
    arguments: Annotated[list[LoggedRequest], BeforeValidator(named_requests), Field(min_length=1)]
    resps: list[Annotated[list[Any], Field(min_length=1)]] = Field(min_length=1)


def read_logs(folder: Path) -> list[Log]:
    """Reads the samples of a folder, of the folders in it, or of one file.

    Raises:
        InputError: there are none, or what lies beside them cannot be read; as samples are taken,
            also that a file of theirs cannot be read.
    """
    paths = [folder] if folder.is_file() else sorted(folder.rglob("samples_*.jsonl"))
    if not paths:
        expected = "samples_TASK_DATE.jsonl, as lm-evaluation-harness writes it with --log_samples"
        raise InputError([Fault(str(folder), "", "no samples", expected)])
    return [log_of(path) for path in paths]


def log_of(path: Path) -> Log:
    """Returns the log of a task, whose samples are read as they are taken."""
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
    source = known_facts(
        harness="lm-evaluation-harness",
        version=run.lm_eval_version,
        model=run.model_name or path.parent.name,
        task=task,
        date=date,
    )
    return Log(path, source, samples_of_file(path))


def samples_of_file(path: Path) -> Iterator[LogSample]:
    """Yields the samples of a file, line by line; raises as `samples_of` does."""
    for where, content in json_objects(path, EXPECTED):
        yield from samples_of(path, where, content)


def samples_of(path: Path, where: str, content: dict[str, Any]) -> Iterator[LogSample]:
    """Yields the samples of a line: several if an item was asked repeatedly.

    Of options, only the requests with the prompt of the first one count: a task with the metric
    `acc_mutual_info` asks for each option once more, behind nothing.

    Raises:
        InputError: the line is no sample.
    """
    line = read_part(SampleLine, content, path, where, EXPECTED)
    prompt = line.arguments[0].prompt
    first_response = line.resps[0][0]
    if isinstance(first_response, str) and len(line.resps) == 1:
        for epoch, text in enumerate(line.resps[0]):
            yield LogSample(where, line.doc, [prompt], str(text), {}, epoch)
        return
    scores: dict[str, float] = {}
    for request, responses in zip(line.arguments, line.resps, strict=False):
        score = score_of(responses[0])
        if score is None or len(line.arguments) != len(line.resps):
            expected = "a log-likelihood for each option"
            raise InputError([Fault(str(path), where, value_text(line.resps), expected)])
        if request.prompt == prompt:
            scores[str(request.option).removeprefix(" ")] = score
    yield LogSample(where, line.doc, [prompt], None, scores)


def score_of(response: Any) -> float | None:
    """Returns the log-likelihood of a response, None if it has none.

    Newer versions write it as a text. It is at most 0, up to errors of rounding.
    """
    value = response[0] if isinstance(response, list) and response else response
    if not isinstance(value, str | int | float):
        return None
    try:
        score = min(float(value), 0.0)
    except ValueError:
        return None
    return None if isnan(score) else score
