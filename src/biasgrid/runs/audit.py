"""Are the files of a run what they were when it ended: compared with the digests in its manifest."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

from biasgrid.checkpoints.checkpoint import digest_file
from biasgrid.faults import UserError
from biasgrid.runs.remembered import NOTE

MANIFEST = "manifest.json"
NO_OUTPUTS = {"logs", ".answers", ".parts", ".lock", NOTE, MANIFEST}
"""What lies in the folder of results beside what a run makes to be read: these hang on how it went."""


class Finding(NamedTuple):
    """A file that is not as the manifest says.

    Attributes:
        state: `damaged`, `missing` or `foreign`.
        file: its path below the folder of results.
    """

    state: str
    file: str


class Audit(NamedTuple):
    """What was found.

    Attributes:
        files: how many files were compared.
        findings: those that are not as they were, damaged ones first.
        command: what makes damaged and missing files again.
    """

    files: int
    findings: list[Finding]
    command: str


def digests_of(results: Path, made: Collection[str] | None = None) -> dict[str, str]:
    """Returns the SHA-256 of the files in a folder of results, by their paths there; of logs and the like none.

    Args:
        results: the folder.
        made: the files and folders in it that a run makes; None for all.
    """
    files = {path.relative_to(results): path for path in sorted(results.rglob("*")) if path.is_file()}
    return {
        str(name): digest_file(path)
        for name, path in files.items()
        if name.parts[0] not in NO_OUTPUTS and (made is None or name.parts[0] in made)
    }


def audit(results: Path) -> Audit:
    """Compares a folder of results with its manifest.

    Raises:
        UserError: there is no manifest, or none that can be read.
    """
    path = results / MANIFEST
    again = "run snakemake with the config of these results, which makes it"
    try:
        manifest = json.loads(path.read_text())
        recorded, config = dict(manifest["files"]), str(manifest["config_file"])
    except OSError:
        raise UserError(f"there is no {path}; {again}") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{path}: not a manifest, or one of an earlier version; remove it and {again}") from None
    there = digests_of(results)
    states = {
        "damaged": [file for file, digest in recorded.items() if there.get(file, digest) != digest],
        "missing": [file for file in recorded if file not in there],
        "foreign": [file for file in there if file not in recorded],
    }
    findings = [Finding(state, file) for state, files in states.items() for file in files]
    lost = dict.fromkeys(str(results / output_of(file)) for file in states["damaged"] + states["missing"])
    run = f"snakemake --configfile {config} --cores all --forcerun {' '.join(lost)}"
    return Audit(len(recorded), findings, run if lost else "")


def output_of(file: str) -> Path:
    """Returns the output that a file belongs to: itself, or the folder that is made as a whole."""
    path = Path(file)
    depth = {"plots": 2, "planted": 3}.get(path.parts[0], len(path.parts))
    return Path(*path.parts[:depth])
