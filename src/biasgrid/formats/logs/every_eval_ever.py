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
    known_facts,
    option_of_letter,
    read_part,
)

EXPECTED = (
    "an instance of Every Eval Ever of a single turn: model_id, evaluation_name, sample_id, "
    "interaction_type, input and output"
)
EXPECTED_RECORD = "a record of Every Eval Ever"


class Library(LogPart):
    """The harness, as a record has it."""

    name: str = "Every Eval Ever"
    version: str | None = None


class RunRecord(LogPart):
    """The record of a run."""

    eval_library: Library = Library()
    evaluation_timestamp: str | None = None


class AskedInput(LogPart):
    """What was asked: as the evaluation has it, and as the model read it."""

    raw: str
    formatted: str | None = None
    choices: list[str] | None = None


class WrittenOutput(LogPart):
    """What the model wrote."""

    raw: list[str]


class Attribution(LogPart):
    """What the harness has extracted."""

    extracted_value: str | None = None


class LoggedInstance(LogPart):
    """A line of an instance file."""

    model_id: str
    evaluation_name: str
    sample_id: str
    interaction_type: Literal["single_turn"] = "single_turn"
    input: AskedInput
    output: WrittenOutput
    answer_attribution: list[Attribution] = Field(default_factory=list)
    metadata: dict[str, Any] | None = None


def read_instance_files(path: Path) -> list[Log]:
    """Reads an instance file: a log for each model and evaluation in it.

    A sample that counts for several measures is there several times, and is taken once.

    Raises:
        InputError: the file holds nothing, a line is no instance, or a conversation of several
            turns.
    """
    record = instance_record(path)
    found: dict[tuple[str, str], dict[tuple[str, ...], LogSample]] = {}
    for where, content in json_objects(path, EXPECTED):
        line = read_part(LoggedInstance, content, path, where, EXPECTED)
        samples = found.setdefault((line.model_id, line.evaluation_name), {})
        samples.setdefault((line.sample_id, *line.output.raw), logged_sample(where, line))
    if not found:
        raise InputError([Fault(str(path), "", "holds no samples", EXPECTED)])
    return [
        Log(
            path,
            known_facts(
                harness=record.eval_library.name,
                version=record.eval_library.version,
                model=model,
                task=task,
                date=(record.evaluation_timestamp or "")[:10],
            ),
            list(samples.values()),
        )
        for (model, task), samples in found.items()
    ]


def instance_record(path: Path) -> RunRecord:
    """Returns the record of the run, which lies beside its instances where it is kept; one that
    says nothing without.

    Raises:
        InputError: it is none.
    """
    record = path.with_name(f"{path.stem.removesuffix('_samples')}.json")
    if not record.is_file():
        return RunRecord()
    return read_part(RunRecord, read_bytes(record, EXPECTED_RECORD), record, "", EXPECTED_RECORD)


def logged_sample(where: str, line: LoggedInstance) -> LogSample:
    """Returns a sample; its answer is what the harness has extracted, where that is one of the
    options.
    """
    options = line.input.choices or []
    values = [one.extracted_value for one in line.answer_attribution]
    chosen = [
        option_of_letter(value, options) or (value if value in options else None)
        for value in values
    ]
    response = next(filter(None, reversed(chosen)), "".join(line.output.raw[:1]))
    prompts = [text for text in (line.input.formatted, line.input.raw) if text]
    return LogSample(where, line.metadata or {"sample_id": line.sample_id}, prompts, response, {})
