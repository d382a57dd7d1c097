"""Are the files of a run what they were when it ended: compared with the digests in its manifest; and did it fail."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.checkpoints.checkpoint import digest_file
from biasgrid.faults import UserError
from biasgrid.runs.failed_jobs import Failure
from biasgrid.runs.layout import FAILED_MANIFEST, MANIFEST
from biasgrid.runs.remembered import NOTE

NO_OUTPUTS = {"logs", ".answers", ".parts", ".lock", NOTE, MANIFEST, FAILED_MANIFEST}
"""What lies in the folder of results beside what a run makes to be read: these hang on how it went."""
AGAIN = "run snakemake with the config of these results, which makes it"


class Finding(NamedTuple):
    """A file that is not as the manifest says.

    Attributes:
        state: `damaged`, `missing`, `foreign`, or `unmade` by the last run, which failed.
        file: its path below the folder of results.
    """

    state: str
    file: str


class Audit(NamedTuple):
    """What was found.

    Attributes:
        files: how many files were compared.
        findings: those that are not as they were, or should have been made anew, damaged ones first.
        failures: why the last run failed, empty where it did not.
        command: what makes damaged, missing and unmade files.
    """

    files: int
    findings: list[Finding]
    failures: list[Failure]
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
    """Compares a folder of results with its manifest, or where there is none but that of a failed run with that.

    Raises:
        UserError: there is no manifest, or none that can be read.
    """
    whole, failed = read_manifest(results / MANIFEST), read_manifest(results / FAILED_MANIFEST)
    manifest = whole or failed
    if manifest is None:
        raise UserError(f"there is no {results / MANIFEST}; {AGAIN}")
    recorded, there = manifest["files"], digests_of(results)
    states = {
        "damaged": [file for file, digest in recorded.items() if there.get(file, digest) != digest],
        "missing": [file for file in recorded if file not in there],
        "foreign": [file for file in there if file not in recorded],
    }
    found = {file for files in states.values() for file in files}
    states["unmade"] = [file for file in failed["missing"] if file not in found] if failed else []
    findings = [Finding(state, file) for state, files in states.items() for file in files]
    lost = dict.fromkeys(str(results / output_of(file)) for file in states["damaged"] + states["missing"])
    run = ["snakemake", "--configfile", (failed or manifest)["config_file"], "--cores all"]
    if lost:
        run += ["--forcerun", *lost]
    elif whole and failed:  # A run of some targets alone, for which the whole grid has no use.
        run[1:1] = [str(results / file) for file in failed["missing"]]
    failures = failed["failures"] if failed else []
    return Audit(len(recorded), findings, failures, " ".join(run) if lost or failed else "")


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Reads a manifest, None where there is none; its `failures` are as `Failure` has them.

    Raises:
        UserError: it cannot be read.
    """
    wanted = {"files": dict, "config_file": str}
    if path.name == FAILED_MANIFEST:
        wanted |= {"missing": list, "failures": list}
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
        usable = all(isinstance(manifest[key], kind) for key, kind in wanted.items())
        manifest["failures"] = [Failure(**failure) for failure in manifest.get("failures", [])]
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError):
        usable = False
    if not usable:
        raise UserError(f"{path}: not a manifest, or one of an earlier version; remove it and {AGAIN}")
    return manifest


def output_of(file: str) -> Path:
    """Returns the output that a file belongs to: itself, or the folder that is made as a whole."""
    path = Path(file)
    depth = {"plots": 2, "planted": 3}.get(path.parts[0], len(path.parts))
    return Path(*path.parts[:depth])
