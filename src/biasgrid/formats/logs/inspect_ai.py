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
    known_facts,
    option_of_letter,
    read_part,
)

EXPECTED = "a log of Inspect, .eval or .json"
EXPECTED_SAMPLE = "a sample of Inspect with `input` and `output`"
LOG_HEADER = "header.json"
ZSTANDARD = 93
"""The number of the compression that Python's zipfile knows from 3.14 on."""
LOCAL_HEADER = struct.Struct("<26xHH")
ATTACHMENT = re.compile(r"attachment://(\w+)")
"""What stands in place of a long text."""
FINISHED = "success"
DAMAGED = (BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError)
"""What reading a damaged ZIP file raises."""


def joined_parts(content: Any) -> Any:
    """Returns the text of a message, which may have parts: without thoughts and calls of tools."""
    if isinstance(content, list):
        parts = (part for part in content if isinstance(part, dict) and part.get("type") == "text")
        return "\n".join(str(part.get("text") or "") for part in parts)
    return content or ""


def joined_messages(content: Any) -> Any:
    """Returns the input of a sample, a text or messages, as one text."""
    if isinstance(content, list) and all(isinstance(message, dict) for message in content):
        return "\n\n".join(str(joined_parts(message.get("content"))) for message in content)
    return content


class LoggedMessage(LogPart):
    """What the model wrote."""

    content: Annotated[str, BeforeValidator(joined_parts)] = ""


class LoggedChoice(LogPart):
    """One of several responses."""

    message: LoggedMessage


class LoggedOutput(LogPart):
    """The responses, of which the first one counts."""

    choices: list[LoggedChoice] = Field(default_factory=list)
    completion: str | None = None

    @property
    def text(self) -> str:
        """What the model wrote."""
        return self.choices[0].message.content if self.choices else self.completion or ""


class LoggedScore(LogPart):
    """What a scorer says of a sample; the answer is what it has read in the response."""

    answer: Any = None


class InspectSample(LogPart):
    """A sample."""

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
        """Returns a text with its attachments in it."""
        kept = self.attachments or {}
        return ATTACHMENT.sub(lambda found: kept.get(found[1], found[0]), text)


class InspectRun(LogPart):
    """What was run."""

    model: str
    task: str = Field(min_length=1)
    created: str = ""
    packages: dict[str, str] = Field(default_factory=dict)


class InspectHeader(LogPart):
    """What a log says beside its samples."""

    status: str
    eval: InspectRun


class InspectLog(InspectHeader):
    """A log in one JSON file."""

    samples: list[InspectSample] | None = None


def read_inspect_log(path: Path) -> Log:
    """Reads a log.

    Raises:
        InputError: it is none, or the run was not finished; as samples are taken, also that one of
            them is none, or ended with an error.
    """
    samples: Iterable[tuple[str, InspectSample]]
    if path.suffix == ".eval":
        header, samples = header_of_eval(path), samples_of_eval(path)
    else:
        header = log = read_part(
            InspectLog, read_bytes(path, EXPECTED, LARGEST_LOG), path, "", EXPECTED
        )
        samples = ((f"samples[{place}]", sample) for place, sample in enumerate(log.samples or []))
    if header.status != FINISHED:
        expected = f"{FINISHED!r}: finish the run first (inspect eval-retry)"
        raise InputError([Fault(str(path), "status", f"the status {header.status!r}", expected)])
    source = known_facts(
        harness="Inspect",
        version=header.eval.packages.get("inspect_ai"),
        model=header.eval.model,
        task=header.eval.task,
        date=header.eval.created[:10],
    )
    return Log(path, source, (logged_sample(path, where, sample) for where, sample in samples))


def logged_sample(path: Path, where: str, sample: InspectSample) -> LogSample:
    """Returns a sample; its answer is the option whose letter the harness has read, where it has
    read one.

    Raises:
        InputError: it ended with an error.
    """
    if sample.error:
        raise InputError(
            [
                Fault(
                    str(path),
                    where,
                    "ended with an error",
                    "a log in which all samples were answered",
                )
            ]
        )
    letters = (score.answer for score in (sample.scores or {}).values())
    options = (option_of_letter(letter, sample.choices) for letter in letters)
    response = next(filter(None, options), None) or sample.resolved(sample.output.text)
    fields = {"id": sample.id, **(sample.metadata or {})}
    return LogSample(where, fields, [sample.resolved(sample.input)], response, {}, sample.epoch - 1)


def header_of_eval(path: Path) -> InspectHeader:
    """Returns what a `.eval` file says of the run.

    Raises:
        InputError: it is no ZIP file, or has no header: the run was not finished.
    """
    for _, content in members_of_eval(path, (LOG_HEADER,)):
        return read_part(InspectHeader, content, path, LOG_HEADER, EXPECTED)
    problem = f"contains no {LOG_HEADER}, so the run was not finished"
    raise InputError([Fault(str(path), "", problem, "a finished run (inspect eval-retry)")])


def samples_of_eval(path: Path) -> Iterator[tuple[str, InspectSample]]:
    """Yields the samples of a `.eval` file and their names; no more than one is in memory.

    Raises:
        InputError: one of them is none.
    """
    for name, content in members_of_eval(path, ("samples/",)):
        yield name, read_part(InspectSample, content, path, name, EXPECTED_SAMPLE)


def members_of_eval(path: Path, beginnings: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    """Yields the files of a `.eval` file whose names begin so, and their names.

    Raises:
        InputError: it is no ZIP file, or damaged.
    """
    with explain_unreadable(path, EXPECTED):
        try:
            with ZipFile(path) as archive:
                # Of files with one name, which whatever was added later has, the last one counts.
                members = {member.filename: member for member in archive.infolist()}
                for name in sorted(members):
                    if name.startswith(beginnings) and name.endswith(".json"):
                        yield name, member_bytes(path, archive, members[name])
        except DAMAGED as error:
            raise InputError(
                [Fault(str(path), "", f"not a ZIP file of JSON ({error})", EXPECTED)]
            ) from None


def member_bytes(path: Path, archive: ZipFile, member: ZipInfo) -> bytes:
    """Returns the content of a file in an archive, whatever its compression."""
    if member.compress_type != ZSTANDARD:
        try:
            return archive.read(member)
        except NotImplementedError:
            known = one_of(("Zstandard", "deflate", "none"))
            raise InputError(
                [Fault(str(path), member.filename, "an unknown compression", known)]
            ) from None
    import pyarrow as pa

    with path.open("rb") as file:
        file.seek(member.header_offset)
        file.seek(sum(LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))), 1)
        packed = file.read(member.compress_size)
    try:
        content: bytes = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read()
    except OSError as error:
        raise BadZipFile(str(error)) from None
    if zlib.crc32(content) != member.CRC:
        raise BadZipFile(f"bad CRC-32 for file {member.filename!r}")
    return content
