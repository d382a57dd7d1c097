"""Logs of Inspect, as `.json` or as `.eval`: a ZIP file of JSON files, compressed with Zstandard or deflate."""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

from biasgrid.base.faults import Fault, InputError, one_of, value_text
from biasgrid.base.text import explain_unreadable, read_json
from biasgrid.formats.logs.samples import Log, LogSample, known_facts, option_of_letter

EXPECTED = "a log of Inspect, .eval or .json"
LOG_HEADER = "header.json"
ZSTANDARD = 93
"""The number of the compression that Python's zipfile knows from 3.14 on."""
LOCAL_HEADER = struct.Struct("<26xHH")
ATTACHMENT = "attachment://"
FINISHED = "success"


def read_inspect_log(path: Path) -> Log:
    """Reads a log.

    Raises:
        InputError: it is none, or the run was not finished.
    """
    content = content_of_eval(path) if path.suffix == ".eval" else read_json(path, EXPECTED)
    run = content.get("eval") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(run, dict):
        raise InputError([Fault(str(path), "", value_text(content), EXPECTED)])
    if content.get("status") != FINISHED:
        problem, expected = (
            f"the status {content.get('status')!r}",
            f"{FINISHED!r}: finish the run first (inspect eval-retry)",
        )
        raise InputError([Fault(str(path), "status", problem, expected)])
    source = known_facts(
        harness="Inspect",
        version=(run.get("packages") or {}).get("inspect_ai"),
        model=run.get("model"),
        task=run.get("task"),
        date=str(run.get("created", ""))[:10],
    )
    samples = content.get("samples")
    if not samples:
        raise InputError([Fault(str(path), "samples", "contains no samples", "a log that contains its samples")])
    return Log(path, source, [*inspect_samples(path, samples)])


def inspect_samples(path: Path, samples: list[Any]) -> Iterator[LogSample]:
    """Yields the samples of a log.

    Raises:
        InputError: one of them is none, or ended with an error.
    """
    for place, sample in enumerate(samples):
        where = f"samples[{place}]"
        if not isinstance(sample, dict) or "input" not in sample or not isinstance(sample.get("output"), dict):
            raise InputError([Fault(str(path), where, value_text(sample), "a sample with `input` and `output`")])
        if sample.get("error"):
            raise InputError(
                [Fault(str(path), where, "ended with an error", "a log in which all samples were answered")]
            )
        fields = {"id": sample.get("id"), **(sample.get("metadata") or {})}
        response = logged_option(sample) or written_text(sample)
        yield LogSample(where, fields, [logged_prompt(sample)], response, {}, max(int(sample.get("epoch") or 1), 1) - 1)


def logged_option(sample: Mapping[str, Any]) -> str | None:
    """Returns the option whose letter the harness's own scorer has read in the answer, None where it has not."""
    scores = sample.get("scores") or {}
    letters = [score.get("answer") for score in scores.values() if isinstance(score, dict)]
    options = [option for letter in letters if (option := option_of_letter(letter, sample.get("choices")))]
    return options[0] if options else None


def written_text(sample: Mapping[str, Any]) -> str:
    """Returns what the model wrote, without thoughts and calls of tools."""
    choices = sample["output"].get("choices") or []
    content = choices[0].get("message", {}).get("content") if choices else sample["output"].get("completion")
    return text_of(content, sample)


def logged_prompt(sample: Mapping[str, Any]) -> str:
    """Returns the input of a sample: a text, or messages, one after the other."""
    content = sample["input"]
    if isinstance(content, list):
        return "\n\n".join(text_of(message.get("content"), sample) for message in content)
    return text_of(content, sample)


def text_of(content: Any, sample: Mapping[str, Any]) -> str:
    """Returns the text of a message, whose parts may be kept among the attachments of a sample."""
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
        return "\n".join(text_of(part, sample) for part in parts)
    text = str(content or "")
    attachments = sample.get("attachments") or {}
    return str(attachments.get(text.removeprefix(ATTACHMENT), text)) if text.startswith(ATTACHMENT) else text


def content_of_eval(path: Path) -> dict[str, Any]:
    """Returns the content of a `.eval` file in the form of a `.json` log.

    Raises:
        InputError: it is no ZIP file, or has no header: the run was not finished.
    """
    with explain_unreadable(path, EXPECTED):
        try:
            with ZipFile(path) as archive:
                members = {member.filename: member for member in archive.infolist()}
                if LOG_HEADER not in members:
                    problem = f"contains no {LOG_HEADER}, so the run was not finished"
                    raise InputError([Fault(str(path), "", problem, "a finished run (inspect eval-retry)")])
                names = sorted(name for name in members if name.startswith("samples/") and name.endswith(".json"))
                header: dict[str, Any] = json.loads(member_bytes(path, archive, members[LOG_HEADER]))
                return header | {"samples": [json.loads(member_bytes(path, archive, members[name])) for name in names]}
        except (zipfile.BadZipFile, ValueError, struct.error) as error:
            raise InputError([Fault(str(path), "", f"not a ZIP file of JSON ({error})", EXPECTED)]) from None


def member_bytes(path: Path, archive: ZipFile, member: ZipInfo) -> bytes:
    """Returns the content of a file in an archive, whatever its compression."""
    if member.compress_type != ZSTANDARD:
        try:
            return archive.read(member)
        except NotImplementedError:
            known = one_of(("Zstandard", "deflate", "none"))
            raise InputError([Fault(str(path), member.filename, "an unknown compression", known)]) from None
    import pyarrow as pa

    with path.open("rb") as file:
        file.seek(member.header_offset)
        file.seek(sum(LOCAL_HEADER.unpack(file.read(LOCAL_HEADER.size))), 1)
        packed = file.read(member.compress_size)
    try:
        content: bytes = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read()
    except OSError as error:
        raise ValueError(str(error)) from None
    return content
