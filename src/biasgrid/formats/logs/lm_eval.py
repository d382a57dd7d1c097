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
    """What the results say of a run; their date is in seconds since 1970."""

    lm_eval_version: str | None = None
    model_name: str | None = None
    date: datetime | None = None


class LoggedRequest(LogPart):
    """What was asked: the prompt, and the option behind it or how a text is to be written."""

    prompt: str = Field(alias=ARGUMENTS[0])
    option: Any = Field(alias=ARGUMENTS[1])


def named_requests(requests: Any) -> Any:
    """Returns requests in a list, with names of their arguments; older versions write lists of
    them, newer objects.
    """
    if isinstance(requests, dict):
        return list(requests.values())
    lists = requests if isinstance(requests, list) else []
    return [
        dict(zip(ARGUMENTS, one, strict=False)) if isinstance(one, list) else one for one in lists
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
    named = SAMPLES_FILE.fullmatch(path.name)
    results = path.with_name(f"results_{named['date']}.json") if named else path
    run = RunResults()
    if named and results.is_file():
        run = read_part(
            RunResults, read_bytes(results, EXPECTED_RESULTS), results, "", EXPECTED_RESULTS
        )
    source = known_facts(
        harness="lm-evaluation-harness",
        version=run.lm_eval_version,
        model=run.model_name or path.parent.name,
        task=named["task"] if named else path.stem.removeprefix("samples_"),
        date=run.date.date().isoformat() if run.date else named and named["date"][:10],
    )
    lines = json_objects(path, EXPECTED)
    return Log(
        path,
        source,
        (sample for where, content in lines for sample in samples_of(path, where, content)),
    )


def samples_of(path: Path, where: str, content: dict[str, Any]) -> Iterator[LogSample]:
    """Yields the samples of a line: several where an item was asked repeatedly.

    Of options, the requests behind the prompt of the first one count: a task with the metric
    `acc_mutual_info` asks for each option once more, behind nothing.

    Raises:
        InputError: the line is no sample.
    """
    line = read_part(SampleLine, content, path, where, EXPECTED)
    prompt, first = line.arguments[0].prompt, line.resps[0][0]
    if isinstance(first, str) and len(line.resps) == 1:
        for epoch, text in enumerate(line.resps[0]):
            yield LogSample(where, line.doc, [prompt], str(text), {}, epoch)
        return
    scores = dict[str, float]()
    for asked, said in zip(line.arguments, line.resps, strict=False):
        score = score_of(said[0])
        if score is None or len(line.arguments) != len(line.resps):
            raise InputError(
                [
                    Fault(
                        str(path), where, value_text(line.resps), "a log-likelihood for each option"
                    )
                ]
            )
        if asked.prompt == prompt:
            scores[str(asked.option).removeprefix(" ")] = score
    yield LogSample(where, line.doc, [prompt], None, scores)


def score_of(response: Any) -> float | None:
    """Returns the log-likelihood of a response, which newer versions write as texts; None where it
    has none.
    """
    value = response[0] if isinstance(response, list) and response else response
    try:
        score = min(float(value), 0.0) if isinstance(value, str | int | float) else None
    except ValueError:
        return None
    return None if score is None or isnan(score) else score
