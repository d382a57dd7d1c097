"""Compares the files of a run with the digests in its manifest, and says whether the run failed."""

from __future__ import annotations

import json
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from biasgrid.base.faults import UserError
from biasgrid.base.files import digest_file
from biasgrid.inference.models.servers.usage import count_holdings
from biasgrid.runs.failures import Failure
from biasgrid.runs.layout import FAILED_MANIFEST, MANIFEST, REPORT, Layout

FileState = Literal["damaged", "missing", "foreign", "unmade"]
"""How a file differs from the manifest: it has changed, is gone, is not in the manifest, or was not
made by the last run, which failed.
"""
NO_OUTPUTS = {"logs", MANIFEST, FAILED_MANIFEST}
"""Names in the folder of results that are no outputs, like hidden files: two runs of one config may
differ in them.
"""
STATES_TO_RESTORE = ("damaged", "missing")
"""States of files that were made and must be made again. A damaged one is still there."""
RUN_AGAIN = "run `biasgrid run` with the config of these results to make it"


class AuditFinding(NamedTuple):
    """A file that differs from the manifest.

    Attributes:
        state: how it differs.
        file: its path below the folder of results.
    """

    state: FileState
    file: str


class Store(NamedTuple):
    """The answers of a server in the folder of a cell.

    Attributes:
        dataset, model: the cell.
        held: number of answers.
        used: number of answers from which the predictions were made; the others are to earlier
            questions or of earlier settings.
        tokens_in: number of tokens that the model has read for all answers.
        tokens_out: number of tokens that it has written for all answers.
    """

    dataset: str
    model: str
    held: int
    used: int
    tokens_in: int
    tokens_out: int


class Audit(NamedTuple):
    """The comparison of a folder of results with its manifest.

    Attributes:
        files: number of files in the manifest.
        findings: files that differ from it: damaged, then missing, foreign and unmade ones.
        failures: reasons why the last run failed; empty if it did not fail, or if it was stopped.
        command: the command that makes damaged, missing and unmade files. It is there whenever the
            last run failed, even without such files; otherwise empty if no file is damaged or
            missing.
        stores: the answers of servers, which are paid for once.
    """

    files: int
    findings: list[AuditFinding]
    failures: list[Failure]
    command: str
    stores: list[Store]


def digest_results(results: Path, outputs: Collection[str] | None = None) -> dict[str, str]:
    """Returns the SHA-256 of the outputs in a folder of results; see `list_outputs`.

    Args:
        results: the folder.
        outputs: names of files and folders in it, which alone are digested; None for all.

    Returns:
        Digests by the paths of files relative to the folder.
    """
    return {
        str(path.relative_to(results)): digest_file(path) for path in list_outputs(results, outputs)
    }


def audit_results(results: Path) -> Audit:
    """Compares a folder of results with its manifest; without one, with that of a failed run.

    Raises:
        UserError: there is no manifest, or it cannot be read.
    """
    complete = read_manifest(results / MANIFEST)
    failed = read_manifest(results / FAILED_MANIFEST)
    manifest = complete or failed
    if manifest is None:
        raise UserError(f"there is no {results / MANIFEST}; {RUN_AGAIN}")
    recorded = manifest["files"]
    findings = changed_files(recorded, digest_results(results))
    has_files_to_restore = any(finding.state in STATES_TO_RESTORE for finding in findings)
    failures: list[Failure] = []
    targets: list[str] = []
    if failed is not None:
        failures = failed["failures"]
        # If both manifests are there, the failed run had targets of its own, which may not be part
        # of the grid.
        if complete is not None and not has_files_to_restore:
            targets = [str(results / file) for file in failed["missing"]]
        findings += unmade_files(failed["missing"], findings)
    repair = ""
    if has_files_to_restore or failed is not None:
        config_file = (failed or manifest)["config_file"]
        repair = repair_command(results, config_file, findings, targets)
    return Audit(len(recorded), findings, failures, repair, list(read_stores(results)))


def changed_files(recorded: Mapping[str, str], present: Mapping[str, str]) -> list[AuditFinding]:
    """Lists the files that are not as in a manifest: damaged, then missing, then foreign ones.

    Args:
        recorded: digests of files in the manifest, by their paths.
        present: digests of the files that are there now, likewise.
    """
    findings = []
    for file, digest in recorded.items():
        if present.get(file, digest) != digest:
            findings.append(AuditFinding("damaged", file))
    findings += [AuditFinding("missing", file) for file in recorded if file not in present]
    findings += [AuditFinding("foreign", file) for file in present if file not in recorded]
    return findings


def unmade_files(missing: Sequence[str], findings: Sequence[AuditFinding]) -> list[AuditFinding]:
    """Lists the files that a failed run has not made, except those among the findings."""
    files = {finding.file for finding in findings}
    return [AuditFinding("unmade", file) for file in missing if file not in files]


def repair_command(
    results: Path, config_file: str, findings: Sequence[AuditFinding], targets: Sequence[str]
) -> str:
    """Returns the command that makes damaged and missing files again, and targets.

    Args:
        results: the folder of results.
        config_file: the config's files as a manifest names them.
        findings: the files that differ from the manifest.
        targets: files to make; the whole grid if it is empty.
    """
    to_restore = [finding.file for finding in findings if finding.state in STATES_TO_RESTORE]
    damaged = [finding.file for finding in findings if finding.state == "damaged"]
    forced = distinct_paths(results / forced_output(file) for file in to_restore)
    # A run refuses empty outputs (`refuse_empty`), so they must be removed first.
    empty = distinct_paths(
        results / owning_output(file) for file in damaged if is_empty(results / file)
    )
    return command(config_file, empty, targets, forced)


def distinct_paths(paths: Iterable[Path]) -> list[str]:
    """Returns each path once, as a text, in the order of first appearance."""
    return list(dict.fromkeys(str(path) for path in paths))


def read_stores(results: Path) -> Iterator[Store]:
    """Yields the answers of servers in a folder of results, cell by cell."""
    for folder in sorted(results.glob(".answers/*/*")):
        dataset, model = folder.parent.name, folder.name
        predictions = sorted(results.glob(f"predictions/{dataset}/{model}/*.parquet"))
        holdings = count_holdings(folder, predictions)
        if holdings is not None:
            yield Store(dataset, model, *holdings)


def command(
    config: str,
    empty: Sequence[str] = (),
    targets: Sequence[str] = (),
    forced: Sequence[str] = (),
) -> str:
    """Returns the shell command that makes files.

    Args:
        config: the config's name, see `as_module.name_config`. It has no settings of the command
            line, which become `...`.
        empty: empty outputs, which are removed first.
        targets: files to make; the whole grid if it is empty.
        forced: outputs to make again, even if Snakemake considers them up to date.
    """
    files_text, has_settings, _ = config.partition(" and --config")
    files = files_text.split(" + ")
    options = ["--forcerun", *forced] if forced else []
    if has_settings or len(files) > 1:
        # Snakemake was called itself, and `biasgrid run` takes one file.
        run = shlex.join(["snakemake", *targets, "--configfile", *files])
        run += " --config ... --cores all" if has_settings else " --cores all"
        run = f"{run} {shlex.join(options)}".rstrip()
    else:
        behind = ["--", *options] if options else []
        run = shlex.join(["biasgrid", "run", *files, *targets, *behind])
    if empty:
        run = f"rm -r {shlex.join(empty)} && {run}"
    return run


def refuse_empty(layout: Layout) -> None:
    """Refuses results with an empty file, as a full disk or a power failure leaves it.

    Snakemake would take the file for a finished output.

    Raises:
        UserError: naming each such file, and the path to remove.
    """
    lines = []
    for path in [*list_outputs(layout.results, layout.outputs), layout.manifest]:
        if is_empty(path):
            output = layout.results / owning_output(str(path.relative_to(layout.results)))
            to_remove = "it" if output == path else output
            lines.append(f"{path}: is empty; remove {to_remove} and run again")
    if lines:
        raise UserError("\n".join(lines))


def is_empty(path: Path) -> bool:
    """Whether a path is an empty file."""
    return path.is_file() and path.stat().st_size == 0


def list_outputs(results: Path, outputs: Collection[str] | None) -> Iterator[Path]:
    """Yields the files in a folder of results, except hidden ones and `NO_OUTPUTS`, sorted.

    Args:
        results: the folder.
        outputs: names of files and folders in it, which alone are looked at; None for all.
    """
    for top in sorted(results.glob("[!.]*")):
        is_output = outputs is None or top.name in outputs
        if top.name in NO_OUTPUTS or not is_output:
            continue
        for path in [top, *sorted(top.rglob("*"))]:
            if path.is_file() and not path.name.startswith("."):
                yield path


def read_manifest(path: Path) -> dict[str, Any] | None:
    """Reads a manifest; None if there is no such file.

    Its `failures` become a list of `Failure`, which is empty in the manifest of a whole run.

    Raises:
        UserError: it cannot be read.
    """
    types = {"files": dict, "config_file": str}
    if path.name == FAILED_MANIFEST:
        types |= {"missing": list, "failures": list}
    try:
        manifest: dict[str, Any] = json.loads(path.read_text())
        is_usable = all(isinstance(manifest[key], type_) for key, type_ in types.items())
        manifest["failures"] = [Failure(**failure) for failure in manifest.get("failures", [])]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        is_usable = False
    if not is_usable:
        raise UserError(f"{path}: is not a manifest; remove it and {RUN_AGAIN}")
    return manifest


def owning_output(file: str) -> Path:
    """Returns the output that must be removed to make a file again: itself, or a folder.

    Args:
        file: a path below the folder of results.
    """
    path = Path(file)
    # Depth of the folders that are outputs as a whole: plots/OF and synthetic/DATASET/STRENGTH.
    depths = {"plots": 2, "synthetic": 3}
    # A large report has further files, of which Snakemake does not know.
    if path != REPORT:
        depths["report"] = 1
    depth = depths.get(path.parts[0], len(path.parts))
    return Path(*path.parts[:depth])


def forced_output(file: str) -> Path:
    """Returns the output that Snakemake must make again to restore a file."""
    output = owning_output(file)
    return REPORT if output == REPORT.parent else output
