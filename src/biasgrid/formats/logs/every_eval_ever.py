"""Instance files of Every Eval Ever: a sample in each line, beside a record of the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from biasgrid.base.faults import Fault, InputError
from biasgrid.base.rows import json_objects
from biasgrid.base.text import read_bytes
from biasgrid.formats.logs.samples import (
    Log,
    LogPart,
    LogSample,
    lettered_option,
    read_part,
    source_facts,
)

EXPECTED = (
    "an instance of Every Eval Ever of a single turn: model_id, evaluation_name, sample_id, "
    "interaction_type, input and output"
)
EXPECTED_RECORD = "a record of Every Eval Ever"


class Library(LogPart):
    """The harness that asked the model."""

    name: str = "Every Eval Ever"
    version: str | None = None


class RunRecord(LogPart):
    """The record of a run."""

    eval_library: Library = Library()
    evaluation_timestamp: str | None = None


class SampleInput(LogPart):
    """A prompt: `raw` in the evaluation, `formatted` as the model read it."""

    raw: str
    formatted: str | None = None
    choices: list[str] | None = None


class SampleOutput(LogPart):
    """The texts that the model wrote; the first counts."""

    raw: list[str]


class Attribution(LogPart):
    """A value that the harness extracted from the output."""

    extracted_value: str | None = None


class LoggedInstance(LogPart):
    """A line of an instance file."""

    model_id: str
    evaluation_name: str
    sample_id: str
    interaction_type: Literal["single_turn"] = "single_turn"
    input: SampleInput
    output: SampleOutput
    answer_attribution: list[Attribution] = Field(default_factory=list)
    metadata: dict[str, Any] | None = None


def read_instance_files(path: Path) -> list[Log]:
    """Reads an instance file into one log for each model and evaluation.

    A sample has a line for each measure that uses it, and is read once.

    Raises:
        InputError: the file is empty, or a line is no instance of a single turn.
    """
    record = instance_record(path)
    by_log: dict[tuple[str, str], dict[tuple[str, ...], LogSample]] = {}
    for where, content in json_objects(path, EXPECTED):
        line = read_part(LoggedInstance, content, path, where, EXPECTED)
        samples = by_log.setdefault((line.model_id, line.evaluation_name), {})
        samples.setdefault((line.sample_id, *line.output.raw), logged_sample(where, line))
    if not by_log:
        raise InputError([Fault(str(path), "", "holds no samples", EXPECTED)])
    logs = []
    for (model, task), samples in by_log.items():
        source = source_facts(
            harness=record.eval_library.name,
            version=record.eval_library.version,
            model=model,
            task=task,
            date=(record.evaluation_timestamp or "")[:10],
        )
        logs.append(Log(path, source, list(samples.values())))
    return logs


def instance_record(path: Path) -> RunRecord:
    """Reads the record of a run; returns an empty one if the file does not exist.

    Args:
        path: the instance file; the record lies beside it.

    Raises:
        InputError: the file is no record.
    """
    record = path.with_name(f"{path.stem.removesuffix('_samples')}.json")
    if not record.is_file():
        return RunRecord()
    return read_part(RunRecord, read_bytes(record, EXPECTED_RECORD), record, "", EXPECTED_RECORD)


def logged_sample(where: str, line: LoggedInstance) -> LogSample:
    """Converts a sample. Its response is the option that the harness extracted, else the text.

    Args:
        where: the place of the line in the file.
        line: the line.
    """
    options = line.input.choices or []
    response = "".join(line.output.raw[:1])
    for attribution in line.answer_attribution:
        value = attribution.extracted_value
        option = lettered_option(value, options)
        if not option and value in options:
            option = value
        # The last extraction counts.
        response = option or response
    prompts = [text for text in (line.input.formatted, line.input.raw) if text]
    return LogSample(where, line.metadata or {"sample_id": line.sample_id}, prompts, response, {})
