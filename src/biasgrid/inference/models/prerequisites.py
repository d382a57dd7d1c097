"""The record and the capabilities of a model, which must be there before it is asked.

Files of another model that somebody has put in their place are refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError, value_text
from biasgrid.base.files import read_run_json, write_text
from biasgrid.inference.checkpoints.checkpoint import has_checkpoint, read_record
from biasgrid.tables.files import REMEDY
from biasgrid.tables.provenance import digest

RECORD_DIGEST = "of_record"
"""The key of capabilities that has the digest of the model's record."""
RECORD_KEYS = {"checkpoint": "checkpoint", "folder": "folder", "revision": "requested"}
"""The keys of a checkpoint's source, and their names in the record."""


def write_capabilities(path: Path, record: Path, capabilities: Mapping[str, Any]) -> None:
    """Writes the capabilities of a model.

    Args:
        path: the file to write.
        record: the file of the model's record.
        capabilities: the capabilities.
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
    return {key: value for key, value in content.items() if key != RECORD_DIGEST}


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
