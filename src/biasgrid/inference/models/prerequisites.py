"""The record and the capabilities of a model, which must be there before it is asked.

Files of another model that somebody has put in their place are refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import UserError, value_text
from biasgrid.base.files import read_run_json, write_text
from biasgrid.inference.checkpoints.checkpoint import has_checkpoint, read_record
from biasgrid.inference.engine.settings import ModelSettings
from biasgrid.tables.files import REMEDY
from biasgrid.tables.provenance import digest

PROBED_SUBJECT = "subject"
"""The key of capabilities that has the digest of what was probed."""
RECORD_DIGEST = "of_record"
"""The key of capabilities that has the digest of the model's record."""
RECORD_KEYS = {"checkpoint": "checkpoint", "folder": "folder", "revision": "requested"}
"""The keys of a checkpoint's source, and their names in the record."""


class CapabilityProbe(NamedTuple):
    """Finds out the capabilities of a model.

    Attributes:
        subject: digests what is probed, by the model's record, its settings, and the kinds of
            answers that it may be asked for. Capabilities of the same subject need not be found out
            again.
        find: returns the capabilities, by the same arguments; raises ModelError if the model cannot
            be used.
    """

    subject: Callable[[Mapping[str, Any], ModelSettings, Collection[str]], str]
    find: Callable[[Mapping[str, Any], ModelSettings, Collection[str]], dict[str, Any]]


def find_or_keep(
    probe: CapabilityProbe,
    record: Mapping[str, Any],
    settings: ModelSettings,
    answers: Collection[str],
    earlier: Path,
) -> dict[str, Any]:
    """Returns the capabilities of a model; those of an earlier run if they are of the same subject.

    Args:
        probe: finds out the capabilities.
        record: the model's record.
        settings: settings with which the model is opened.
        answers: the kinds of answers that it may be asked for.
        earlier: the file of the earlier run, which may be missing; see `copy_capabilities`.

    Raises:
        UserError: the file is damaged.
        ModelError: see `CapabilityProbe`.
    """
    subject = probe.subject(record, settings, answers)
    if earlier.exists():
        content = read_run_json(earlier, "what a model can do")
        if isinstance(content, dict) and content.get(PROBED_SUBJECT) == subject:
            return content
    return {**probe.find(record, settings, answers), PROBED_SUBJECT: subject}


def write_capabilities(path: Path, record: Path, capabilities: Mapping[str, Any]) -> None:
    """Writes the capabilities of a model.

    Args:
        path: the file to write.
        record: the file of the model's record.
        capabilities: the capabilities, see `find_or_keep`.
    """
    content = {**capabilities, RECORD_DIGEST: digest(read_record(record))}
    write_text(path, json.dumps(content, indent=2) + "\n")


def read_capabilities(path: Path, record: Path) -> dict[str, Any]:
    """Reads the capabilities of a model.

    Args:
        path: a file from `write_capabilities`.
        record: the file of the model's record.

    Raises:
        UserError: the file is damaged, or of another record.
    """
    content = read_run_json(path, "what a model can do")
    if not isinstance(content, dict) or content.get(RECORD_DIGEST) != digest(read_record(record)):
        raise UserError(f"{path}: does not describe the model in {record}; {REMEDY}")
    digests = (RECORD_DIGEST, PROBED_SUBJECT)
    return {key: value for key, value in content.items() if key not in digests}


def read_model_record(path: str | Path, source: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the record of a model, and checks that it is of a source; see `check_record`."""
    record = read_record(path)
    check_record(Path(path), record, source)
    return record


def check_record(path: Path, record: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Refuses the record of another model than the one in the config.

    Args:
        path: the record's file, for the message.
        record: the record.
        source: the source of the model in the config, see `Config.model_record_arguments`: `keys`
            of a model without checkpoint, else the keys of `RECORD_KEYS`.

    Raises:
        UserError: with the first difference.
    """
    # As JSON, because records were read from JSON: a tuple is a list there.
    source = json.loads(json.dumps(source))
    if has_checkpoint(source):
        pairs = [(key, record.get(name), source[key]) for key, name in RECORD_KEYS.items()]
    else:
        record_keys = record.get("keys") or {}
        pairs = [(key, record_keys.get(key), value) for key, value in source["keys"].items()]
    for key, recorded, expected in pairs:
        if recorded != expected:
            raise UserError(
                f"{path}: is the record of another model: its {key} is {value_text(recorded)}; "
                f"expected {value_text(expected)}, as in the config; {REMEDY}"
            )


def copy_capabilities(capabilities: Path, copies: Path) -> None:
    """Copies all capabilities at the beginning of a run, before Snakemake deletes outputs.

    A file that somebody has removed is not copied, so that it is found out anew.

    Args:
        capabilities: the folder of capabilities, which need not exist.
        copies: the folder of the copies, which is replaced.
    """
    shutil.rmtree(copies, ignore_errors=True)
    if capabilities.is_dir():
        shutil.copytree(capabilities, copies)
