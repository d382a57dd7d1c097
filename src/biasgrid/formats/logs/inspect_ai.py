"""Logs of Inspect, as `.json` or as `.eval`: a ZIP file of JSON files, compressed with Zstandard or
deflate.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from pydantic import BeforeValidator, Field, PositiveInt

from biasgrid.base.faults import Fault, InputError, one_of
from biasgrid.base.text import explain_unreadable, read_bytes
from biasgrid.formats.logs.samples import (
    LARGEST_LOG,
    Log,
    LogPart,
    LogSample,
    lettered_option,
    read_part,
    source_facts,
)

EXPECTED = "a log of Inspect, .eval or .json"
EXPECTED_SAMPLE = "a sample of Inspect with `input` and `output`"
LOG_HEADER = "header.json"
ZSTANDARD = 93
"""The number of a compression that Python's zipfile supports from 3.14 on."""
LOCAL_HEADER = struct.Struct("<26xHH")
ATTACHMENT = re.compile(r"attachment://(\w+)")
"""The placeholder of a long text."""
FINISHED = "success"
DAMAGED = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError)
"""Errors of reading a damaged ZIP file."""


def joined_parts(content: Any) -> Any:
    """Returns the text in a message, without reasoning and tool calls.

    Args:
        content: unchecked JSON: a text, or a list of parts. Other values are returned as they are,
            for pydantic to refuse; None becomes an empty text.
    """
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "\n".join(str(part.get("text") or "") for part in parts)
    return "" if content is None else content


def joined_messages(content: Any) -> Any:
    """Returns the input of a sample as one text.

    Args:
        content: unchecked JSON: a text, or a list of messages. Other values are returned as they
            are, for pydantic to refuse.
    """
    if isinstance(content, list) and all(isinstance(message, dict) for message in content):
        return "\n\n".join(str(joined_parts(message.get("content"))) for message in content)
    return content


class LoggedMessage(LogPart):
    """The text that the model wrote."""

    content: Annotated[str, BeforeValidator(joined_parts)] = ""


class LoggedChoice(LogPart):
    """One of several responses."""

    message: LoggedMessage


class LoggedOutput(LogPart):
    """The responses to one request; the first counts."""

    choices: list[LoggedChoice] = Field(default_factory=list)
    completion: str | None = None

    @property
    def text(self) -> str:
        """The text that the model wrote, empty without one."""
        return self.choices[0].message.content if self.choices else self.completion or ""


class LoggedScore(LogPart):
    """The result of a scorer; `answer` is the answer that it extracted from the response."""

    answer: Any = None


class InspectSample(LogPart):
    """A sample. `epoch` is counted from 1; `attachments` holds long texts by their keys."""

    id: Any = None
    epoch: PositiveInt = 1
    input: Annotated[str, BeforeValidator(joined_messages)]
    choices: list[str] | None = None
    output: LoggedOutput
    scores: dict[str, LoggedScore] | None = None
    metadata: dict[str, Any] | None = None
    attachments: dict[str, str] | None = None
    error: Any = None

    def resolved(self, text: str) -> str:
        """Returns a text with its placeholders replaced by attachments; unknown ones stay."""
        attachments = self.attachments or {}
        return ATTACHMENT.sub(lambda match: attachments.get(match[1], match[0]), text)


class InspectRun(LogPart):
    """The run: model and task."""

    model: str
    task: str = Field(min_length=1)
    created: str = ""
    packages: dict[str, str] = Field(default_factory=dict)


class InspectHeader(LogPart):
    """The log without its samples."""

    status: str
    eval: InspectRun


class InspectLog(InspectHeader):
    """A log in one JSON file."""

    samples: list[InspectSample] | None = None


def read_inspect_log(path: Path) -> Log:
    """Reads a log. The samples of a `.eval` file are read when they are iterated.

    Raises:
        InputError: the file is no log, or the run was not finished. Iterating the samples raises it
            if a sample is malformed or ended with an error.
    """
    header: InspectHeader
    samples: Iterable[tuple[str, InspectSample]]
    if path.suffix == ".eval":
        header = read_eval_header(path)
        samples = read_eval_samples(path)
    else:
        content = read_bytes(path, EXPECTED, LARGEST_LOG)
        log = read_part(InspectLog, content, path, "", EXPECTED)
        header = log
        samples = ((f"samples[{place}]", sample) for place, sample in enumerate(log.samples or []))
    if header.status != FINISHED:
        expected = f"{FINISHED!r}: finish the run first (inspect eval-retry)"
        raise InputError([Fault(str(path), "status", f"the status {header.status!r}", expected)])
    run = header.eval
    source = source_facts(
        harness="Inspect",
        version=run.packages.get("inspect_ai"),
        model=run.model,
        task=run.task,
        date=run.created[:10],
    )
    return Log(path, source, (logged_sample(path, where, sample) for where, sample in samples))


def logged_sample(path: Path, where: str, sample: InspectSample) -> LogSample:
    """Converts a sample. Its response is the option whose letter a scorer extracted, else the text.

    Raises:
        InputError: the sample ended with an error.
    """
    if sample.error:
        expected = "a log in which all samples were answered"
        raise InputError([Fault(str(path), where, "ended with an error", expected)])
    scores = sample.scores or {}
    options = [lettered_option(score.answer, sample.choices) for score in scores.values()]
    option = next(filter(None, options), None)
    return LogSample(
        where,
        fields={"id": sample.id, **(sample.metadata or {})},
        prompts=[sample.resolved(sample.input)],
        response=option or sample.resolved(sample.output.text),
        scores={},
        # Inspect counts epochs from 1.
        epoch=sample.epoch - 1,
    )


def read_eval_header(path: Path) -> InspectHeader:
    """Reads the header of a `.eval` file, which describes the run.

    Raises:
        InputError: the file is no ZIP file, or has no header because the run was not finished.
    """
    for _, content in eval_members(path, (LOG_HEADER,)):
        return read_part(InspectHeader, content, path, LOG_HEADER, EXPECTED)
    problem = f"contains no {LOG_HEADER}, so the run was not finished"
    raise InputError([Fault(str(path), "", problem, "a finished run (inspect eval-retry)")])


def read_eval_samples(path: Path) -> Iterator[tuple[str, InspectSample]]:
    """Yields the names and samples of a `.eval` file; no more than one is in memory.

    Raises:
        InputError: the file is no ZIP file, or a sample is malformed.
    """
    for name, content in eval_members(path, ("samples/",)):
        yield name, read_part(InspectSample, content, path, name, EXPECTED_SAMPLE)


def eval_members(path: Path, prefixes: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yields names and contents of JSON files in a `.eval` file, sorted by name.

    Args:
        path: the file.
        prefixes: beginnings of the names to read.

    Raises:
        InputError: the file is no ZIP file, or damaged.
    """
    with explain_unreadable(path, EXPECTED):
        try:
            with ZipFile(path) as archive:
                # Inspect appends a changed file under the same name, so the last one counts.
                members = {member.filename: member for member in archive.infolist()}
                for name in sorted(members):
                    if name.startswith(prefixes) and name.endswith(".json"):
                        yield name, member_bytes(path, archive, members[name])
        except DAMAGED as error:
            problem = f"not a ZIP file of JSON ({error})"
            raise InputError([Fault(str(path), "", problem, EXPECTED)]) from None


def member_bytes(path: Path, archive: ZipFile, member: ZipInfo) -> bytes:
    """Returns the content of a file in an archive, decompressed.

    Args:
        path: the path of the archive.
        archive: the open archive.
        member: the file.

    Raises:
        InputError: the compression is unknown.
        BadZipFile: the content is damaged.
    """
    if member.compress_type != ZSTANDARD:
        try:
            return archive.read(member)
        except NotImplementedError:
            expected = one_of(("Zstandard", "deflate", "none"))
            fault = Fault(str(path), member.filename, "an unknown compression", expected)
            raise InputError([fault]) from None
    import pyarrow as pa

    with path.open("rb") as file:
        file.seek(member.header_offset)
        # The local header is followed by the name and extra fields, then by the content.
        name_and_extra_lengths = LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))
        file.seek(sum(name_and_extra_lengths), 1)
        compressed_bytes = file.read(member.compress_size)
    try:
        reader = pa.BufferReader(compressed_bytes)
        content: bytes = pa.CompressedInputStream(reader, "zstd").read()
    except OSError as error:
        raise BadZipFile(str(error)) from None
    if zlib.crc32(content) != member.CRC:
        raise BadZipFile(f"bad CRC-32 for file {member.filename!r}")
    return content
