"""What is known of a model before it is asked: its record, and what was found out that it can do.

Both must be of the model that is asked: a file of another one that was laid in place is refused.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from biasgrid.base.faults import UserError, value_text
from biasgrid.base.files import read_run_json, write_text
from biasgrid.inference.checkpoints.checkpoint import read_record
from biasgrid.tables.files import REMEDY
from biasgrid.tables.provenance import digest

OF_RECORD = "of_record"
"""The key that says of which record something was found out, by its digest."""
OF_SOURCE = {"checkpoint": "checkpoint", "folder": "folder", "revision": "requested"}
"""What the source of a checkpoint is called in its record."""


def write_capabilities(path: Path, record: Path, capabilities: Mapping[str, Any]) -> None:
    """Writes what a model can do, and of which record that was found out."""
    content = {**capabilities, OF_RECORD: digest(read_record(record))}
    write_text(path, json.dumps(content, indent=2) + "\n")


def read_capabilities(path: Path, record: Path) -> dict[str, Any]:
    """Reads what a model can do.

    Args:
        path: what `write_capabilities` has written.
        record: the model's record.

    Raises:
        UserError: the file is damaged, or of another record.
    """
    content = read_run_json(path, "what a model can do")
    if not isinstance(content, dict) or content.get(OF_RECORD) != digest(read_record(record)):
        raise UserError(f"{path}: does not describe the model in {record}; {REMEDY}")
    return {key: value for key, value in content.items() if key != OF_RECORD}


def record_of(path: str | Path, source: Mapping[str, Any]) -> dict[str, Any]:
    """Reads the record of a checkpoint that the config has from some source; see `check_record`."""
    record = read_record(path)
    check_record(Path(path), record, source)
    return record


def check_record(path: Path, record: Mapping[str, Any], source: Mapping[str, Any]) -> None:
    """Refuses the record of another model than the one that the config has.

    Args:
        path: the record's file.
        record: what stands there.
        source: where the config has it from, see `Config.model_record_arguments`,
            `base_record_arguments` and `tokenizer_record_arguments`.

    Raises:
        UserError: with what differs.
    """
    source = json.loads(json.dumps(source))
    if "keys" in source:
        known = record.get("keys")
        pairs = [(key, (known or {}).get(key), value) for key, value in source["keys"].items()]
    else:
        pairs = [(key, record.get(name), source[key]) for key, name in OF_SOURCE.items()]
    for key, found, expected in pairs:
        if found != expected:
            raise UserError(
                f"{path}: is the record of another model: its {key} is {value_text(found)}; "
                f"expected {value_text(expected)}, as in the config; {REMEDY}"
            )


def keep_capabilities(capabilities: Path, kept: Path) -> None:
    """Copies what is there at the beginning of a run; what somebody has removed is found out anew.

    Args:
        capabilities: the folder of what was found out, which need not be there.
        kept: the folder of the copies, which is emptied before.
    """
    shutil.rmtree(kept, ignore_errors=True)
    if capabilities.is_dir():
        shutil.copytree(capabilities, kept)
