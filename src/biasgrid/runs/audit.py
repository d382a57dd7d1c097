"""Are the files of a run what they were when it ended: compared with the digests in its manifest;
and did it fail.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.base.files import digest_file
from biasgrid.inference.models.servers.usage import holdings_of
from biasgrid.runs.failures import Failure
from biasgrid.runs.layout import FAILED_MANIFEST, MANIFEST, REPORT, Layout

NO_OUTPUTS = {"logs", MANIFEST, FAILED_MANIFEST}
"""What lies in the folder of results beside the outputs, as hidden files do: it hangs on how the
run went.
"""
RUN_AGAIN = "run snakemake with the config of these results to make it"


class AuditFinding(NamedTuple):
    """A file that is not as in the manifest.

    Attributes:
        state: `damaged`, `missing`, `foreign`, or `unmade` by the last run, which failed.
        file: its path below the folder of results.
    """

    state: str
    file: str


class Store(NamedTuple):
    """The answers of a server that a cell's folder holds.

    Attributes:
        dataset, model: the cell.
        held: how many answers there are.
        used: how many of them the predictions come from; the others are of other questions, or
            asked otherwise.
        tokens_in: how many tokens all of them have read.
        tokens_out: how many they have written.
    """

    dataset: str
    model: str
    held: int
    used: int
    tokens_in: int
    tokens_out: int


class Audit(NamedTuple):
    """What was found.

    Attributes:
        files: how many files were compared.
        findings: those that are not as they were, or should have been made anew, damaged ones
            first.
        failures: why the last run failed, empty where it did not.
        command: what makes damaged, missing and unmade files.
        stores: the answers of servers, which are paid for once.
    """

    files: int
    findings: list[AuditFinding]
    failures: list[Failure]
    command: str
    stores: list[Store]


def digests_of_results(results: Path, made: Collection[str] | None = None) -> dict[str, str]:
    """Returns the SHA-256 of the files in a folder of results, by their paths there; of logs and
    the like none.

    Args:
        results: the folder.
        made: the files and folders in it that a run makes; None for all.
    """
    return {str(path.relative_to(results)): digest_file(path) for path in outputs_in(results, made)}


def audit_results(results: Path) -> Audit:
    """Compares a folder of results with its manifest, or where there is none but that of a failed
    run with that.

    Raises:
        UserError: there is no manifest, or none that can be read.
    """
    whole, failed = read_manifest(results / MANIFEST), read_manifest(results / FAILED_MANIFEST)
    manifest = whole or failed
    if manifest is None:
        raise UserError(f"there is no {results / MANIFEST}; {RUN_AGAIN}")
    recorded, there = manifest["files"], digests_of_results(results)
    states = {
        "damaged": [file for file, digest in recorded.items() if there.get(file, digest) != digest],
        "missing": [file for file in recorded if file not in there],
        "foreign": [file for file in there if file not in recorded],
    }
    found = {file for files in states.values() for file in files}
    states["unmade"] = [file for file in failed["missing"] if file not in found] if failed else []
    findings = [AuditFinding(state, file) for state, files in states.items() for file in files]
    lost = dict.fromkeys(
        str(results / forced_for(file)) for file in states["damaged"] + states["missing"]
    )
    empty = dict.fromkeys(
        str(results / output_of(file)) for file in states["damaged"] if is_empty(results / file)
    )
    # A run that failed while there is a manifest was one of some targets alone, for which the grid
    # may have no use.
    targets = (
        [str(results / file) for file in failed["missing"]] if whole and failed and not lost else []
    )
    line = command((failed or manifest)["config_file"], list(empty), targets, list(lost))
    failures, line = failed["failures"] if failed else [], line if lost or failed else ""
    return Audit(len(recorded), findings, failures, line, list(stores_of_results(results)))


def stores_of_results(results: Path) -> Iterator[Store]:
    """Counts the answers of servers in a folder of results, cell by cell."""
    for folder in sorted(results.glob(".answers/*/*")):
        dataset, model = folder.parent.name, folder.name
        holdings = holdings_of(
            folder, sorted(results.glob(f"predictions/{dataset}/{model}/*.parquet"))
        )
        if holdings is not None:
            yield Store(dataset, model, *holdings)


def command(
    config: str, empty: Sequence[str] = (), targets: Sequence[str] = (), forced: Sequence[str] = ()
) -> str:
    """Returns the command that makes files.

    Args:
        config: the config's files as a manifest names them; settings given beside them are the
            reader's to add.
        empty: outputs to remove before, because a run refuses them.
        targets: what to make; of none all.
        forced: outputs to make again, whatever Snakemake thinks of them.
    """
    files, overruled, _ = config.partition(" and --config")
    settings = " --config ..." if overruled else ""
    run = (
        shlex.join(["snakemake", *targets, "--configfile", *files.split(" + ")])
        + settings
        + " --cores all"
    )
    removal = f"rm -r {shlex.join(empty)} && " if empty else ""
    return removal + run + (f" --forcerun {shlex.join(forced)}" if forced else "")


def refuse_empty(layout: Layout) -> None:
    """Refuses results in which a file is empty, as a disk leaves it that was full or lost power: no
    output is.

    Raises:
        UserError: naming each such file, and what to remove.
    """
    lines = []
    for path in [*outputs_in(layout.results, layout.outputs), layout.manifest]:
        if is_empty(path):
            output = layout.results / output_of(str(path.relative_to(layout.results)))
            lines.append(
                f"{path}: is empty; remove {'it' if output == path else output} and run again"
            )
    if lines:
        raise UserError("\n".join(lines))


def is_empty(path: Path) -> bool:
    """Returns whether a path is an empty file."""
    return path.is_file() and path.stat().st_size == 0


def outputs_in(results: Path, made: Collection[str] | None) -> Iterator[Path]:
    """Yields the files in a folder of results, but no logs and the like.

    Args:
        results: the folder.
        made: the files and folders in it that a run makes; None for all.
    """
    for top in sorted(results.glob("[!.]*")):
        if top.name in NO_OUTPUTS or not (made is None or top.name in made):
            continue
        for path in [top, *sorted(top.rglob("*"))]:
            if path.is_file() and not path.name.startswith("."):
                yield path


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
    except (ValueError, KeyError, TypeError):
        usable = False
    if not usable:
        raise UserError(f"{path}: is not a manifest; remove it and {RUN_AGAIN}")
    return manifest


def output_of(file: str) -> Path:
    """Returns the output that a file belongs to: itself, or the folder that is made as a whole."""
    path = Path(file)
    # A report too large for one file has others beside its first one, which alone Snakemake knows.
    of_report = len(path.parts) if path == REPORT else 1
    depth = {"plots": 2, "synthetic": 3, "report": of_report}.get(path.parts[0], len(path.parts))
    return Path(*path.parts[:depth])


def forced_for(file: str) -> Path:
    """Returns the output that Snakemake must make anew, for a file to be made."""
    output = output_of(file)
    return REPORT if output == REPORT.parent else output
